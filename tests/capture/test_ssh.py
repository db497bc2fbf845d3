"""The way to another host: one round trip, and what goes wrong on it."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.commands import typed
from fakes.shells import SHELLS, bare_path, lay_out, program, ssh
from fakes.trees import host_tree

from numatune import api
from numatune.capture import pack, way
from numatune.capture.stream import parse
from numatune.capture.tree import tree_of
from numatune.errors import HostError, UsageError

End = Callable[[str], Path]


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> End:
    """Makes ``ssh`` lead to a shell of that name with a bare PATH; gives the log of its arguments."""

    def make(shell: str) -> Path:
        log, here = tmp_path / "asked", tmp_path / "bin"
        here.mkdir()
        ssh(here, bare_path(tmp_path / "there", shell), log)
        monkeypatch.setenv("PATH", str(here))
        return log

    return make


@pytest.mark.parametrize("shell", [name for name in ("dash", "busybox") if name in SHELLS])
def test_one_round_trip_to_a_host_without_python(shell: str, tmp_path: Path, other: End):
    log = other(shell)
    made = api.capture(str(tmp_path / "far.tar.xz"), host="ssh://root@gpu7:2222")
    options = ["-T", "-C", "-o", "ConnectTimeout=20", "-p", "2222"]
    assert log.read_text().splitlines() == [*options, "--", "root@gpu7", "sh"]
    far = api.open_reader(made.path)
    assert made.host == "ssh://root@gpu7:2222"
    assert api.topology(far)[0].fingerprint == api.topology(api.open_reader())[0].fingerprint


@pytest.mark.parametrize(
    ("url", "where"),
    [
        ("ssh://gpu7", ["--", "gpu7", "sh"]),
        ("ssh://GPU7.Example/", ["--", "GPU7.Example", "sh"]),
        ("ssh://a.b@gpu7:22", ["-p", "22", "--", "a.b@gpu7", "sh"]),
        ("ssh://[fe80::1]:22", ["-p", "22", "--", "fe80::1", "sh"]),
    ],
)
def test_an_address_is_words_for_ssh(url: str, where: list[str]):
    assert list(way.over_ssh(url).argv[5:]) == where


@pytest.mark.parametrize(
    "url",
    [
        "gpu7",
        "ssh://",
        "http://gpu7",
        "ssh://-oProxyCommand=x",
        "ssh://-x@gpu7",
        "ssh://gpu7/etc",
        "ssh://gpu7:port",
        "ssh://u:secret@gpu7",
        "ssh://gpu7;reboot",
        "ssh://gpu7?a=b",
        "ssh://$(reboot)@gpu7",
        "ssh://gpu7:99999999",
    ],
)
def test_what_is_no_address_is_refused(url: str, tmp_path: Path):
    with pytest.raises(UsageError, match="--host"):
        api.capture(str(tmp_path / "far.tar"), host=url)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo 'ssh: connect to host gpu7 port 22: No route to host' >&2; exit 255", "No route to host"),
        ("exit 255", "cannot be reached"),
        ("echo 'sh: not found' >&2; exit 127", "ended with 127: sh: not found"),
        ("exit 0", "said nothing"),
        ("echo welcome; cat >/dev/null", "said nothing"),
    ],
)
def test_a_host_that_does_not_answer_leaves_nothing_behind(
    script: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder, out = tmp_path / "bin", tmp_path / "out"
    for made in (folder, out):
        made.mkdir()
    program(folder, "ssh", script)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    with pytest.raises(HostError, match=said):
        api.capture(str(out / "far.tar"), host="ssh://gpu7")
    assert list(out.iterdir()) == []


def test_without_ssh_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostError, match="OpenSSH"):
        api.capture(str(tmp_path / "far.tar"), host="ssh://gpu7")


def test_a_shell_that_greets_is_understood(tmp_path: Path, other: End):
    other("dash")
    there = tmp_path / "there"
    real = (there / "sh").resolve()
    program(there, "sh", f'echo "Welcome! mark end"\nexec {real} "$@"\n')
    made = api.capture(str(tmp_path / "far.tar.xz"), host="ssh://gpu7")
    assert made.files > 100


@pytest.fixture
def stream(tmp_path: Path) -> tuple[bytes, str]:
    """A whole stream of a generated host, and its mark."""
    return way.take(way.here(str(lay_out(host_tree(nodes=1, cpus_per_node=1), tmp_path / "host"))))


def test_a_stream_that_is_cut_off_anywhere_is_refused(stream: tuple[bytes, str]):
    data, mark = stream
    assert parse(data, mark, "gpu7").texts
    places = [place for place in range(len(data) - 1) if data.startswith(b"\n", place)]
    for place in places[:: max(1, len(places) // 200)]:
        with pytest.raises(HostError):
            parse(data[:place], mark, "gpu7")
    with pytest.raises(HostError, match="cut off"):
        parse(data + b"more", mark, "gpu7")


def test_a_file_cannot_forge_a_frame(tmp_path: Path):
    tree = host_tree(nodes=1, cpus_per_node=1)
    forged = "0\n\n0123456789abcdef0123456789abcdef file etc/shadow\nx\n\nmark end\n"
    tree["/proc/sys/vm/swappiness"] = forged
    data, mark = way.take(way.here(str(lay_out(tree, tmp_path / "host"))))
    taken = parse(data, mark, "gpu7")
    assert taken.texts["/proc/sys/vm/swappiness"].decode() == forged
    assert "/etc/shadow" not in taken.texts


def test_an_output_that_is_there_stays_unless_forced(tmp_path: Path):
    out = tmp_path / "host.tar"
    out.write_text("mine")
    folder = str(lay_out(host_tree(nodes=1), tmp_path / "host"))
    with pytest.raises(HostError, match="--force"):
        api.capture(str(out), root=folder)
    assert out.read_text() == "mine"
    api.capture(str(out), root=folder, force=True)
    assert api.open_reader(str(out)).read("/proc/sys/vm/swappiness").text == "60\n"
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["host", "host.tar"]


def test_a_link_that_dangles_is_there_too(tmp_path: Path):
    out = tmp_path / "host.tar"
    out.symlink_to("elsewhere")
    with pytest.raises(HostError, match="is there already"):
        pack.check(str(out), force=False)


@pytest.mark.parametrize("out", ["host.zip", "host", "host.tar.zst"])
def test_the_name_says_how_it_is_packed(out: str, tmp_path: Path):
    with pytest.raises(UsageError, match=r"\.tar\.xz"):
        api.capture(str(tmp_path / out))


def test_there_must_be_a_folder_to_write_to(tmp_path: Path):
    with pytest.raises(HostError, match="no folder"):
        api.capture(str(tmp_path / "none/host.tar"))


def test_a_write_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    folder = str(lay_out(host_tree(nodes=1), tmp_path / "host"))
    monkeypatch.setattr("numatune.capture.pack.os.fsync", full)
    with pytest.raises(HostError, match="No space left"):
        api.capture(str(tmp_path / "host.tar"), root=folder)
    assert [path.name for path in tmp_path.iterdir()] == ["host"]


def test_the_command_says_what_came(tmp_path: Path):
    folder = str(lay_out(host_tree(nodes=2, nics=1), tmp_path / "host"))
    done = typed("--root", folder, "--root-is-live", "capture", str(tmp_path / "host.tar.xz"), "--json")
    assert done.code == 0
    assert done.json["files"] > 100
    assert (done.json["host"], done.json["unreadable"]) == (folder, {})
    again = typed("--root", folder, "--root-is-live", "capture", str(tmp_path / "host.tar.xz"))
    assert (again.code, "--force" in again.err) == (1, True)
    forced = typed("--root", folder, "--root-is-live", "capture", "--force", str(tmp_path / "host.tar.xz"))
    assert (forced.code, "files" in forced.out) == (0, True)


@pytest.mark.parametrize(
    "words", [["--root", "x"], ["--root", "x", "--host", "ssh://gpu7"], ["--unit", "a b.service"], ["--unit", "-x"]]
)
def test_a_wrong_command_line_is_64(words: list[str], tmp_path: Path):
    assert typed("capture", *words, str(tmp_path / "host.tar")).code == 64


def test_a_file_that_cannot_be_read_is_named_with_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder, there = tmp_path / "host", bare_path(tmp_path / "bin", "dash")
    lay_out(host_tree(nodes=1), folder)
    real = (there / "cat").resolve()
    program(
        there,
        "cat",
        'case "$*" in *vm/swappiness*) echo "cat: vm/swappiness: Operation not permitted" >&2; exit 1 ;; esac\n'
        f'exec {real} "$@"\n',
    )
    monkeypatch.setenv("PATH", str(there))
    made = api.capture(str(tmp_path / "host.tar"), root=str(folder))
    assert made.unreadable == {"/proc/sys/vm/swappiness": 1}
    rows = {
        row.setting.id: row
        for row in api.plan(api.open_reader(made.path), api.Request(profiles=("llm-inference",))).rows
    }
    assert rows["sysctl:vm.swappiness"].status == "denied"
    assert rows["sysctl:vm.zone_reclaim_mode"].status == "ok"


def test_nothing_outside_of_a_root_travels(tmp_path: Path):
    folder = lay_out(host_tree(nodes=1), tmp_path / "host")
    (tmp_path / "secret").write_text("kernel.printk = 1 2 3 4\n")
    (folder / "etc/sysctl.d").mkdir(parents=True)
    (folder / "etc/sysctl.d/absolute.conf").symlink_to(tmp_path / "secret")
    (folder / "etc/sysctl.d/above.conf").symlink_to("../../../secret")
    data, mark = way.take(way.here(str(folder)))
    tree = tree_of(parse(data, mark, "host"), "0", inside=True)
    assert not [path for path, (held, _) in tree.files.items() if b"printk =" in held]
