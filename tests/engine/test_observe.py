"""What is seen of a host, and what stands against a value."""

from __future__ import annotations

import errno
from dataclasses import replace

import pytest
from fakes.forty import sysctl
from fakes.kernel import FakeKernel
from fakes.refusals import Unreadable
from fakes.trees import host_tree
from fakes.usual import USUAL

from numatune.engine.diff import Options, diff
from numatune.engine.observe import flat, look, observe
from numatune.settings.codecs import Cmdline, CpuList, Int, Size, Text
from numatune.settings.model import FitsFree, Guard, NotBelow, Phase, Refuse, Setting, SettingId, Unpopulated
from numatune.settings.plan import Change, Status
from numatune.settings.targets import Fact, KernelFile, Nothing, OwnedFile

SWAPPINESS = "/proc/sys/vm/swappiness"
SCAN = "/sys/kernel/debug/sched/numa_balancing/scan_size_mb"


def host(tree: dict[str, str | None] | None = None, **fields: object) -> FakeKernel:
    laid = {**host_tree(), **(tree or {})}
    behaviours = (*fields.pop("behaviours", ()), *USUAL)  # type: ignore[misc]
    return FakeKernel({k: v for k, v in laid.items() if v is not None}, behaviours=behaviours, **fields)  # type: ignore[arg-type]


def row(kernel: FakeKernel, setting: Setting) -> Change:
    (change,) = diff([setting], observe([setting], kernel), Options())
    return change


def file(*paths: str, want: str = "1", **fields: object) -> Setting:
    known = {"codec": Int(), **fields}
    return Setting(
        id=SettingId(f"file:{paths[0]}"),
        target=KernelFile(paths),
        want=want,
        phase=Phase.SYSCTL,
        section="x",
        **known,  # type: ignore[arg-type]
    )


def test_what_is_asked_for_wins_over_what_is_only_watched_and_each_is_there_once():
    watched = sysctl("vm.dirty_ratio", None, companions=(sysctl("vm.stat_interval", None),))
    first = sysctl("vm.dirty_bytes", "1", companions=(watched,))
    second = sysctl("vm.dirty_background_bytes", "1", companions=(watched, sysctl("vm.swappiness", None)))
    asked = sysctl("vm.swappiness", "10")
    found = flat([first, second, asked])
    assert [(one.id, one.want) for one in found] == [
        ("sysctl:vm.dirty_bytes", "1"),
        ("sysctl:vm.dirty_background_bytes", "1"),
        ("sysctl:vm.swappiness", "10"),
        ("sysctl:vm.dirty_ratio", None),
        ("sysctl:vm.stat_interval", None),
    ]


def test_the_first_name_that_this_kernel_has_counts():
    both = file(SCAN, "/proc/sys/kernel/numa_balancing_scan_size_mb", want="256")
    assert row(host({SCAN: "128\n", "/proc/sys/kernel/numa_balancing_scan_size_mb": "1\n"}), both).seen.where == SCAN
    old = row(host({"/proc/sys/kernel/numa_balancing_scan_size_mb": "256\n"}), both)
    assert (old.status, old.seen.where) == (Status.OK, "/proc/sys/kernel/numa_balancing_scan_size_mb")


@pytest.mark.parametrize(
    ("kernel", "setting", "status", "reason"),
    [
        (host(), sysctl("vm.no_such_key", "1"), Status.UNSUPPORTED, "no such file"),
        (host(modes={SWAPPINESS: 0o444}), sysctl("vm.swappiness", "10"), Status.DENIED, "EACCES"),
        (host(read_only=["/proc/sys"]), sysctl("vm.swappiness", "10"), Status.DENIED, "EROFS"),
        (
            host({SCAN: "256\n"}, behaviours=[Unreadable(SCAN, errno.EPERM)]),
            file(SCAN),
            Status.DENIED,
            "cannot be read (EPERM)",
        ),
        (host(modes={SWAPPINESS: 0o600}, uid=1000), sysctl("vm.swappiness", "60"), Status.DENIED, "EACCES"),
        (host(behaviours=[Unreadable(SWAPPINESS, errno.EIO)]), sysctl("vm.swappiness", "60"), Status.FAILED, "EIO"),
    ],
)
def test_absent_denied_and_broken_are_told_apart(kernel: FakeKernel, setting: Setting, status: Status, reason: str):
    change = row(kernel, setting)
    assert (change.status, change.action.value) == (status, "none")
    assert reason in change.reason


def test_a_known_reason_for_an_absent_file_is_told():
    setting = replace(file("/x"), target=KernelFile(("/x",), absent="since Linux 6.12"))
    assert row(host(), setting).reason == "since Linux 6.12"


@pytest.mark.parametrize("fields", [{"modes": {SWAPPINESS: 0o444}}, {"read_only": ["/proc"]}, {"uid": 1000}])
def test_a_right_value_is_ok_wherever_and_whoever_asks(fields: dict[str, object]):
    assert row(host(**fields), sysctl("vm.swappiness", "60")).status is Status.OK


def test_status_is_judged_as_root_would_find_it():
    assert row(host(uid=1000), sysctl("vm.swappiness", "10")).status is Status.DRIFTED


