"""A guest's shell: one ssh connection that all commands share."""

from __future__ import annotations

import io
import shlex
import socket
import subprocess
import tarfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.base import LabError, SilentError


@dataclass(frozen=True, slots=True)
class Answer:
    """How a script in the guest ended."""

    code: int
    out: str
    err: str


class Ssh:
    """root@guest through a loopback port. `folder` holds the shared connection's socket."""

    def __init__(self, folder: Path, port: int, key: Path) -> None:
        self._folder = folder
        self.port = port
        # Relative paths, below: a socket's path may not be longer than 107 bytes.
        options = {
            "ControlMaster": "auto",
            "ControlPath": "ssh",
            "ControlPersist": "yes",
            "StrictHostKeyChecking": "no",
            "UserKnownHostsFile": "/dev/null",
            "LogLevel": "ERROR",
            "IdentitiesOnly": "yes",
            "BatchMode": "yes",
            "ConnectTimeout": "60",
            "ServerAliveInterval": "30",
            "ServerAliveCountMax": "9",  # a guest whose processors are everybody's
        }
        words = [word for key_, value in options.items() for word in ("-o", f"{key_}={value}")]
        self.argv = ["ssh", "-F", "none", *words, "-i", str(key), "-p", str(port), "root@127.0.0.1"]

    def wait(self, seconds: float, check: Callable[[], None]) -> None:
        """Until the guest's ssh greets; SilentError after so many seconds, or what the `check` between raises."""
        end = time.monotonic() + seconds
        while not self.greets():
            check()
            if time.monotonic() > end:
                raise SilentError(f"no ssh in the guest after {seconds:.0f} s")
            time.sleep(0.2)

    def run(self, script: str, *, check: bool = True, stdin: bytes = b"", timeout: float = 1800) -> Answer:
        """The script, by the guest's /bin/sh; LabError when it fails, unless check is off."""
        try:
            done = subprocess.run(
                [*self.argv, script], cwd=self._folder, input=stdin, capture_output=True, timeout=timeout, check=False
            )
        except subprocess.TimeoutExpired as late:
            said = (late.stdout or b"").decode(errors="replace")
            raise LabError(f"in the guest, not done after {timeout:.0f} s: {script}\n{said[-4000:]}") from None
        answer = Answer(done.returncode, done.stdout.decode(), done.stderr.decode())
        if check and answer.code != 0:
            raise LabError(f"in the guest: {script}\nexit {answer.code}\n{answer.out[-4000:]}{answer.err[-4000:]}")
        return answer

    def put(self, texts: Mapping[str, str]) -> None:
        """Write files: path in the guest -> text."""
        self.unpack({path.lstrip("/"): text.encode() for path, text in texts.items()}, "/")

    def unpack(self, files: Mapping[str, bytes], where: str) -> None:
        """Write files below a folder of the guest, which is made if it is not there."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for path, data in files.items():
                entry = tarfile.TarInfo(path)
                entry.size = len(data)
                entry.mtime = int(time.time())
                archive.addfile(entry, io.BytesIO(data))
        self.run(f"mkdir -p {where} && tar -xf - -C {where} --no-same-owner", stdin=packed.getvalue())

    def remove(self, paths: Sequence[str]) -> None:
        """Remove files and folders, whether they are there or not."""
        self.run(f"rm -rf -- {shlex.join(paths)}")

    def get(self, path: str) -> str:
        """The text of one file."""
        return self.run(f"cat {path}").out

    def close(self) -> None:
        """End the shared connection."""
        subprocess.run(
            [*self.argv[:-1], "-O", "exit", self.argv[-1]], cwd=self._folder, capture_output=True, check=False
        )

    def greets(self) -> bool:
        """Whether the guest's ssh is there: only its own line tells, QEMU takes every connection."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
                return connection.recv(4) == b"SSH-"
        except OSError:
            return False
