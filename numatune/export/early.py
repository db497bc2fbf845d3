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
from numatune.settings.targets import KernelFile

_SYSCTLS = "/proc/sys/"


def sysctl_d(settings: Iterable[Setting]) -> str:
    """Lines of sysctl.d(5); "" when there are none. A key that a kernel lacks fails no boot: that is the minus sign."""
    lines = [
        f"-{_key(path)} = {' '.join(value.split())}"
        for path, value in _plain(settings, "sysctl.d")
        if path.startswith(_SYSCTLS)
    ]
    return _file(lines)


def tmpfiles_d(settings: Iterable[Setting]) -> str:
    """Lines of tmpfiles.d(5); "" when there are none.

    ``w`` writes to what is there and passes over what is not; ``!`` only at boot, never when a package's installation
    has systemd-tmpfiles go over all files; ``-`` lets no failure count.
    """
    return _file([f"w!- {path} - - - - {_escaped(value)}" for path, value in _plain(settings, "tmpfiles.d")])


def _plain(settings: Iterable[Setting], home: str) -> list[tuple[str, str]]:
    """Path and value of what a line of that home can keep, in the order of writing."""
    found = [(setting.phase, *one) for setting in settings if setting.home == home and (one := _line(setting))]
    return [(path, value) for _, path, value in sorted(found)]


def _line(setting: Setting) -> tuple[str, str] | None:
    target, codec = setting.target, setting.codec
    if not isinstance(target, KernelFile) or len(target.paths) != 1 or setting.want is None:
        return None
    if setting.guard is not None or setting.impact is Impact.DISRUPTS or (isinstance(codec, Int) and codec.op != "="):
        return None
    texts = codec.spell(setting.want, None)
    return (target.paths[0], texts[0]) if len(texts) == 1 and texts[0].strip() else None


def _key(path: str) -> str:
    """In dots; in slashes where a part has a dot itself (net/ipv4/conf/bond0.354/forwarding)."""
    below = path.removeprefix(_SYSCTLS)
    return below if "." in below else below.replace("/", ".")


def _escaped(value: str) -> str:
    """Specifiers start with a percent sign, escapes with a backslash."""
    return " ".join(value.split()).replace("\\", "\\\\").replace("%", "%%")


def _file(lines: list[str]) -> str:
    return "\n".join([OURS, *lines, ""]) if lines else ""
