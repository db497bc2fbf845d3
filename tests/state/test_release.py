"""What a new set no longer wants is given back, and a rollback of that run brings our value back. On a fake kernel."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from fakes.commands import lend, typed
from fakes.kernel import FakeKernel
from fakes.kills import on_host
from fakes.rows import owned_file, sysctl, thp
from fakes.trees import host_tree
from hypothesis import given
from hypothesis import strategies as st

from numatune.engine.boot import boot_id
from numatune.engine.diff import Options, diff
from numatune.engine.execute import execute
from numatune.engine.fold import fold
from numatune.engine.observe import flat, observe
from numatune.engine.order import order
from numatune.engine.release import cgroups_made, released, remade
from numatune.engine.restore import restore
from numatune.settings.codecs import Count, CpuList, Members, Paired, Text, Words
from numatune.settings.journal import Owned, Record, RunStart
from numatune.settings.model import FitsFree, Impact, Phase, Refuse, Setting, SettingId
from numatune.settings.plan import Action, Change, Status
from numatune.settings.targets import Cgroup, KernelFile, Nothing

THP = "/sys/kernel/mm/transparent_hugepage/enabled"
MIN_FREE = sysctl("vm.min_free_kbytes", None, phase=Phase.RECLAIM)
TREE = {
    "/proc/sys/vm/swappiness": "60\n",
    "/proc/sys/vm/watermark_scale_factor": "10\n",
    "/proc/sys/vm/page-cluster": "3\n",
    "/proc/sys/vm/min_free_kbytes": "45056\n",
    "/proc/sys/vm/dirty_bytes": "0\n",
    "/proc/sys/vm/dirty_ratio": "20\n",
    "/proc/sys/kernel/random/boot_id": "boot\n",
    "/pool/nr": "0\n",
    "/proc/meminfo": "MemFree: 1048576 kB\n",
    THP: "always [madvise] never\n",
}


@dataclass
class Records:
    """A journal in memory."""

    records: list[Record] = field(default_factory=list)

    def append(self, record: Record, *, sync: bool = False) -> None:  # noqa: ARG002
        self.records.append(record)


@dataclass
class Machine:
    """A host with its runs and its applied set."""

    kernel: FakeKernel = field(default_factory=lambda: FakeKernel(TREE))
    runs: list[list[Record]] = field(default_factory=list)
    wanted: tuple[Setting, ...] = ()

    def plan(self, settings: Sequence[Setting], options: Options = Options()) -> tuple[Change, ...]:  # noqa: B008
        every, boot = flat(settings), boot_id(self.kernel)
        changes = diff(every, observe(every, self.kernel), options)
        return order((*changes, *released(self.wanted, settings, self.ledger(), self.kernel, options, boot)))

    def apply(self, *settings: Setting, options: Options = Options()) -> None:  # noqa: B008
        self._run("apply", self.plan(settings, options))
        self.wanted = settings

    def undo(self, runs: int = 1) -> tuple[str, ...]:
        """Take the newest runs back; what was spared."""
        ledger = fold(itertools.chain.from_iterable(self.runs[len(self.runs) - runs :]))
        seen = observe((owned.setting for owned in ledger.values()), self.kernel)
        changes, spared = restore(ledger, seen, boot_id(self.kernel))
        journal = Records()
        execute(changes, self.kernel, journal, RunStart(9, "rollback", "", "", 1, boot_id(self.kernel)))
        del self.runs[len(self.runs) - runs :]
        for run in self.runs:
            run.extend(remade(cgroups_made(changes), run, self.kernel))
        return tuple(one.id for one in spared)

    def ledger(self) -> Mapping[object, Owned]:
        return fold(itertools.chain.from_iterable(self.runs))

    def _run(self, kind: str, changes: Iterable[Change]) -> None:
        journal = Records()
        start = RunStart(len(self.runs) + 1, kind, "", "", 1, boot_id(self.kernel))  # type: ignore[arg-type]
        execute(tuple(changes), self.kernel, journal, start)
        if journal.records:
            self.runs.append(journal.records)

    def held(self, key: str) -> str:
        return self.kernel.files["/proc/sys/" + key.replace(".", "/")].strip()


SWAPPINESS, CLUSTER = sysctl("vm.swappiness", "10"), sysctl("vm.page-cluster", "0")


def releases(changes: Iterable[Change]) -> list[tuple[str, Action, tuple[str, ...]]]:
    return [(c.setting.id, c.action, c.writes) for c in changes if c.reason.startswith("no longer wanted")]


def test_what_is_no_longer_wanted_is_a_row_that_gives_the_original_back() -> None:
    machine = Machine()
    machine.apply(SWAPPINESS, CLUSTER)
    plan = machine.plan((CLUSTER,))
    assert releases(plan) == [("sysctl:vm.swappiness", Action.RELEASE, ("60",))]
    machine.apply(CLUSTER)
    assert (machine.held("vm.swappiness"), machine.held("vm.page-cluster")) == ("60", "0")
    assert [change.action for change in machine.plan((CLUSTER,))] == [Action.NONE]


def test_a_value_that_somebody_changed_since_is_not_given_back() -> None:
    machine = Machine()
    machine.apply(SWAPPINESS)
    machine.kernel.put("/proc/sys/vm/swappiness", "30\n")
    assert machine.plan((CLUSTER,))[-1].setting.id == CLUSTER.id
    assert releases(machine.plan(())) == []


def test_a_value_that_was_right_before_numatune_came_is_not_ours_to_release() -> None:
    machine = Machine()
    machine.apply(sysctl("vm.swappiness", "60"), CLUSTER)
    assert releases(machine.plan((CLUSTER,))) == []


def test_after_a_reboot_live_values_are_nobodys() -> None:
    machine = Machine()
    machine.apply(SWAPPINESS)
    machine.kernel.put("/proc/sys/kernel/random/boot_id", "another\n")
    assert releases(machine.plan(())) == []


def test_rollback_of_the_run_that_released_brings_our_value_back() -> None:
    machine = Machine()
    machine.apply(SWAPPINESS)
    machine.apply(CLUSTER)
    assert machine.held("vm.swappiness") == "60"
    assert machine.undo() == ()
    assert (machine.held("vm.swappiness"), machine.held("vm.page-cluster")) == ("10", "3")
    assert machine.undo() == ()
    assert machine.kernel.state() == FakeKernel(TREE).state()


def test_rollback_of_all_runs_brings_the_first_original_back() -> None:
    machine = Machine()
    machine.apply(SWAPPINESS)
    machine.apply(CLUSTER)
    machine.apply(sysctl("vm.swappiness", "20"))
    assert machine.undo(3) == ()
    assert machine.kernel.state() == FakeKernel(TREE).state()


def test_what_is_wanted_again_after_a_release_has_the_original_of_that_time() -> None:
    machine = Machine()
    machine.apply(SWAPPINESS)
    machine.apply(CLUSTER)
    machine.kernel.put("/proc/sys/vm/swappiness", "30\n")
    machine.apply(CLUSTER, SWAPPINESS)
    machine.apply(CLUSTER)
    assert machine.held("vm.swappiness") == "30"


def test_a_row_whose_when_is_no_longer_met_is_released() -> None:
    machine = Machine()
    machine.apply(SWAPPINESS)
    unmet = replace(SWAPPINESS, target=Nothing("not-applicable", "needs two nodes"))
    plan = [c for c in machine.plan((unmet,)) if c.action is Action.RELEASE]
    assert [(c.setting.id, c.writes) for c in plan] == [("sysctl:vm.swappiness", ("60",))]


def test_what_the_kernel_rewrote_beside_it_is_given_back_with_it() -> None:
    machine = Machine()
    machine.apply(thp("always", companions=(MIN_FREE,)))
    assert machine.held("vm.min_free_kbytes") == "67584"
    machine.apply(CLUSTER)
    assert machine.kernel.files[THP] == "always [madvise] never\n"
    assert machine.held("vm.min_free_kbytes") == "45056"
    machine.undo(2)
    assert machine.kernel.state() == FakeKernel(TREE).state()


def test_a_pair_of_files_is_released_as_one() -> None:
    ratio = sysctl("vm.dirty_ratio", None, codec=Paired())
    machine = Machine()
    machine.apply(sysctl("vm.dirty_bytes", "1000000", codec=Paired(), companions=(ratio,)))
    assert machine.held("vm.dirty_ratio") == "0"
    machine.apply(CLUSTER)
    assert (machine.held("vm.dirty_bytes"), machine.held("vm.dirty_ratio")) == ("0", "20")


def test_a_companion_that_the_new_set_asks_for_stays() -> None:
    machine = Machine()
    machine.apply(thp("always", companions=(MIN_FREE,)))
    machine.apply(replace(MIN_FREE, want="67584"))
    assert machine.held("vm.min_free_kbytes") == "67584"
    assert machine.kernel.files[THP] == "always [madvise] never\n"


def test_a_file_of_ours_goes_away_and_comes_back_with_the_rollback() -> None:
    ours = replace(owned_file("/etc/numatune.conf", "text\n"), codec=Text())
    machine = Machine()
    machine.apply(ours)
    machine.apply(CLUSTER)
    assert "/etc/numatune.conf" not in machine.kernel.files
    machine.undo()
    assert machine.kernel.files["/etc/numatune.conf"] == "text\n"


def test_a_release_that_would_disrupt_needs_leave_like_any_change() -> None:
    machine = Machine()
    severe = replace(SWAPPINESS, impact=Impact.DISRUPTS)
    machine.apply(severe, options=Options(allow_disruption=True))
    (row,) = machine.plan(())
    assert (row.status, row.action) == (Status.DRIFTED, Action.NONE)
    assert "--allow-disruption" in row.reason
    assert releases(machine.plan((), Options(allow_disruption=True))) == [(SWAPPINESS.id, Action.RELEASE, ("60",))]


def test_a_limit_of_the_profiles_value_does_not_keep_the_original_away() -> None:
    machine = Machine()
    unsafe = replace(SWAPPINESS, guard=Refuse("far too much"))
    machine.apply(unsafe, options=Options(allow_unsafe=frozenset({SWAPPINESS.id})))
    assert machine.held("vm.swappiness") == "10"
    assert releases(machine.plan(())) == [(SWAPPINESS.id, Action.RELEASE, ("60",))]


def test_a_pool_that_no_longer_fits_is_held_back_with_the_figure() -> None:
    pool = Setting(
        id="hugepages:0/2M",  # type: ignore[arg-type]
        target=KernelFile(("/pool/nr",)),
        codec=Count(),
        want="1",
        phase=Phase.HUGEPAGES,
        section="hugepages",
        guard=FitsFree("/proc/meminfo", 2 << 20),
    )
    machine = Machine()
    machine.kernel.put("/pool/nr", "400\n")
    machine.apply(pool)
    machine.kernel.put("/proc/meminfo", "MemFree: 1024 kB\n")
    (row,) = machine.plan(())
    assert row.action is Action.NONE
    assert "--allow-unsafe hugepages:0/2M" in row.reason


def test_a_cgroup_goes_away_with_all_that_is_in_it_and_comes_back_with_the_rollback() -> None:
    root = "/sys/fs/cgroup"
    machine = Machine(FakeKernel(host_tree(cgroup="v2")))
    start = machine.kernel.state()
    machine.apply(*group(root))
    ours = machine.kernel.state()
    assert machine.kernel.files[f"{root}/inference/cpuset.cpus"] == "0-1\n"
    machine.apply()
    assert machine.kernel.state() == start
    assert machine.plan(()) == ()
    assert machine.undo() == ()
    assert machine.kernel.state() == ours
    assert machine.undo() == ()
    assert machine.kernel.state() == start


def test_a_rolled_back_release_of_a_cgroup_is_released_again() -> None:
    machine = Machine(FakeKernel(host_tree(cgroup="v2")))
    start = machine.kernel.state()
    machine.apply(*group("/sys/fs/cgroup"))
    wanted = machine.wanted
    machine.apply()
    machine.undo()
    machine.wanted = wanted
    machine.apply()
    assert machine.kernel.state() == start


def test_a_cgroup_that_others_moved_into_cannot_go_and_says_so() -> None:
    machine = Machine(FakeKernel(host_tree(cgroup="v2")))
    machine.apply(*group("/sys/fs/cgroup"))
    machine.kernel.put("/sys/fs/cgroup/inference/cgroup.procs", "4242\n")
    journal = Records()
    outcomes = execute(machine.plan(()), machine.kernel, journal, RunStart(2, "apply", "", "", 1, "boot"))
    held = {outcome.id: outcome.status for outcome in outcomes}
    assert held[SettingId("cgroup:inference")] is Status.FAILED


def group(root: str) -> tuple[Setting, ...]:
    controllers = Setting(
        id=SettingId("cgroup:/controllers"),
        target=KernelFile((f"{root}/cgroup.subtree_control",)),
        codec=Members(),
        want="cpuset memory",
        phase=Phase.CGROUP,
        section="cpusets",
    )
    folder = Setting(
        id=SettingId("cgroup:inference"),
        target=Cgroup(f"{root}/inference"),
        codec=Words(),
        want="here",
        phase=Phase.CGROUP,
        section="cpusets",
        needs=controllers.id,
    )
    cpus = Setting(
        id=SettingId("cpuset:inference/cpus"),
        target=KernelFile((f"{root}/inference/cpuset.cpus",)),
        codec=CpuList(),
        want="0-1",
        phase=Phase.CGROUP,
        section="cpusets",
        needs=folder.id,
    )
    return controllers, folder, cpus


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["vm.swappiness", "vm.page-cluster", "vm.watermark_scale_factor", "thp"]),
            st.integers(1, 3),
            max_size=4,
        ),
        max_size=5,
    ),
    st.data(),
)
def test_a_stack_of_sets_comes_apart_as_it_was_built(sets: list[dict[str, int]], data: st.DataObject) -> None:
    machine = Machine()
    states = [machine.kernel.state()]
    for wanted in sets:
        settings = [_asked(key, number) for key, number in wanted.items()]
        before = len(machine.runs)
        machine.apply(*settings)
        if len(machine.runs) > before:
            states.append(machine.kernel.state())
        for setting in settings:
            assert observe((setting,), machine.kernel)[setting.id].text is not None
        unwanted = set(TREE) - {path for setting in flat(settings) for path in setting.target.paths}  # type: ignore[union-attr]
        assert {path: machine.kernel.files[path] for path in unwanted} == {path: TREE[path] for path in unwanted}
    while machine.runs:
        count = data.draw(st.integers(1, len(machine.runs)))
        del states[len(states) - count :]
        assert machine.undo(count) == ()
        assert machine.kernel.state() == states[-1]


def _asked(key: str, number: int) -> Setting:
    if key == "thp":
        return thp(("always", "madvise", "never")[number - 1], companions=(MIN_FREE,))
    return sysctl(key, str(number))


@pytest.mark.parametrize("point", range(1, 9))
def test_a_kill_while_releasing_leaves_nothing_that_cannot_be_undone(point: int) -> None:
    machine = Machine()
    machine.apply(thp("always", companions=(MIN_FREE,)), SWAPPINESS)
    first = machine.kernel.state()
    journal = Records()
    plan = machine.plan((CLUSTER,))
    with on_host(point - 1, machine.kernel):
        execute(plan, machine.kernel, journal, RunStart(2, "apply", "", "", 1, "boot"))
    machine.runs.append(journal.records)
    assert machine.undo(1) == ()
    assert machine.kernel.state() == first
    assert machine.undo(1) == ()
    assert machine.kernel.state() == FakeKernel(TREE).state()


def test_a_pair_that_a_run_released_comes_back_with_its_rollback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Giving the ratio back zeroes the bytes, which are ours to bring back although nobody wrote them."""
    kernel = FakeKernel(host_tree())
    lend(kernel, tmp_path, monkeypatch)
    (tmp_path / "bytes.yaml").write_text("name: bytes\nsysctl: {vm.dirty_bytes: 100000000}\n")
    (tmp_path / "other.yaml").write_text("name: other\nsysctl: {vm.swappiness: 9}\n")

    def held() -> tuple[str, str]:
        return kernel.files["/proc/sys/vm/dirty_bytes"].strip(), kernel.files["/proc/sys/vm/dirty_ratio"].strip()

    first = held()
    assert typed("apply", "bytes.yaml", "--yes").code == 0
    assert held() == ("100000000", "0")
    assert typed("apply", "other.yaml", "--yes").code == 0
    assert held() == first
    assert typed("rollback", "--yes").code == 0
    assert held() == ("100000000", "0")
    assert typed("rollback", "--yes").code == 0
    assert held() == first
