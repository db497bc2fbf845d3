"""The kernel's table of mounts: blanks, commas, what lies over what, and whose table it is."""

from __future__ import annotations

import pytest

from numatune.host.memory import MemoryTree
from numatune.host.mounts import Mounted, mounted, table

INFO = (
    "25 24 0:23 / /dev/shm rw,nosuid - tmpfs shm rw,size=1024k,mpol=interleave:0,2,huge=advise\n"
    "26 24 0:24 / /mnt/with\\040blank rw shared:1 master:2 - tmpfs none rw,mpol=weighted interleave:0-1\n"
    "27 24 8:1 / /mnt/a rw - ext4 /dev/sda1 rw\n"
    "28 27 0:40 / /mnt/a rw - tmpfs none rw\n"
    "torn line\n"
)


def tree(**files: str) -> MemoryTree:
    made = MemoryTree("/")
    for name, text in files.items():
        made.put(f"/proc/{name.replace('_', '/')}", text, 0o444)
    return made


def test_options_keep_their_commas_and_blanks() -> None:
    shm = mounted(tree(self_mountinfo=INFO), "/dev/shm")  # noqa: S108  # a mount point
    assert shm == Mounted("/dev/shm", "tmpfs", "rw,size=1024k,mpol=interleave:0,2,huge=advise", "0:23")  # noqa: S108
    assert [shm.option(name) for name in ("mpol", "size", "huge", "rw", "ro")] == [
        "interleave:0,2",
        "1024k",
        "advise",
        "",
        None,
    ]
    blank = mounted(tree(self_mountinfo=INFO), "/mnt/with blank")
    assert blank
    assert blank.option("mpol") == "weighted interleave:0-1"


def test_of_several_on_one_point_the_last_is_seen() -> None:
    over = mounted(tree(self_mountinfo=INFO), "/mnt/a")
    assert over
    assert (over.kind, over.device) == ("tmpfs", "0:40")
    assert mounted(tree(self_mountinfo=INFO), "/mnt/b") is None


@pytest.mark.parametrize("name", ["self_mounts", "mounts"])
def test_without_mountinfo_the_older_table_tells(name: str) -> None:
    found = table(tree(**{name: "a /m tmpfs rw,mpol=weighted interleave:0-1 0 0\nb /n ext4\n"}))
    assert found == (Mounted("/m", "tmpfs", "rw,mpol=weighted interleave:0-1"),)


def test_below_another_root_the_first_process_tells() -> None:
    made = MemoryTree("/host")
    made.put("/proc/self/mountinfo", "1 1 0:1 / /host/dev/shm rw - tmpfs a rw\n", 0o444)
    made.put("/proc/1/mountinfo", "1 1 0:1 / /dev/shm rw - tmpfs a rw\n", 0o444)
    assert [one.point for one in table(made)] == ["/dev/shm"]  # noqa: S108


def test_the_table_of_a_process_that_has_gone_is_nobody_elses() -> None:
    assert table(tree(mounts="a /m tmpfs rw 0 0\n"), "77") == ()


def test_nothing_to_read_is_nothing_mounted() -> None:
    assert table(MemoryTree("/")) == ()
