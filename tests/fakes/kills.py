"""A kill at any write to the host, and at any system call that changes a file: nothing after it happens."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
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
    """Let what runs inside die after `left` steps, on the host or in a file."""
    with in_files(left, monkeypatch) as one, _on(kernel, lambda moment, what: one.step()):  # noqa: ARG005
        yield one


@contextlib.contextmanager
def in_files(left: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Life]:
    """Let it die after `left` system calls; half of what is being written then may be there."""
    one = Life(left)
    with monkeypatch.context() as patched:
        for name in CALLS:
            patched.setattr(os, name, _counted(getattr(os, name), name, one))
        with contextlib.suppress(Killed):
            yield one


@contextlib.contextmanager
def on_host(left: int, kernel: FakeKernel) -> Iterator[Life]:
    """Let it die after `left` moments; there is one before and one after each write to the host."""
    one = Life(left)
    with _on(kernel, lambda moment, what: one.step()), contextlib.suppress(Killed):  # noqa: ARG005
        yield one


@contextlib.contextmanager
def at(kernel: FakeKernel, moment: str, *, what: str = "", number: int = 1) -> Iterator[Life]:
    """Let it die at the `number`th such moment ("before", "after") of a write; `what`: of that place or command."""
    one = Life(number - 1)

    def seen(now: str, where: str) -> None:
        if one.died or (now == moment and what in {"", where}):
            one.step()

    with _on(kernel, seen), contextlib.suppress(Killed):
        yield one


def different(now: Mapping[str, str], before: Mapping[str, str]) -> dict[str, tuple[str | None, str | None]]:
    """What is not as it was before, with both values; None: it is not there."""
    paths = {*now, *before}
    return {path: (before.get(path), now.get(path)) for path in paths if before.get(path) != now.get(path)}


@contextlib.contextmanager
def _on(kernel: FakeKernel, hook: Callable[[str, str], None]) -> Iterator[None]:
    kernel.hook = hook
    try:
        yield
    finally:
        kernel.hook = lambda moment, what: None  # noqa: ARG005


def _counted(call: Callable[..., Any], name: str, one: Life) -> Callable[..., Any]:
    def made(*args: Any, **options: Any) -> Any:
        if one.left == 0 and not one.died and name in {"pwrite", "write"}:
            fd, data, *rest = args
            call(fd, data[: len(data) // 2], *rest)
        one.step()
        return call(*args, **options)

    return made
