"""Real ssh servers on loopback: hosts that hold other values than this one, in a mount namespace of their own."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fakes.process import can_mount, mounted
from fakes.shells import program

UNPACKED = Path(__file__).parents[2] / ".build/sshd"
"""Where `make test` unpacks Debian's package where none is installed: installed, it would be started."""

_SSH = shutil.which("ssh") or ""

_NAMESPACE = """
mount --bind "$1/passwd" /etc/passwd
mount --bind "$1/shadow" /etc/shadow
mount -t tmpfs tmpfs /run
mkdir -m 0755 /run/sshd
for file in "$1"/values/*; do
    test ! -e "$file" || mount --bind "$file" "$(printf %s "${file##*/}" | tr , /)"
done
"""
_OF_ROOT = "root:*:20000:0:99999:7:::\n"


def missing() -> str:
    """Why there can be no server here; "" when there can."""
    if not (_server() and _SSH and shutil.which("ssh-keygen")):
        return "there is no sshd, ssh or ssh-keygen (make test unpacks the first)"
    asked = subprocess.run([_server(), "-V"], capture_output=True, text=True, check=False, env=_environment())
    if "shared libraries" in asked.stderr:
        return f"sshd does not start unpacked here: {asked.stderr.strip()}"
    return "" if can_mount() else "a server of our own needs root and a mount namespace"


@dataclass(frozen=True, slots=True)
class Server:
    """A running one. `folder` holds its keys and its log."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        return f"ssh://root@127.0.0.1:{self.port}"

    @property
    def known(self) -> str:
        """Its line for known_hosts."""
        return f"[127.0.0.1]:{self.port} {(self.folder / 'host.pub').read_text()}"

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")


@contextlib.contextmanager
def serving(folder: Path, user_key: Path, values: Mapping[str, str]) -> Iterator[Server]:
    """A server that lets `user_key` in as root. `values`: path -> what that file holds for who comes in there."""
    folder.mkdir()
    _lay_out(folder, values)
    keygen(folder / "host")
    shutil.copyfile(f"{user_key}.pub", folder / "authorized")
    port = _free_port()
    (folder / "config").write_text(_configuration(folder, port), encoding="utf-8")
    argv = mounted(_NAMESPACE, folder)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*argv, _server(), "-D", "-e", "-f", str(folder / "config")],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=_environment(),
        )
    try:
        made = Server(folder, port, process)
        _wait(made)
        yield made
    finally:
        process.terminate()
        process.wait()


def keygen(path: Path) -> Path:
    """A new key without a passphrase."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(path)], check=True)  # noqa: S607
    return path


def client(folder: Path, key: Path, known: Path, *options: str) -> Path:
    """A program ``ssh`` in `folder`: the real one with the configuration of a user who has this key."""
    configuration = folder / "config"
    lines = ["Host *", f"IdentityFile {key}", "IdentitiesOnly yes", f"UserKnownHostsFile {known}"]
    lines += ["GlobalKnownHostsFile /dev/null", "IdentityAgent none", *options]
    configuration.write_text("\n  ".join(lines) + "\n", encoding="utf-8")
    return program(folder, "ssh", f'exec {_SSH} -F {configuration} "$@"\n')


def _lay_out(folder: Path, values: Mapping[str, str]) -> None:
    """The files that are mounted over others. A path in one name: / is spelled as a comma."""
    users = Path("/etc/passwd").read_text(encoding="utf-8")
    if not any(line.startswith("sshd:") for line in users.splitlines()):
        users += "sshd:x:64999:65534::/run/sshd:/usr/sbin/nologin\n"
    (folder / "passwd").write_text(users, encoding="utf-8")
    (folder / "shadow").write_text(_OF_ROOT, encoding="utf-8")
    (folder / "values").mkdir()
    for path, text in values.items():
        (folder / "values" / path.replace("/", ",")).write_text(text, encoding="utf-8")


def _configuration(folder: Path, port: int) -> str:
    lines = [
        f"Port {port}",
        "ListenAddress 127.0.0.1",
        f"HostKey {folder}/host",
        f"AuthorizedKeysFile {folder}/authorized",
        "StrictModes no",
        "UsePAM no",
        "PidFile none",
        "PermitRootLogin yes",
        "PasswordAuthentication yes",
        "UseDNS no",
    ]
    for name, word in (("sshd-session", "SshdSessionPath"), ("sshd-auth", "SshdAuthPath")):
        if (helper := UNPACKED / "usr/lib/openssh" / name).exists() and _server().startswith(str(UNPACKED)):
            lines.append(f"{word} {helper}")
    return "\n".join(lines) + "\n"


def _environment() -> dict[str, str]:
    """With the libraries that were unpacked beside the server."""
    libraries = {str(path.parent) for path in UNPACKED.rglob("*.so.*")}
    return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LD_LIBRARY_PATH": ":".join(sorted(libraries))}


def _server() -> str:
    """Path of the program, "" for none."""
    found = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/sbin")
    unpacked = UNPACKED / "usr/sbin/sshd"
    return found or (str(unpacked) if unpacked.exists() else "")


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _wait(server: Server) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end and server.process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", server.port), timeout=5) as one:
            if one.recv(4) == b"SSH-":
                return
        time.sleep(0.05)
    raise AssertionError(f"no ssh server: {server.log}; user {os.geteuid()}")
