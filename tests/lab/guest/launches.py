"""Many launches from one interpreter, because emulation is slow to start one: cases on stdin, answers on stdout, JSON.

    {"options": [...], "ranks": N, "program": [...], "only": [...], "plan": true}

Of each case: what `numatune place OPTIONS --ranks N --json` prints, unless `plan` is false, and for each rank, or those
of `only`, how `numatune run OPTIONS --rank R --local-size N -- PROGRAM` ended. Every command runs in a fork of this
process, which has looked around once and so has imported what is needed; there PROGRAM takes its place, as always.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
from typing import IO, Any

from numatune.cli import main as command_line
from numatune.launch import applying, carried, starting

NEEDED_TO_START = (applying, carried, starting)


def answer(case: dict[str, Any]) -> dict[str, Any]:
    options, ranks = case["options"], case["ranks"]
    starts = (["--rank", str(rank), "--local-size", str(ranks)] for rank in case.get("only", range(ranks)))
    runs = [forked(["run", *options, *start, "--", *case["program"]]) for start in starts]
    plan = forked(["place", *options, "--ranks", str(ranks), "--json"]) if case.get("plan", True) else None
    return {"plan": plan, "runs": runs}


def forked(words: list[str]) -> dict[str, Any]:
    """How a command ended, and what it said."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        if not (child := os.fork()):
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            code = 70
            try:
                code = command_line.main(words)
                sys.stdout.flush()
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        return {"code": os.waitstatus_to_exitcode(status), "out": text(out), "err": text(err)}


def text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


if __name__ == "__main__":
    cases = json.load(sys.stdin)
    with contextlib.redirect_stdout(io.StringIO()):
        command_line.main(["place", "--json"])
        command_line.main(["run", "--print", "--json"])
    json.dump([answer(case) for case in cases], sys.stdout)
