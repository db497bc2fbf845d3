from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path

import pytest

from numatune.host import local
from numatune.host.local import LocalHost


@pytest.fixture
def host(tmp_path: Path) -> LocalHost:
    """Another root, with a secret beside it that no path may lead to."""
    (tmp_path / "secret").write_text("secret")
    root = tmp_path / "root"
    (root / "proc/sys/vm").mkdir(parents=True)
    (root / "proc/sys/vm/swappiness").write_text("60\n")
    (root / "out").symlink_to("../secret")
    (root / "out-folder").symlink_to("..")
    (root / "far").symlink_to("/proc/sys")
    (root / "loop").symlink_to("loop")
    return LocalHost(str(root))


def there(host: LocalHost, path: str) -> Path:
    return Path(host.root + path)


def test_reads_a_live_kernel_file():
    read = LocalHost().read("/proc/sys/kernel/ostype")
    assert (read.text, read.errno) == ("Linux\n", 0)


def test_reads_to_the_end_of_a_file_longer_than_one_page():
    """By its length, and roughly: this one changes with every program for BPF that is loaded or goes."""
    length = len(LocalHost().read("/proc/kallsyms").text or "")
    assert length > 1 << 16
    assert abs(length - len(Path("/proc/kallsyms").read_text())) < length // 10


def test_absolute_links_start_at_the_root(host: LocalHost):
    assert host.read("/far/vm/swappiness").text == "60\n"
    assert host.real("/far/vm") == "/proc/sys/vm"


@pytest.mark.parametrize("path", ["/out", "/out-folder/secret", "/out-folder", "/loop"])
def test_no_link_leads_out_of_the_root(host: LocalHost, path: str):
    assert host.read(path).errno == errno.EXDEV
    assert host.write(path, "x") == errno.EXDEV
    assert host.names(path) == ()
    assert host.stat(path) is None
    assert host.real(path) is None


def test_nothing_is_made_or_dropped_through_a_link_that_leads_out(host: LocalHost):
    assert host.make("/out-folder/new") == errno.EXDEV
    assert host.drop("/out-folder/secret") == errno.EXDEV
    assert host.replace("/out-folder/secret", "x", 0o644) == errno.EXDEV
    assert there(host, "/../secret").read_text() == "secret"


def test_a_link_itself_is_dropped_not_what_it_names(host: LocalHost):
    assert host.drop("/out") == 0
    assert there(host, "/../secret").read_text() == "secret"


@pytest.mark.parametrize(
    "path", ["/proc/../proc/sys/vm/swappiness", "proc/sys/vm/swappiness", "/proc/sys/vm/swap\0", ""]
)
def test_paths_that_are_no_clean_absolute_paths_are_refused(host: LocalHost, path: str):
    assert host.read(path).errno == errno.EINVAL
    assert host.write(path, "1") == errno.EINVAL
    assert host.make(path) == errno.EINVAL
    assert host.drop(path) == errno.EINVAL
    assert host.replace(path, "1", 0o644) == errno.EINVAL
    assert host.real(path) is None
    assert host.stat(path) is None
    assert LocalHost().read(path).errno == errno.EINVAL


def test_a_text_ends_at_its_first_nul(host: LocalHost):
    there(host, "/padded").write_bytes(b"0-3\n" + b"\0" * 4092)
    assert host.read("/padded").text == "0-3\n"


def test_bytes_that_are_no_text_come_back_as_they_were(host: LocalHost):
    there(host, "/odd").write_bytes(b"caf\xe9")
    text = host.read("/odd").text
    assert text is not None
    assert host.write("/odd", text) == 0
    assert there(host, "/odd").read_bytes() == b"caf\xe9"


@pytest.mark.parametrize(("path", "expected"), [("/none", errno.ENOENT), ("/proc", errno.EISDIR)])
def test_why_a_file_cannot_be_read(host: LocalHost, path: str, expected: int):
    assert host.read(path) == local.Read(None, expected)


