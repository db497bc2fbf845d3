"""One QEMU process: started as our child, asked over its machine protocol, ended by its id."""

from __future__ import annotations

import json
import re
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lab.base import LabError

PATIENCE = 120.0  # seconds for one answer: saving a state on a busy machine takes a while
# A processor without what TCG is slow at or a guest would load drivers for, nor leaf 0x1f of CPUID, at which QEMU 10
# aborts when there are dies; a board without disks of its own.
BOARD = ("-cpu", "Nehalem,pdpe1gb=on,level=11", "-machine", "q35,sata=off")
MACHINE = ("-nodefaults", "-no-user-config", "-display", "none", *BOARD)


class Qemu:
    """A running emulator. It dies with this process, however this one ends."""

    def __init__(self, folder: Path, arguments: Sequence[str]) -> None:
        self._log = folder / "qemu.log"
        ours, theirs = socket.socketpair()
        with theirs, self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *("setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64", *MACHINE, *arguments),
                    *("-chardev", f"socket,id=monitor,fd={theirs.fileno()}", "-mon", "chardev=monitor,mode=control"),
                ],
                cwd=folder,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self._socket = ours
        ours.settimeout(PATIENCE)
        self._answers = ours.makefile("r", encoding="utf-8")
        try:
            self._next("QMP")
            self.ask("qmp_capabilities")
        except BaseException:
            self.kill()
            raise

    @property
    def pid(self) -> int:
        """The process to look at; only `kill` ends it."""
        return self._process.pid

    def ask(self, command: str, arguments: Mapping[str, object] | None = None) -> Any:
        """The answer to one command of the protocol."""
        request = {"execute": command, "arguments": dict(arguments or {})}
        try:
            self._socket.sendall(json.dumps(request).encode())
        except OSError as error:
            raise LabError(f"QEMU is gone: {self._complaint()}") from error
        answer = self._next("return", "error")
        if "error" in answer:
            raise LabError(f"QEMU refused {request}: {answer['error']['desc']}")
        return answer["return"]

    def monitor(self, line: str) -> str:
        """The answer to one line of the human monitor."""
        return str(self.ask("human-monitor-command", {"command-line": line}))

    def forwarded_port(self) -> int:
        """The loopback port that leads to the guest's ssh."""
        found = re.search(r"TCP\[HOST_FORWARD\]\s+\d+\s+\S+\s+(\d+)", self.monitor("info usernet"))
        if found is None:
            raise LabError("QEMU forwards no port to the guest")
        return int(found[1])

    def check(self) -> None:
        """LabError with its last words when it has ended by itself."""
        if self._process.poll() is not None:
            raise LabError(f"QEMU ended: {self._complaint()}")

    def kill(self) -> None:
        """End it at once, as a power cut does."""
        self._process.kill()
        self._process.wait()
        self._answers.close()
        self._socket.close()

    def _next(self, *kinds: str) -> dict[str, Any]:
        """The next message of these kinds; events between them are passed over."""
        try:
            for line in self._answers:
                message: dict[str, Any] = json.loads(line)
                if any(kind in message for kind in kinds):
                    return message
        except TimeoutError as error:
            raise LabError(f"QEMU did not answer within {PATIENCE:.0f} s: {self._complaint()}") from error
        raise LabError(f"QEMU ended: {self._complaint()}")

    def _complaint(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace").strip()[-2000:] or "it said nothing"