def test_what_is_in_force_is_told_where_another_file_says_it():
    files = {"/x/cpuset.cpus": "0-1\n", "/x/cpuset.cpus.effective": "0-7\n"}
    target = KernelFile(("/x/cpuset.cpus",), "/x/cpuset.cpus.effective")
    setting = replace(file("/x/cpuset.cpus", want="0,1", codec=CpuList()), target=target)
    change = row(host(files), setting)
    assert (change.status, change.action.value) == (Status.CLAMPED, "none")
    assert change.reason == "asked 0-1, in force 0-7"
    assert row(host({**files, "/x/cpuset.cpus.effective": "0-1\n"}), setting).status is Status.OK
    everything = replace(setting, want="")
    assert row(host({**files, "/x/cpuset.cpus": "\n"}), everything).status is Status.OK, "empty asks for no set"


def test_a_file_of_ours_is_made_changed_or_denied():
    setting = Setting(
        id=SettingId("file:x"),
        target=OwnedFile("/etc/a/b/c.conf"),
        codec=Text(),
        want="x\n",
        phase=Phase.FILES,
        section="x",
    )
    assert row(host(), setting).action.value == "create"
    assert row(host({"/etc/a/b/c.conf": "y\n"}), setting).action.value == "update"
    assert row(host({"/etc/a/b/c.conf": "x\n"}), setting).status is Status.OK
    assert row(host(read_only=["/etc"]), setting).status is Status.DENIED
    assert row(host({"/etc/a/b/c.conf": "y\n"}, read_only=["/etc"]), setting).status is Status.DENIED


def test_a_fact_is_never_written():
    setting = Setting(
        id=SettingId("cmdline:quiet"),
        target=Fact(("/proc/cmdline",)),
        codec=Cmdline(),
        want="quiet",
        phase=Phase.CHECK,
        section="x",
    )
    change = row(host({"/proc/cmdline": "ro\n"}), setting)
    assert (change.status, change.action.value) == (Status.REBOOT, "none")
    assert row(host({"/proc/cmdline": "quiet\n"}), setting).status is Status.OK
    assert row(host({"/proc/cmdline": None}), setting).status is Status.UNSUPPORTED


@pytest.mark.parametrize("status", ["not-applicable", "unsupported", "denied"])
def test_nothing_says_itself_what_it_is(status: str):
    setting = replace(sysctl("x", "1"), target=Nothing(status, "no device matches"))  # type: ignore[arg-type]
    assert (row(host(), setting).status.value, row(host(), setting).reason) == (status, "no device matches")


GROUP = "/sys/fs/cgroup/a"


@pytest.mark.parametrize(
    ("guard", "codec", "want", "files", "figure"),
    [
        (Refuse("4 GiB of 16 GiB"), Int(), "10", {}, "4 GiB of 16 GiB"),
        (FitsFree("/m", 2048), Int(), "1060", {"/m": "MemFree: 2000 kB\n"}, ""),
        (FitsFree("/m", 2048), Int(), "1061", {"/m": "MemFree: 2000 kB\n"}, "needs 1.96 MiB more, 1.95 MiB are free"),
        (FitsFree("/m", 2048), Int(), "99999", {"/m": "Node 0 MemFree:    1 kB\n"}, "1 KiB are free"),
        (FitsFree("/m", 2048), Int(), "99999", {"/m": "Node 0 MemFree: 99999999 kB\n"}, ""),
        (FitsFree("/m", 2048), Int(), "99999", {}, ""),
        (
            FitsFree("/m", 1, "/p"),
            Int(),
            "5",
            {"/p/nr_hugepages": "60", "/p/free_hugepages": "50"},
            "5 is below the 10",
        ),
        (FitsFree("/m", 1, "/p"), Int(), "10", {"/p/nr_hugepages": "60", "/p/free_hugepages": "50"}, ""),
        (NotBelow("/u"), Size(), "1G", {"/u": "2147483648\n"}, "1 GiB is below the 2 GiB in use"),
        (NotBelow("/u"), Size(), "2G", {"/u": "2147483648\n"}, ""),
        (NotBelow("/u"), Size(), "max", {"/u": "2147483648\n"}, ""),
        (
            Unpopulated(GROUP),
            Int(),
            "1",
            {f"{GROUP}/cgroup.type": "domain\n", f"{GROUP}/cgroup.procs": "7\n8\n"},
            "2 proc",
        ),
        (Unpopulated(GROUP), Int(), "1", {f"{GROUP}/cgroup.type": "domain\n", f"{GROUP}/cgroup.procs": "\n"}, ""),
        (Unpopulated(GROUP), Int(), "1", {f"{GROUP}/cgroup.procs": "7\n8\n"}, ""),
    ],
)
def test_a_guard_speaks_with_its_figure(guard: Guard, codec: object, want: str, files: dict[str, str], figure: str):
    setting = sysctl("vm.swappiness", want, codec=codec, guard=guard)  # type: ignore[arg-type]
    kernel = host({SWAPPINESS: "60\n", **files})
    seen = look(setting, kernel)
    assert figure in seen.unsafe
    assert bool(figure) == bool(seen.unsafe)
    (change,) = diff([setting], {setting.id: seen}, Options())
    assert change.action.value == ("none" if figure else "update")
    assert change.status is Status.DRIFTED
    if figure:
        assert f"--allow-unsafe {setting.id}" in change.reason
        (change,) = diff([setting], {setting.id: seen}, Options(allow_unsafe=frozenset({setting.id})))
        assert change.action.value == "update"


def test_a_guard_is_not_asked_where_the_value_is_held():
    setting = sysctl("vm.swappiness", "60", guard=Refuse("never"))
    assert look(setting, host()).unsafe == ""


def test_looking_changes_nothing():
    kernel = host()
    before = kernel.state()
    observe([sysctl("vm.swappiness", "10"), sysctl("vm.no_such_key", "1")], kernel)
    assert (kernel.state(), kernel.log) == (before, [])
