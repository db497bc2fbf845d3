"""A kill at any system call that changes a file or the host: nothing after it happens, whatever handlers try."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest  # noqa: TC002  # one import block reads better than two

from fakes.kernel import FakeKernel  # as above

CALLS = ("pwrite", "write", "replace", "rename", "link", "unlink", "ftruncate", "mkdir")


class Killed(BaseException):
    """What a kill looks like from inside: nothing catches it."""


class Life:
    """How long a command lives: `left` more steps. `died`: they were not enough."""

    def __init__(self, left: int) -> None:
        self.left = left
        self.died = False

    def step(self) -> None:
        if self.left == 0:
            self.died = True
        if self.died:
            raise Killed
        self.left -= 1


@contextlib.contextmanager
def life(left: int, kernel: FakeKernel, monkeypatch: pytest.MonkeyPatch) -> Iterator[Life]:
    """Let what runs inside die after `left` steps; half of what is being written then may be there."""
    one = Life(left)
    with monkeypatch.context() as patched:
        for name in CALLS:
            patched.setattr(os, name, _counted(getattr(os, name), name, one))
        kernel.hook = lambda moment, what: one.step()  # noqa: ARG005
        with contextlib.suppress(Killed):
            yield one
    kernel.hook = lambda moment, what: None  # noqa: ARG005


def _counted(call: Callable[..., Any], name: str, one: Life) -> Callable[..., Any]:
    def made(*args: Any, **options: Any) -> Any:
        if one.left == 0 and not one.died and name in {"pwrite", "write"}:
            fd, data, *rest = args
            call(fd, data[: len(data) // 2], *rest)
        one.step()
        return call(*args, **options)

    return made
