"""What is mounted, by the kernel's own table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.host.protocol import Reader

_ESCAPED = re.compile(r"\\([0-7]{3})")
_OPTION = re.compile(r"(?:^|,)([^,=]+)(?:=((?:[^,]|,(?=[0-9]))*))?")
"""A list of nodes has commas of its own, ``mpol=interleave:0,2,huge=never``, and some policies a blank, unescaped."""


@dataclass(frozen=True, slots=True)
class Mounted:
    """One mount. `options`: of the file system, not of the mount; `device`: "0:23", "" where the table has none."""

    point: str
    kind: str
    options: str
    device: str = ""

    def option(self, name: str) -> str | None:
        """The value of one option as the kernel shows it, "" for one without a value; None when it is not shown."""
        return next((_plain(found[2] or "") for found in _OPTION.finditer(self.options) if found[1] == name), None)


def mounted(reader: Reader, point: str) -> Mounted | None:
    """What is seen at a mount point: of several on one the last."""
    return next((one for one in reversed(table(reader)) if one.point == point), None)


def table(reader: Reader, process: str = "self") -> tuple[Mounted, ...]:
    """All mounts that a process sees, in the order of mounting.

    Below another root than / the first process tells, because this one's mount points are those of a container.
    """
    ours = process == "self"
    process = "1" if ours and reader.root != "/" else process
    text = reader.read(f"/proc/{process}/mountinfo").text
    if text is not None:
        return tuple(_of_mountinfo(text))
    for path in (f"/proc/{process}/mounts", *(["/proc/mounts"] if ours else [])):
        if (text := reader.read(path).text) is not None:
            return tuple(_of_mounts(text))
    return ()


def _of_mountinfo(text: str) -> Iterator[Mounted]:
    """proc_pid_mountinfo(5): optional fields end with a single dash."""
    for line in text.splitlines():
        mount, _, system = line.partition(" - ")
        words, more = mount.split(" "), system.split(" ")
        if len(words) > 5 and len(more) > 2:  # noqa: PLR2004  # up to the mount's options; type, source, options
            yield Mounted(_plain(words[4]), more[0], " ".join(more[2:]), words[2])


def _of_mounts(text: str) -> Iterator[Mounted]:
    for line in text.splitlines():
        words = line.split(" ")
        if len(words) > 5:  # noqa: PLR2004  # source, point, type, options, two numbers
            yield Mounted(_plain(words[1]), words[2], " ".join(words[3:-2]))


def _plain(text: str) -> str:
    r"""Blanks and the like are spelled ``\040`` there."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 8)), text)
