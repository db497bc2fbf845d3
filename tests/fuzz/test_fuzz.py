"""A sample of what `make fuzz` runs by the ten thousand, from a seed that stays; and every case that ever failed."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from fakes.kernel import FakeKernel
from fakes.trees import host_tree

from fuzz import bounds, profiles, trees
from fuzz.alarm import Hang, limited
from fuzz.case import Case, read, written
from fuzz.changed import NAMES
from fuzz.judged import judged

CASES = sorted((Path(__file__).parent / "cases").glob("*.yaml"))
SEED = 20261130
SAMPLES = {"profiles": 120, "trees": 50}
"""A tree costs four times what a profile does."""
KINDS: dict[str, Callable[[str], Case]] = {"profiles": profiles.case, "trees": trees.case}


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_what_failed_once(path: Path, tmp_path: Path):
    case, said = read(path)
    if case.captured and case.captured not in NAMES:
        pytest.skip("its captured host lies beside the project")
    verdict = judged(case, tmp_path)
    assert verdict.wrong == "", verdict.trace
    assert verdict.refused == bool(said)
    for part in said:
        assert part in verdict.said


@pytest.mark.parametrize("kind", KINDS)
def test_a_sample(kind: str, tmp_path: Path):
    wrong, ends = {}, set[bool]()
    for number in range(SAMPLES[kind]):
        folder = tmp_path / str(number)
        folder.mkdir()
        verdict = judged(KINDS[kind](f"{SEED} {kind} {number}"), folder)
        ends.add(verdict.refused)
        if verdict.wrong:
            wrong[f"python -m fuzz --seed {SEED} --only {kind} --number {number}"] = verdict.wrong
    assert wrong == {}
    assert False in ends, "not one of them was planned"


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_is_a_case(kind: str):
    assert KINDS[kind]("1") == KINDS[kind]("1") != KINDS[kind]("2")


def test_a_case_comes_back_from_its_file(tmp_path: Path):
    for number in range(20):
        for kind, made in KINDS.items():
            case = made(f"file {kind} {number}")
            file = tmp_path / "case.yaml"
            file.write_text(written(case, "x"), encoding="utf-8", errors="surrogatepass")
            assert read(file) == (case, ())


def test_a_hang_is_seen():
    with pytest.raises(Hang, match="not done"), limited(0.05):
        for _ in itertools.repeat("on"):  # Python's own loop: a signal waits until code in C returns
            pass


KERNEL = FakeKernel(host_tree(nodes=2, debugfs=True))


@pytest.mark.parametrize(
    ("path", "text", "told"),
    [
        ("/proc/sys/vm/swappiness", "60", ""),
        ("/proc/sys/vm/swappiness", "100000", "not within"),
        ("/proc/sys/vm/min_free_kbytes", "65536", ""),
        ("/proc/sys/vm/min_free_kbytes", "30000000", "can spare"),
        ("/proc/sys/kernel/watchdog_cpumask", "0-99", "no list of CPUs"),
        ("/sys/kernel/debug/sched/numa_balancing/scan_size_mb", "0", "beyond"),
        ("/proc/irq/default_smp_affinity", "ff", ""),
        ("/proc/irq/default_smp_affinity", "1ff", "beyond"),
        ("/sys/fs/cgroup/a.slice/memory.max", "4096", "beyond"),
        ("/sys/fs/cgroup/a.slice/cpuset.mems", "7", "beyond"),
        ("/sys/power/state", "mem", "knows no bound"),
        ("/etc/passwd", "root", "knows no bound"),
        ("/etc/numatune/../passwd", "root", "knows no bound"),
    ],
)
def test_what_is_beyond_a_bound_is_told(path: str, text: str, told: str):
    found = bounds.of_writes([(path, text)], KERNEL)
    assert len(found) == bool(told)
    assert told in "".join(found)


def test_every_bound_is_one():
    rows = yaml.safe_load(bounds.TABLE.read_text(encoding="utf-8"))
    assert all(re.compile(row["path"]) and len(row) == 2 for row in rows)
