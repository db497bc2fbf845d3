"""Applies settings to this machine and is killed at one write: ``killed_apply.py SETTINGS RUNS STEP``.

Steps count the moments before and after each write; with a step that never comes the run ends as usual.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from numatune.compat import override
from numatune.engine import runs
from numatune.engine.diff import Options, diff
from numatune.engine.execute import execute
from numatune.engine.journal import FileJournal
from numatune.engine.observe import observe
from numatune.host.local import LocalHost
from numatune.settings.model import Setting
from numatune.settings.wire import from_data


class DyingHost(LocalHost):
    """Takes every write until the step comes."""

    def __init__(self, step: int) -> None:
        super().__init__()
        self._left = step

    def _step(self) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def _between(self, write: Callable[[], int]) -> int:
        self._step()
        answer = write()
        self._step()
        return answer

    @override
    def write(self, path: str, text: str) -> int:
        return self._between(lambda: super(DyingHost, self).write(path, text))

    @override
    def make(self, folder: str) -> int:
        return self._between(lambda: super(DyingHost, self).make(folder))

    @override
    def replace(self, path: str, text: str, mode: int) -> int:
        return self._between(lambda: super(DyingHost, self).replace(path, text, mode))


def main() -> None:
    asked, folder, step = sys.argv[1:]
    settings = [from_data(data, Setting) for data in json.loads(Path(asked).read_text(encoding="ascii"))]
    host = DyingHost(int(step))
    changes = diff(settings, observe(settings, host), Options())
    boot = (host.read("/proc/sys/kernel/random/boot_id").text or "").strip()
    execute(changes, host, FileJournal(folder), runs.head(folder, "apply", boot))


if __name__ == "__main__":
    main()
