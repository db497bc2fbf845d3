"""Printing: results to stdout, everything else to stderr. A reader that went away (``| head``) is no error."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # type checkers take the name for true; importing typing for it costs 5 ms

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def say(text: str) -> None:
    """Print a result."""
    try:
        print(text)  # noqa: T201  # the command line is where numatune prints
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say_json(data: Mapping[str, Any]) -> None:
    """Print a result as JSON."""
    import json

    say(json.dumps(data, indent=2))


def remark(text: str) -> None:
    """Print something that is no result: a notice, a hint, an error. Nothing in it moves the cursor."""
    try:
        print("".join(char if char.isprintable() else "?" for char in text), file=sys.stderr, flush=True)  # noqa: T201  # the command line is where numatune prints
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def whisper(text: str) -> None:
    """Put text on stderr as it is, without a new line: progress. A terminal that went away must not stop the work."""
    import contextlib

    with contextlib.suppress(OSError):
        sys.stderr.write(text)
        sys.stderr.flush()
