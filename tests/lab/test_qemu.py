"""The emulator's process, without a guest."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from lab import warm
from lab.base import LabError, SilentError
from lab.qemu import Qemu

pytestmark = pytest.mark.lab


def test_one_that_ends_by_itself_is_noticed_while_its_guest_is_waited_for(tmp_path: Path) -> None:
    emulator = Qemu(tmp_path, ["-S", "-m", "64M"])
    try:
        emulator.check()
        os.kill(emulator.pid, signal.SIGABRT)
        with pytest.raises(LabError, match="QEMU ended"):
            check_for(60, emulator)
    finally:
        emulator.kill()


def check_for(seconds: float, emulator: Qemu) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        emulator.check()
        time.sleep(0.05)


class Stub:
    """A machine whose kernel hangs so many times."""

    def __init__(self, hangs: int) -> None:
        self.hangs = hangs
        self.calls: list[str] = []

    def boot(self, *, plug: bool) -> None:
        self.calls.append(f"boot plug={plug}")
        if len([call for call in self.calls if call.startswith("boot")]) <= self.hangs:
            raise SilentError("no ssh")

    def cut(self) -> None:
        self.calls.append("cut")


def test_a_first_boot_that_hangs_is_tried_once_more() -> None:
    once, twice = Stub(1), Stub(2)
    warm.boot(once)  # type: ignore[arg-type]
    assert once.calls == ["boot plug=False", "cut", "boot plug=False"]
    with pytest.raises(SilentError):
        warm.boot(twice)  # type: ignore[arg-type]
