"""A topology as JSON: every section that was looked at, sets as lists like ``0-3,8``, what is not known as null."""

from __future__ import annotations

from typing import Any

from numatune.cpus import CpuSet
from numatune.topology.model import Device, Interrupt, Node, Section, Topology
from numatune.topology.power import Policy

FORMAT = 1
"""Names may be added, none changes its meaning."""


def topology(found: Topology, root: str = "/") -> dict[str, Any]:
    """``nodes``, ``cpus``, ``devices``, ``interrupts`` ... of a host.

    The kernel's command line is left out: it may hold secrets.
    """
    data: dict[str, Any] = {"format": FORMAT, "host": _host(found, root), "cpus": _cpus(found)}
    if Section.NODES in found.sections:
        data["numa"] = found.numa
        data["nodes"] = [_node(node) for node in found.nodes]
        data["hugepage_sizes_kb"] = list(found.hugepage_sizes)
    if Section.DEVICES in found.sections:
        data["devices"] = [_device(device) for device in found.devices]
    if Section.INTERRUPTS in found.sections:
        data["interrupts"] = [_interrupt(irq) for irq in found.interrupts]
    if Section.CGROUPS in found.sections:
        data["cgroups"] = {
            "mode": found.cgroups.mode,
            "cpuset_version": found.cgroups.version,
            "cpuset_root": found.cgroups.cpuset_root or None,
            "memory_version": found.cgroups.memory_version,
            "memory_root": found.cgroups.memory_root or None,
            "controllers": list(found.cgroups.controllers),
        }
    if Section.THP in found.sections:
        data["thp"] = {"present": found.thp.present, "sizes_kb": list(found.thp.sizes), "files": list(found.thp.files)}
    if Section.QUEUES in found.sections:
        data["net_queues"] = [
            {"interface": one.interface, "device": one.device, "rx": len(one.receive), "tx": len(one.transmit)}
            for one in found.queues
        ]
    if Section.MOUNTS in found.sections:
        data["tmpfs"] = [
            {"mount": one.point, "policy": one.policy or None, "size_bytes": one.size}
            for one in found.mounts
            if one.kind == "tmpfs" and (one.policy or one.point == "/dev/shm")  # noqa: S108  # a mount point
        ]
    if Section.POWER in found.sections:
        data["cpufreq"] = [_policy(policy) for policy in found.power.policies]
        data["idle_states"] = [{"name": one.name, "cpus": _set(one.cpus)} for one in found.power.idle_states]
    if Section.SERVICES in found.sections:
        told = found.irqbalance
        data["irqbalance"] = {"unit": told.unit or None, "policy": told.policy or None, "banned": _set(told.banned)}
    return data


def _policy(policy: Policy) -> dict[str, Any]:
    return {
        "policy": policy.id,
        "cpus": _set(policy.cpus),
        "driver": policy.driver or None,
        "governors": list(policy.governors),
        "preferences": list(policy.preferences),
        "min_khz": policy.lowest,
        "max_khz": policy.highest,
    }


def _host(found: Topology, root: str) -> dict[str, Any]:
    machine = found.machine
    return {
        "root": root,
        "kernel": machine.kernel or None,
        "arch": machine.arch or None,
        "virt": machine.virt or None,
        "distribution": machine.distribution or None,
        "systemd": machine.systemd,
        "page_size": machine.page_size,
        "memory_bytes": machine.memory_bytes,
        "boot_id": machine.boot_id or None,
        "fingerprint": found.fingerprint,
    }


def _cpus(found: Topology) -> dict[str, Any]:
    cpus = found.cpus
    return {
        "online": str(cpus.online),
        "offline": str(cpus.offline),
        "isolated": str(cpus.isolated),
        "nohz_full": str(cpus.nohz_full),
        "possible": found.machine.possible_cpus,
        "packages": {str(package): str(group) for package, group in cpus.packages.items()},
        "cores": [{"cpus": str(core.cpus), "package": core.package} for core in cpus.cores],
        "l3": [str(group) for group in cpus.l3],
    }


def _node(node: Node) -> dict[str, Any]:
    return {
        "id": node.id,
        "kind": node.kind,
        "cpus": str(node.cpus),
        "memory_bytes": node.memory_bytes,
        "free_bytes": node.free_bytes,
        "distances": {str(other): distance for other, distance in node.distances.items()},
        "hugepages": {
            str(size): {"total": pool.total, "free": pool.free, "surplus": pool.surplus}
            for size, pool in node.hugepages.items()
        },
        "access": [
            {
                "class": access.access_class,
                "initiators": str(access.initiators),
                "read_latency_ns": access.read_latency,
                "write_latency_ns": access.write_latency,
                "read_bandwidth_mib_s": access.read_bandwidth,
                "write_bandwidth_mib_s": access.write_bandwidth,
            }
            for access in node.access
        ],
        "tier": node.tier,
    }


def _device(device: Device) -> dict[str, Any]:
    return {
        "address": device.address,
        "kind": device.kind,
        "class": device.class_,
        "vendor": device.vendor,
        "device": device.device,
        "driver": device.driver or None,
        "names": list(device.names),
        "node": device.node,
        "resolved_node": device.resolved_node,
        "resolved_by": device.resolved_by,
        "local_cpus": _set(device.local_cpus),
        "parents": list(device.parents),
    }


def _interrupt(irq: Interrupt) -> dict[str, Any]:
    return {
        "number": irq.number,
        "device": irq.device,
        "index": irq.index,
        "name": irq.name,
        "chip": irq.chip,
        "movable": irq.movable,
        "requested": _set(irq.requested),
        "effective": _set(irq.effective),
    }


def _set(held: CpuSet | None) -> str | None:
    return None if held is None else str(held)
