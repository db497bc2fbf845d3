from __future__ import annotations

import bz2
import errno
import gzip
import importlib.util
import io
import lzma
import os
import stat
import sys
import tarfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from fakes.trees import LINK, host_tree

from numatune.discover import discover
from numatune.errors import HostError
from numatune.host import archive
from numatune.host.captured import open_tree

Member = tuple[tarfile.TarInfo, bytes]


def member(
    name: str, content: str = "", *, kind: bytes = tarfile.REGTYPE, target: str = "", mode: int = 0o644
) -> Member:
    data = content.encode()
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode, info.size = kind, target, mode, len(data)
    return info, data


def packed(members: Iterable[Member]) -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as made:
        for info, data in members:
            made.addfile(info, io.BytesIO(data))
    return held.getvalue()


@pytest.fixture
def put(tmp_path: Path) -> Callable[..., str]:
    """An archive of those members, by its path."""

    def make(*members: Member, name: str = "host.tar") -> str:
        (tmp_path / name).write_bytes(packed([member("proc/version", "Linux version 6.12.0"), *members]))
        return str(tmp_path / name)

    return make


def tree_members(tree: dict[str, str], top: str = "") -> list[Member]:
    made = []
    for path, text in tree.items():
        if path.endswith("/"):
            made.append(member(top + path.strip("/"), kind=tarfile.DIRTYPE, mode=0o755))
        elif text.startswith(LINK):
            made.append(member(top + path.strip("/"), kind=tarfile.SYMTYPE, target=text[len(LINK) :]))
        else:
            made.append(member(top + path.strip("/"), text))
    return made


def lay_out(tree: dict[str, str], folder: Path) -> None:
    for path, text in tree.items():
        place = folder / path.strip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.endswith("/"):
            place.mkdir(exist_ok=True)
        elif text.startswith(LINK):
            place.symlink_to(text[len(LINK) :])
        else:
            place.write_text(text)


@pytest.mark.parametrize("top", ["", "NAME/", "./", "./NAME/", "/"])
def test_a_folder_and_an_archive_tell_the_same_wherever_their_root_is(tmp_path: Path, top: str):
    tree = host_tree(nodes=2, nics=1, accelerators=1)
    lay_out(tree, tmp_path / "tree" / top.strip("./"))
    (tmp_path / "host.tar").write_bytes(packed(tree_members(tree, top)))
    from_folder, from_archive = (discover(open_tree(str(tmp_path / name))) for name in ("tree", "host.tar"))
    assert from_folder == from_archive
    assert [node.id for node in from_archive.nodes] == [0, 1]
    assert len(from_archive.interrupts) == 6


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress, bytes])
def test_compression_is_told_by_content_not_by_name(tmp_path: Path, pack: Callable[[bytes], bytes]):
    (tmp_path / "host").write_bytes(pack(packed([member("proc/version", "Linux version 6.12.0")])))
    assert open_tree(str(tmp_path / "host")).read("/proc/version").text == "Linux version 6.12.0"


def _zstd() -> Callable[[bytes], bytes] | None:
    if sys.version_info >= (3, 14):
        from compression import zstd  # noqa: PLC0415  # only there

        return zstd.compress
    if importlib.util.find_spec("zstandard"):
        import zstandard  # noqa: PLC0415  # optional

        return zstandard.ZstdCompressor().compress
    return None


def test_zstd_where_there_is_something_to_read_it(tmp_path: Path):
    compress = _zstd()
    if compress is None:
        pytest.skip("needs Python 3.14 or the package zstandard")
    (tmp_path / "host.tar.zst").write_bytes(compress(packed([member("proc/version", "Linux version 6.12.0")])))
    assert open_tree(str(tmp_path / "host.tar.zst")).read("/proc/version").text == "Linux version 6.12.0"


def test_zstd_without_a_reader_ends_in_a_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("compression.zstd", "compression", "zstandard"):
        monkeypatch.setitem(sys.modules, name, None)
    (tmp_path / "host.tar.zst").write_bytes(b"\x28\xb5\x2f\xfd" + b"\0" * 20)
    with pytest.raises(HostError, match=r"numatune\[zstd\]"):
        open_tree(str(tmp_path / "host.tar.zst"))


def test_a_captured_tree_is_no_live_host_and_runs_nothing(put: Callable[..., str], tmp_path: Path):
    (tmp_path / "tree/sys").mkdir(parents=True)
    for path in (put(), str(tmp_path / "tree")):
        tree = open_tree(path)
        assert not tree.live
        assert tree.ask(("true",)).code == 127
        assert not hasattr(tree, "write")
        assert tree.root == path


@pytest.mark.parametrize("target", ["../../../etc/shadow", "/etc/shadow", "none", "self"])
def test_links_out_of_the_tree_lead_nowhere(put: Callable[..., str], tmp_path: Path, target: str):
    link = member("proc/self", kind=tarfile.SYMTYPE, target=target)
    (tmp_path / "tree/proc").mkdir(parents=True)
    (tmp_path / "tree/proc/self").symlink_to(target)
    for path in (put(link), str(tmp_path / "tree")):
        tree = open_tree(path)
        assert tree.read("/proc/self").text is None
        assert tree.real("/proc/self") is None
        assert tree.stat("/proc/self") is None
        assert tree.names("/proc/self") == ()


def test_links_inside_the_tree_are_followed(put: Callable[..., str]):
    path = put(
        member("sys/devices/node0/cpulist", "0-3\n"),
        member("sys/bus/node0", kind=tarfile.SYMTYPE, target="../devices/node0"),
        member("sys/far", kind=tarfile.SYMTYPE, target="/sys/bus/node0"),
    )
    tree = open_tree(path)
    assert tree.read("/sys/far/cpulist").text == "0-3\n"
    assert tree.real("/sys/far/cpulist") == "/sys/devices/node0/cpulist"
    assert tree.names("/sys/far") == ("cpulist",)


