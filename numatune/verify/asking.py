"""How a host is asked, through testinfra, and what an answer looks like. Nothing here changes a host."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal, Protocol

Trouble = Literal["", "absent", "denied"]

_SYSCTL = "/proc/sys/"
_KEY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./:@-]*\Z", re.ASCII)
"""What may follow ``sysctl -n``: a key with = would be WRITTEN, one with * would be a pattern."""

_COMM = 15
"""The kernel keeps that many characters of a program's name."""

_ABSENT = ("No such file or directory", "Not a directory", "No such device")
"""strerror texts (LC_ALL=C) of ENOENT, ENOTDIR, ENODEV and ENXIO: GNU, busybox and toybox print them alike."""


class _File(Protocol):
    @property
    def exists(self) -> bool: ...
    @property
    def content(self) -> bytes: ...
    @property
    def mode(self) -> int: ...
    @property
    def sha256sum(self) -> str: ...
    def listdir(self) -> list[str]: ...


class _Result(Protocol):
    @property
    def rc(self) -> int: ...
    @property
    def stdout(self) -> str: ...
    @property
    def stderr(self) -> str: ...


class TestinfraHost(Protocol):
    """The part of testinfra's Host that is used here."""

    def file(self, path: str, /) -> _File:
        """Look at a file."""

    def sysctl(self, name: str, /) -> int | str:
        """Run ``sysctl -n``. AssertionError when that fails, ValueError when there is no such program."""

    def exists(self, command: str, /) -> bool:
        """Look for a program."""

    def run(self, command: str, /, *args: str) -> _Result:
        """Run a command with its arguments, quoted, where it says %s."""


@dataclass(frozen=True, slots=True)
class Answer:
    """`text`: what was said; None: see `trouble` and, in the host's words, `detail`. `source`: what was asked."""

    text: str | None
    source: str
    trouble: Trouble = ""
    detail: str = ""


class Asking:
    """One host, asked. What the whole run needs once (/proc/mounts, /proc/interrupts) is asked once."""

    def __init__(self, host: TestinfraHost) -> None:
        self._host = host
        self.once = cache(self.file)
        self.run_once = cache(self.run)
        self._exists = cache(host.exists)

    def file(self, path: str) -> Answer:
        """The text of a file."""
        try:
            return Answer(self._host.file(path).content.decode("utf-8", "replace"), path)
        except RuntimeError:  # testinfra's word for "cat failed"; only the failure is worth a second look
            said = self.run("cat", "--", path)
        if said.rc == 0:
            return Answer(said.stdout, path)
        detail = said.stderr.strip().rpartition(": ")[2]
        return Answer(None, path, "absent" if detail.startswith(_ABSENT) else "denied", detail)

    def sysctl(self, path: str) -> Answer:
        """The text of a file below /proc/sys by ``sysctl -n``, or of the file where that program will not say."""
        below = path.removeprefix(_SYSCTL)
        if not _KEY.match(below) or not self._exists("sysctl"):
            return self.file(path)
        key = below if "." in below else below.replace("/", ".")  # net/ipv4/conf/bond0.354/forwarding
        try:
            text = str(self._host.sysctl(key))
        except AssertionError:  # testinfra's word for a command that failed
            return self.file(path)
        return Answer(text, f"sysctl -n {key}") if text else self.file(path)

    def kernel_file(self, path: str) -> Answer:
        """The text of a kernel file, by ``sysctl -n`` where it is a sysctl."""
        return self.sysctl(path) if path.startswith(_SYSCTL) else self.file(path)

    def first(self, paths: tuple[str, ...]) -> tuple[str, Answer]:
        """The first of `paths` that is there and its answer; the first one's "absent" when none is."""
        asked = ((path, self.kernel_file(path)) for path in paths)
        missing = []
        for path, answer in asked:
            if answer.trouble != "absent":
                return path, answer
            missing.append((path, answer))
        return missing[0]

    def names(self, folder: str) -> list[str]:
        """Names in a folder; [] when it cannot be listed."""
        try:
            return self._host.file(folder).listdir()
        except (RuntimeError, AssertionError):  # `ls` answers 1 or 2
            return []

    def exists(self, path: str) -> bool:
        """Whether `path` is there, as far as this caller can see."""
        return self._host.file(path).exists

    def mode(self, path: str) -> int:
        """Permission bits. Raises AssertionError when nothing is there."""
        return self._host.file(path).mode

    def sha256(self, path: str) -> str:
        """Digest of a file's bytes, "" when it cannot be read."""
        return self._host.file(path).sha256sum

    def has(self, program: str) -> bool:
        """Whether the host has this program."""
        return self._exists(program)

    def run(self, *argv: str) -> _Result:
        """Run a command that changes nothing, in the C locale: what it says is read."""
        return self._host.run(" ".join(["env LC_ALL=C", *["%s"] * len(argv)]), *argv)

    def process(self, comm: str) -> str | None:
        """The pid of a process of that name, None when none runs."""
        found = self.run(
            *("find", "/proc", "-mindepth", "2", "-maxdepth", "2", "-path", "/proc/[0-9]*/comm"),
            *("-exec", "grep", "-lxF", "-e", comm[:_COMM], "--", "{}", "+"),
        )
        return found.stdout.split("/")[2] if found.stdout.startswith("/proc/") else None

    def refuses_writes(self, path: str) -> bool:
        """Whether `path` lies on a mount that is read-only (a container's /proc/sys)."""
        mounts = [line.split(" ") for line in (self.once("/proc/self/mounts").text or "").splitlines()]
        above = [mount for mount in mounts if f"{path}/".startswith(mount[1].rstrip("/") + "/")]
        nearest = max(reversed(above), key=lambda mount: len(mount[1]), default=None)  # a later mount hides an earlier
        return nearest is not None and "ro" in nearest[3].split(",")
