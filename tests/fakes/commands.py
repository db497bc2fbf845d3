"""Commands typed in this process, against a fake kernel."""

from __future__ import annotations

import contextlib
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest  # noqa: TC002  # one import block reads better than two

from fakes.kernel import FakeKernel
from numatune import api
from numatune.cli.main import main
from numatune.engine import paths


@dataclass(frozen=True, slots=True)
class Typed:
    """What came of a command. `screen`: both streams in the order of printing, as on a terminal."""

    code: int
    out: str
    err: str
    screen: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def lend(kernel: FakeKernel, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands find this kernel as their host, and a state folder and a lock below `folder`."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("NUMATUNE_STATE_DIR", str(folder / "state"))
    monkeypatch.setattr(paths, "lock", lambda root="/": str(folder / "lock"))  # noqa: ARG005
    monkeypatch.setattr(api, "open_reader", lambda *_, **__: kernel)
    monkeypatch.setattr(api, "open_host", lambda *_, **__: kernel)


def typed(*argv: str) -> Typed:
    """Run a command line."""
    screen = io.StringIO()
    out, err = _Tee(screen), _Tee(screen)
    code: int | str | None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(argv)
        except SystemExit as end:
            code = end.code
    assert isinstance(code, int)
    return Typed(code, out.text(), err.text(), screen.getvalue())


class _Tee(io.TextIOWrapper):
    """A stream in UTF-8 that is no terminal, and copies everything to a screen."""

    def __init__(self, screen: io.StringIO) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8")
        self._screen = screen

    def write(self, text: str) -> int:
        self._screen.write(text)
        return super().write(text)

    def text(self) -> str:
        self.flush()
        self.seek(0)
        return self.read()
