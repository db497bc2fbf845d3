"""The journal on disk: nothing before Ready, room for all that follows, torn lines, formats, a full disk."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakes import kills
from fakes.forty import kernel as forty_kernel
from fakes.forty import settings
from fakes.journal import MemoryJournal, start

from numatune.engine import journal
from numatune.engine.diff import Options, diff
from numatune.engine.execute import execute
from numatune.engine.fold import fold
from numatune.engine.journal import FileJournal
from numatune.engine.observe import flat, observe
from numatune.engine.restore import restore
from numatune.errors import StateError, TrustError
from numatune.settings.journal import Ack, Ready, Record, Repaired, RunEnd

ROOM = journal.RESERVE


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> str:
    return str(tmp_path / "state" / "runs")


@pytest.fixture(name="records", scope="module")
def _records() -> list[Record]:
    kernel, every = forty_kernel(), flat(settings())
    kept = MemoryJournal()
    execute(diff(every, observe(every, kernel), Options()), kernel, kept, start())
    return list(kept)


def put(made: FileJournal, records: list[Record]) -> None:
    for record in records:
        made.append(record, sync=isinstance(record, Ready))


def until_ready(records: list[Record]) -> int:
    return next(place for place, record in enumerate(records) if isinstance(record, Ready)) + 1


def test_what_is_written_is_read_again(folder: str, records: list[Record]):
    put(made := FileJournal(folder), records)
    assert list(journal.read(made.path)) == records
    assert made.path == f"{folder}/000001.jsonl"
    assert Path(made.path).read_bytes().endswith(b"\n"), "the room that was not needed is given back"


def test_whatever_the_umask_root_alone_writes_and_everybody_reads(folder: str, records: list[Record]):
    before = os.umask(0)
    try:
        put(FileJournal(folder), records[:-1])
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in Path(folder).parent.rglob("*")}
    assert modes == {"runs": 0o755, "000001.jsonl": 0o644, f"000001{ROOM}": 0o644}


def test_before_ready_there_is_nothing(folder: str, records: list[Record]):
    put(FileJournal(folder), records[: until_ready(records) - 1])
    assert not Path(folder).exists()


def test_with_ready_there_is_room_for_all_that_follows(folder: str, records: list[Record]):
    put(made := FileJournal(folder), records[: until_ready(records)])
    reserved = Path(made.path).stat()
    assert reserved.st_blocks * 512 >= reserved.st_size, "really on the disk, not a hole"
    put(made, records[until_ready(records) : -1])
    assert Path(made.path).stat().st_size == reserved.st_size


def test_a_run_that_was_cut_off_is_read_up_to_there(folder: str, records: list[Record]):
    put(made := FileJournal(folder), records[:-5])
    assert list(journal.read(made.path)) == records[:-5]


def test_cut_anywhere_the_whole_lines_count(folder: str, records: list[Record], tmp_path: Path):
    put(made := FileJournal(folder), records)
    data, torn = Path(made.path).read_bytes(), tmp_path / "torn.jsonl"
    ends = [place + 1 for place, byte in enumerate(data) if byte == ord("\n")]
    for size in sorted({*ends[-60:], *(end - 7 for end in ends[-60:]), 0, 1, 10}):
        for tail in (b"", bytes(100)):
            torn.write_bytes(data[:size] + tail)
            assert list(journal.read(str(torn))) == records[: sum(end <= size for end in ends)]


def test_a_garbled_line_in_the_middle_is_an_error_with_its_line(folder: str, records: list[Record]):
    put(made := FileJournal(folder), records)
    lines = Path(made.path).read_bytes().splitlines(keepends=True)
    lines[3] = b'{"@":"Intent","se\n'
    Path(made.path).write_bytes(b"".join(lines))
    with pytest.raises(StateError, match=r"000001\.jsonl:4"):
        journal.read(made.path)


def test_a_newer_format_is_refused_by_name(folder: str, records: list[Record]):
    put(made := FileJournal(folder), records)
    head, _, rest = Path(made.path).read_text(encoding="ascii").partition("\n")
    newer = {**json.loads(head), "format": 3, "version": "9.1"}
    Path(made.path).write_text(f"{json.dumps(newer)}\n{rest}", encoding="ascii")
    with pytest.raises(StateError, match=r"has format 3, written by numatune 9\.1.*use the newer numatune"):
        journal.read(made.path)


def test_the_format_is_written_although_it_is_the_default(folder: str, records: list[Record]):
    put(made := FileJournal(folder), records)
    assert json.loads(Path(made.path).read_text(encoding="ascii").partition("\n")[0])["format"] == 2


def test_the_journal_of_another_run_is_never_overwritten(folder: str, records: list[Record]):
    put(made := FileJournal(folder), records)
    before = Path(made.path).read_bytes()
    for again in (FileJournal(folder), FileJournal(folder, undone=[1])):
        with pytest.raises(StateError):
            put(again, records)
    assert Path(made.path).read_bytes() == before


def test_a_folder_that_others_can_write_is_refused(folder: str, records: list[Record]):
    Path(folder).mkdir(parents=True)
    Path(folder).chmod(0o777)
    with pytest.raises(TrustError):
        put(FileJournal(folder), records)
    assert list(Path(folder).iterdir()) == []


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO])
@pytest.mark.parametrize("call", ["posix_fallocate", "pwrite", "fsync", "open"])
def test_no_room_before_ready_leaves_nothing_behind(
    folder: str, records: list[Record], monkeypatch: pytest.MonkeyPatch, call: str, code: int
):
    Path(folder).mkdir(parents=True)
    monkeypatch.setattr(journal.os, call, fails(code))
    with pytest.raises(StateError, match="nothing was changed"):
        put(FileJournal(folder), records[: until_ready(records)])
    monkeypatch.undo()
    assert list(Path(folder).iterdir()) == []


def fails(code: int) -> Callable[..., int]:
    def call(*args: object, **kwargs: object) -> int:  # noqa: ARG001
        raise OSError(code, os.strerror(code))

    return call


def test_where_room_cannot_be_reserved_it_is_written(
    folder: str, records: list[Record], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(journal.os, "posix_fallocate", fails(errno.EOPNOTSUPP))
    put(made := FileJournal(folder), records[:-1])
    assert list(journal.read(made.path)) == records[:-1]
    assert Path(made.path).stat().st_blocks * 512 >= Path(made.path).stat().st_size


def test_a_failure_after_ready_says_that_the_run_is_cut_off(
    folder: str, records: list[Record], monkeypatch: pytest.MonkeyPatch
):
    put(made := FileJournal(folder), records[: until_ready(records)])
    monkeypatch.setattr(journal.os, "pwrite", fails(errno.ENOSPC))
    with pytest.raises(StateError, match="cut off here"):
        made.append(Ack(0, 0, None))


def test_room_for_the_rollback_is_kept_until_it_is_done(folder: str, records: list[Record]):
    put(FileJournal(folder), records)
    assert Path(f"{folder}/000001{ROOM}").stat().st_size > Path(f"{folder}/000001.jsonl").stat().st_size
    back = FileJournal(folder, undone=[1])
    put(back, [start(2, "rollback", undoes=(1,)), Ready()])
    assert Path(f"{folder}/000002{ROOM}").exists(), "for the one that finishes it, should it be killed"
    assert not Path(f"{folder}/000001{ROOM}").exists(), "it is the rollback's journal now"
    put(back, [RunEnd("done", 3)])
    assert sorted(path.name for path in Path(folder).iterdir()) == ["000001.jsonl", "000002.jsonl"]


@pytest.mark.parametrize("call", ["posix_fallocate", "fsync"])
def test_a_rollback_that_cannot_begin_leaves_the_room_for_the_next(
    folder: str, records: list[Record], monkeypatch: pytest.MonkeyPatch, call: str
):
    put(FileJournal(folder), records)
    before = {path.name: path.read_bytes() for path in Path(folder).iterdir()}
    monkeypatch.setattr(journal.os, call, fails(errno.EIO))
    head = [start(2, "rollback", undoes=(1,)), *records[1 : until_ready(records)]]
    with pytest.raises(StateError, match="nothing was changed"):
        put(FileJournal(folder, undone=[1]), head)
    monkeypatch.undo()
    assert {path.name: path.read_bytes() for path in Path(folder).iterdir()} == before


def test_a_rollback_without_room_of_its_own_that_cannot_begin_leaves_nothing(
    folder: str, records: list[Record], monkeypatch: pytest.MonkeyPatch
):
    put(FileJournal(folder), records)
    Path(f"{folder}/000001{ROOM}").unlink()
    monkeypatch.setattr(journal.os, "fsync", fails(errno.EIO))
    with pytest.raises(StateError):
        put(FileJournal(folder, undone=[1]), [start(2, "rollback", undoes=(1,)), Ready()])
    assert [path.name for path in Path(folder).iterdir()] == ["000001.jsonl"]


def test_a_run_that_changed_nothing_keeps_no_room(folder: str, records: list[Record]):
    put(FileJournal(folder), [*records[:-1], RunEnd("done", 0)])
    assert [path.name for path in Path(folder).iterdir()] == ["000001.jsonl"]


def test_a_note_comes_after_the_last_whole_line(folder: str, records: list[Record]):
    put(made := FileJournal(folder), records[:-3])
    note = Repaired("sysctl:vm.swappiness", "now", "5\n")
    journal.note(made.path, note)
    assert list(journal.read(made.path)) == [*records[:-3], note]
    with Path(made.path).open("ab") as file:
        file.write(b"torn")


@pytest.fixture(name="small_disk")
def _small_disk(tmp_path: Path) -> Iterator[Path]:
    mount = tmp_path / "disk"
    mount.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m,mode=0755", "tmpfs", str(mount)],  # noqa: S607
        check=False,
        capture_output=True,
    )
    if made.returncode:
        pytest.skip("needs the right to mount a file system")
    yield mount
    subprocess.run(["umount", "--lazy", str(mount)], check=True)  # noqa: S607  # a killed run has its journal open


def fill(disk: Path) -> None:
    with (disk / "filler").open("ab", buffering=0) as file:
        try:
            while file.write(bytes(512)):
                pass
        except OSError as error:
            assert error.errno == errno.ENOSPC  # noqa: PT017


def test_apply_ends_and_rollback_works_on_a_disk_that_fills_up_meanwhile(small_disk: Path):
    folder = str(small_disk / "runs")
    kernel, every = forty_kernel(), flat(settings())
    before = kernel.state()

    def hook(moment: str, what: str) -> None:  # noqa: ARG001
        if not (small_disk / "filler").exists():
            fill(small_disk)

    kernel.hook = hook
    execute(diff(every, observe(every, kernel), Options()), kernel, FileJournal(folder), start())
    assert kernel.state() != before
    ledger = fold(journal.read(f"{folder}/000001.jsonl"))
    seen = observe([owned.setting for owned in ledger.values()], kernel, name_conflicts=False)
    changes, spared = restore(ledger, seen, "boot")
    execute(changes, kernel, FileJournal(folder, undone=[1]), start(2, "rollback", undoes=(1,)))
    assert (kernel.state(), spared) == (before, ())
    assert isinstance(journal.read(f"{folder}/000002.jsonl")[-1], RunEnd)


def test_a_killed_rollback_is_finished_on_a_full_disk(small_disk: Path):
    folder = str(small_disk / "runs")
    kernel, every = forty_kernel(), flat(settings())
    before = kernel.state()
    execute(diff(every, observe(every, kernel), Options()), kernel, FileJournal(folder), start())
    fill(small_disk)

    for run in (2, 3):
        records = [record for number in range(1, run) for record in journal.read(f"{folder}/{number:06}.jsonl")]
        ledger = fold(records)
        seen = observe([owned.setting for owned in ledger.values()], kernel, name_conflicts=False)
        changes, spared = restore(ledger, seen, "boot")
        assert spared == ()
        back = FileJournal(folder, undone=[1])
        with kills.at(kernel, "after", number=20) if run == 2 else contextlib.nullcontext() as one:
            execute(changes, kernel, back, start(run, "rollback", undoes=(1,)))
        assert bool(one and one.died) == (run == 2)
        fill(small_disk)
    assert kernel.state() == before


def test_apply_on_a_full_disk_touches_nothing(small_disk: Path):
    (small_disk / "runs").mkdir()
    fill(small_disk)
    kernel, every = forty_kernel(), flat(settings())
    with pytest.raises(StateError, match="no room for the journal"):
        execute(diff(every, observe(every, kernel), Options()), kernel, FileJournal(f"{small_disk}/runs"), start())
    assert kernel.log == []
    assert list((small_disk / "runs").iterdir()) == []
