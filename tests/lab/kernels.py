"""The guests' kernels: Debian's own, of three suites, beside one user space.

Nothing in a guest installs them: their packages are unpacked, and an initial file system is made of the few modules
that find the disk. Debian's own takes ten seconds to unpack and start under emulation, this one takes one.
"""

from __future__ import annotations

import lzma
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from lab.apt import fetch
from lab.base import LabError, call

DEFAULT = "6.12"
SUITES = {"6.1": "bookworm", "6.12": "trixie", "newest": "trixie-backports"}
EARLY = ("virtio_pci", "virtio_blk", "crc32c_generic", "ext4")  # those that a kernel has built in are left out
UNPACKERS = {b"\x28\xb5\x2f\xfd": "zstd", b"\x02\x21\x4c\x18": "lz4", b"\xfd7zXZ": "xz"}
INIT = """\
#!/busybox sh
/busybox mount -t devtmpfs dev /dev
for module in $(/busybox cat /order); do /busybox insmod /modules/$module; done
while ! /busybox test -b /dev/vda; do /busybox usleep 10000; done
/busybox mount -t ext4 /dev/vda /root
/busybox mount -o move /dev /root/dev
exec /busybox switch_root /root /sbin/init
"""


def download(suite: str, folder: Path) -> None:
    """The packages of a suite's newest kernel for clouds: image and modules, which newer ones have apart."""
    fetch(suite, "linux-image-cloud-amd64", r"linux-(image|binary|modules)-\d.*", folder)


def install(packages: Path, root: Path, target: Path) -> None:
    """A kernel and its initial file system into the target folder, its modules into a guest's root."""
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        for package in packages.glob("*.deb"):
            call("dpkg-deb", "--extract", str(package), scratch)
        (source,) = Path(scratch).rglob("vmlinuz*")  # in /boot, or with the modules of newer ones
        (modules,) = Path(scratch).rglob("lib/modules/*")
        release = modules.name
        shutil.copytree(modules, root / "usr/lib/modules" / release, ignore=lambda _, names: {"vmlinuz"} & {*names})
        target.mkdir()
        (target / "vmlinux").write_bytes(uncompressed(source.read_bytes(), root))
    call("chroot", str(root), "depmod", release)
    (target / "initrd").write_bytes(initial(root, release))


def uncompressed(image: bytes, root: Path) -> bytes:
    """The ELF file in a bzImage (its header: Documentation/arch/x86/boot.rst): emulated, unpacking takes seconds.

    The guest's own tools unpack it. The four bytes after it are its size, for the kernel.
    """
    start = (image[0x1F1] + 1) * 512 + int.from_bytes(image[0x248:0x24C], "little")
    packed = image[start : start + int.from_bytes(image[0x24C:0x250], "little") - 4]
    for magic, tool in UNPACKERS.items():
        if packed.startswith(magic):
            argv = ["chroot", str(root), tool, "-dc"]
            return subprocess.run(argv, input=packed, capture_output=True, check=True).stdout
    raise LabError(f"a kernel packed in an unknown way: {packed[:6].hex()}")


def initial(root: Path, release: str) -> bytes:
    """An uncompressed archive: BusyBox, the modules in the order of loading, and what starts systemd."""
    folder = root / "usr/lib/modules" / release
    needs = {
        Path(path).name.partition(".")[0]: (path, rest.split())
        for path, _, rest in (line.partition(":") for line in (folder / "modules.dep").read_text().splitlines())
    }
    paths = dict.fromkeys(
        path for name in EARLY if name in needs for path in (*reversed(needs[name][1]), needs[name][0])
    )
    modules = {f"{number:02}.ko": module(folder / path) for number, path in enumerate(paths)}
    return b"".join(
        archive(
            {
                "init": INIT.encode(),
                "busybox": (root / "usr/bin/busybox").read_bytes(),
                "order": "\n".join(modules).encode(),
                **{f"modules/{name}": content for name, content in modules.items()},
            }
        )
    )


def module(path: Path) -> bytes:
    """A module as insmod of BusyBox takes it."""
    return lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()


def archive(files: Mapping[str, bytes]) -> Iterator[bytes]:
    """A cpio archive in the format that the kernel unpacks (Documentation/driver-api/early-userspace)."""
    for folder in ("dev", "root", "modules"):
        yield entry(folder, b"", stat.S_IFDIR | 0o755)
    for name, content in files.items():
        yield entry(name, content, stat.S_IFREG | 0o755)
    yield entry("TRAILER!!!", b"", 0)


def entry(name: str, content: bytes, mode: int) -> bytes:
    """One member: thirteen numbers of eight digits, the name, the content, each padded to four bytes."""
    numbers = (0, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
    head = b"070701" + b"".join(b"%08x" % number for number in numbers) + name.encode() + b"\0"
    return b"".join(part + b"\0" * (-len(part) % 4) for part in (head, content))
