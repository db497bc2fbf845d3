"""Who else sets what numatune sets: lines of sysctl.d and fstab, services that rewrite values while they run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from numatune.host.mounts import Mounted
from numatune.host.protocol import Reader
from numatune.settings.codecs import meets
from numatune.settings.model import Setting, SettingId
from numatune.settings.persisted import SYSCTL_D
from numatune.settings.plan import Conflict, Observation
from numatune.settings.targets import IrqAffinity, KernelFile, MountOption, OwnedFile

_SYSCTLS = "/proc/sys/"
_FOLDERS = ("/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d", "/lib/sysctl.d")
"""A file in an earlier one masks those of its name in the later ones (sysctl.d(5))."""

_LAST = "/etc/sysctl.conf"
"""``sysctl --system`` reads it after all others (sysctl(8)); Debian links it into /etc/sysctl.d for systemd."""

_THP = "/sys/kernel/mm/transparent_hugepage/"
_CPUFREQ = "/sys/devices/system/cpu/"
_IRQ = "/proc/irq/"

_KSM = "/sys/kernel/mm/ksm/"
_WORKQUEUES = "/sys/devices/virtual/workqueue/"
_NET = "/sys/class/net/"
_FSTAB = "/etc/fstab"

RIVALS: Mapping[str, tuple[str, ...]] = {
    "auto-cpufreq": (_CPUFREQ,),
    "bpftune": (f"{_SYSCTLS}net/",),
    "irqbalance": (_IRQ,),
    "ksmtuned": (_KSM,),
    "numad": ("/sys/fs/cgroup/", f"{_THP}khugepaged/scan_sleep_millisecs", f"{_SYSCTLS}kernel/numa_balancing"),
    "power-profiles-": (_CPUFREQ,),  # power-profiles-daemon, as far as the kernel keeps a name
    "sapconf": (_SYSCTLS, _THP),
    "saptune": (_SYSCTLS, _THP),
    "thermald": (_CPUFREQ,),
    "tuned": (_SYSCTLS, _THP, _CPUFREQ, _IRQ, _KSM, _WORKQUEUES, _NET),
}
"""The comm of a service that rewrites values while it runs, and below which paths it does."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of sysctl.d. `key`: its path below /proc/sys, or a glob over such. `value` None: out of all globs."""

    key: str
    value: str | None
    where: str


def named(
    settings: Sequence[Setting], seen: Mapping[SettingId, Observation], reader: Reader
) -> dict[SettingId, Observation]:
    """The observations, with who else sets the same."""
    wanted = [setting for setting in settings if setting.want is not None]
    lines = _assignments(reader) if any(_sysctl(setting, seen) for setting in wanted) else ()
    rivals = _running(wanted, seen, reader) if any(_touchable(setting, seen) for setting in wanted) else ()
    out = dict(seen)
    for setting in wanted:
        found = (*_lines(setting, lines, seen), *_rivals(setting, rivals, seen), *_mounts(setting, reader))
        if found:
            before = seen[setting.id]
            out[setting.id] = replace(before, conflicts=(*before.conflicts, *found))
    return out


def _sysctl(setting: Setting, seen: Mapping[SettingId, Observation]) -> str:
    """The path below /proc/sys, "" for what is no sysctl."""
    where = seen[setting.id].where
    is_sysctl = isinstance(setting.target, KernelFile) and where.startswith(_SYSCTLS)
    return where.removeprefix(_SYSCTLS) if is_sysctl else ""


def _touchable(setting: Setting, seen: Mapping[SettingId, Observation]) -> bool:
    return isinstance(setting.target, KernelFile | IrqAffinity) and seen[setting.id].text is not None


def _lines(setting: Setting, lines: Iterable[Line], seen: Mapping[SettingId, Observation]) -> tuple[Conflict, ...]:
    """The assignment that counts for this key, when what it assigns is not as wanted, and is somebody else's."""
    key = _sysctl(setting, seen)
    if not key or setting.want is None:
        return ()
    counted = [line for line in lines if line.key == key] or [line for line in lines if _covers(line.key, key)]
    value = counted[-1].value if counted else None
    if value is None or meets(setting.codec, setting.want, value) or counted[-1].where.startswith(SYSCTL_D):
        return ()
    return (Conflict("sysctl.d", counted[-1].where, value),)


