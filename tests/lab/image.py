"""Debian guest images: a user space by mmdebstrap from the machine's own apt sources, a disk beside its kernels.

An image lies in the cache under a hash of everything that it is made from; only Debian's own updates are not seen, so
delete the cache (`make clean`) to have them.
"""

from __future__ import annotations

import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from lab import apt, contents, kernels
from lab.apt import mirror, proxy
from lab.base import CACHE, call, digest, digest_files

SUITE = "trixie"
SIZE = "3G"


@dataclass(frozen=True, slots=True)
class Image:
    """A guest's disk (the backing file of every machine's own), and a folder for each kernel."""

    name: str
    folder: Path

    @property
    def disk(self) -> Path:
        """The disk, never written to."""
        return self.folder / "disk.qcow2"

    def boot(self, kernel: str) -> tuple[str, ...]:
        """QEMU's arguments for one of the kernels."""
        return ("-kernel", str(self.folder / kernel / "vmlinux"), "-initrd", str(self.folder / kernel / "initrd"))


def image() -> Image:
    """The image, built if the cache has none. Call it with the cache locked."""
    key = key_pair()
    public = key.with_suffix(".pub").read_text(encoding="ascii")
    sources = [Path(module.__file__) for module in (apt, contents, kernels)]
    name = f"{SUITE}-{digest(public, digest_files([Path(__file__), *sources]))}"
    found = Image(name, CACHE / "images" / name)
    if not found.disk.exists():
        shutil.rmtree(found.folder, ignore_errors=True)
        found.folder.mkdir(parents=True)
        build(found, public)
    return found


def key_pair() -> Path:
    """The private key that opens every guest of this checkout."""
    path = CACHE / "key"
    if not path.exists():
        call("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "lab", "-f", str(path))
    return path


def build(wanted: Image, public: str) -> None:
    """Make the files of an image; the disk comes last and is whole when it is there."""
    root, packages = wanted.folder / "root", wanted.folder / "packages"
    try:
        with ThreadPoolExecutor() as pool:
            steps = [pool.submit(kernels.download, suite, packages / name) for name, suite in kernels.SUITES.items()]
            bootstrap(root)
            for step in steps:
                step.result()
        for name in kernels.SUITES:
            kernels.install(packages / name, root, wanted.folder / name)
        configure(root, public)
        raw, packed = wanted.folder / "disk.raw", wanted.folder / "disk.part"
        call("mke2fs", "-q", "-t", "ext4", "-E", "nodiscard", "-d", str(root), str(raw), SIZE)
        call("qemu-img", "convert", "-O", "qcow2", str(raw), str(packed))
        raw.unlink()
        packed.rename(wanted.disk)
    finally:
        for folder in (root, packages):
            shutil.rmtree(folder, ignore_errors=True)


def bootstrap(root: Path) -> None:
    """Install the packages into an empty folder."""
    call(
        *("mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(contents.PACKAGES)}"),
        *("--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-exclude=/usr/share/man/*"),
        *("--dpkgopt=path-exclude=/usr/share/locale/*", *proxy()),
        *(SUITE, str(root), mirror()),
    )


def configure(root: Path, public: str) -> None:
    """Write the guest's own files, and let the key in."""
    for path, text in (contents.FILES | contents.INSTALLED).items():
        file = root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    for path in contents.INSTALLED:
        (root / path.lstrip("/")).chmod(0o755)
    keys = root / "root/.ssh/authorized_keys"
    keys.parent.mkdir(mode=0o700, exist_ok=True)
    keys.write_text(public, encoding="ascii")
    units = root / "etc/systemd/system"
    for unit in contents.MASKED:
        (units / unit).unlink(missing_ok=True)
        (units / unit).symlink_to("/dev/null")
    hidden = root / "etc/systemd/system-generators"
    hidden.mkdir()
    for generator in (root / "usr/lib/systemd/system-generators").iterdir():
        if generator.name not in contents.GENERATORS_KEPT:
            (hidden / generator.name).symlink_to("/dev/null")
    networkd = "multi-user.target.wants/systemd-networkd.service"
    (units / networkd).symlink_to("/usr/lib/systemd/system/systemd-networkd.service")
    for path in ("etc/.updated", "var/.updated"):  # nothing is to be done at the first boot for files that are new
        (root / path).write_text(f"TIMESTAMP_NSEC={time.time_ns()}\n", encoding="ascii")
