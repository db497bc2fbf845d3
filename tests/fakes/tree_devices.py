"""PCI devices of a generated host, and their message-signalled interrupts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from fakes.masks import net_queues
from fakes.tree_kernel import version
from numatune.cpus import CpuSet

if TYPE_CHECKING:
    from fakes.trees import Shape

_FIRST_IRQ = 24
_KINDS: dict[str, dict[str, Any]] = {
    "nic": {"class": "020000", "vendor": "8086", "device": "1593", "driver": "ice", "vectors": 5, "label": "eth"},
    "virtio-net": {
        "class": "020000",
        "vendor": "1af4",
        "device": "1041",
        "driver": "virtio-pci",
        "vectors": 3,
        "label": "eth",
    },
    "accelerator": {
        "class": "030200",
        "vendor": "10de",
        "device": "2330",
        "driver": "nvidia",
        "vectors": 1,
        "label": "card",
    },
    "nvme": {"class": "010802", "vendor": "144d", "device": "a80a", "driver": "nvme", "vectors": 5, "label": "nvme"},
    "infiniband": {
        "class": "020700",
        "vendor": "15b3",
        "device": "1021",
        "driver": "mlx5_core",
        "vectors": 5,
        "label": "mlx5_",
    },
    "vga": {"class": "030000", "vendor": "1a03", "device": "2000", "driver": "ast", "vectors": 0, "label": "card"},
    "other": {"class": "088000", "vendor": "8086", "device": "2021", "driver": "", "vectors": 0, "label": ""},
}


class Row(NamedTuple):
    """One interrupt."""

    number: int
    chip: str
    index: int
    action: str
    managed: bool


def devices(
    shape: Shape,
    asked: Mapping[str, int | Sequence[Mapping[str, Any]]],
    others: Sequence[Mapping[str, Any]],
    *,
    remapping: bool,
) -> dict[str, str]:
    """Trees of the devices. One mapping may hold:

    kind        nic, virtio-net, accelerator, nvme, infiniband, vga, other (only in `others`)
    address     0000:41:00.0; default: a bus of its own from 0x41
    node        default: the nodes with CPUs in turn; -1: firmware says nothing; null: no numa_node file
    bridge_node of the bridge above; default -1 when the device has none, else the device's
    root_port, ports   addresses of the bridge above, and of those of a switch below it
    local_cpus  text of local_cpulist; default: the node's CPUs, or all
    name        eth0, card0, nvme0, mlx5_0; "" for none
    rx, tx      receive and transmit queues of a NIC: 4 of each
    vectors     how many interrupts, or their action names in order of the MSI index
    managed     how many of the last vectors the kernel keeps for itself; NVMe: all but the first
    link_down   true: the vectors exist and have no action name
    class, vendor, device, driver   hexadecimal digits, and a name
    """
    wanted: list[dict[str, Any]] = []
    with_cpus = [node for node in shape.nodes if shape.cpus(node)]
    for kind, some in asked.items():
        each: Sequence[Mapping[str, Any]] = [{}] * some if isinstance(some, int) else some
        wanted += [{"kind": kind, "place": place, **one} for place, one in enumerate(each)]
    wanted += [{"kind": "other", "place": place, **one} for place, one in enumerate(others)]
    tree: dict[str, str] = {"/proc/irq/default_smp_affinity": f"{shape.online.mask(shape.width)}\n"}
    rows: list[Row] = []
    labels: Counter[str] = Counter()
    for number, one in enumerate(wanted):
        made = {**_KINDS[one["kind"]], "node": with_cpus[one["place"] % len(with_cpus)], **one}
        made.setdefault("address", f"0000:{0x41 + number:02x}:00.0")
        made.setdefault("name", f"{made['label']}{labels[made['label']]}" if made["label"] else "")
        labels[made["label"]] += 1
        path = _device(shape, made, tree)
        _names(made, path, tree, shape.width)
        chip = f"{'IR-' if remapping else ''}PCI-MSIX-{made['address']}"
        vectors = _vectors(made)
        managed = made.get("managed", max(0, len(vectors) - 1) if made["kind"] == "nvme" else 0)
        for index, action in enumerate(vectors):
            row = Row(
                number=_FIRST_IRQ + len(rows),
                chip=chip,
                index=index,
                action="" if made.get("link_down") else action,
                managed=index >= len(vectors) - managed,
            )
            tree |= _interrupt(shape, row, made["node"])
            tree[f"{path}/msi_irqs/{row.number}"] = "msix\n"
            rows.append(row)
    tree["/proc/interrupts"] = _table(shape, rows)
    return tree


def _device(shape: Shape, made: Mapping[str, Any], tree: dict[str, str]) -> str:
    """Below a bridge of its own. Returns its path."""
    address = made["address"]
    domain, bus, _ = address.split(":")
    bridge = made.get("root_port", f"{domain}:00:{int(bus, 16) % 32:02x}.{int(bus, 16) // 32}")
    root = f"/sys/devices/pci{domain}:00"
    above = [bridge, *made.get("ports", ())]
    path = "/".join([root, *above, address])
    node = made["node"]
    bridge_node = made.get("bridge_node", -1 if node is None else node)
    local = made.get("local_cpus", str(shape.cpus(node) if node is not None and node >= 0 else shape.online))
    for depth, port in enumerate(above, 1):
        where = "/".join([root, *above[:depth]])
        tree[f"{where}/class"] = "0x060400\n"
        tree[f"{where}/vendor"] = "0x8086\n"
        tree[f"{where}/device"] = "0x347a\n"
        tree[f"{where}/local_cpulist"] = f"{shape.cpus(bridge_node) if bridge_node >= 0 else shape.online}\n"
        tree[f"{where}/numa_node"] = f"{bridge_node}\n"
        tree[f"/sys/bus/pci/devices/{port}"] = "-> ../../../" + where.removeprefix("/sys/")
    for name in ("class", "vendor", "device"):
        tree[f"{path}/{name}"] = f"0x{made[name]}\n"
    tree[f"{path}/local_cpulist"] = f"{local}\n"
    tree[f"{path}/local_cpus"] = f"{CpuSet.parse(local).mask(shape.width)}\n"
    if node is not None:
        tree[f"{path}/numa_node"] = f"{node}\n"
    if made["driver"]:
        tree[f"/sys/bus/pci/drivers/{made['driver']}/"] = ""
        tree[f"{path}/driver"] = f"-> {'../' * (len(above) + 3)}bus/pci/drivers/{made['driver']}"
    tree[f"/sys/bus/pci/devices/{address}"] = "-> ../../../" + path.removeprefix("/sys/")
    return path


def _names(made: Mapping[str, Any], path: str, tree: dict[str, str], width: int) -> None:
    """What other parts of /sys call the device."""
    name = made["name"]
    below = {"nic": "net", "accelerator": "drm", "vga": "drm", "nvme": "nvme", "infiniband": "infiniband"}
    if not name:
        return
    if made["kind"] == "virtio-net":
        virtio = f"virtio{made['place']}"
        tree[f"{path}/{virtio}/net/{name}/device"] = f"-> ../../../{virtio}"
        tree[f"/sys/bus/virtio/devices/{virtio}"] = "-> ../../../" + path.removeprefix("/sys/") + f"/{virtio}"
        path, kind = f"{path}/{virtio}", "net"
    elif made["kind"] in below:
        kind = below[made["kind"]]
        tree[f"{path}/{kind}/{name}/device"] = f"-> ../../../{made['address']}"
    else:
        return
    if kind == "net":
        tree |= net_queues(f"{path}/net/{name}", made.get("rx", 4), made.get("tx", 4), width)
        tree |= {f"{path}/net/{name}/address": "02:00:00:00:00:00\n", f"{path}/net/{name}/operstate": "up\n"}
    tree[f"/sys/class/{kind}/{name}"] = "-> ../../" + path.removeprefix("/sys/") + f"/{kind}/{name}"


def _vectors(made: Mapping[str, Any]) -> list[str]:
    """Action names by MSI index."""
    vectors = made["vectors"]
    if not isinstance(vectors, int):
        return list(vectors)
    name = made["name"]
    match made["kind"]:
        case "nic":
            return [f"ice-{made['address']}:misc", *(f"ice-{name}-TxRx-{n}" for n in range(vectors - 1))][:vectors]
        case "virtio-net":
            virtio = f"virtio{made['place']}"
            pairs = [f"{virtio}-{way}.{n}" for n in range(vectors) for way in ("input", "output")]
            return [f"{virtio}-config", *pairs][:vectors]
        case "nvme":
            return [f"{name}q{n}" for n in range(vectors)]
        case "infiniband":
            return [
                f"mlx5_async0@pci:{made['address']}",
                *(f"mlx5_comp{n}@pci:{made['address']}" for n in range(vectors)),
            ][:vectors]
        case _:
            return [made["driver"]] * vectors


def _interrupt(shape: Shape, row: Row, node: int | None) -> dict[str, str]:
    """/proc/irq/N and /sys/kernel/irq/N."""
    online = tuple(shape.online)
    chosen = CpuSet([online[row.index % len(online)]])
    mask = chosen if row.managed else shape.online
    base, system = f"/proc/irq/{row.number}", f"/sys/kernel/irq/{row.number}"
    tree = {f"{base}/smp_affinity_list": f"{mask}\n", f"{base}/smp_affinity": f"{mask.mask(shape.width)}\n"}
    tree[f"{base}/effective_affinity_list"] = f"{chosen}\n"
    tree[f"{base}/effective_affinity"] = f"{chosen.mask(shape.width)}\n"
    tree[f"{base}/node"] = f"{-1 if node is None else node}\n"
    tree[f"{base}/spurious"] = "count 0\nunhandled 0\nlast_unhandled 0 ms\n"
    if row.action:
        tree[f"{base}/{row.action.replace('/', '!')}/"] = ""
    if row.managed:
        tree[f"/sys/kernel/debug/irq/irqs/{row.number}"] = (
            "handler:  handle_edge_irq\n            IRQD_AFFINITY_MANAGED\n"
        )
    if row.managed and version(shape.kernel) >= (6, 12):
        shape.modes.update({f"{base}/smp_affinity_list": 0o444, f"{base}/smp_affinity": 0o444})
    tree |= {f"{system}/actions": f"{row.action}\n", f"{system}/chip_name": f"{row.chip}\n"}
    tree |= {f"{system}/hwirq": f"{row.index}\n", f"{system}/name": "edge\n", f"{system}/type": "edge\n"}
    tree |= {f"{system}/wakeup": "disabled\n", f"{system}/per_cpu_count": ",".join("0" * shape.width) + "\n"}
    return tree


def _table(shape: Shape, rows: Sequence[Row]) -> str:
    """/proc/interrupts; an interrupt without an action is not in it."""
    lines = ["     " + "".join(f"{f'CPU{cpu}':>11}" for cpu in shape.online)]
    zeros = f"{0:>11}" * len(shape.online)
    lines += [
        f"{row.number:>3}: {zeros}  {row.chip}  {row.index:>3}-edge      {row.action}" for row in rows if row.action
    ]
    lines += [f"NMI: {zeros}   Non-maskable interrupts", f"LOC: {zeros}   Local timer interrupts", "ERR:          0"]
    return "\n".join(lines) + "\n"
