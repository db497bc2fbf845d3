"""The answers that a host gave when a look found nothing to do, so that the next one can be short.

A look at a host is a function of what its Reader answers and of the state beside: the applied set, the holds. When
every question of that look gets the same answer again, and those files are still the same, the look would find the
same again. Only when an answer differs is it repeated. `drift` looks so (api/drifting.py), and `apply` of what is
applied (api/repeating.py).
"""

from __future__ import annotations

import json
import os

from numatune import __version__
from numatune.compat import TYPE_CHECKING
from numatune.engine import trust
from numatune.host.protocol import Ran, Read, Reader, Stat

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_PASSING = ("/cgroup.procs", "/cgroup.threads", "/cgroup.events", "/tasks", "/proc/interrupts", "/free_hugepages")
"""Files that move all the time: they tell who stands on a setting or how much is free, never what a setting holds. That
only matters to a row that differs and is held back for it; who records a look makes sure that there is none."""

_MEMORY = ("/meminfo", "MemTotal")
"""Of these files only such lines stay the same while nothing happens; the free memory is as passing as the above."""

_UNSTEADY = {"moved": "during the look"}

FORMAT = 2


class Recorder:
    """A Reader that remembers every question with its answer, in types of JSON: [method, argument, answer].

    What answered twice in one look, and differently, is recorded with an answer that no host gives.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._answers: dict[tuple[str, Any], Any] = {}

    @property
    def answers(self) -> list[list[Any]]:
        """In the order of the first asking."""
        return [[method, argument, answer] for (method, argument), answer in self._answers.items()]

    @property
    def root(self) -> str:
        """As of the reader behind."""
        return self._reader.root

    @property
    def live(self) -> bool:
        """As of the reader behind."""
        return self._reader.live

    def read(self, path: str) -> Read:
        """Text or errno."""
        found = self._reader.read(path)
        if not path.endswith(_PASSING):
            self._note("read", path, _lasting(path, found))
        return found

    def names(self, folder: str) -> tuple[str, ...]:
        """Names."""
        found = self._reader.names(folder)
        self._note("names", folder, list(found))
        return found

    def real(self, path: str) -> str | None:
        """The path without links, or None."""
        found = self._reader.real(path)
        self._note("real", path, found)
        return found

    def stat(self, path: str) -> Stat | None:
        """Mode, inode and the rest."""
        found = self._reader.stat(path)
        self._note("stat", path, _kept(path, found))
        return found

    def ask(self, argv: tuple[str, ...]) -> Ran:
        """Exit code and output."""
        found = self._reader.ask(argv)
        self._note("ask", argv, [found.code, found.out])
        return found

    def _note(self, method: str, argument: str | tuple[str, ...], answer: Any) -> None:
        if self._answers.setdefault((method, argument), answer) != answer:
            self._answers[method, argument] = _UNSTEADY


def save(path: str, beside: Sequence[str], answers: list[list[Any]], told: Any = None) -> int:
    """Store the answers with what state they go with: the files `beside`, there or not; and what else is to be known.

    0 or the errno: without them a look is only slower.
    """
    from numatune.host.local import LocalHost  # noqa: PLC0415  # a check only reads

    data = {"format": FORMAT, "numatune": __version__, "beside": [*map(identity, beside)], "answers": answers}
    text = json.dumps({**data, "told": told}, separators=(",", ":"))
    return LocalHost().replace(os.path.abspath(path), text, 0o644)  # noqa: PTH100  # pathlib costs a start-up


def holds(path: str, beside: Sequence[str], reader: Reader, fits: Callable[[Any], bool] = lambda _: True) -> bool:
    """Whether such a look is on record for the state in `beside`, and the host answers every question as it did then.

    fits  whether what was told with it is as it should be; asked before the host is
    Anything that is not quite right with the record means no, never an error. Raises TrustError when others could have
    written it.
    """
    if not os.path.lexists(path):
        return False
    trust.check(path)
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123  # pathlib costs a start-up
            data = json.load(file)
        goes_with = (data["format"], data["numatune"], data["beside"])
        if goes_with != (FORMAT, __version__, [*map(identity, beside)]) or not fits(data["told"]):
            return False
        return all(_answer(method, argument, reader) == answer for method, argument, answer in data["answers"])
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _answer(method: str, argument: Any, reader: Reader) -> Any:
    match method:
        case "read":
            return _lasting(argument, reader.read(argument))
        case "names":
            return list(reader.names(argument))
        case "real":
            return reader.real(argument)
        case "stat":
            return _kept(argument, reader.stat(argument))
        case "ask":
            ran = reader.ask(tuple(argument))
            return [ran.code, ran.out]
        case _:
            raise ValueError(method)


def _lasting(path: str, found: Read) -> str | int:
    if found.text is None:
        return found.errno
    file, word = _MEMORY
    return "\n".join(line for line in found.text.splitlines() if word in line) if path.endswith(file) else found.text


def _kept(path: str, found: Stat | None) -> list[int] | None:
    """What of a Stat stays the same while nothing happens: files of /proc get another inode at each look-up."""
    if found is None:
        return None
    return [found.mode, 0 if path.startswith("/proc/") else found.inode, found.uid, found.read_only]


def identity(path: str) -> list[int] | None:
    """Which file this is, in this version: each replacement changes it, and each chmod. None: there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116  # pathlib costs a start-up
    except OSError:
        return None
    return [found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]
