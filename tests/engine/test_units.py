"""Units of systemd and cgroups: what is seen of them, by whom they are used, and what a refusal means."""

from __future__ import annotations

import errno
from dataclasses import replace

import pytest
from fakes.cgroup import CgroupV2
from fakes.kernel import FakeKernel
from fakes.systemd import Systemd
from fakes.trees import host_tree
from fakes.usual import USUAL

from numatune.compat import override
from numatune.engine import kinds
from numatune.engine.diff import Options, row
from numatune.engine.kinds import cgroup, systemctl
from numatune.engine.observe import observe
from numatune.host.memory import MemoryTree
from numatune.host.protocol import Ran
from numatune.settings.codecs import AnyCodec, AtBoot, CpuList, GroupSet, Members, Size, UnitSet, Words
from numatune.settings.model import Impact, Phase, Setting, SettingId
from numatune.settings.plan import Action, Change, Observation, Status
from numatune.settings.targets import Cgroup, KernelFile, Target, UnitProperty, UnitState

TOP = "/sys/fs/cgroup"
GROUP = f"{TOP}/inference.slice"


def wanted(target: Target, codec: AnyCodec, want: str, name: str = "x") -> Setting:
    return Setting(
        id=SettingId(name),
        target=target,
        codec=codec,
        want=want,
        phase=Phase.CGROUP,
        section="cpusets",
        impact_in_use=Impact.DISRUPTS,
    )


CPUS = wanted(
    UnitProperty("inference.slice", "AllowedCPUs", f"{GROUP}/cpuset.cpus.effective"), UnitSet(everything="0-7"), "0-3"
)


def kernel(
    tree: dict[str, str] | None = None, *, installed: bool = True, systemd: bool = True, uid: int = 0
) -> FakeKernel:
    behaviours = [Systemd(installed=installed) if isinstance(one, Systemd) else one for one in USUAL]
    return FakeKernel(host_tree(nodes=2, systemd=systemd) | (tree or {}), behaviours=behaviours, uid=uid)


# properties


def test_a_property_is_read_with_what_is_in_force():
    host = kernel(
        {
            "/etc/systemd/system/inference.slice": "[Slice]\nAllowedCPUs=0-3\n",
            f"{GROUP}/cgroup.procs": "\n",
            f"{GROUP}/cgroup.subtree_control": "\n",
            f"{GROUP}/cpuset.cpus": "0-3\n",
            f"{GROUP}/cpuset.cpus.effective": "0-3\n",
        }
    )
    seen = kinds.look(CPUS, host)
    assert (seen.text, (seen.effective or "").strip(), seen.pending) == ("0-3", "0-3", False)
    assert row(CPUS, seen, Options()).status is Status.OK


def test_a_service_in_another_slice_is_found_by_its_own_group():
    group = f"{TOP}/ai.slice/vllm.service"
    host = kernel(
        {
            "/lib/systemd/system/vllm.service": "[Service]\nAllowedCPUs=0-3\n",
            f"{TOP}/ai.slice/cgroup.subtree_control": "cpuset\n",
            f"{TOP}/ai.slice/cgroup.procs": "\n",
            f"{group}/cgroup.procs": "\n",
            f"{group}/cgroup.subtree_control": "\n",
            f"{group}/cpuset.cpus": "0-3\n",
            f"{group}/cpuset.cpus.effective": "2-3\n",
        }
    )
    host.files[f"{group}/cpuset.cpus.effective"] = "2-3\n"
    target = UnitProperty("vllm.service", "AllowedCPUs", f"{TOP}/system.slice/vllm.service/cpuset.cpus.effective")
    made = row(replace(CPUS, target=target), kinds.look(replace(CPUS, target=target), host), Options())
    assert (made.status, made.reason) == (Status.CLAMPED, "asked 0-3, in force 2-3")


def test_a_captured_tree_tells_by_the_cgroup():
    tree = MemoryTree("capture", {f"{GROUP}/cpuset.cpus": "0-3\n", f"{GROUP}/cpuset.cpus.effective": "0-3\n"})
    assert row(CPUS, kinds.look(CPUS, tree), Options()).status is Status.OK
    nothing = row(CPUS, kinds.look(CPUS, MemoryTree("capture", {"/proc/1/comm": "systemd\n"})), Options())
    assert (nothing.status, nothing.reason) == (Status.DENIED, "systemd cannot be asked here")


