"""What this machine runs: kernel, architecture, hypervisor, distribution, init."""

from __future__ import annotations

import math
import os
import re

from numatune.discover.cpus import possible_cpus
from numatune.discover.nodes import machine_memory
from numatune.discover.read import fields, number, text
from numatune.host.protocol import Reader
from numatune.topology.model import Machine

_DMI = "/sys/class/dmi/id"
_CLOCKS = "/sys/devices/system/clocksource/clocksource0/available_clocksource"
_VERSION = re.compile(r"Linux version (\S+)")

_FIRMWARE: tuple[tuple[str, str], ...] = (
    ("Amazon EC2", "amazon"),
    ("Google Compute Engine", "google"),
    ("VMware", "vmware"),
    ("VMW", "vmware"),
    ("innotek GmbH", "oracle"),
    ("VirtualBox", "oracle"),
    ("Xen", "xen"),
    ("Bochs", "bochs"),
    ("Parallels", "parallels"),
    ("BHYVE", "bhyve"),
    ("Virtual Machine", "microsoft"),
    ("KubeVirt", "kvm"),
    ("OpenStack", "kvm"),
    ("KVM", "kvm"),
    ("QEMU", "qemu"),
)
"""Beginnings of DMI texts, and the words of ``systemd-detect-virt`` for them."""

_CLOCKSOURCES = (("kvm-clock", "kvm"), ("hyperv_clocksource", "microsoft"), ("xen", "xen"))

_MODEL_NAMES: tuple[tuple[str, str], ...] = (
    ("cpu", "POWER"),
    ("vendor_id", "IBM/S390"),
    ("arch", "IA-64"),
    ("isa", "rv64"),
    ("CPU architecture", "8"),
)
_MODEL_ARCH = ("ppc64le", "s390x", "ia64", "riscv64", "aarch64")


def machine(reader: Reader) -> Machine:
    """Everything of the section MACHINE."""
    cpuinfo = fields(text(reader, "/proc/cpuinfo"))
    arch = os.uname().machine if reader.live else _arch(reader, cpuinfo)
    return Machine(
        kernel=kernel_release(reader),
        arch=arch,
        virt=_virt(reader, cpuinfo, arch),
        distribution=_distribution(reader),
        page_size=os.sysconf("SC_PAGE_SIZE") if reader.live else _page_size(reader, arch),
        boot_id=text(reader, "/proc/sys/kernel/random/boot_id") or "",
        cmdline=text(reader, "/proc/cmdline") or "",
        systemd=_systemd(reader),
        possible_cpus=possible_cpus(reader),
        memory_bytes=machine_memory(reader),
    )


def kernel_release(reader: Reader) -> str:
    """What ``uname -r`` says there, "" when the tree does not tell."""
    release = text(reader, "/proc/sys/kernel/osrelease")
    if release is None:
        found = _VERSION.match(text(reader, "/proc/version") or "")
        release = found[1] if found else ""
    return release


def _arch(reader: Reader, cpuinfo: dict[str, str]) -> str:
    """From the words that each architecture's /proc/cpuinfo has of its own."""
    if "flags" in cpuinfo:
        return "x86_64" if "lm" in cpuinfo["flags"].split() else "i686"
    for (key, start), arch in zip(_MODEL_NAMES, _MODEL_ARCH, strict=True):
        if cpuinfo.get(key, "").startswith(start):
            return arch
    modalias = text(reader, "/sys/devices/system/cpu/modalias") or ""
    return "x86_64" if modalias.startswith("cpu:type:x86") else ""


def _virt(reader: Reader, cpuinfo: dict[str, str], arch: str) -> str:
    """The word of ``systemd-detect-virt --vm``: "none" on metal, "vm-other" for a hypervisor that hides, "" unknown."""
    flags = cpuinfo.get("flags", "").split()
    if flags and "hypervisor" not in flags:
        return "none"
    told = (text(reader, f"{_DMI}/{name}") for name in ("sys_vendor", "product_name", "board_vendor", "bios_vendor"))
    names = [name for name in told if name]
    firmware = next((word for start, word in _FIRMWARE if any(name.startswith(start) for name in names)), "")
    clocks = text(reader, _CLOCKS) or ""
    clock = next((word for name, word in _CLOCKSOURCES if name in clocks), "")
    found = clock if firmware in {"", "qemu"} and clock else firmware
    found = found or _told_by_platform(reader)
    if found:
        return found
    if flags:
        return "vm-other"
    return "none" if names and arch == "aarch64" else ""


def _told_by_platform(reader: Reader) -> str:
    """Where there is neither DMI nor a CPU flag: device tree (arm, POWER), /proc/sysinfo (s390), Xen's own folder."""
    compatible = text(reader, "/proc/device-tree/hypervisor/compatible") or ""
    if compatible:
        return "kvm" if compatible.startswith("linux,kvm") else "xen" if "xen" in compatible else "vm-other"
    if reader.stat("/proc/device-tree/ibm,partition-name"):
        return "powervm"
    program = fields(text(reader, "/proc/sysinfo")).get("VM00 Control Program", "")
    if program:
        return "zvm" if program.startswith("z/VM") else "kvm"
    return text(reader, "/sys/hypervisor/type") or ""


def _distribution(reader: Reader) -> str:
    """``debian 13``; a rolling one has no version."""
    held = text(reader, "/etc/os-release", "/usr/lib/os-release") or ""
    pairs = (line.partition("=") for line in held.splitlines())
    values = {key.strip(): value.strip().strip("\"'") for key, equals, value in pairs if equals}
    return " ".join(filter(None, (values.get("ID"), values.get("VERSION_ID"))))


def _page_size(reader: Reader, arch: str) -> int:
    """A huge page of the page middle directory maps one page full of 8-byte entries: size = page * page / 8."""
    if arch == "ppc64le":
        return 65536
    pmd = number(reader, "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size")
    return math.isqrt(8 * pmd) if pmd and pmd > 0 else 4096


def _systemd(reader: Reader) -> bool:
    comm = text(reader, "/proc/1/comm")
    return reader.stat("/run/systemd/system") is not None if comm is None else comm == "systemd"
