"""Other hosts over a real ssh: two servers with values of their own, and all that goes wrong on the way."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from fakes import sshd
from fakes.commands import Typed, typed
from fakes.shells import program
from fakes.sshd import Server, client, keygen, serving

from numatune import api
from numatune.errors import UsageError
from numatune.verify import isolated
from numatune.verify.remote import Remote, configuration

REASON = sshd.missing()
real = pytest.mark.skipif(bool(REASON), reason=REASON)

SWAPPINESS = "/proc/sys/vm/swappiness"
PROFILE = """\
name: remote
sysctl:
  vm.swappiness: 171
  vm.stat_interval: ">= 1"
"""


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return keygen(tmp_path_factory.mktemp("user") / "key")


@pytest.fixture(scope="module")
def servers(key: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Server]]:
    """One that holds the wanted value, one that does not."""
    folder = tmp_path_factory.mktemp("servers")
    with (
        serving(folder / "right", key, {SWAPPINESS: "171\n"}) as right,
        serving(folder / "wrong", key, {SWAPPINESS: "172\n"}) as wrong,
    ):
        yield right, wrong


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where temporary files go: a short path of our own, for there are sockets among them."""
    with tempfile.TemporaryDirectory(prefix="t-") as name:
        monkeypatch.setattr(tempfile, "tempdir", name)
        yield Path(name)


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a profile; programs in its `bin` come first."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bin").mkdir()
    (tmp_path / "remote.yaml").write_text(PROFILE)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setenv("NUMATUNE_STATE_DIR", str(tmp_path / "state"))
    return tmp_path


@pytest.fixture
def known(user: Path, key: Path, servers: tuple[Server, Server]) -> Path:
    """This user's known hosts, both servers among them; ``ssh`` has the configuration of this user."""
    file = user / "known"
    file.write_text("".join(server.known for server in servers))
    client(user / "bin", key, file)
    return file


def asked(*servers: Server, more: Sequence[str] = ()) -> Typed:
    return typed("verify", "./remote.yaml", "--hosts", ",".join(server.url for server in servers), *more)


def rows(told: Any) -> dict[str, tuple[str, str | None]]:
    return {row["id"]: (row["status"], row["current"]) for row in told["settings"]}


def left_behind(room: Path) -> list[str]:
    """Private folders of ours, and programs that hold a connection in one."""
    found = [str(path) for path in room.iterdir()]
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = line.read_bytes().decode(errors="replace").replace("\0", " ")
            found += [words] if str(room) in words else []
    return found


def nothing_left_behind(room: Path) -> None:
    """A master answers `ssh -O exit` a moment before it ends; one that is kept stays for minutes."""
    end = time.monotonic() + 10
    while left_behind(room) and time.monotonic() < end:
        time.sleep(0.05)
    assert left_behind(room) == []


@real
def test_each_host_is_asked_for_what_it_holds_itself(servers: tuple[Server, Server], known: Path, room: Path):
    keys = known.read_text()
    told = asked(*servers, more=["--json"])
    assert (told.code, told.err) == (2, "")
    right, wrong = told.json["hosts"]
    assert [host["host"] for host in told.json["hosts"]] == [server.url for server in servers]
    assert right["verified"]["host"]["root"] == servers[0].url
    assert rows(right["verified"])["sysctl:vm.swappiness"] == ("ok", "171")
    assert rows(wrong["verified"])["sysctl:vm.swappiness"] == ("drifted", "172")
    assert rows(wrong["verified"])["sysctl:vm.stat_interval"][0] == "ok"
    assert told.json["summary"] == {"hosts": 2, "not_asked": 0, "differences": 1}
    assert known.read_text() == keys
    nothing_left_behind(room)


@real
def test_the_values_are_asked_for_and_not_taken_from_the_capture(
    servers: tuple[Server, Server], known: Path, monkeypatch: pytest.MonkeyPatch
):
    """Between capture and question somebody changes the value: what is told is the new one."""
    assert known
    value = servers[0].folder / "values" / SWAPPINESS.replace("/", ",")
    run = isolated._run  # noqa: SLF001  # the moment between the two

    def late(*arguments: Any) -> tuple[int, str]:
        value.write_text("99\n")
        return run(*arguments)

    monkeypatch.setattr(isolated, "_run", late)
    try:
        told = asked(servers[0], more=["--json"])
    finally:
        value.write_text("171\n")
    assert rows(told.json["hosts"][0]["verified"])["sysctl:vm.swappiness"] == ("drifted", "99")


@real
def test_one_that_cannot_be_reached_does_not_stop_the_others(servers: tuple[Server, Server], known: Path):
    assert known
    closed = "ssh://root@127.0.0.1:1"
    urls = f"{closed},{servers[1].url}"
    told = typed("verify", "./remote.yaml", "--hosts", urls, "--junit", "all.xml")
    assert told.code == 1
    first, second = told.out.split(servers[1].url)
    assert first.startswith(f"{closed}\nCould not be asked: {closed}: ")
    assert "Connection refused" in first
    assert "vm.swappiness  172 (wanted 171)" in second
    assert second.endswith("2 hosts · 1 setting not as wanted · 1 could not be asked\n")
    suites = {suite.get("hostname"): suite for suite in ET.parse("all.xml").iter("testsuite")}  # noqa: S314  # our own
    assert [suites[url].get("errors") for url in (closed, servers[1].url)] == ["1", "0"]
    assert (suites[servers[1].url].get("tests"), suites[servers[1].url].get("failures")) == ("2", "1")


