"""Files of which only a part may travel: each with a function that keeps what discover and the knobs read of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import fnmatchcase

from numatune.capture.allowed import globs

_CMDLINE = re.compile(
    r"(?:numa|numa_balancing|isolcpus|nohz|nohz_full|rcu_\w+|irqaffinity|threadirqs|kthread_cpus|managed_irq|nr_cpus"
    r"|maxcpus|possible_cpus|nosmt|smt|mitigations|hugepages|hugepagesz|default_hugepagesz|hugepage_alloc_threads"
    r"|hugetlb_\w+|transparent_hugepage\w*|thp_\w+|mem|memmap|memhp_\w+|movable_node|movablecore|kernelcore"
    r"|init_on_alloc|init_on_free|iommu|intel_iommu|amd_iommu|iommu\.\w+|arm-smmu\S*\.\w+|pci|pcie_\w+|idle|nohlt"
    r"|intel_idle\.\w+|intel_pstate|amd_pstate|amd_pstate\.\w+|processor\.\w+|cpufreq\.\w+|cpuidle\.\w+|cpu0_hotplug"
    r"|tsc|clocksource|skew_tick|hpet|nmi_watchdog|nowatchdog|nosoftlockup|watchdog_thresh|audit|selinux|psi"
    r"|cgroup_\w+|systemd\.unified_cgroup_hierarchy|systemd\.legacy_systemd_cgroup_controller|workqueue\.\w+"
    r"|efi|noefi|efi_fake_mem|acpi|noacpi|hmat|srat|nvme\.\w+|nvme_core\.\w+|nvidia\S*\.\w+|mlx[45]\w*\.\w+"
    r"|amdgpu\.\w+|preempt|split_lock_detect|slub_\w+|slab_\w+|page_alloc\.\w+|swapaccount|quiet|ro|rw)"
)
"""Names of kernel parameters whose value may travel; of the others nothing does."""

_CPUINFO = frozenset({"processor", "vendor_id", "model name", "flags", "cpu", "arch", "isa", "CPU architecture"})
_RELEASE = frozenset({"ID", "ID_LIKE", "VERSION_ID", "VERSION_CODENAME", "PRETTY_NAME"})
_IRQBALANCE = re.compile(r"(?:export +)?(?:IRQBALANCE_\w+|OPTIONS|ARGS)=")
_UNIT = re.compile(r"\[|ExecStart=|EnvironmentFile=|Environment=\s*[\"']?(?:IRQBALANCE_|OPTIONS)")
_POINTS = re.compile(r"/(?:proc(?:/sys(?:/.*)?)?|sys(?:/.*)?|etc(?:/systemd(?:/.*)?|/numatune)?|run|usr|dev/shm)?")
_TOLD = {
    "cgroup": re.compile(r"[a-z_]+"),
    "tmpfs": re.compile(r"size=\w+|huge=[a-z_]+|mpol=[a-z ()=]+(?::[0-9-]+)?|[0-9-]+"),
}
"""Options by type that travel: controllers of v1; size and policy, whose nodes have commas between them."""
_VARIABLE = re.compile(r"^((?:env|\+) [^=\n]*)=(.*)$", re.MULTILINE)
_PLAIN = re.compile(r"[0-9]{1,6}|true|false|cores|cpus")
_SLASHED = str.maketrans("./", "/.")


def reduced(path: str, text: str) -> str:
    """The part of a file's text that may travel."""
    how = next((how for pattern, how in _HOW if fnmatchcase(path, pattern)), None)
    return text if how is None else how(text)


def tells(parameter: str) -> bool:
    """Whether a parameter of the kernel's command line, ``name`` or ``name=value``, says how a host performs."""
    return bool(_CMDLINE.fullmatch(parameter.partition("=")[0].replace("-", "_")))


def _cmdline(text: str) -> str:
    """Words before `` -- ``, which end the kernel's own."""
    words = text.partition(" -- ")[0].split()
    return " ".join(word for word in words if tells(word)) + "\n"


