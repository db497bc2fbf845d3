"""A machine of a shape: booted, saved, restored, rebooted, cut off, and always ended by whoever made it."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from lab.base import CACHE, LabError, SilentError, call
from lab.image import Image, key_pair
from lab.kernels import DEFAULT
from lab.qemu import Qemu
from lab.shapes import TABLE, Shape
from lab.ssh import Answer, Ssh

BOOT = 300.0  # seconds; ten to forty are usual, but the real processors may be everybody's
TAG = "warm"  # a saved state's name inside its disks
COMMAND_LINE = (
    *("root=/dev/vda", "rw", "console=ttyS0", "loglevel=4", "systemd.show_status=false"),
    *("mitigations=off", "lsm=capability", "audit=0"),  # their work is emulated too
    *("no_timer_check", "tsc=reliable"),  # or the kernel looks at its clock through a device
    "8250.nr_uarts=1",
)
WAY_IN = (
    *("-netdev", "user,id=way-in,hostfwd=tcp:127.0.0.1:0-:22"),
    *("-device", "virtio-net-pci,netdev=way-in,bus=pcie.0,addr=8,romfile="),
)
DISKS = (
    *("-drive", "file=disk.qcow2,if=none,id=disk", "-device", "virtio-blk-pci,drive=disk,bus=pcie.0,addr=9"),
    *("-drive", "file=nvme.qcow2,if=none,id=nvme"),
)


def machine_line(shape: Shape, image: Image, kernel: str) -> list[str]:
    """What decides, besides QEMU itself, whether a saved state fits: all but the port, which is drawn at start."""
    # Never KVM: the same machine everywhere. One thread for all processors: kernels patch their own code in a way that
    # QEMU 7.2 gets wrong now and then where processors are threads, and two such machines on two cores are 10 % faster.
    emulator = ("-accel", "tcg,thread=single")
    serial = ("-serial", "file:console.log")
    return [
        *emulator,
        *shape.arguments(),
        *DISKS,
        *WAY_IN,
        *image.boot(kernel),
        "-append",
        " ".join(COMMAND_LINE),
        *serial,
    ]


class Machine:
    """A guest and its folder of disks, logs and sockets. Use it in a `with`: what it started ends there."""

    def __init__(self, shape: Shape, image: Image, kernel: str = DEFAULT) -> None:
        self.shape = shape
        self.image = image
        self.line = machine_line(shape, image, kernel)
        runs = CACHE / "runs"
        runs.mkdir(parents=True, exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(prefix=f"{shape.name}-", dir=runs))
        if shape.firmware:
            call("iasl", "-p", str(self.folder / TABLE), str(shape.firmware))
        self._owned = (self.folder / "owned").open("w")
        fcntl.flock(self._owned, fcntl.LOCK_EX)
        self._qemu: Qemu | None = None
        self._ssh: Ssh | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End it, and leave nothing of it."""
        self.cut()
        self._owned.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def qemu(self) -> Qemu:
        """The emulator; LabError while the machine is off."""
        if self._qemu is None:
            raise LabError(f"{self.shape.name} is off")
        return self._qemu

    @property
    def ssh(self) -> Ssh:
        """The guest's shell; LabError while the machine is off."""
        if self._ssh is None:
            raise LabError(f"{self.shape.name} is off")
        return self._ssh

    def boot(self, *, plug: bool = True) -> None:
        """Start it with the disks it has, or with new ones; back when its services are up and its devices are there.

        Without `plug` the devices that come later do not come: what has them cannot be saved.
        """
        if not (self.folder / "disk.qcow2").exists():
            base = ("-b", str(self.image.disk), "-F", "qcow2")
            call("qemu-img", "create", "-q", "-f", "qcow2", *base, "disk.qcow2", cwd=self.folder)
            call("qemu-img", "create", "-q", "-f", "qcow2", "nvme.qcow2", "64M", cwd=self.folder)
        self._start()
        self.settle()
        if plug:
            self._plug()

    def save(self, state: Path, notes: Mapping[str, str]) -> None:
        """Put the running machine into a folder of the cache, with notes (file name -> text); it is off afterwards."""
        self.ssh.run("sync")
        self.ssh.close()
        if complaint := self.qemu.monitor(f"savevm {TAG}").strip():
            raise LabError(f"{self.shape.name} cannot be saved: {complaint}")
        self.cut()
        part = state.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        for name in ("disk.qcow2", "nvme.qcow2"):
            (self.folder / name).rename(part / name)
        for name, text in notes.items():
            (part / name).write_text(text, encoding="utf-8")
        shutil.rmtree(state, ignore_errors=True)
        part.rename(state)

    def load(self, state: Path) -> None:
        """Take what was saved in a folder of the cache; `restore` starts it."""
        self.cut()
        for path in state.iterdir():
            call("cp", "--reflink=auto", "--sparse=always", str(path), str(self.folder))

    def restore(self, *, plug: bool = True) -> None:
        """Make it the machine that was loaded, whatever has become of it. `plug` as for boot.

        Once more where it does not answer: nothing is under test yet.
        """
        try:
            self._restored()
        except SilentError:
            self._restored()
        self.ssh.run(f"date -s @{time.time():.0f}")  # the guest's clock stood still
        if plug:
            self._plug()

    def _restored(self) -> None:
        self.cut()
        self._start("-loadvm", TAG)

    def settle(self) -> None:
        """Until the guest has started all its services, and udev has named and driven what is there."""
        state = self.ssh.run("systemctl is-system-running --wait", check=False).out.strip()
        if state != "running":
            failed = self.ssh.run("systemctl --failed --no-legend --plain").out
            raise LabError(f"{self.shape.name} came up {state}: {failed}")
        self.ssh.run("udevadm settle --timeout=120")

    def run(self, script: str, *, check: bool = True) -> Answer:
        """The script, by the guest's shell; LabError when it fails, unless check is off, with its console's end."""
        try:
            return self.ssh.run(script, check=check)
        except LabError as error:
            raise LabError(f"{error}\nits console: {self._console()}") from None

    def batch(self, commands: Mapping[str, str]) -> dict[str, Answer]:
        """Each command's answer, by its name, all in one go: every question to a guest costs a second."""
        steps = (
            f"( {command}\n) 2>/tmp/complaint; printf '\\0%d\\0' $?; cat /tmp/complaint; printf '\\0'"
            for command in commands.values()
        )
        parts = self.run("\n".join(steps)).out.split("\0")
        return {
            name: Answer(int(parts[3 * number + 1]), parts[3 * number], parts[3 * number + 2])
            for number, name in enumerate(commands)
        }

    def reboot(self) -> None:
        """As an administrator does; back when it is up again. A kernel that hangs as it boots is started once more."""
        before = self.ssh.get("/proc/sys/kernel/random/boot_id")
        self.ssh.run("systemd-run --quiet --on-active=1 --timer-property=AccuracySec=100ms systemctl reboot")
        self.ssh.close()
        if self._next_boot(before) == "":
            self.ssh.close()
            self.qemu.monitor("system_reset")
            if self._next_boot(before) == "":
                raise SilentError(f"{self.shape.name} did not come up again: {self._console()}")
        self.settle()

    def _next_boot(self, before: str) -> str:
        """The boot that answers after that one, "" when none does in time; LabError when the old one still does."""
        end = time.monotonic() + BOOT
        while (now := self._boot_id()) in ("", before):
            self.qemu.check()
            if time.monotonic() > end:
                break
            time.sleep(1)
        if now == before:
            raise LabError(f"{self.shape.name} did not reboot: {self._console()}")
        return now

    def cut(self) -> None:
        """End it at once, as a power cut does; `boot` starts it again with the disks it has."""
        if self._ssh is not None:
            self._ssh.close()
            self._ssh = None
        if self._qemu is not None:
            self._qemu.kill()
            self._qemu = None

    def _start(self, *more: str) -> None:
        self._qemu = Qemu(self.folder, [*self.line, *more])
        self._ssh = Ssh(self.folder, self._qemu.forwarded_port(), key_pair())
        try:
            self._ssh.wait(BOOT, self._qemu.check)
        except LabError as error:
            raise type(error)(f"{error}: {self._console()}") from None

    def _plug(self) -> None:
        """Plug in what comes later, and wait until the guest has a driver on it."""
        for plug in self.shape.plugs():
            self.qemu.ask("device_add", plug)
            self.ssh.run("for try in $(seq 3000); do test -b /dev/nvme0n1 && exit; sleep 0.1; done; exit 1")

    def _boot_id(self) -> str:
        """Which boot answers now; empty while none does."""
        if not self.ssh.greets():
            return ""
        try:
            return self.ssh.run("cat /proc/sys/kernel/random/boot_id", check=False, timeout=60).out
        except LabError:  # by a connection to the boot before
            self.ssh.close()
            return ""

    def _console(self) -> str:
        return (self.folder / "console.log").read_text(encoding="utf-8", errors="replace")[-3000:]


def sweep() -> None:
    """Remove the folders of machines whose owner is gone, with whom their emulators died. Needs the cache locked."""
    for folder in (CACHE / "runs").glob("*"):
        with contextlib.suppress(BlockingIOError, FileNotFoundError), (folder / "owned").open("a") as owned:
            fcntl.flock(owned, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
