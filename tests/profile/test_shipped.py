"""The shipped profiles apply everywhere, disrupt nothing, and can be taken back by kernel-defaults."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest
import yaml
from fakes.commands import lend, typed
from fakes.kernel import FakeKernel
from fakes.trees import host_tree, memory

from numatune import profile
from numatune.discover import discover
from numatune.engine.diff import Options, diff
from numatune.engine.observe import flat, observe
from numatune.profile.lookup import shipped_folder
from numatune.profile.tree import Branch, Leaf
from numatune.settings.model import Impact, Setting
from numatune.settings.plan import Action, Change
from numatune.settings.targets import Nothing
from numatune.topology.resolve import with_overrides

NAMES = tuple(sorted(path.stem for path in Path(shipped_folder()).glob("*.yaml")))
HOSTS: dict[str, dict[str, Any]] = {
    "one node, two CPUs": {"nodes": 1, "cpus_per_node": 2, "virt": "kvm", "kernel": "6.18.0"},
    "two nodes, GPUs": {"nodes": 2, "cpus_per_node": 8, "threads": 2, "accelerators": 8, "nics": 2, "nvmes": 2},
    "a mainframe of nodes": {"nodes": [0, 8], "memory_only": [252, 253], "arch": "ppc64le", "infiniband": 1},
    "an old kernel": {"kernel": "5.10.0", "cgroup": "v1", "distribution": "debian 11"},
    "no THP, no systemd": {"with_thp": False, "systemd": False, "cgroup": "none"},
    "no NUMA knobs": {"sysctl": {"kernel.numa_balancing": None, "vm.zone_reclaim_mode": None}},
    "192 MiB": {"nodes": 1, "memory_per_node": 192 << 20},
    "a CPU without memory": {"nodes": 1, "cpu_only": [3], "isolated": "2-3"},
    "slow memory": {"nodes": 2, "memory_only": [2], "kernel": "6.18.0", "bandwidths": {0: 200_000, 2: 25_000}},
    "an APU": {"nodes": 4, "accelerators": [{"vendor": "1002"}], "cpufreq": "acpi-cpufreq", "idle_states": ["C2"]},
}
CASES: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("shipped.yaml").read_text(encoding="utf-8"))
OTHERS = sorted((Path(__file__).parents[1] / "topology" / "cases").glob("*.yaml"))
TREE_OF = runpy.run_path(str(Path(__file__).parents[1] / "topology" / "test_cases.py"))["tree_of"]
DISRUPTS = {("amd-instinct-apu", "sysctl:vm.compaction_proactiveness")}  # held back where it would be written


def resolved(name: str, shape: dict[str, Any], **variables: str) -> tuple[FakeKernel, tuple[Setting, ...]]:
    kernel = FakeKernel(host_tree(**shape))
    document = profile.load([name], variables=variables)
    topology = with_overrides(discover(kernel, document.reads), document.overrides)
    return kernel, profile.resolve(document, topology).settings


def plan(name: str, shape: dict[str, Any], **variables: str) -> dict[str, Change]:
    kernel, settings = resolved(name, shape, **variables)
    rows = flat(settings)
    return {change.setting.id: change for change in diff(rows, observe(rows, kernel), Options())}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", HOSTS.values(), ids=HOSTS)
def test_it_applies_to_every_host_and_disrupts_nothing(name: str, shape: dict[str, Any]) -> None:
    changes = plan(name, shape)
    assert changes
    for sid, change in changes.items():
        assert change.impact is not Impact.DISRUPTS
        assert change.setting.impact is not Impact.DISRUPTS or (name, sid) in DISRUPTS
        assert not change.seen.unsafe
    assert [sid for sid, change in changes.items() if change.action is Action.RESTART] == []


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.stem)
def test_each_is_planned_on_the_odd_hosts_of_the_topology(path: Path) -> None:
    reader = memory(TREE_OF(yaml.safe_load(path.read_text(encoding="utf-8"))))
    for name in NAMES:
        document = profile.load([name])
        topology = with_overrides(discover(reader, document.reads), document.overrides)
        rows = flat(profile.resolve(document, topology).settings)
        changes = diff(rows, observe(rows, reader), Options())
        assert changes
        assert [change.setting.id for change in changes if change.seen.unsafe] == []
        assert [change.setting.id for change in changes if change.action is Action.RESTART] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_says_why(name: str) -> None:
    _, settings = resolved(name, HOSTS["two nodes, GPUs"])
    assert {setting.section for setting in settings if not setting.why} == set()


def test_lint_finds_all_of_them_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lend(FakeKernel(host_tree(**HOSTS["two nodes, GPUs"])), tmp_path, monkeypatch)
    done = typed("profiles", "lint", *NAMES)
    assert (done.code, done.err) == (0, "")
    assert [line.partition(", ")[0] for line in done.out.splitlines()] == [f"{name}: right" for name in NAMES]


@pytest.mark.parametrize("name", NAMES)
def test_it_has_no_condition_as_a_whole(name: str) -> None:
    document = profile.load([name])
    assert [label for label, file in document.files.items() if file.tree.whens] == []


@pytest.mark.parametrize("case", CASES, ids=[case["tells"] for case in CASES])
def test_it_wants_what_it_is_for(case: dict[str, Any]) -> None:
    """On a tree, which tells its own architecture; a host that can be written to has this machine's."""
    document = profile.load([case["profile"]], variables=case.get("variables", {}))
    settings = profile.resolve(document, discover(memory(host_tree(**case["host"])), document.reads)).settings
    found = {str(setting.id): setting for setting in settings}
    wanted = {sid: setting.want for sid, setting in found.items() if not isinstance(setting.target, Nothing)}
    assert {sid: wanted.get(sid) for sid in case.get("wants", {})} == case.get("wants", {})
    for sid, part in case.get("away", {}).items():
        target = found[sid].target
        assert isinstance(target, Nothing)
        assert part in target.reason
    assert [sid for sid in found if sid.startswith(tuple(case.get("none", ())))] == []