def test_a_file_without_end_is_not_read(host: LocalHost, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(local, "LARGEST", 100)
    there(host, "/long").write_text("x" * 101)
    assert host.read("/long").errno == errno.EFBIG


def test_a_pipe_nobody_writes_to_holds_nothing_up(host: LocalHost):
    os.mkfifo(there(host, "/pipe"))
    assert host.read("/pipe").text == ""


def test_write_neither_makes_nor_shortens(host: LocalHost):
    assert host.write("/proc/sys/vm/none", "1") == errno.ENOENT
    assert host.write("/proc/sys/vm/swappiness", "1") == 0
    assert there(host, "/proc/sys/vm/swappiness").read_text() == "10\n"


def test_a_short_write_is_an_error_and_not_tried_again(host: LocalHost, monkeypatch: pytest.MonkeyPatch):
    written = []
    monkeypatch.setattr(os, "write", lambda _, data: written.append(data) or 1)
    assert host.write("/proc/sys/vm/swappiness", "1 2") == errno.EIO
    assert written == [b"1 2"]


def test_names_are_sorted_by_number(host: LocalHost):
    for name in ("node10", "node2", "online"):
        there(host, f"/{name}").touch()
    numbered = [name for name in host.names("/") if name.startswith("node")]
    assert numbered == ["node2", "node10"]
    assert host.names("/none") == ()
    assert host.names("/node2") == ()


def test_stat_tells_mode_inode_and_owner(host: LocalHost):
    path = there(host, "/proc/sys/vm/swappiness")
    path.chmod(0o444)
    found = host.stat("/proc/sys/vm/swappiness")
    assert found == local.Stat(stat.S_IFREG | 0o444, path.stat().st_ino, os.getuid(), read_only=False)


def test_make_and_drop(host: LocalHost):
    mask = os.umask(0o077)
    try:
        assert host.make("/group") == 0
    finally:
        os.umask(mask)
    assert stat.S_IMODE(there(host, "/group").stat().st_mode) == 0o755
    assert host.make("/group") == errno.EEXIST
    assert host.make("/none/group") == errno.ENOENT
    there(host, "/group/file").touch()
    assert host.drop("/group") == errno.ENOTEMPTY
    assert host.drop("/group/file") == 0
    assert host.drop("/group") == 0
    assert host.drop("/group") == errno.ENOENT


def test_replace_puts_a_whole_file_in_place_with_its_folders(host: LocalHost):
    mask = os.umask(0o077)
    try:
        assert host.replace("/etc/a/b/own.conf", "one\n", 0o644) == 0
    finally:
        os.umask(mask)
    assert there(host, "/etc/a/b/own.conf").read_text() == "one\n"
    assert stat.S_IMODE(there(host, "/etc/a/b/own.conf").stat().st_mode) == 0o644
    assert stat.S_IMODE(there(host, "/etc/a").stat().st_mode) == 0o755
    assert host.replace("/etc/a/b/own.conf", "two\n", 0o600) == 0
    assert there(host, "/etc/a/b/own.conf").read_text() == "two\n"
    assert host.names("/etc/a/b") == ("own.conf",)


def test_replace_takes_the_place_of_a_link_and_leaves_what_it_names(host: LocalHost):
    assert host.replace("/out", "ours\n", 0o644) == 0
    assert there(host, "/../secret").read_text() == "secret"
    assert there(host, "/out").read_text() == "ours\n"


def test_a_replace_that_fails_leaves_the_old_file_and_nothing_else(host: LocalHost, monkeypatch: pytest.MonkeyPatch):
    there(host, "/own.conf").write_text("old\n")
    before = host.names("/")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr(os, "fsync", full)
    assert host.replace("/own.conf", "new\n", 0o644) == errno.ENOSPC
    assert there(host, "/own.conf").read_text() == "old\n"
    assert host.names("/") == before


def test_a_command_answers_in_plain_c_with_nothing_on_its_input():
    code = "import os, sys; print(os.environ['LC_ALL'], sorted(os.environ.keys() & {'HOME', 'PATH'}), sys.stdin.read())"
    answer = LocalHost().ask((sys.executable, "-c", code))
    assert (answer.code, answer.out) == (0, "C ['PATH'] \n")


def test_what_a_command_says_and_how_it_ends():
    answer = LocalHost().run(("sh", "-c", "echo out; echo err >&2; exit 3"))
    assert (answer.code, answer.out, answer.err) == (3, "out\n", "err\n")


def test_a_command_that_is_not_there():
    assert LocalHost().ask(("no-such-command-here",)).code == 127


def test_a_command_that_cannot_be_run(tmp_path: Path):
    (tmp_path / "plain").write_text("text")
    assert LocalHost().ask((str(tmp_path / "plain"),)).code == 126


def test_a_command_past_its_limit_ends_with_all_that_it_started(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(local, "_ASK_SECONDS", 0.2)
    answer = LocalHost().ask(("sh", "-c", "sleep 600 & wait"))  # the sleeper keeps stdout open for as long as it lives
    assert answer.code == 124
    assert "no answer within" in answer.err


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can chroot")
def test_a_command_runs_below_the_root_of_a_live_tree(host: LocalHost):
    assert host.ask(("systemctl", "--version")).code == 127


def test_read_only_mounts_are_told(tmp_path: Path):
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    said = [mount[1] for mount in mounts if "ro" in mount[3].split(",") and Path(mount[1]).is_dir()]
    read_only = [path for path in said if os.statvfs(path).f_flag & os.ST_RDONLY]  # none that lies under another
    if not read_only:
        pytest.skip("nothing is mounted read-only here")
    found = LocalHost().stat(read_only[0])
    assert found is not None
    assert found.read_only
    writable = LocalHost().stat(str(tmp_path))
    assert writable is not None
    assert not writable.read_only


@pytest.mark.parametrize("path", ["/out", "/out-folder/secret"])
def test_a_link_that_is_put_there_meanwhile_is_not_followed(
    host: LocalHost, path: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(host, "_link", lambda _: None)
    assert host.read(path).errno in {errno.ELOOP, errno.ENOTDIR}
    assert host.write(path, "x") in {errno.ELOOP, errno.ENOTDIR}
    assert there(host, "/../secret").read_text() == "secret"
