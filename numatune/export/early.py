"""Early boot: sysctl.d and tmpfiles.d, for values that one line of a file can keep.

What no such line can keep is left to the boot unit: a bound (``>=``), one of two files of which each write zeroes the
other, what is per device or needs an order. So is what a guard rail is about, or what disrupts running work: whether
that is written is for an apply to decide, not for a file that nobody reads again before the next boot.
"""

from __future__ import annotations

from collections.abc import Iterable

from numatune.export.place import OURS
from numatune.settings.codecs import Int
from numatune.settings.model import Impact, Setting
from numatune.settings.targets import (
    Cgroup,
    Folder,
    HugepagePool,
    IrqAffinity,
    KernelFile,
    Module,
    Mount,
    MountOption,
    Nothing,
    OwnedFile,
    Target,
    UnitProperty,
    UnitState,
)

HOMES = ("sysctl.d", "tmpfiles.d")
_SYSCTLS = "/proc/sys/"


def sysctl_d(settings: Iterable[Setting], ours: str = OURS) -> str:
    """Lines of sysctl.d(5); "" when there are none. A key that a kernel lacks fails no boot: that is the minus sign.

    ours  the first line
    """
    lines = [
        f"-{_key(path)} = {' '.join(value.split())}"
        for path, value in _plain(settings, "sysctl.d")
        if path.startswith(_SYSCTLS)
    ]
    return _file(lines, ours)


def tmpfiles_d(settings: Iterable[Setting], ours: str = OURS) -> str:
    """Lines of tmpfiles.d(5); "" when there are none.

    ``w`` writes to what is there and passes over what is not; ``!`` only at boot, never when a package's installation
    has systemd-tmpfiles go over all files; ``-`` lets no failure count.
    """
    return _file([f"w!- {path} - - - - {_escaped(value)}" for path, value in _plain(settings, "tmpfiles.d")], ours)


def _plain(settings: Iterable[Setting], home: str) -> list[tuple[str, str]]:
    """Path and value of what a line of that home can keep, in the order of writing."""
    found = [
        (setting.phase, setting.target.paths[0], setting.codec.spell(setting.want, None)[0])
        for setting in settings
        if setting.home == home
        and setting.want is not None
        and isinstance(setting.target, KernelFile)
        and not unkept(setting)
    ]
    return [(path, value) for _, path, value in sorted(found)]


def unkept(setting: Setting) -> str:  # noqa: PLR0911  # one a reason
    """Why no plain line keeps what is wanted, in words; "" where one does."""
    target, codec = setting.target, setting.codec
    if not isinstance(target, KernelFile):
        return _by_kind(target)
    if len(target.paths) != 1:
        return "its file has another name on other kernels"
    if setting.home not in HOMES or setting.want is None:
        return "it belongs to a device or a group, or is written after something else"
    if setting.guard is not None:
        return "a guard rail decides when it is written"
    if setting.impact is Impact.DISRUPTS:
        return "it disrupts running work, so it is written on request only"
    if isinstance(codec, Int) and codec.op != "=":
        return f"a bound ({codec.op} {setting.want}): a line would move a value on that side too"
    texts = codec.spell(setting.want, None)
    return "" if len(texts) == 1 and texts[0].strip() else "another setting's write brings it about"


def _by_kind(target: Target) -> str:  # noqa: PLR0911  # one a kind
    match target:
        case IrqAffinity():
            return "an interrupt has another number after each boot"
        case HugepagePool():
            return "pages are taken node by node, as far as memory is free"
        case UnitProperty() | UnitState():
            return "it is a unit of systemd"
        case OwnedFile():
            return "it is a file of its own"
        case Module():
            return "it is a module of the kernel"
        case Nothing(reason=reason):
            return reason
        case Cgroup() | Folder() | Mount() | MountOption():
            return "it is made, or mounted, and not written"
        case _:
            return "it is looked at and never written"


def _key(path: str) -> str:
    """In dots; in slashes where a part has a dot itself (net/ipv4/conf/bond0.354/forwarding)."""
    below = path.removeprefix(_SYSCTLS)
    return below if "." in below else below.replace("/", ".")


def _escaped(value: str) -> str:
    """Specifiers start with a percent sign, escapes with a backslash."""
    return " ".join(value.split()).replace("\\", "\\\\").replace("%", "%%")


def _file(lines: list[str], ours: str) -> str:
    return "\n".join([ours, *lines, ""]) if lines else ""
