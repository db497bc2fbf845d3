"""exec: the command gets what the caller gave, in the place of this process. Nothing of the interpreter stays.

Python ignores SIGPIPE and SIGXFSZ, and an ignored signal is ignored over exec; in a C locale it also sets LC_CTYPE
(PEP 538). Both are undone: the environment is taken from /proc/self/environ, which holds it as this process got it.

Nothing of the rest is imported here: this must work when that does not.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence

NOT_EXECUTABLE, NOT_FOUND = 126, 127
"""What env(1), nohup(1) and shells exit with."""


def environment() -> dict[bytes, bytes]:
    """The caller's, byte for byte."""
    try:
        with open("/proc/self/environ", "rb") as file:  # noqa: PTH123  # pathlib costs a start-up
            entries = file.read().split(b"\0")
    except OSError:
        return dict(os.environb)
    return {name: value for name, equals, value in (entry.partition(b"=") for entry in entries) if equals and name}


def start(command: Sequence[str], additions: Mapping[str, str]) -> tuple[int, str]:
    """Replace this process. Comes back only when that failed: the exit code, and what to say."""
    given = environment()
    given |= {os.fsencode(name): os.fsencode(value) for name, value in additions.items()}
    _default_signals()
    try:
        os.execvpe(command[0], list(command), given)  # noqa: S606  # no shell is the point
    except OSError as error:
        code = error.errno or errno.EIO
    except ValueError as error:  # a NUL or an empty name
        return NOT_EXECUTABLE, f"{command[0]!r}: {error}"
    told = f"{command[0]}: {os.strerror(code)}"
    if code == errno.ENOENT and os.path.exists(command[0]) and "/" in command[0]:  # noqa: PTH110  # as above
        told += " (its interpreter or loader is not there)"
    if code == errno.ENOEXEC:
        told += " (a script needs a #! line)"
    return (NOT_FOUND if code in {errno.ENOENT, errno.ENOTDIR} else NOT_EXECUTABLE), told


def _default_signals() -> None:
    import _signal  # type: ignore[import-not-found]  # noqa: PLC0415  # `signal` makes enumerations of everything, which costs a start-up

    for name in ("SIGPIPE", "SIGXFSZ"):
        _signal.signal(getattr(_signal, name), _signal.SIG_DFL)
