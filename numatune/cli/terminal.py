"""What the terminal at the other end can show."""

from __future__ import annotations

import argparse
import os
import sys

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.views.style import Style

_WIDEST, _NO_TERMINAL = 160, (100, 24)


def style(args: argparse.Namespace) -> Style:
    """Colour on a terminal unless --no-color, NO_COLOR or TERM=dumb says otherwise; its width, within reason."""
    import shutil

    from numatune.views.style import Style

    plain = args.no_color or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return Style(
        colour=sys.stdout.isatty() and not plain,
        unicode="utf" in (sys.stdout.encoding or "").lower(),
        width=min(shutil.get_terminal_size(_NO_TERMINAL).columns, _WIDEST),
    )


def interactive() -> bool:
    """Whether somebody is there to answer a question."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask(question: str) -> bool:
    """Whether the answer is yes. The question goes to stderr, so that stdout stays a result."""
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)  # noqa: T201  # the command line is where numatune prints
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
