"""The shipped profiles apply everywhere, disrupt nothing, and can be taken back by kernel-defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fakes.kernel import FakeKernel
from fakes.trees import host_tree

from numatune import profile
from numatune.discover import discover
from numatune.engine.diff import Options, diff
from numatune.engine.observe import flat, observe
from numatune.profile.tree import Branch, Leaf
from numatune.settings.model import Impact, Setting
from numatune.settings.plan import Action, Change
from numatune.settings.targets import Nothing
from numatune.topology.resolve import with_overrides

NAMES = ("serving-host", "llm-inference", "kernel-defaults")
HOSTS: dict[str, dict[str, Any]] = {
    "one node, two CPUs": {"nodes": 1, "cpus_per_node": 2, "virt": "kvm", "kernel": "6.18.0"},
    "two nodes, GPUs": {"nodes": 2, "cpus_per_node": 8, "threads": 2, "accelerators": 8, "nics": 2, "nvmes": 2},
    "a mainframe of nodes": {"nodes": [0, 8], "memory_only": [252, 253], "arch": "ppc64le", "infiniband": 1},
    "an old kernel": {"kernel": "5.10.0", "cgroup": "v1", "distribution": "debian 11"},
    "no THP, no systemd": {"with_thp": False, "systemd": False, "cgroup": "none"},
    "no NUMA knobs": {"sysctl": {"kernel.numa_balancing": None, "vm.zone_reclaim_mode": None}},
    "192 MiB": {"nodes": 1, "memory_per_node": 192 << 20},
    "a CPU without memory": {"nodes": 1, "cpu_only": [3], "isolated": "2-3"},
}


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
    for change in changes.values():
        assert change.impact is not Impact.DISRUPTS
        assert change.setting.impact is not Impact.DISRUPTS
        assert not change.seen.unsafe
    assert [sid for sid, change in changes.items() if change.action is Action.RESTART] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_says_why(name: str) -> None:
    _, settings = resolved(name, HOSTS["two nodes, GPUs"])
    silent = {setting.section for setting in settings if not setting.why}
    assert silent <= ({"irq"} if name == "kernel-defaults" else set())


@pytest.mark.parametrize("name", NAMES)
def test_it_has_no_condition_as_a_whole(name: str) -> None:
    document = profile.load([name])
    assert [label for label, file in document.files.items() if file.tree.whens] == []


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
    "inference_memory_max": ("8G", "", str(8 << 30)),
    "inference_cpus": ("0-1", "", "0-1"),
    "inference_mems": ("0", "", "0"),
}


@pytest.mark.parametrize(("name", "value", "sid", "want"), [(name, *rest) for name, rest in VARIABLES.items()])
def test_what_is_off_in_llm_inference_can_be_turned_on(name: str, value: str, sid: str, want: str) -> None:
    _, settings = resolved("llm-inference", HOSTS["two nodes, GPUs"], **{name: value})
    found = [setting for setting in settings if (setting.id == sid if sid else setting.section == "cpusets")]
    assert want in {setting.want for setting in found}


def test_every_variable_is_documented_and_tried_above() -> None:
    (file,) = (file for label, file in profile.load(["llm-inference"]).files.items() if "llm" in label)
    variables = file.tree.entries["vars"].node
    assert isinstance(variables, Branch)
    assert set(variables.entries) == set(VARIABLES)
    lines = file.text.splitlines()
    for entry in variables.entries.values():
        above = lines[: entry.source.line - 1]
        while above and above[-1].strip() and not above[-1].lstrip().startswith("#"):
            above.pop()
        assert above[-1].lstrip().startswith("#")


def test_kernel_defaults_sets_what_the_others_set() -> None:
    def keys(name: str) -> set[tuple[str, str]]:
        tree = profile.load([name]).tree
        sections = {key: entry.node for key, entry in tree.entries.items() if key in {"sysctl", "thp", "irq"}}
        return {(name, key) for name, node in sections.items() if isinstance(node, Branch) for key in node.entries}

    told_why_not = {
        ("sysctl", "vm.min_free_kbytes"),
        ("sysctl", "kernel.numa_balancing_scan_delay_ms"),
        ("sysctl", "kernel.numa_balancing_scan_period_min_ms"),
    }
    assert keys("serving-host") | keys("llm-inference") <= keys("kernel-defaults") | told_why_not
    assert keys("kernel-defaults") <= keys("llm-inference") | {("irq", "default_affinity")}


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