def test_absent_and_denied_are_told_apart():
    service = replace(CPUS, target=UnitProperty("vllm.service", "AllowedCPUs"))
    absent = row(service, kinds.look(service, kernel()), Options())
    assert (absent.status, absent.reason) == (Status.UNSUPPORTED, "the unit is not installed")
    unknown = replace(CPUS, target=UnitProperty("inference.slice", "AllowedPlanets"))
    old = row(unknown, kinds.look(unknown, kernel()), Options())
    assert (old.status, old.reason[:28]) == (Status.UNSUPPORTED, "this version of systemd has ")
    mute = row(CPUS, kinds.look(CPUS, kernel(installed=False)), Options())
    assert mute.status is Status.DENIED
    unasked = Change(CPUS, Observation(""), Status.DRIFTED, Action.UPDATE, ("0-3",))
    assert kinds.carry_out(unasked, kernel(uid=1000)) == errno.EACCES
    assert kinds.refusal(CPUS.target, errno.EACCES) == (Status.DENIED, "systemd lets only root do it (EACCES)")


@pytest.mark.parametrize(
    ("code", "said", "means"),
    [
        (0, "", 0),
        (127, "systemctl: not found", errno.ENOSYS),
        (124, "", errno.ETIMEDOUT),
        (1, "System has not been booted with systemd as init system (PID 1). Can't operate.", errno.ENOSYS),
        (1, "Failed to set unit properties on x.service: Unit x.service not found.", errno.ENOENT),
        (5, "Failed to stop x.service: Unit x.service not loaded.", errno.ENOENT),
        (1, "Failed to disable unit: Unit file x.service does not exist.", errno.ENOENT),
        (1, "Failed to mask unit: File /etc/systemd/system/x.service already exists.", errno.EEXIST),
        (1, "Failed to start x.service: Unit x.service is masked.", errno.EPERM),
        (1, "Unknown assignment: AllowedCPUs=0", errno.EOPNOTSUPP),
        (4, "Failed to stop x.service: Access denied", errno.EACCES),
        (1, "Failed to disable unit: Read-only file system", errno.EROFS),
        (1, "Failed to stop x.service: something new", errno.EIO),
    ],
)
def test_what_systemctl_says_is_an_errno(code: int, said: str, means: int):
    assert systemctl.errno_of(Ran(code, "", said)) == means


class GroupOfAnIdleSlice(Systemd):
    """systemd 257: a slice that is given a property while it does not run gets a group, and stays inactive."""

    @override
    def command(self, kernel: FakeKernel, argv: tuple[str, ...]) -> Ran | None:
        group, answer = self.group(kernel, "inference.slice"), super().command(kernel, argv)
        if "set-property" in argv and not group:
            CgroupV2().make(kernel, GROUP)
        if "show" in argv and answer is not None:
            return replace(answer, out=answer.out.replace("ActiveState=active", "ActiveState=inactive"))
        return answer


@pytest.mark.parametrize(
    ("text", "pids", "kept"),
    [("0-3", "\n", True), ("", "\n", False), ("", "4242\n", True)],
    ids=["given", "taken back", "taken back while a task is in it"],
)
def test_the_group_of_an_idle_slice_goes_with_its_property(text: str, pids: str, *, kept: bool):
    behaviours = [GroupOfAnIdleSlice() if isinstance(one, Systemd) else one for one in USUAL]
    host = FakeKernel(host_tree(nodes=2, systemd=True), behaviours=behaviours)
    CgroupV2().make(host, GROUP)
    host.files[f"{GROUP}/cgroup.procs"] = pids
    change = Change(CPUS, Observation("0-3"), Status.DRIFTED, Action.UPDATE, (text,))
    assert kinds.carry_out(change, host) == 0
    assert (f"{GROUP}/cgroup.procs" in host.files) is kept


# states


def active(unit: str, process: str = "") -> Setting:
    return wanted(UnitState(unit, "active", process), Words(), "inactive")