@real
def test_a_host_as_wanted_is_0_and_differences_can_be_all_right(servers: tuple[Server, Server], known: Path):
    assert known
    assert asked(servers[0]).code == 0
    assert asked(servers[1], more=["--differences-ok", "--skip", "thp"]).code == 0


@real
@pytest.mark.parametrize("kind", ["unknown", "changed"])
def test_no_key_of_a_host_is_accepted_silently(kind: str, servers: tuple[Server, Server], known: Path):
    other = servers[1].known.replace(f":{servers[1].port} ", f":{servers[0].port} ")
    known.write_text("" if kind == "unknown" else other)
    told = asked(servers[0])
    assert (told.code, "Host key verification failed" in told.out) == (1, True)
    assert known.read_text() == ("" if kind == "unknown" else other)


@real
def test_nobody_is_asked_for_a_password_off_a_terminal(
    servers: tuple[Server, Server], known: Path, user: Path, monkeypatch: pytest.MonkeyPatch
):
    program(user, "asked", f"touch {user}/was-asked; echo secret\n")
    for name, value in {"SSH_ASKPASS": f"{user}/asked", "SSH_ASKPASS_REQUIRE": "force", "DISPLAY": ":0"}.items():
        monkeypatch.setenv(name, value)
    client(user / "bin", keygen(user / "another"), known)
    told = asked(servers[0])
    assert (told.code, "Permission denied" in told.out) == (1, True)
    assert not (user / "was-asked").exists()
    argv = [str(user / "bin/ssh"), "-p", str(servers[0].port), "root@127.0.0.1", "true"]
    subprocess.run(argv, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    assert (user / "was-asked").exists()  # the control: without us it would be


@real
def test_a_connection_that_is_lost_is_no_verdict(
    servers: tuple[Server, Server], known: Path, room: Path, monkeypatch: pytest.MonkeyPatch
):
    assert known
    run = isolated._run  # noqa: SLF001  # the moment before the first question

    def cut(argv: Sequence[str], folder: Path, seconds: int) -> tuple[int, str]:
        control = (folder / "ssh_config").read_text().split('"')[1]
        ended = ["ssh", "-F", "none", "-o", f"ControlPath={control}", "-O", "exit", "there"]
        subprocess.run(ended, capture_output=True, check=True)
        return run(argv, folder, seconds)

    monkeypatch.setattr(isolated, "_run", cut)
    told = asked(servers[0])
    assert (told.code, "the connection was lost while it was asked" in told.out) == (1, True)
    nothing_left_behind(room)


@real
def test_what_is_wrong_with_the_profile_on_one_host_is_that_hosts(
    servers: tuple[Server, Server], known: Path, user: Path
):
    assert known
    (user / "remote.yaml").write_text("name: x\nsysctl: {vm.swappiness: \"{{ devices['nope'].node }}\"}\n")
    told = asked(*servers, more=["--json"])
    assert told.code == 1
    assert [host["error"]["kind"] for host in told.json["hosts"]] == ["ProfileError", "ProfileError"]


def test_a_profile_that_cannot_be_read_is_said_before_any_host_is_asked(user: Path):
    program(user / "bin", "ssh", f"touch {user}/was-run\n")
    (user / "remote.yaml").write_text("name: x\nextends: nowhere\n")
    told = typed("verify", "./remote.yaml", "--hosts", "ssh://a,ssh://b")
    assert (told.code, told.err.count("nowhere"), told.out) == (1, 1, "")
    assert not (user / "was-run").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--hosts", "ssh://a"], "needs a PROFILE: what is applied on another host is not known here"),
        (["./remote.yaml", "--hosts", ""], "--hosts: names no host"),
        (["./remote.yaml", "--hosts", "ssh://a,b"], "--hosts: 'b' is no such address"),
        (["./remote.yaml", "--hosts", "ansible://a"], "--hosts: 'ansible://a' is no such address"),
        (["./remote.yaml", "--hosts", "ssh://a", "--root", "x"], "no --root beside it"),
        (["./remote.yaml", "--hosts", "ssh://a", "--only", "sysctll"], "sysctll"),
    ],
)
def test_a_wrong_command_line_is_64(words: list[str], said: str, user: Path):
    program(user / "bin", "ssh", f"touch {user}/was-run\n")
    told = typed("verify", *words)
    assert (told.code, said in told.err) == (64, True)
    assert not (user / "was-run").exists()


def test_the_surface_raises_the_same(user: Path):
    assert user
    with pytest.raises(UsageError, match="needs a PROFILE"):
        api.verify_hosts(["ssh://a"], api.Request(profiles=()))


def test_the_checks_have_no_other_way_to_a_host(tmp_path: Path):
    """With their configuration and no connection ssh reaches nothing, and asks for nothing."""
    config = tmp_path / "ssh_config"
    config.write_text(configuration(Remote("ssh://a", f"{tmp_path}/100%/none")))
    ssh = ["/usr/bin/env", "ssh", "-F", str(config), "there"]
    done = subprocess.run([*ssh, "true"], capture_output=True, text=True, check=False)
    assert done.returncode == 255
    shown = subprocess.run([*ssh[:-1], "-G", "there"], capture_output=True, text=True, check=True)
    told = dict(line.split(" ", 1) for line in shown.stdout.splitlines())
    assert (told["proxycommand"], told["batchmode"]) == ("false", "yes")
    assert told["controlpath"] == f"{tmp_path}/100%/none"


@real
def test_json_is_for_programs(servers: tuple[Server, Server], known: Path):
    assert known
    told = api.verify_hosts([servers[0].url], api.Request(profiles=("./remote.yaml",)))
    assert list(told) == [servers[0].url]
    assert json.loads(asked(servers[0], more=["--json"]).out)["format"] == 1
