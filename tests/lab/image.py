"""Debian guest images: a root by mmdebstrap from the machine's own apt sources, as a qcow2 disk beside its kernel.

An image lies in the cache under a hash of everything that it is made from; only Debian's own updates are not seen, so
delete the cache (`make clean`) to have them.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from lab.base import CACHE, LabError, call, digest, digest_files

PACKAGES = (
    *("linux-image-cloud-amd64", "systemd-sysv", "udev", "dbus", "kmod", "initramfs-tools", "zstd"),
    *("openssh-server", "iproute2", "procps", "numactl", "irqbalance"),
    *("cron", "sudo", "ethtool", "hwloc-nox", "networkd-dispatcher", "python3-venv"),
    *("python3", "python3-yaml", "python3-jinja2", "python3-pydantic", "python3-rich"),
    *("python3-pytest", "python3-testinfra"),
)
# The initial file system finds the disk and no more: unpacking all modules takes seconds under emulation.
EARLY_MODULES = ("virtio_pci", "virtio_blk", "ext4")
# Units that only cost time in a guest, or that wake up and move things while a test looks.
MASKED = (
    *("systemd-networkd-wait-online.service", "getty@tty1.service", "serial-getty@ttyS0.service"),
    *("apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer", "fstrim.timer"),
    *("systemd-tmpfiles-clean.timer", "e2scrub_reap.service", "systemd-pstore.service"),
)
# What a test starts where it needs it.
DISABLED = ("networkd-dispatcher.service",)
# Every boot and every `systemctl enable` runs all generators, a second each under emulation.
GENERATORS_KEPT = ("systemd-fstab-generator",)
FILES = {
    "etc/hostname": "lab\n",
    "etc/machine-id": "",  # no first boot: presets would switch units on
    "etc/systemd/journald.conf.d/lab.conf": "[Journal]\nStorage=volatile\n",
    "etc/fstab": "/dev/vda / ext4 defaults 0 1\n",
    # The way in. The other NICs get no address: a second default route would take the answers of the first.
    "etc/systemd/network/10-way-in.network": (
        "[Match]\nDriver=virtio_net\n[Network]\nDHCP=ipv4\nLinkLocalAddressing=no\n"
    ),
    "etc/systemd/network/20-up.network": (
        "[Match]\nDriver=vmxnet3\n[Link]\nActivationPolicy=always-up\n[Network]\nLinkLocalAddressing=no\n"
    ),
    # Every connection comes from one address; none of them may be held up for the failures of another.
    "etc/ssh/sshd_config.d/lab.conf": "PermitRootLogin prohibit-password\nUseDNS no\n",
}
# The checkout's code is put into /opt/numatune; a site file makes it importable as an installed package is.
INSTALLED = {
    "/usr/lib/python3/dist-packages/numatune-lab.pth": "/opt/numatune\n",
    "/usr/local/bin/numatune": (
        "#!/usr/bin/python3\nimport sys\n\nfrom numatune.__main__ import main\n\nsys.exit(main())\n"
    ),
}
SIZE = "3G"


@dataclass(frozen=True, slots=True)
class Image:
    """A guest's disk (the backing file of every machine's own), kernel, initial file system, and the key to log in."""

    name: str
    folder: Path

    @property
    def disk(self) -> Path:
        """The disk, never written to."""
        return self.folder / "disk.qcow2"


def image(suite: str = "trixie") -> Image:
    """The image of a Debian suite, built if the cache has none. Call it with the cache locked."""
    key = key_pair()
    public = key.with_suffix(".pub").read_text(encoding="ascii")
    name = f"{suite}-{digest(public, digest_files([Path(__file__)]))}"
    found = Image(name, CACHE / "images" / name)
    if not found.disk.exists():
        shutil.rmtree(found.folder, ignore_errors=True)
        found.folder.mkdir(parents=True)
        build(suite, found, public)
    return found


def key_pair() -> Path:
    """The private key that opens every guest of this checkout."""
    path = CACHE / "key"
    if not path.exists():
        call("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "lab", "-f", str(path))
    return path


def build(suite: str, wanted: Image, public: str) -> None:
    """Make the files of an image; the disk comes last and is whole when it is there."""
    root = wanted.folder / "root"
    try:
        bootstrap(suite, root)
        configure(root, public)
        for kind, link in (("vmlinuz", "vmlinuz"), ("initrd.img", "initrd")):
            (source,) = root.glob(f"boot/{kind}-*")
            shutil.copyfile(source, wanted.folder / link)
            source.unlink()
        raw, packed = wanted.folder / "disk.raw", wanted.folder / "disk.part"
        call("mke2fs", "-q", "-t", "ext4", "-E", "nodiscard", "-d", str(root), str(raw), SIZE)
        call("qemu-img", "convert", "-O", "qcow2", str(raw), str(packed))
        raw.unlink()
        packed.rename(wanted.disk)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def bootstrap(suite: str, root: Path) -> None:
    """Install the packages into an empty folder."""
    early = "\\n".join(EARLY_MODULES)
    call(
        *("mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(PACKAGES)}"),
        *("--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-exclude=/usr/share/man/*"),
        *("--dpkgopt=path-exclude=/usr/share/locale/*", *proxy()),
        '--essential-hook=mkdir -p "$1/etc/initramfs-tools/conf.d"',
        '--essential-hook=echo MODULES=list > "$1/etc/initramfs-tools/conf.d/lab"',
        f'--essential-hook=printf "{early}\\n" > "$1/etc/initramfs-tools/modules"',
        *(suite, str(root), mirror()),
    )


def mirror() -> str:
    """The Debian mirror that this machine's apt uses; it is asked for at each build and kept nowhere."""
    rows = call("apt-get", "indextargets", "--format", "$(LABEL)|$(REPO_URI)", "Created-By: Packages").splitlines()
    for row in rows:
        label, _, uri = row.partition("|")
        if label == "Debian":
            return uri
    raise LabError("this machine's apt knows no Debian archive (apt-get indextargets); on Debian, apt-get update first")


def proxy() -> tuple[str, ...]:
    """The option that lets mmdebstrap use the proxy of this machine's apt, if it has one."""
    found = call("apt-config", "dump", "--format", "%v%n", "Acquire::http::Proxy").strip()
    return (f'--aptopt=Acquire::http::Proxy "{found}"',) if found else ()


def configure(root: Path, public: str) -> None:
    """Write the guest's own files, and let the key in."""
    for path, text in (FILES | INSTALLED).items():
        file = root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    (root / "usr/local/bin/numatune").chmod(0o755)
    keys = root / "root/.ssh/authorized_keys"
    keys.parent.mkdir(mode=0o700, exist_ok=True)
    keys.write_text(public, encoding="ascii")
    units = root / "etc/systemd/system"
    for unit in MASKED:
        (units / unit).unlink(missing_ok=True)
        (units / unit).symlink_to("/dev/null")
    for unit in DISABLED:
        for link in units.glob(f"*.wants/{unit}"):
            link.unlink()
    hidden = root / "etc/systemd/system-generators"
    hidden.mkdir()
    for generator in (root / "usr/lib/systemd/system-generators").iterdir():
        if generator.name not in GENERATORS_KEPT:
            (hidden / generator.name).symlink_to("/dev/null")
    (units / "multi-user.target.wants/systemd-networkd.service").symlink_to(
        "/lib/systemd/system/systemd-networkd.service"
    )
