"""A topology for people: nodes, distances, the devices that matter and whose they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from numatune.cpus import CpuSet
from numatune.topology.model import Device, DeviceKind, Interrupt, Pool, ResolvedBy, Topology
from numatune.views.columns import columns
from numatune.views.distances import distances
from numatune.views.folding import label, same_nodes
from numatune.views.pci import identity, shown
from numatune.views.places_text import packages, places
from numatune.views.sets import short
from numatune.views.sizes import memory, page
from numatune.views.style import PLAIN, Style, plural
from numatune.views.summary import threads

_TITLE, _GLUE = 9, "\x1f"
_TITLES: dict[DeviceKind, str] = {
    "accelerator": "Accelerators",
    "nic": "Network",
    "infiniband": "InfiniBand",
    "nvme": "NVMe",
    "other": "Other PCI devices",
}
_BY: dict[ResolvedBy, str] = {
    "override": "override",
    "numa_node": "kernel",
    "parent": "bridge above",
    "local_cpus": "local CPUs",
    "nvml": "NVML",
    "unknown": "",
}


def topology(found: Topology, style: Style = PLAIN, *, everything: bool = False, verbose: bool = False) -> str:
    """Text of a whole topology. `everything`: all PCI devices; `verbose`: also each interrupt."""
    parts = [_host(found, style), _nodes(found, style), places(found, shown(found, everything=everything), style)]
    parts += [_distances(found, style), _access(found, style)]
    for kind, title in _TITLES.items():
        devices = [device for device in found.devices if device.kind == kind]
        if devices and (everything or kind != "other"):
            parts.append([style.paint(title, "bold"), *_devices(devices, found, style)])
    if verbose:
        listed = {device.address for device in shown(found, everything=everything)}
        parts.append(_interrupts([irq for irq in found.interrupts if irq.device in listed], style))
    parts.append(list(_remarks(found, style, everything=everything)))
    return "\n\n".join("\n".join(lines) for lines in parts if lines)


def _host(found: Topology, style: Style) -> list[str]:
    machine, cpus = found.machine, found.cpus
    groups = f"cgroup {found.cgroups.mode}" if found.cgroups.mode != "none" else "no cgroups"
    if found.cgroups.mode == "hybrid":
        groups += f" (cpuset on v{found.cgroups.version})" if found.cgroups.version else " (no cpuset)"
    virt = {"": "", "none": "bare metal"}.get(machine.virt, f"virtual ({machine.virt})")
    kernel = f"Linux {machine.kernel}" if machine.kernel else ""
    init = "systemd" if machine.systemd else ""
    lines = [("Host", [kernel, machine.arch, machine.distribution, virt, groups, init])]
    lines.append(
        (
            "CPUs",
            [
                f"{len(cpus.online)} online: {cpus.online}",
                plural(len(cpus.packages), "package") if cpus.packages else "",
                plural(len(cpus.cores), "core") if cpus.cores else "",
                threads(found),
                plural(len(cpus.l3), "L3 cache") if cpus.l3 else "",
            ],
        )
    )
    for title, some in (("Offline", cpus.offline), ("Isolated", cpus.isolated), ("nohz_full", cpus.nohz_full)):
        if some:
            lines.append((title, [str(some)]))
    return [line for title, told in lines for line in _titled(title, told, style)]


def _titled(title: str, told: Sequence[str], style: Style) -> list[str]:
    """What is told, after commas; a piece is not broken, a list of CPUs after its commas."""
    pieces = (style.spell(piece).replace(" ", _GLUE).replace(",", ", ") for piece in told if piece)
    first, *rest = (line.replace(_GLUE, " ") for line in style.wrap(", ".join(pieces), _TITLE + 2))
    return [f"{style.paint(f'{title:{_TITLE}}', 'bold')}  {first}", *(" " * (_TITLE + 2) + line for line in rest)]


def _nodes(found: Topology, style: Style) -> list[str]:
    if not found.nodes:
        return [style.paint("Nodes", "bold"), "  none: this kernel tells of no NUMA nodes"]
    sizes = sorted({size for node in found.nodes for size in node.hugepages})
    inside = packages(found)
    head = ["node", "kind", "pkg", "memory", "free", *(f"{page(size)} pages" for size in sizes), "tier", "CPUs"]
    rows = []
    for run in same_nodes(found.nodes):
        node = run[0]
        rows.append(
            [
                label(run),
                node.kind,
                inside[node.id],
                memory(node.memory_bytes),
                memory(node.free_bytes),
                *(_pages(node.hugepages.get(size)) for size in sizes),
                "" if node.tier is None else str(node.tier),
                short(node.cpus),
            ]
        )
    right = ",".join(["memory", "free", "tier", *(f"{page(size)} pages" for size in sizes)])
    return [style.paint("Nodes", "bold"), *columns(head, rows, style, right=right)]


def _distances(found: Topology, style: Style) -> list[str]:
    lines = distances(found.nodes, style) if len(found.nodes) > 1 else []
    return [style.paint("Distances", "bold"), *lines] if lines else []


def _access(found: Topology, style: Style) -> list[str]:
    """HMAT: what firmware says of the way from the nearest initiators to each node's memory."""
    rows = [
        [
            str(node.id),
            f"{access.initiators}" + ("" if access.access_class == 0 else " (CPUs)"),
            _figure(access.read_latency, "ns"),
            _figure(access.write_latency, "ns"),
            _figure(access.read_bandwidth, "MiB/s"),
            _figure(access.write_bandwidth, "MiB/s"),
        ]
        for node in found.nodes
        for access in node.access
    ]
    head = ["to node", "from node", "read", "write", "read bandwidth", "write bandwidth"]
    right = "read,write,read bandwidth,write bandwidth"
    return [style.paint("Memory access (HMAT)", "bold"), *columns(head, rows, style, right=right)] if rows else []


