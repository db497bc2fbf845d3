"""A host and forty-odd wanted settings with every coupling that makes giving back hard."""

from __future__ import annotations

from collections.abc import Iterator

from fakes.kernel import FakeKernel
from fakes.systemd import Systemd
from fakes.trees import host_tree
from numatune.settings.codecs import (
    AnyCodec,
    Choice,
    Count,
    CpuList,
    CpuMask,
    GroupSet,
    Int,
    Members,
    Paired,
    Size,
    Text,
    UnitSet,
    Words,
)
from numatune.settings.model import Phase, Setting, SettingId
from numatune.settings.targets import (
    Cgroup,
    HugepagePool,
    IrqAffinity,
    KernelFile,
    OwnedFile,
    Target,
    UnitProperty,
    UnitState,
)

NIC, NVME = "0000:41:00.0", "0000:81:00.0"
ROOT = "/sys/fs/cgroup"
THP = "/sys/kernel/mm/transparent_hugepage"

SYSCTLS = {
    "kernel.sched_autogroup_enabled": "0",
    "kernel.timer_migration": "0",
    "kernel.watchdog_thresh": "30",
    "vm.compaction_proactiveness": "0",
    "vm.max_map_count": "1048576",
    "vm.min_slab_ratio": "10",
    "vm.min_unmapped_ratio": "5",
    "vm.overcommit_memory": "1",
    "vm.stat_interval": "120",
    "vm.swappiness": "10",
    "vm.watermark_boost_factor": "0",
    "vm.zone_reclaim_mode": "1",
}

THP_FILES = {
    "defrag": "defer+madvise",
    "shmem_enabled": "advise",
    "khugepaged/defrag": "0",
    "khugepaged/pages_to_scan": "512",
    "khugepaged/scan_sleep_millisecs": "60000",
    "hugepages-64kB/enabled": "inherit",
    "hugepages-1024kB/enabled": "madvise",
}


def kernel() -> FakeKernel:
    """Two nodes; THP off, min_free_kbytes below what khugepaged wants; few free pages on node 1; irqbalance runs."""
    tree = host_tree(
        nics=[{"vectors": 5}],
        nvmes=[{"address": NVME, "vectors": 3}],
        remapping=True,
        sysctl={"vm.min_free_kbytes": "50000"},
        hugepages={2048: 3},
    )
    tree[f"{THP}/enabled"] = "always madvise [never]\n"
    node1 = "/sys/devices/system/node/node1/meminfo"
    tree[node1] = tree[node1].replace("MemFree:        8388608 kB", "MemFree:        614400 kB")
    tree["/usr/lib/systemd/system/irqbalance.service"] = "[Service]\n[Install]\nWantedBy=multi-user.target\n"
    tree["/etc/systemd/system/multi-user.target.wants/irqbalance.service"] = (
        "-> /usr/lib/systemd/system/irqbalance.service"
    )
    made = FakeKernel(tree)
    for unit in ("inference.slice", "irqbalance.service"):
        Systemd().start_unit(made, unit)
    made.put(f"{ROOT}/inference.slice/cgroup.procs", "4242\n")
    made.put(f"{ROOT}/inference.slice/cgroup.events", "populated 1\nfrozen 0\n", 0o444)
    made.put("/proc/4242/comm", "vllm\n")
    made.put("/proc/4242/status", "Name:\tvllm\nCpus_allowed_list:\t0-7\nMems_allowed_list:\t0-1\n")
    return made


def settings() -> tuple[Setting, ...]:
    """What is wanted of it; what the kernel rewrites beside is watched."""
    return (*_sysctls(), *_memory(), *_cgroups(), *_interrupts(), *_services())


def _one(sid: str, target: Target, codec: AnyCodec, want: str | None, phase: Phase, **fields: object) -> Setting:
    return Setting(
        id=SettingId(sid),
        target=target,
        codec=codec,
        want=want,
        phase=phase,
        section=sid.partition(":")[0],
        **fields,  # type: ignore[arg-type]
    )


def sysctl(key: str, want: str | None, codec: AnyCodec | None = None, **fields: object) -> Setting:
    target = KernelFile((f"/proc/sys/{key.replace('.', '/')}",))
    phase = fields.pop("phase", Phase.SYSCTL)
    return _one(f"sysctl:{key}", target, codec or Int(), want, phase, **fields)  # type: ignore[arg-type]


