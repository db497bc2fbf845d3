"""numatune that is killed at one of its writes to this kernel: ``dying.py before|after NUMBER WORD...``."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

from numatune.cli.main import main
from numatune.host.local import LocalHost


def dies(method: Callable[..., int], when: str, number: int) -> Callable[..., int]:
    """The method, for as many calls as it has left to live; all methods count together."""

    def call(host: LocalHost, path: str, *rest: object) -> int:
        if path.startswith(os.environ["NUMATUNE_STATE_DIR"]):
            return method(host, path, *rest)
        calls.append(path)
        if len(calls) == number and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        answer = method(host, path, *rest)
        if len(calls) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    return call


calls: list[str] = []

if __name__ == "__main__":
    moment, count, *words = sys.argv[1:]
    for name in ("write", "make", "drop", "replace"):
        setattr(LocalHost, name, dies(getattr(LocalHost, name), moment, int(count)))
    sys.exit(main(words))
