"""The emulator's process, without a guest."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from lab.base import LabError
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