def _devices(devices: Sequence[Device], found: Topology, style: Style) -> list[str]:
    rows = []
    for device in devices:
        node = "unknown" if device.resolved_node is None else str(device.resolved_node)
        id_ = identity(device)
        rows.append(
            [
                device.address,
                node,
                _BY[device.resolved_by],
                " ".join(device.names),
                device.driver,
                _counted(found.interrupts_of(device.address)),
                f"{id_} class {device.class_}" if device.kind == "other" else id_,
            ]
        )
    return columns(["address", "node", "by", "name", "driver", "interrupts", "device"], rows, style)


def _counted(interrupts: Sequence[Interrupt]) -> str:
    managed = sum(irq.movable is False for irq in interrupts)
    if not interrupts:
        return ""
    return f"{len(interrupts)}, {managed} kernel's" if managed else f"{len(interrupts)}"


def _interrupts(interrupts: Sequence[Interrupt], style: Style) -> list[str]:
    moves = {True: "movable", False: "kernel's", None: "not told"}
    head = ["device", "index", "number", "moves", "asked", "effective", "name"]
    rows = [
        [
            irq.device,
            f"{irq.index}",
            f"{irq.number}",
            moves[irq.movable],
            _set(irq.requested),
            _set(irq.effective),
            irq.name,
        ]
        for irq in interrupts
    ]
    return [style.paint("Interrupts", "bold"), *columns(head, rows, style, right="index,number")] if rows else []


def _remarks(found: Topology, style: Style, *, everything: bool) -> Iterator[str]:
    others = sum(device.kind == "other" for device in found.devices)
    lost = [device for device in found.devices if device.kind != "other" and device.resolved_node is None]
    if lost and len(found.nodes) > 1:
        yield from style.wrap(
            f"{plural(len(lost), 'device')} without a known node: if you know better than the firmware, put "
            "that into the profile's devices: section"
        )
    if others and not everything:
        yield style.paint(f"{plural(others, 'other PCI device')}: --all", "dim")


def _pages(pool: Pool | None) -> str:
    if pool is None:
        return ""
    return f"{pool.total}" if pool.free in {None, pool.total} else f"{pool.total}, {pool.free} free"


def _figure(value: int | None, unit: str) -> str:
    return "" if value is None else f"{value} {unit}"


def _set(held: CpuSet | None) -> str:
    return "" if held is None else str(held)