def test_a_process_of_another_name_is_none_of_the_units():
    host = kernel({"/proc/4711/comm": "numademo\n", "/proc/4712/comm": "numad\n"}, systemd=False)
    assert kinds.look(active("numad.service", "numad"), host).users == ("4712 numad",)
    assert kinds.look(active("tuned.service", "tuned"), host).text == "inactive"


def test_what_starts_at_boot_cannot_be_told_without_systemd():
    setting = wanted(UnitState("tuned.service", "enabled"), AtBoot(), "disabled")
    assert row(setting, kinds.look(setting, kernel(systemd=False)), Options()).status is Status.DENIED


def test_a_mask_over_the_administrators_own_file_fails_and_says_why():
    own = {"/etc/systemd/system/batch.service": "[Service]\nExecStart=/opt/batch\n[Install]\nWantedBy=a.target\n"}
    setting = wanted(UnitState("batch.service", "masked"), AtBoot(), "masked")
    change = Change(setting, Observation("disabled"), Status.DRIFTED, Action.UPDATE, ("masked",))
    assert kinds.carry_out(change, kernel(own)) == errno.EEXIST
    status, why = kinds.refusal(setting.target, errno.EEXIST)
    assert (status, "unit file is in the way" in why) == (Status.FAILED, True)


@pytest.mark.parametrize(
    "state", ["disabled", "static", "indirect", "masked", "masked-runtime", "generated", "linked", ""]
)
def test_these_states_start_nothing_at_boot(state: str):
    assert AtBoot().holds("disabled", state)


@pytest.mark.parametrize("state", ["enabled", "enabled-runtime"])
def test_these_states_do(state: str):
    assert not AtBoot().holds("disabled", state)
    assert not AtBoot().holds("masked", state)


def test_states_are_given_back_as_they_were():
    """Two that mean the same for a boot are not the same to give back."""
    assert not AtBoot().same("static", "disabled")
    assert not AtBoot().same("enabled", "enabled-runtime")
    assert AtBoot().spell("disabled", "enabled-runtime") == ("disabled-runtime",)
    assert AtBoot().back("enabled-runtime", "disabled") == ("enabled-runtime",)


# who is in a cgroup


def test_users_are_populated_groups_with_units_and_pids_and_nothing_else():
    host = kernel(
        {
            f"{GROUP}/cgroup.events": "populated 1\nfrozen 0\n",
            f"{GROUP}/cgroup.procs": "\n",
            f"{GROUP}/cgroup.subtree_control": "\n",
            f"{GROUP}/vllm.service/cgroup.procs": "901\n",
            f"{GROUP}/vllm.service/cgroup.subtree_control": "\n",
            f"{GROUP}/vllm.service/workers/cgroup.procs": "902\n903\n904\n905\n",
            f"{GROUP}/vllm.service/workers/cgroup.subtree_control": "\n",
            f"{GROUP}/empty.service/cgroup.procs": "\n",
            f"{GROUP}/empty.service/cgroup.subtree_control": "\n",
            "/proc/901/comm": "python3\n",
            "/proc/901/cmdline": "python3\0--api-key=secret",
            "/proc/902/comm": "ray::a b\n",
        }
    )
    assert cgroup.users(GROUP, host) == (
        "vllm.service (901 python3)",
        "vllm.service (902 ray::a b, 903 ?, 904 ?, 1 more)",
    )
    assert cgroup.users(f"{GROUP}/empty.service", host) == ()


def test_many_groups_are_counted():
    crowd = {f"{GROUP}/s{place:02}.service/cgroup.procs": f"{1000 + place}\n" for place in range(30)}
    controls = {path.replace("cgroup.procs", "cgroup.subtree_control"): "\n" for path in crowd}
    found = cgroup.users(GROUP, kernel(crowd | controls))
    assert (len(found), found[-1]) == (13, "18 more cgroups")


def test_v1_has_no_events_and_is_walked():
    tree = host_tree(nodes=2, cgroup="v1", systemd=False)
    host = FakeKernel(tree | {f"{TOP}/cpuset/a/b/cgroup.procs": "7\n", "/proc/7/comm": "python3\n"})
    assert cgroup.users(f"{TOP}/cpuset/a", host) == ("a/b (7 python3)",)


