"""Where a drift check tells what it found, besides the terminal: syslog, a log file, a textfile, a command.

Each is asked for by the administrator, and each can fail; none of them may keep another from being told.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from numatune.errors import HostError

_LARGEST = 1 << 20
"""Bytes of a textfile; a page of ours has a few thousand."""

_NOTIFY_SECONDS = 120
_MODE = 0o644
_TAIL = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """What is asked for. `notify`: an argv, run without a shell. "" and (): not asked for."""

    syslog: bool = False
    log: str = ""
    textfile: str = ""
    notify: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self.syslog or self.log or self.textfile or self.notify)


def syslog(lines: Sequence[str]) -> None:
    """One message a line."""
    from numatune.api import log

    for line in lines:
        log.line(line)


def append(path: str, lines: Sequence[str]) -> None:
    """Add lines with the time to a log file in one piece. A file that is not there is made, mode 0644.

    Raises HostError for what is no plain file of root's or the caller's: a link could lead anywhere.
    """
    from numatune.engine import when

    text = "".join(f"{when.stamp()} {_printable(line)}\n" for line in lines)
    try:
        fd = _opened(path)
        try:
            os.write(fd, text.encode("utf-8", "backslashreplace"))
        finally:
            os.close(fd)
    except OSError as error:
        raise HostError(path, f"cannot be written: {error.strerror}", hint="--log takes a plain file") from error


def read_page(path: str) -> str:
    """The textfile of the check before, as far as it is ours; "" when there is none."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    with os.fdopen(fd, "rb") as file:
        try:
            return file.read(_LARGEST).decode() if _plain(fd) else ""
        except (OSError, ValueError):
            return ""


def put_page(path: str, text: str) -> None:
    """Put the textfile in place, mode 0644: a reader finds the old one or the new one. Raises HostError."""
    from numatune.host.local import LocalHost

    whole = os.path.abspath(path)  # noqa: PTH100  # pathlib costs a start-up
    if not os.path.isdir(os.path.dirname(whole)):  # noqa: PTH112, PTH120  # as above
        raise HostError(path, "there is no such folder", hint="node_exporter's --collector.textfile.directory")
    if failed := LocalHost().replace(whole, text, _MODE):
        raise HostError(path, f"cannot be written: {os.strerror(failed)}")


def notify(argv: Sequence[str], document: Mapping[str, object]) -> None:
    """Run a command with a JSON document on its standard input, and wait for it.

    Raises HostError when it cannot be run, says no, or takes too long; then it is ended with all that it started. Its
    words go to a file: a pipe would be waited for as long as whatever it has left running holds that open.
    """
    import json
    import signal
    import subprocess

    with open(os.memfd_create("notify"), "w+b") as said:  # noqa: PTH123  # there is no path
        try:
            process = subprocess.Popen(  # noqa: S603  # the administrator's own words, without a shell
                argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=said, start_new_session=True
            )
        except OSError as error:
            raise HostError("--notify", f"{argv[0]}: {error.strerror}") from error
        try:
            process.communicate(json.dumps(document).encode(), timeout=_NOTIFY_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise HostError("--notify", f"{argv[0]} did not end within {_NOTIFY_SECONDS} s") from error
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        said.seek(0)
        words = said.read()
    if process.returncode:
        last = words[-_TAIL:].decode("utf-8", "replace").strip().splitlines()[-1:]
        raise HostError("--notify", ": ".join([f"{argv[0]} ended with {process.returncode}", *last]))


def _opened(path: str) -> int:
    """The log, open for adding to its end. Raises OSError."""
    how = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        fd = os.open(path, how | os.O_CREAT | os.O_EXCL, _MODE)
        os.fchmod(fd, _MODE)  # whatever the umask; one that is there keeps the mode that logrotate gave it
    except FileExistsError:
        fd = os.open(path, how)
    if not _plain(fd):
        os.close(fd)
        raise OSError(0, "it is no plain file of root or the caller", path)
    return fd


def _plain(fd: int) -> bool:
    """Whether an open file is a file with one name that root or the caller owns."""
    import stat

    found = os.fstat(fd)
    return stat.S_ISREG(found.st_mode) and found.st_nlink == 1 and found.st_uid in {0, os.geteuid()}


def _printable(line: str) -> str:
    """Control characters could forge a second line: they become question marks."""
    return "".join(char if char.isprintable() else "?" for char in line)
