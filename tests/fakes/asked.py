"""A host as testinfra gives it, with files and commands of the test's choice: what `numatune.verify` asks."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

Argv = tuple[str, ...]


@dataclass(frozen=True)
class Result:
    rc: int
    stdout: str = ""
    stderr: str = ""


@dataclass
class AskedHost:
    """`files`: text by path, None: there but unreadable. `commands`: stdout by argv; others are not there (127)."""

    files: Mapping[str, str | None]
    commands: Mapping[Argv, str] = field(default_factory=dict)
    modes: Mapping[str, int] = field(default_factory=dict)
    programs: frozenset[str] = frozenset({"systemctl", "getconf", "find"})
    asked: list[Argv] = field(default_factory=list)

    def file(self, path: str) -> AskedFile:
        self.asked.append(("file", path))
        return AskedFile(self, path)

    def sysctl(self, name: str) -> int | str:
        self.asked.append(("sysctl", name))
        assert ("sysctl", name) in self.commands, f"Unexpected exit code 255 for sysctl -n {name}"
        text = self.commands["sysctl", name]
        return int(text) if text.isdecimal() else text

    def exists(self, command: str) -> bool:
        return command in self.programs

    def run(self, command: str, *args: str) -> Result:
        in_c_locale, argv = "env LC_ALL=C ", tuple((command % args).split(" "))[2:]
        assert command.startswith(in_c_locale)
        self.asked.append(argv)
        if argv[:2] == ("systemctl", "show"):
            return self._shown(argv)
        if argv in self.commands:
            return Result(0, self.commands[argv])
        if argv[0] != "cat":
            return Result(127, stderr=f"sh: 1: {argv[0]}: not found")
        path = argv[-1]
        told = self.files.get(path, "") if path in self.files else None
        if path in self.files and told is not None:
            return Result(0, told)
        detail = "Permission denied" if path in self.files else "No such file or directory"
        return Result(1, stderr=f"cat: {path}: {detail}\n")

    def _shown(self, argv: Argv) -> Result:
        """``systemctl show -p A,B -- UNIT``: those that are asked for, of all that it has."""
        told = self.commands.get((*argv[:2], argv[-1]))
        if told is None:
            return Result(127, stderr="sh: 1: systemctl: not found")
        names = argv[argv.index("-p") + 1].split(",")
        return Result(0, "".join(f"{line}\n" for line in told.splitlines() if line.partition("=")[0] in names))


@dataclass
class AskedFile:
    host: AskedHost
    path: str

    @property
    def exists(self) -> bool:
        return self.path in self.host.files

    @property
    def content(self) -> bytes:
        text = self.host.files.get(self.path)
        if text is None:
            raise RuntimeError(f"Unexpected output of cat {self.path}")
        return text.encode()

    @property
    def mode(self) -> int:
        assert self.exists, "Unexpected exit code 1 for stat"
        return self.host.modes.get(self.path, 0o644)

    @property
    def sha256sum(self) -> str:
        text = self.host.files.get(self.path)
        return hashlib.sha256(text.encode()).hexdigest() if text is not None else ""

    def listdir(self) -> list[str]:
        below = [path.removeprefix(f"{self.path}/") for path in self.host.files if path.startswith(f"{self.path}/")]
        assert below, "Unexpected exit code 2 for ls"
        return sorted({path.split("/")[0] for path in below})
