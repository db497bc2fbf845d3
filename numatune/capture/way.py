"""The way to a host's shell: here, or over ssh. One round trip, argv lists only, nothing left behind."""

from __future__ import annotations

import os
import re
import secrets
import shlex
import subprocess
import tempfile
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from numatune.capture.allowed import PROPERTIES, UNITS, globs
from numatune.errors import HostError, UsageError

LARGEST = 1 << 29
"""Bytes that are taken of a host, as many as a reader of captures takes."""

_SECONDS = 300
_CHUNK = 1 << 20
_SCRIPT = os.path.join(os.path.dirname(__file__), "take.sh")  # noqa: PTH118, PTH120  # a plain path
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+-]*", re.ASCII)
_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*|[0-9A-Fa-f:]+(?:%[A-Za-z0-9_.-]+)?", re.ASCII)
_ACCEPTED = "ssh://[USER@]HOST[:PORT]"
_UNREACHABLE = 255


@dataclass(frozen=True, slots=True)
class Way:
    """How to get at a host.

    argv   starts a shell that reads a script from its standard input
    name   the host's, for people
    root   where its tree is there
    asks   whether systemctl there speaks for that tree
    """

    argv: tuple[str, ...]
    name: str
    root: str = "/"
    asks: bool = True


def here(root: str = "/") -> Way:
    """This host, or the live one whose tree is at `root`."""
    whole = os.path.realpath(root)
    return Way(("sh",), root, whole, asks=whole == "/")


def over_ssh(url: str, option: str = "--host") -> Way:
    """A host by its URL, of `option`. Raises UsageError. All else about it is told by ssh's own configuration."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UsageError(option, f"{url!r}: {error}", accepted=_ACCEPTED) from error
    host, user = parts.hostname or "", parts.username
    right = parts.scheme == "ssh" and _HOST.fullmatch(host) and parts.path in {"", "/"}
    if not right or parts.password or parts.query or parts.fragment or (user is not None and not _USER.fullmatch(user)):
        raise UsageError(option, f"{url!r} is no such address", accepted=_ACCEPTED)
    host = parts.netloc.rpartition("@")[2].removesuffix(f":{port}").strip("[]") if ":" not in host else host
    where = host if user is None else f"{user}@{host}"
    ported = () if port is None else ("-p", str(port))
    return Way(("ssh", "-T", "-C", "-o", "ConnectTimeout=20", *ported, "--", where, "sh"), url)


def script(way: Way, mark: str, units: Iterable[str]) -> str:
    """The whole text for the shell. It begins to run when all of it has arrived."""
    with open(_SCRIPT, encoding="utf-8") as file:  # noqa: PTH123  # as above
        functions = file.read()
    properties = " ".join(f"-p {name}" for name in PROPERTIES)
    named = dict.fromkeys((*UNITS, *units))
    return "\n".join(
        (
            f"mark={mark}",
            f"root={shlex.quote(way.root)}",
            f"asks={'yes' if way.asks else 'no'}",
            f"properties={shlex.quote(properties)}",
            _here_document("globs", (glob.lstrip("/") for glob in globs())),
            _here_document("units", named),
            functions,
            "main </dev/null\n",
        )
    )


def _here_document(name: str, lines: Iterable[str]) -> str:
    return "\n".join((f"{name}() {{", "cat <<'END_OF_LINES'", *lines, "END_OF_LINES", "}"))


def take(way: Way, units: Iterable[str] = ()) -> tuple[bytes, str]:
    """What the host's shell says, and the mark of its frames. Raises HostError."""
    mark = secrets.token_hex(16)
    with tempfile.TemporaryFile() as asked, tempfile.TemporaryFile() as said:
        asked.write(script(way, mark, units).encode("utf-8", "surrogateescape"))
        asked.seek(0)
        try:
            process = subprocess.Popen(way.argv, stdin=asked, stdout=subprocess.PIPE, stderr=said)  # noqa: S603  # an argv list
        except OSError as error:
            hint = "install OpenSSH's client" if way.argv[0] == "ssh" else ""
            raise HostError(way.name, f"{way.argv[0]}: {error.strerror}", hint=hint) from error
        data, late = _all(process, way)
        said.seek(0)
        words = said.read(_CHUNK).decode("utf-8", "replace").strip().splitlines()
    if late:
        raise HostError(way.name, f"no answer within {_SECONDS} s, so nothing is written")
    if process.returncode == _UNREACHABLE and way.argv[0] == "ssh":
        raise HostError(way.name, words[-1] if words else "cannot be reached", hint=f"try: {shlex.join(way.argv[:-1])}")
    if process.returncode:
        told = f": {words[-1]}" if words else ""
        raise HostError(way.name, f"the shell ended with {process.returncode}{told}; nothing is written")
    return data, mark


def _all(process: subprocess.Popen[bytes], way: Way) -> tuple[bytes, bool]:
    """Its output to the end, and whether it had to be ended because it took too long. Raises HostError."""
    stream = process.stdout
    if stream is None:  # never: it was asked for
        return b"", False
    late = threading.Event()

    def end() -> None:
        late.set()
        process.kill()

    timer = threading.Timer(_SECONDS, end)
    timer.start()
    chunks, size = [], 0
    try:
        with stream:
            while chunk := stream.read(_CHUNK):
                size += len(chunk)
                if size > LARGEST:
                    process.kill()
                    break
                chunks.append(chunk)
        process.wait()
    except BaseException:
        process.kill()
        process.wait()
        raise
    finally:
        timer.cancel()
    if size > LARGEST:
        raise HostError(way.name, f"more than {LARGEST >> 20} MiB, so nothing is written")
    return b"".join(chunks), late.is_set()