@pytest.mark.parametrize(
    ("codec", "have", "want", "name", "felt"),
    [
        (UnitSet(everything="0-7"), "", "0-3", "a/cpus", True),
        (UnitSet(everything="0-7"), "0-1", "0-3", "a/cpus", False),
        (UnitSet(everything="0-7"), "", "0-7", "a/cpus", False),
        (UnitSet(everything="0-7"), "0-3", "4-7", "a/cpus", True),
        (GroupSet(everything="0-1"), "0", "0-1", "a/mems", True),
        (GroupSet(everything="0-1"), "", "0-1", "a/mems", False),
        (CpuList(), "x", "0-1", "a/cpus", True),
        (Size(), "max", "8G", "a/memory_max", True),
        (Size(), "4G", "8G", "a/memory_max", False),
        (Words(), "member", "root", "a/partition", True),
    ],
)
def test_only_what_tasks_feel_needs_leave(codec: AnyCodec, have: str, want: str, name: str, felt: bool):  # noqa: FBT001
    host = kernel({f"{GROUP}/cgroup.procs": "901\n", f"{GROUP}/cgroup.subtree_control": "\n"})
    setting = wanted(KernelFile((f"{GROUP}/x",)), codec, want, name)
    assert bool(cgroup.hurt(setting, have, GROUP, host)) is felt


def test_a_refusal_by_a_cgroup_is_said_in_its_words():
    target = KernelFile((f"{TOP}/cpuset/a/cpuset.cpus",))
    assert "tasks are inside" in kinds.refusal(target, errno.ENOSPC)[1]
    assert "still use it" in kinds.refusal(Cgroup(f"{TOP}/a"), errno.EBUSY)[1]
    assert (
        kinds.refusal(KernelFile(("/proc/sys/vm/swappiness",)), errno.ENOSPC)[1] == "No space left on device (ENOSPC)"
    )


def test_controllers_are_given_back_one_by_one():
    assert Members().back("cpu memory", "cpu cpuset memory") == ("-cpuset",)


def test_a_group_that_was_empty_is_widened_before_it_is_emptied():
    assert GroupSet(everything="0-7").back("\n", "0-3") == ("0-7", "\n")
    assert UnitSet(everything="0-7").back("", "0-3") == ("0-7", "")
    assert GroupSet(everything="0-7").back("4-5", "0-3") == ("4-5",)


def test_a_controller_that_others_use_by_now_is_not_taken_from_them():
    host = kernel({f"{TOP}/web/cpuset.cpus": "4\n", f"{TOP}/web/cgroup.subtree_control": "\n"}, systemd=False)
    control = f"{TOP}/cgroup.subtree_control"
    host.files[control] = "cpuset\n"
    setting = wanted(KernelFile((control,)), Members(), "cpuset")
    back = Change(setting, Observation("cpuset"), Status.DRIFTED, Action.UPDATE, ("-cpuset",))
    assert kinds.carry_out(back, host) == errno.EBUSY
    assert host.log == []
    host.files[f"{TOP}/web/cpuset.cpus"] = "\n"
    assert kinds.carry_out(back, host) == 0


def test_one_look_at_the_host_asks_systemd_once_a_unit():
    host = kernel({"/lib/systemd/system/tuned.service": "[Service]\n[Install]\nWantedBy=a.target\n"})
    asked: list[tuple[str, ...]] = []
    told = host.ask
    host.ask = lambda argv: asked.append(argv) or told(argv)  # type: ignore[func-returns-value, method-assign]
    settings = [
        wanted(UnitState("tuned.service", "active", "tuned"), Words(), "inactive", "a"),
        wanted(UnitState("tuned.service", "enabled"), AtBoot(), "disabled", "b"),
        wanted(UnitProperty("a.slice", "AllowedCPUs"), UnitSet(), "0", "c"),
        wanted(UnitProperty("a.slice", "MemoryMax"), Size(), "8G", "d"),
    ]
    observe(settings, host)
    assert [argv[-1] for argv in asked] == ["tuned.service", "a.slice"]