def _covers(pattern: str, key: str) -> bool:
    """Whether a glob means this key; a star stays within one part. A key that is set by name is out of every glob."""
    parts, patterns = key.split("/"), pattern.split("/")
    return len(parts) == len(patterns) and all(map(fnmatchcase, parts, patterns))


def _mounts(setting: Setting, reader: Reader) -> Iterator[Conflict]:
    """What fstab gives a mount when it is mounted, where that is something else."""
    target, want = setting.target, setting.want
    if not isinstance(target, MountOption) or want is None:
        return
    for number, line in enumerate((reader.read(_FSTAB).text or "").splitlines(), 1):
        words = line.split()
        if len(words) > 3 and words[1] == target.path:  # noqa: PLR2004  # source, point, type, options
            value = Mounted(words[1], words[2], words[3]).option(target.name)
            if value is not None and not meets(setting.codec, want, value):
                yield Conflict("fstab", f"{_FSTAB}:{number}", value)


def _rivals(
    setting: Setting, rivals: Iterable[tuple[str, str]], seen: Mapping[SettingId, Observation]
) -> tuple[Conflict, ...]:
    """A managed interrupt is nobody's to move but the kernel's, and irqbalance leaves the mask of new ones alone."""
    where, is_irq = seen[setting.id].where, isinstance(setting.target, IrqAffinity)
    if not _touchable(setting, seen) or (is_irq and seen[setting.id].writable is False):
        return ()
    able = [(name, pid) for name, pid in rivals if is_irq or name != "irqbalance"]
    return tuple(Conflict(name, f"pid {pid}") for name, pid in able if where.startswith(RIVALS[name]))


def _running(
    wanted: Iterable[Setting], seen: Mapping[SettingId, Observation], reader: Reader
) -> tuple[tuple[str, str], ...]:
    """Rivals that run, as (comm, pid). A service that a file of ours keeps off our values is no rival."""
    fenced = {
        (setting.target.restart or "").removesuffix(".service")
        for setting in wanted
        if isinstance(setting.target, OwnedFile) and seen[setting.id].text == setting.want
    }
    pids = [name for name in reader.names("/proc") if name.isdecimal()]
    running = ((reader.read(f"/proc/{pid}/comm").text or "", pid) for pid in pids)
    found = [(comm.strip(), pid) for comm, pid in running if comm.strip() in RIVALS]
    return tuple((name, pid) for name, pid in found if name not in fenced)


def _assignments(reader: Reader) -> tuple[Line, ...]:
    """Every assignment, in the order in which systemd-sysctl and ``sysctl --system`` make them: the last counts."""
    files: dict[str, str] = {}
    for folder in reversed(_FOLDERS):
        files |= {name: f"{folder}/{name}" for name in reader.names(folder) if name.endswith(".conf")}
    paths = [files[name] for name in sorted(files)]
    return tuple(line for path in (*paths, _LAST) for line in _parsed(path, reader.read(path).text or ""))


def _parsed(path: str, text: str) -> Iterable[Line]:
    """``key = value`` lines; ``-key = value`` ignores errors; ``-key`` alone takes a key out of later globs."""
    for number, raw in enumerate(text.splitlines(), 1):
        stripped = raw.strip()
        if not stripped or stripped[0] in "#;":
            continue
        key, equals, value = stripped.removeprefix("-").partition("=")
        if equals or stripped.startswith("-"):
            yield Line(_slashed(key.strip()), value.strip() if equals else None, f"{path}:{number}")


def _slashed(key: str) -> str:
    """The path below /proc/sys. The first separator says whether the key is in dots or in slashes."""
    dot, slash = key.find("."), key.find("/")
    if dot < 0 or 0 <= slash < dot:
        return key
    return key.translate(str.maketrans("./", "/."))
