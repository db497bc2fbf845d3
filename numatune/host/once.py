"""A reader that asks each question once: one look at a host is one snapshot, and commands are dear."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numatune.host.protocol import Ran, Read, Reader, Stat

T = TypeVar("T")


class AskedOnce:
    """Remembers answers of commands, the list of processes and their names, what was worked out; all else goes through.

    For one pass over the settings only: what is remembered is never asked again.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._answers: dict[tuple[str, ...], Ran] = {}
        self._processes: tuple[str, ...] | None = None
        self._comms: dict[str, Read] = {}
        self._made: dict[Callable[[Reader], Any], Any] = {}

    @property
    def root(self) -> str:
        """As the reader says."""
        return self._reader.root

    @property
    def live(self) -> bool:
        """As the reader says."""
        return self._reader.live

    def read(self, path: str) -> Read:
        """The whole file; the name of a process (/proc/PID/comm) once."""
        if not (path.startswith("/proc/") and path.endswith("/comm")):
            return self._reader.read(path)
        if path not in self._comms:
            self._comms[path] = self._reader.read(path)
        return self._comms[path]

    def names(self, folder: str) -> tuple[str, ...]:
        """Names in a folder; processes once."""
        if folder != "/proc":
            return self._reader.names(folder)
        if self._processes is None:
            self._processes = self._reader.names(folder)
        return self._processes

    def real(self, path: str) -> str | None:
        """As the reader says."""
        return self._reader.real(path)

    def stat(self, path: str) -> Stat | None:
        """As the reader says."""
        return self._reader.stat(path)

    def ask(self, argv: tuple[str, ...]) -> Ran:
        """The first answer to this command."""
        if argv not in self._answers:
            self._answers[argv] = self._reader.ask(argv)
        return self._answers[argv]

    def made(self, make: Callable[[Reader], T]) -> T:
        """What `make` works out of this host, worked out once."""
        if make not in self._made:
            self._made[make] = make(self)
        made: T = self._made[make]
        return made