def _cpuinfo(text: str) -> str:
    """``processor`` of every CPU, all else of the first that has it."""
    seen: set[str] = set()
    kept = []
    for line in text.splitlines():
        key = line.partition(":")[0].strip()
        if key in _CPUINFO and (key == "processor" or key not in seen):
            kept.append(line)
            seen.add(key)
    return "".join(f"{line}\n" for line in kept)


def _mounts(text: str) -> str:
    """Mount point, type, whether it is read-only, and of cgroup v1 and tmpfs what the knobs read."""
    kept = []
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 4 and _is_shown(words):  # noqa: PLR2004  # device, point, type, options
            options = " ".join(words[3:-2]).split(",")
            mode = "ro" if "ro" in options else "rw"
            more = [word for word in options if (told := _TOLD.get(words[2])) and told.fullmatch(word)]
            kept.append(
                f"none {words[1]} {words[2]} {','.join([mode, *(m for m in more if m not in {'ro', 'rw'})])} 0 0\n"
            )
    return "".join(kept)


def _is_shown(words: list[str]) -> bool:
    """Where kernel files are, /dev/shm, what numatune has mounted itself, and what has a policy of its own."""
    return words[0] == "numatune" or ",mpol=" in words[3] or bool(_POINTS.fullmatch(words[1]))


def _release(text: str) -> str:
    return _lines(text, lambda line: line.partition("=")[0].strip() in _RELEASE)


def _sysinfo(text: str) -> str:
    return _lines(text, lambda line: line.startswith("VM00 Control Program"))


def _environment(text: str) -> str:
    return _lines(text, lambda line: bool(_IRQBALANCE.match(line.strip())))


def _unit(text: str) -> str:
    return _lines(text.replace("\\\n", " "), lambda line: bool(_UNIT.match(line.strip())))


def _launch(text: str) -> str:
    """The launcher's policy and table; of variables only what is a count or a switch, because others may be secrets."""
    return _VARIABLE.sub(lambda found: found[0] if _PLAIN.fullmatch(found[2]) else f"{found[1]}=?", text)


def _sysctl_d(text: str) -> str:
    """Assignments of keys that are captured too; the others as empty lines, so that numbers of lines stay."""
    return "".join(f"{line if _allowed(line) else ''}\n" for line in text.splitlines())


def _allowed(line: str) -> bool:
    if line.strip()[:1] in {"", "#", ";"}:
        return False
    key = line.strip().removeprefix("-").partition("=")[0].strip()
    dot, slash = key.find("."), key.find("/")
    path = f"/proc/sys/{key if dot < 0 or 0 <= slash < dot else key.translate(_SLASHED)}"
    return any(fnmatchcase(one, path) for one in globs() if one.startswith("/proc/sys/"))


def _lines(text: str, keep: Callable[[str], bool]) -> str:
    return "".join(f"{line}\n" for line in text.splitlines() if keep(line))


_HOW: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("/proc/cmdline", _cmdline),
    ("/proc/cpuinfo", _cpuinfo),
    ("/proc/sysinfo", _sysinfo),
    ("/proc/mounts", _mounts),
    ("/proc/*/mounts", _mounts),
    ("/proc/device-tree/ibm,partition-name", lambda _: ""),
    ("*/os-release", _release),
    ("*/sysctl.d/*.conf", _sysctl_d),
    ("/etc/sysctl.conf", _sysctl_d),
    ("/etc/numatune/launch", _launch),
    ("/etc/systemd/system/irqbalance.service.d/50-numatune.conf", lambda text: text),
    ("*/irqbalance.service", _unit),
    ("*/irqbalance.service.d/*.conf", _unit),
    ("/etc/*/irqbalance", _environment),
)
"""The first that fits; numatune's own file stays whole, because it is compared as a whole."""
