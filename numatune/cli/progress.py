"""Progress on a terminal: one line on stderr that is gone when the work is done."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator

from numatune.cli.output import whisper
from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.settings.plan import Change

_MANY = 10
"""Fewer writes than that are over before anybody could read about them."""


@contextlib.contextmanager
def progress() -> Iterator[Callable[[int, int, Change], None] | None]:
    """A function that is told (how many are done, of how many, which), or None where nobody watches."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield None
        return
    import shutil

    from numatune.views.progress import line
    from numatune.views.style import Style

    style = Style(unicode="utf" in sys.stderr.encoding.lower(), width=shutil.get_terminal_size().columns)

    def tell(done: int, total: int, change: Change) -> None:
        if total >= _MANY:
            whisper(f"\r\033[K{line(done, total, change.setting.id, style)}")

    try:
        yield tell
    finally:
        whisper("\r\033[K")
