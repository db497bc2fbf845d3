"""What a terminal gets that a pipe does not: colour, a question, progress."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys

import pytest
from fakes.rows import change, sysctl

from numatune.cli.progress import progress
from numatune.views.progress import line
from numatune.views.style import Style

SGR = re.compile(r"\033\[[0-9;]*m")


def on_a_terminal(*argv: str, **environment: str) -> str:
    """What a terminal of 80 columns receives."""
    ours, theirs = pty.openpty()
    kept = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "COLUMNS"}}
    environment = {**kept, "TERM": "xterm", "COLUMNS": "80", **environment}
    with subprocess.Popen(
        [sys.executable, "-m", "numatune", *argv], stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        received = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            received += piece
    os.close(ours)
    assert process.returncode == 0, received
    return received.decode()


def test_colour_on_a_terminal() -> None:
    assert SGR.search(on_a_terminal("explain", "vm.swappiness"))


@pytest.mark.parametrize(
    ("argv", "environment"),
    [
        (["--no-color"], {}),
        ([], {"NO_COLOR": "1"}),
        ([], {"TERM": "dumb"}),
    ],
)
def test_no_colour_where_it_is_not_wanted(argv: list[str], environment: dict[str, str]) -> None:
    text = on_a_terminal("explain", "vm.swappiness", *argv, **environment)
    assert "vm.swappiness" in text
    assert not SGR.search(text)


def test_an_empty_no_color_says_nothing() -> None:
    assert SGR.search(on_a_terminal("explain", "vm.swappiness", NO_COLOR=""))


class Terminal(io.StringIO):
    """A stream that says it is one."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_progress_is_one_line_that_is_gone_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with progress() as tell:
        assert tell
        tell(3, 40, change(sysctl("vm.swappiness", "1"), "2"))
    text = screen.getvalue()
    assert " 3/40  sysctl:vm.swappiness" in text
    assert "\n" not in text
    assert text.endswith("\r\033[K")


def test_few_writes_are_not_worth_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with progress() as tell:
        assert tell
        tell(1, 3, change(sysctl("vm.swappiness", "1"), "2"))
    assert "sysctl" not in screen.getvalue()


@pytest.mark.parametrize("term", ["dumb", "pipe"])
def test_nobody_watches(monkeypatch: pytest.MonkeyPatch, term: str) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal() if term == "dumb" else io.StringIO())
    monkeypatch.setenv("TERM", term)
    with progress() as tell:
        assert tell is None


@pytest.mark.parametrize("width", [20, 80])
def test_a_line_of_progress_fits(width: int) -> None:
    for done in range(41):
        assert len(line(done, 40, "irq:0000:41:00.0/" + "1" * 90, Style(width=width))) < width


def test_a_terminal_that_went_away_stops_no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(Terminal):
        def write(self, text: str) -> int:  # noqa: ARG002
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stderr", Gone())
    monkeypatch.setenv("TERM", "xterm")
    with progress() as tell:
        assert tell
        tell(1, 40, change(sysctl("vm.swappiness", "1"), "2"))