def test_llm_inference_on_a_gpu_server() -> None:
    changes = plan("llm-inference", HOSTS["two nodes, GPUs"])
    wanted = {sid: change.setting.want for sid, change in changes.items()}
    assert wanted["sysctl:kernel.numa_balancing"] == "0"
    assert wanted["sysctl:vm.zone_reclaim_mode"] == "0"
    assert wanted["sysctl:vm.swappiness"] == "1"
    assert wanted["sysctl:vm.max_map_count"] == "1048576"
    assert wanted["sysctl:vm.min_free_kbytes"] == "65536"
    assert wanted["thp:enabled"] == "madvise"
    assert wanted["thp:defrag"] == "defer+madvise"
    assert wanted["kernel_cmdline:require/iommu=pt"] == "iommu=pt"
    assert changes["kernel_cmdline:require/iommu=pt"].setting.optional is True
    assert any(
        sid.startswith("irq:") and not isinstance(change.setting.target, Nothing) for sid, change in changes.items()
    )
    assert "service:irqbalance/active" in changes
    assert not [sid for sid in wanted if sid.startswith(("hugepages:", "cpusets:", "sysctl:vm.watermark"))]


VARIABLES = {
    "min_free_kbytes": ("2097152", "sysctl:vm.min_free_kbytes", "2097152"),
    "watermark_scale_factor": ("300", "sysctl:vm.watermark_scale_factor", "300"),
    "numa_scan_delay_ms": ("1000", "sysctl:kernel.numa_balancing_scan_delay_ms", "1000"),
    "numa_scan_period_min_ms": ("60000", "sysctl:kernel.numa_balancing_scan_period_min_ms", "60000"),
    "thp_enabled": ("always", "thp:enabled", "always"),
    "hugepages_2m_per_node": ("16", "hugepages:node0/2M", "16"),
    "rps": ("all", "net_queues:eth0/rx-0/rps", "ffff"),
    "inference_memory_max": ("8G", "", str(8 << 30)),
    "inference_cpus": ("0-1", "", "0-1"),
    "inference_mems": ("0", "", "0"),
}


@pytest.mark.parametrize(("name", "value", "sid", "want"), [(name, *rest) for name, rest in VARIABLES.items()])
def test_what_is_off_in_llm_inference_can_be_turned_on(name: str, value: str, sid: str, want: str) -> None:
    _, settings = resolved("llm-inference", HOSTS["two nodes, GPUs"], **{name: value})
    found = [setting for setting in settings if (setting.id == sid if sid else setting.section == "cpusets")]
    assert want in {setting.want for setting in found}


