"""How a hang is seen: what is not done after a minute of CPU, or after ten by the clock, never is."""

from __future__ import annotations

import contextlib
import faulthandler
import signal
import traceback
from collections.abc import Iterator
from types import FrameType

SECONDS = 60
"""Of CPU, user and system: a busy machine is no fault. A case takes a tenth of one."""

WAITING = 600
"""By the clock, for what waits and takes no CPU."""


class Hang(BaseException):
    """Raised where the case was: no code that catches every Exception gets it."""

    def __init__(self, where: str) -> None:
        super().__init__("not done when the time was up")
        self.where = where


@contextlib.contextmanager
def limited(seconds: float = SECONDS) -> Iterator[None]:
    """Raise Hang after the time; what waits, or runs no Python by then, is shown, and the process ends."""

    def late(_: int, frame: FrameType | None) -> None:
        raise Hang("".join(traceback.format_stack(frame)))

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    faulthandler.dump_traceback_later(WAITING, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