def test_members_that_step_up_are_absent(put: Callable[..., str]):
    tree = open_tree(put(member("../etc/passwd", "x"), member("sys/../../etc/shadow", "x"), member("sys/a", "1")))
    assert tree.names("/") == ("proc", "sys")
    assert tree.names("/sys") == ("a",)


def test_devices_pipes_and_sockets_are_absent(put: Callable[..., str], tmp_path: Path):
    tree = open_tree(put(member("dev/null", kind=tarfile.CHRTYPE), member("run/pipe", kind=tarfile.FIFOTYPE)))
    assert tree.stat("/dev/null") is None
    assert tree.stat("/run/pipe") is None
    (tmp_path / "tree/proc").mkdir(parents=True)
    os.mkfifo(tmp_path / "tree/proc/pipe")
    assert open_tree(str(tmp_path / "tree")).read("/proc/pipe").errno == errno.ENOENT


def test_hard_links_are_the_file_that_they_name(put: Callable[..., str]):
    tree = open_tree(
        put(
            member("sys/a", "text"),
            member("sys/b", kind=tarfile.LNKTYPE, target="sys/a"),
            member("sys/c", kind=tarfile.LNKTYPE, target="../../etc/shadow"),
        )
    )
    assert tree.read("/sys/b").text == "text"
    assert tree.stat("/sys/c") is None


def test_a_text_ends_at_its_first_nul(put: Callable[..., str]):
    assert open_tree(put(member("sys/padded", "0-3\n" + "\0" * 4092))).read("/sys/padded").text == "0-3\n"


def test_modes_are_as_captured(put: Callable[..., str]):
    found = open_tree(put(member("proc/irq/36/smp_affinity_list", "1", mode=0o444))).stat(
        "/proc/irq/36/smp_affinity_list"
    )
    assert found is not None
    assert found.mode == stat.S_IFREG | 0o444
    assert not found.read_only


def test_the_last_of_two_members_of_one_name_counts(put: Callable[..., str]):
    tree = open_tree(put(member("sys/a", "old"), member("sys/a", "new"), member("sys/b", "x"), member("sys/b/c", "y")))
    assert tree.read("/sys/a").text == "new"
    assert tree.read("/sys/b/c").text == "y"
    assert tree.read("/sys/b").errno == errno.EISDIR


def test_a_huge_member_is_there_but_not_read(put: Callable[..., str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(archive, "LARGEST_FILE", 10)
    tree = open_tree(put(member("proc/kcore", "x" * 11)))
    assert tree.stat("/proc/kcore") is not None
    assert tree.read("/proc/kcore").errno == errno.EFBIG


def test_a_decompression_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(archive, "LARGEST_TREE", 1 << 20)
    (tmp_path / "bomb.tar.xz").write_bytes(lzma.compress(b"\0" * (8 << 20)))
    with pytest.raises(HostError, match="more than 1 MiB unpacked"):
        open_tree(str(tmp_path / "bomb.tar.xz"))


def test_an_archive_of_very_many_members_is_refused(put: Callable[..., str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(archive, "MOST_MEMBERS", 3)
    with pytest.raises(HostError, match="more than 3 members"):
        open_tree(put(*(member(f"sys/{number}", "x") for number in range(4))))


def test_a_sparse_member_begins_with_its_hole(tmp_path: Path):
    if not any(os.access(f"{folder}/tar", os.X_OK) for folder in ("/bin", "/usr/bin")):
        pytest.skip("no tar command here")
    (tmp_path / "tree/proc").mkdir(parents=True)
    with (tmp_path / "tree/proc/sparse").open("wb") as made:
        made.seek(1 << 20)
        made.write(b"data after a hole")
    from numatune.host.local import LocalHost  # noqa: PLC0415  # one use

    tarred = LocalHost().run(("tar", "-S", "-C", str(tmp_path / "tree"), "-cf", str(tmp_path / "sparse.tar"), "proc"))
    assert tarred.code == 0
    assert open_tree(str(tmp_path / "sparse.tar")).read("/proc/sparse").text == ""


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "no whole tar archive: empty file"),
        (b"no archive at all, but some text", "no whole tar archive"),
        (packed([member("proc/a", "x" * 600)])[:900], "no whole tar archive: unexpected end of data"),
        (gzip.compress(packed([member("proc/a", "x")]), mtime=0)[:-20], "no whole tar archive"),
        (lzma.compress(packed([member("proc/a", "x")]))[:-20], "no whole tar archive"),
        (packed([member("etc/hosts", "x")]), "neither sys nor proc in this archive"),
        (packed([member("a/proc/x", "x"), member("b/proc/x", "x")]), r"several hosts \(a, b\)"),
    ],
)
def test_what_is_no_captured_tree_ends_in_one_message(tmp_path: Path, content: bytes, found: str):
    (tmp_path / "host.tar").write_bytes(content)
    with pytest.raises(HostError, match=found) as raised:
        open_tree(str(tmp_path / "host.tar"))
    assert "accepted: a folder, .tar" in str(raised.value)


def test_a_folder_that_is_no_captured_tree(tmp_path: Path):
    with pytest.raises(HostError, match="neither sys nor proc in this folder"):
        open_tree(str(tmp_path))
    with pytest.raises(HostError, match="No such file"):
        open_tree(str(tmp_path / "none.tar"))
