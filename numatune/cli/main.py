"""The one error boundary: whatever happens ends in an exit code and at most one message."""

from __future__ import annotations

import io
import sys

from numatune.cli.commands import named
from numatune.cli.output import remark, say_json

TYPE_CHECKING = False  # type checkers take the name for true; importing typing for it costs 5 ms

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

INTERRUPTED = 130

_LOOKING = frozenset(
    {"plan", "apply", "reapply", "verify", "drift", "history", "explain", "check", "confirm", "hold", "unhold"}
)
_CHANGING = frozenset({"apply", "rollback"})


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    words = sys.argv[1:] if argv is None else list(argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # no locale makes a result unprintable
    args = None
    try:
        if named(words) == "run":  # it stands before every start of a server, and does without argparse
            from numatune.cli import run

            return run.main(words)
        args = parse(words)
        _tell_of_cut_off(args, _LOOKING)
        code: int = args.run(args)
    except KeyboardInterrupt:
        remark("numatune: interrupted")
        _tell_of_cut_off(args, _CHANGING)
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001  # this is the boundary
        return _report(error, as_json="--json" in _ours(words))
    return code


def parse(words: Sequence[str]) -> argparse.Namespace:
    """The command line by argparse, which `run` does without."""
    from numatune.cli import parser

    return parser.parse(words)


def _tell_of_cut_off(args: argparse.Namespace | None, commands: frozenset[str]) -> None:
    """Say how to take a run back that was cut off by a kill, a power cut or an interrupt."""
    if args is None or args.command not in commands or (args.root != "/" and not args.root_is_live):
        return
    from numatune import api
    from numatune.errors import NumatuneError

    try:
        past = api.cut_off(api.open_reader(args.root, live=args.root_is_live))
    except NumatuneError:
        return  # the command itself says what is wrong with the state
    if past:
        start = past.start
        what = f"run {start.run} ({start.kind} by {start.who}, {start.when}) was cut off before its end"
        ends = "finish it" if start.kind == "rollback" else "take it back"
        remark(f"numatune: {what}; {ends} with: sudo numatune rollback")


def _ours(words: Sequence[str]) -> Sequence[str]:
    """What is before any ``--``: the rest belongs to somebody else's command."""
    return words[: words.index("--")] if "--" in words else words


def _report(error: Exception, *, as_json: bool) -> int:
    from numatune.errors import NumatuneError
    from numatune.views import error_json

    if isinstance(error, NumatuneError):
        if as_json:
            say_json({"error": error_json.known(error)})
        else:
            for line in str(error).splitlines():
                remark(f"numatune: {line}")
        return error.exit_code
    log = _write_trace(error)
    message = f"unexpected {type(error).__name__}: {error}"
    hint = f"the trace is in {log}; please report it"
    if as_json:
        say_json({"error": error_json.unexpected(error, message, hint)})
    else:
        remark(f"numatune: {message} ({hint})")
    return error_json.UNEXPECTED


def _write_trace(error: Exception) -> str:
    """Path of a new file, readable by the caller alone, that holds the trace."""
    import os
    import tempfile
    import traceback

    from numatune import __version__

    handle, path = tempfile.mkstemp(prefix="numatune-", suffix=".log")
    with os.fdopen(handle, "w", encoding="utf-8") as log:
        log.write(f"numatune {__version__}, Python {sys.version}\n{sys.argv}\n")
        log.write("".join(traceback.format_exception(error)))
    return path
