"""One ssh connection to a host that several programs use: the user logs in once, with their own configuration."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace

from numatune.capture.way import Way
from numatune.errors import HostError

_LINGERS = 300
"""Seconds after its last use that ssh keeps the connection: when we are killed nobody else ends it."""

_LONGEST = 60
"""Characters of a folder for a socket, whose whole path may have 107 bytes, of which ssh adds 17 for a moment."""

_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Line:
    """A connection that is open from the first use of `way` on. `socket`: its path, for other ssh programs."""

    way: Way
    socket: str

    def is_open(self) -> bool:
        """Whether it still is."""
        return _control(self, "check") == 0


@contextlib.contextmanager
def shared(way: Way, *, may_ask: bool) -> Iterator[Line]:
    """A way over ssh that others can share; closed at the end. Nobody is asked for anything unless `may_ask`.

    Raises HostError when there is no place for its socket.
    """
    folder = _folder()
    socket = f"{folder}/ssh"
    options = ["ControlMaster=yes", f"ControlPath={_expandable(socket)}", f"ControlPersist={_LINGERS}"]
    options += [] if may_ask else ["BatchMode=yes"]
    words = (word for option in options for word in ("-o", option))
    line = Line(replace(way, argv=(way.argv[0], *words, *way.argv[1:])), socket)
    try:
        yield line
    finally:
        _control(line, "exit")
        shutil.rmtree(folder, ignore_errors=True)


def _expandable(path: str) -> str:
    """A path where ssh expands % in paths."""
    return path.replace("%", "%%")


def _folder() -> str:
    """A private folder with a short path, mode 0700."""
    usual = tempfile.gettempdir()
    try:
        return tempfile.mkdtemp(prefix="numatune-", dir=usual if len(usual) <= _LONGEST else "/tmp")  # noqa: S108  # mkdtemp is safe there
    except OSError as error:
        raise HostError("ssh", f"no folder for a connection: {error.strerror}", hint="TMPDIR names another") from error


def _control(line: Line, command: str) -> int:
    """What the program that holds the connection says to this. 255 when there is none."""
    argv = ("ssh", "-F", "none", "-o", f"ControlPath={_expandable(line.socket)}", "-O", command, "there")
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=_SECONDS)  # noqa: S603  # an argv of our own
    except (OSError, subprocess.TimeoutExpired):
        return 255
    return done.returncode
