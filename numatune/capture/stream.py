"""What take.sh says, taken apart. Nothing is believed of a stream without its end."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from numatune.errors import HostError
from numatune.host.protocol import Ran

ERRNOS: Mapping[str, int] = {
    "Permission denied": errno.EACCES,
    "Operation not permitted": errno.EPERM,
    "No such file or directory": errno.ENOENT,
    "Invalid argument": errno.EINVAL,
    "Input/output error": errno.EIO,
    "I/O error": errno.EIO,
    "Is a directory": errno.EISDIR,
    "No such device": errno.ENODEV,
    "Operation not supported": errno.EOPNOTSUPP,
    "Not supported": errno.EOPNOTSUPP,
    "Resource temporarily unavailable": errno.EAGAIN,
    "Device or resource busy": errno.EBUSY,
    "Resource busy": errno.EBUSY,
}
"""What programs say in the C locale, glibc's and musl's words."""

_LINE = re.compile(
    r"(?P<type>[-dl])(?P<mode>[-rwxsStT]{9})\S* +\d+ +\S+ +\S+ +\d+ +\S+ +\S+ +\S+ (?P<path>.*)", re.DOTALL
)
"""Of ``ls -ldn``: mode, links, owner, group, size, three words of time, path."""

_TYPES = {"-": 0o100000, "d": 0o040000, "l": 0o120000}

Ended = tuple[bytes, int, str]
"""Standard output, exit code, standard error."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A host's files as its shell named them, absolute, through whatever links are on the way.

    modes    st_mode of files, folders and links
    links    path -> target
    leads    path of a link -> "f" to a file, "d" to a folder, "-" to neither
    texts    path -> content
    refused  path -> errno of reading it
    """

    modes: dict[str, int] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    leads: dict[str, str] = field(default_factory=dict)
    texts: dict[str, bytes] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    answers: dict[str, Ran] = field(default_factory=dict)


def parse(data: bytes, mark: str, where: str) -> Taken:
    """The stream as data. Raises HostError for one that is cut off, or none. `where`: the host, for people."""
    frames = [_frame(text) for text in data.split(f"\n{mark} ".encode())[1:]]
    if not frames or frames[0][0] != "separator":
        raise HostError(where, "the host's shell said nothing that numatune asked for", accepted="a POSIX shell")
    if frames[-1] != ("end", b""):
        raise HostError(where, "the stream was cut off, so nothing is written", hint="try again")
    taken, separator = Taken(), frames[0][1]
    each = iter(zip(frames, [*frames[1:], ("", b"")], strict=True))
    paths: list[str] = []
    for (head, body), (following, words) in each:
        what, _, rest = head.partition(" ")
        match what:
            case "list":
                _listed(_lines(body), taken)
            case "links":
                taken.leads.update({_absolute(line[2:]): line[:1] for line in _lines(body)})
            case "files":
                paths = [_absolute(line) for line in _lines(body)]
            case "data" if following != "again":
                taken.texts.update(_texts(paths, body, separator, where))
            case "file":
                _read(_absolute(rest), (body, _code(following, where), _text(words)), taken)
            case "ask":
                taken.answers[rest] = Ran(_code(following, where), _text(body), _text(words))
            case _:
                pass
    return taken


def _frame(text: bytes) -> tuple[str, bytes]:
    head, _, body = text.partition(b"\n")
    return _text(head), body


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _lines(body: bytes) -> Iterator[str]:
    return (line for line in _text(body).split("\n") if line)


def _absolute(path: str) -> str:
    return f"/{path}"


def _listed(lines: Iterator[str], taken: Taken) -> None:
    for line in lines:
        found = _LINE.fullmatch(line)
        if found is None:  # a device, a pipe, a socket
            continue
        path = _absolute(found["path"])
        if found["type"] == "l":
            path, _, target = path.partition(" -> ")
            taken.links[path] = target
        taken.modes[path] = _TYPES[found["type"]] | _bits(found["mode"])


def _bits(letters: str) -> int:
    """``rw-r--r--`` as 0o644. Set-user, set-group and sticky bits are of no interest here."""
    return sum(0o400 >> place for place, letter in enumerate(letters) if letter not in "-ST")


def _texts(paths: list[str], body: bytes, separator: bytes, where: str) -> Mapping[str, bytes]:
    """Contents by path: a separator stands before, between and behind them."""
    pieces = body.split(separator)
    if len(pieces) != len(paths) + 2:
        raise HostError(where, f"{len(pieces) - 2} files came where {len(paths)} were read", hint="try again")
    return dict(zip(paths, pieces[1:-1], strict=True))


def _code(head: str, where: str) -> int:
    code = head.removeprefix("code ")
    if not code.isdecimal():
        raise HostError(where, f"the stream holds {head!r} where an exit code belongs")
    return int(code)


def _read(path: str, ended: Ended, taken: Taken) -> None:
    """A file that was read by itself. One that went away meanwhile (a process) is none."""
    data, code, words = ended
    if code == 0:
        taken.texts[path] = data
        return
    found = next((number for said, number in ERRNOS.items() if words.strip().endswith(said)), errno.EIO)
    if found == errno.ENOENT:
        taken.modes.pop(path, None)
    else:
        taken.refused[path] = found
