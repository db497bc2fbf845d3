"""A host with a state folder, in which commands are killed: a copy for each moment at which that may be."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Self

import pytest  # noqa: TC002  # one import block reads better than two

from fakes.commands import lend, typed
from fakes.kernel import FakeKernel
from fakes.kills import life


@dataclass
class World:
    """A host, and the folder of its state. `left`, `died`: how long a command lived in it."""

    kernel: FakeKernel
    folder: Path
    monkeypatch: pytest.MonkeyPatch
    left: int = 0
    died: bool = False

    def enter(self) -> None:
        """Let commands find it."""
        lend(self.kernel, self.folder, self.monkeypatch)

    def copy(self, name: str) -> Self:
        """Another one, entered, that leaves this one as it is."""
        folder = self.folder.parent / name
        shutil.copytree(self.folder, folder, ignore=shutil.ignore_patterns("lock"))
        made = type(self)(self.kernel.copy(), folder, self.monkeypatch)
        made.enter()
        return made

    def killed(self, left: int, *argv: str) -> bool:
        """Run a command, and kill it after so many steps; whether it came to that."""
        with life(left, self.kernel, self.monkeypatch) as one:
            typed(*argv)
        self.left, self.died = left, one.died
        return one.died

    def lives(self, *argv: str, least: int = 20, start: int = 0, step: int = 1) -> Iterator[Self]:
        """Copies in each of which the command was killed later, and one in which it came to its end.

        least  steps that it takes at the least, or nothing was tested
        """
        for left in count(start, step):
            one = self.copy(f"{argv[0]}{left}")
            died = one.killed(left, *argv)
            yield one
            if not died:
                assert left > least
                return