@pytest.mark.parametrize(("reserved", "left"), [("1", "1-3,9-11"), ("2", "2-3,10-11")])
def test_reserved_cores_are_left_to_the_system(reserved: str, left: str) -> None:
    shape = {"nodes": 2, "cpus_per_node": 8, "threads": 2, "accelerators": [{"vendor": "10de", "node": 0}]}
    _, settings = resolved("llm-inference", shape, reserve_cores=reserved)
    (stored,) = (setting.want for setting in settings if setting.section == "launch")
    assert stored
    assert f"\nreserve_cores {reserved}\n" in stored
    assert f"cpus={left} " in stored


@pytest.mark.parametrize("name", NAMES)
def test_every_variable_is_documented_and_tried(name: str) -> None:
    (file,) = (file for label, file in profile.load([name]).files.items() if Path(label).stem == name)
    entry = file.tree.entries.get("vars")
    variables = entry.node.entries if entry and isinstance(entry.node, Branch) else {}
    tried = {key for case in CASES if case["profile"] == name for key in case.get("variables", {})}
    assert variables.keys() <= tried | ({*VARIABLES, "reserve_cores"} if name == "llm-inference" else set())
    lines = file.text.splitlines()
    for variable in variables.values():
        above = lines[: variable.source.line - 1]
        while above and above[-1].strip() and not above[-1].lstrip().startswith("#"):
            above.pop()
        assert above[-1].lstrip().startswith("#")


SECTIONS = {"sysctl", "thp", "irq", "net_queues", "workqueues", "tiering"}
TOLD_WHY_NOT = {  # in the comment at the end of kernel-defaults
    ("sysctl", "vm.min_free_kbytes"),
    ("sysctl", "kernel.numa_balancing_scan_delay_ms"),
    ("sysctl", "kernel.numa_balancing_scan_period_min_ms"),
    ("sysctl", "kernel.nmi_watchdog"),
    ("sysctl", "vm.compaction_proactiveness"),
    ("sysctl", "vm.compact_unevictable_allowed"),
    ("thp", "sizes"),
    ("tiering", "numa_balancing"),  # sysctl: kernel.numa_balancing
}


def test_kernel_defaults_sets_what_the_others_set() -> None:
    def keys(name: str) -> set[tuple[str, str]]:
        tree = profile.load([name]).tree
        sections = {key: entry.node for key, entry in tree.entries.items() if key in SECTIONS}
        return {(name, key) for name, node in sections.items() if isinstance(node, Branch) for key in node.entries}

    others = {key for name in NAMES if name != "kernel-defaults" for key in keys(name)}
    assert others - TOLD_WHY_NOT == keys("kernel-defaults")


@pytest.mark.parametrize(("nodes", "want"), [(1, "0"), (2, "1")])
def test_kernel_defaults_balances_only_between_nodes(nodes: int, want: str) -> None:
    _, settings = resolved("kernel-defaults", {"nodes": nodes})
    assert {str(setting.id): setting.want for setting in settings}["sysctl:kernel.numa_balancing"] == want


def test_a_fresh_generated_host_is_nearly_at_kernel_defaults() -> None:
    changes = plan("kernel-defaults", {"nodes": 2}, thp_enabled="madvise")
    assert [sid for sid, change in changes.items() if change.action is not Action.NONE] == []


@pytest.mark.parametrize("name", NAMES)
def test_its_file_is_named_after_it(name: str) -> None:
    (file,) = (file for label, file in profile.load([name]).files.items() if Path(label).stem == name)
    node = file.tree.entries["name"].node
    assert isinstance(node, Leaf)
    assert node.value == name
    assert file.tree.entries.keys() >= {"summary", "version", "requires"}


def test_a_small_host_keeps_a_fifth_of_its_memory_free_and_no_more() -> None:
    row = plan("llm-inference", {"nodes": 1, "memory_per_node": 200 << 20})["sysctl:vm.min_free_kbytes"]
    assert row.setting.want == str((128 << 20) // 5 >> 10)  # sizes are rounded down to 128 MiB
    assert not row.seen.unsafe


@pytest.mark.parametrize("name", NAMES)
def test_each_variable_can_be_off(name: str) -> None:
    document = profile.load([name])
    variables = document.tree.entries["vars"].node if "vars" in document.tree.entries else None
    for variable in variables.entries if isinstance(variables, Branch) else ():
        assert resolved(name, HOSTS["two nodes, GPUs"], **{variable: "null"})