def _sysctls() -> Iterator[Setting]:
    for key, want in SYSCTLS.items():
        yield sysctl(key, want)
    for key, want, partner in (
        ("vm.dirty_bytes", "1073741824", "vm.dirty_ratio"),
        ("vm.dirty_background_ratio", "5", "vm.dirty_background_bytes"),
        ("vm.overcommit_kbytes", "4096", "vm.overcommit_ratio"),
    ):
        yield sysctl(key, want, Paired(), companions=(sysctl(partner, None, Paired()),))
    yield sysctl("vm.lowmem_reserve_ratio", "256 256 64 0 0", Words())
    yield sysctl("kernel.numa_balancing", "0", phase=Phase.BALANCING)
    yield sysctl("vm.watermark_scale_factor", "100", phase=Phase.RECLAIM)


def _memory() -> Iterator[Setting]:
    min_free = sysctl("vm.min_free_kbytes", None, phase=Phase.RECLAIM)
    yield _one("thp:enabled", KernelFile((f"{THP}/enabled",)), Choice(), "always", Phase.THP, companions=(min_free,))
    yield sysctl("vm.min_free_kbytes", "60000", phase=Phase.RECLAIM)
    for name, want in THP_FILES.items():
        beside = (min_free,) if name.endswith("enabled") else ()  # each of them starts khugepaged, which sets it
        yield _one(f"thp:{name}", KernelFile((f"{THP}/{name}",)), Choice(), want, Phase.THP, companions=beside)
    for node in (0, 1):
        yield _one(f"hugepages:node{node}/2M", HugepagePool(node, 2048), Count(), "400", Phase.HUGEPAGES)


def _cgroups() -> Iterator[Setting]:
    def file(name: str, group: str, codec: AnyCodec, want: str, **fields: object) -> Setting:
        needs = SettingId(f"cgroup:{group}")
        path = f"{ROOT}/{group}/{name}"
        return _one(f"cpuset:{group}/{name}", KernelFile((path,)), codec, want, Phase.CGROUP, needs=needs, **fields)

    subtree = KernelFile((f"{ROOT}/cgroup.subtree_control",))
    yield _one("cgroup:+", subtree, Members(), "cpuset memory", Phase.CGROUP)
    yield _one("cgroup:own", Cgroup(f"{ROOT}/own"), Choice(), "here", Phase.CGROUP, after=(SettingId("cgroup:+"),))
    yield file("cpuset.mems", "own", GroupSet(everything="0-1"), "1")
    mems = SettingId("cpuset:own/cpuset.mems")
    yield file("cpuset.cpus", "own", GroupSet(everything="0-7"), "4-7", after=(mems,))
    yield file("memory.max", "own", Size(), "4G")
    yield file("cgroup.subtree_control", "own", Members(), "cpuset")
    inner = SettingId("cpuset:own/cgroup.subtree_control")
    yield _one("cgroup:own/gpu", Cgroup(f"{ROOT}/own/gpu"), Choice(), "here", Phase.CGROUP, after=(inner,))
    outer = SettingId("cpuset:own/cpuset.cpus")
    yield file("cpuset.cpus", "own/gpu", GroupSet(everything="0-7"), "6-7", inside=outer)
    unit = UnitProperty("inference.slice", "AllowedCPUs", f"{ROOT}/inference.slice/cpuset.cpus.effective")
    yield _one("unit:inference.slice/AllowedCPUs", unit, UnitSet(everything="0-7"), "2-7", Phase.CGROUP)


def _interrupts() -> Iterator[Setting]:
    mask = KernelFile(("/proc/irq/default_smp_affinity",))
    yield _one("irq:default", mask, CpuMask(width=8), "0f", Phase.IRQ)
    for index in range(5):
        yield _one(f"irq:{NIC}/{index}", IrqAffinity(NIC, index), CpuList(), str(index % 4), Phase.IRQ)
    yield _one(f"irq:{NVME}/1", IrqAffinity(NVME, 1), CpuList(), "3", Phase.IRQ, optional=True)


def _services() -> Iterator[Setting]:
    unit = "irqbalance.service"
    yield _one(f"unit:{unit}/active", UnitState(unit, "active"), Choice(), "inactive", Phase.QUIET)
    yield _one(f"unit:{unit}/enabled", UnitState(unit, "enabled"), Choice(), "disabled", Phase.QUIET)
    path = "/etc/systemd/system/inference.slice.d/numatune.conf"
    yield _one("file:inference", OwnedFile(path, restart=unit), Text(), "[Slice]\nCPUWeight=200\n", Phase.FILES)
