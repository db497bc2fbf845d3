"""Mounts of tmpfs in /proc/mounts, as a kernel with these nodes takes and shows their options."""

from __future__ import annotations

import errno
import re
from typing import TYPE_CHECKING, Any

from fakes.tree_kernel import version
from numatune.cpus import CpuSet

if TYPE_CHECKING:
    from fakes.kernel import FakeKernel

TABLE = "/proc/mounts"
_POLICY = re.compile(r"(default|local|prefer|bind|interleave|weighted interleave)(?::(.+))?\Z")
_HUGE = {"never", "always", "within_size", "advise"}


class MountCalls:
    """What a host is asked about mounts, hooked and logged like its writes."""

    def mount(self: Any, folder: str, kind: str, options: str) -> int:
        return self._hooked(folder, f"<mount {kind} {options}>", lambda: mount(self, folder, options))

    def unmount(self: Any, folder: str) -> int:
        return self._hooked(folder, "<unmount>", lambda: unmount(self, folder))

    def reconfigure(self: Any, folder: str, option: str, value: str) -> int:
        return self._hooked(folder, f"<{option}={value}>", lambda: reconfigure(self, folder, option, value))


def mount(kernel: FakeKernel, folder: str, options: str) -> int:
    """A new tmpfs over a folder that no link leads to."""
    if kernel.uid:
        return errno.EPERM
    if kernel.real(folder) != folder or not kernel.is_folder(folder):
        return errno.ENOENT
    shown = {"rw": ""}
    for name, value in _parsed(options).items():
        if failed := _set(kernel, shown, name, value):
            return failed
    kernel.files[TABLE] += _line("numatune", folder, shown)
    return 0


def unmount(kernel: FakeKernel, folder: str) -> int:
    """What lies in it goes with it."""
    lines = kernel.files[TABLE].splitlines(keepends=True)
    ours = [line for line in lines if line.split(" ")[1] == folder]
    if not ours:
        return errno.EINVAL
    for name in kernel.names(folder):
        kernel.remove(f"{folder}/{name}")
    kernel.files[TABLE] = "".join(line for line in lines if line is not ours[-1])
    return 0


def reconfigure(kernel: FakeKernel, folder: str, option: str, value: str) -> int:
    """fsconfig: one option, all or nothing. mpol=default changes nothing, and says so to nobody."""
    if kernel.uid:
        return errno.EPERM
    if version(kernel.files["/proc/sys/kernel/osrelease"]) < (5, 4):
        return errno.ENOSYS
    lines = kernel.files[TABLE].splitlines(keepends=True)
    for place, line in enumerate(lines):
        source, point, _, *options = line.split(" ")
        if point == folder:
            shown = _parsed(" ".join(options[:-2]))
            if failed := _set(kernel, shown, option, value):
                return failed
            lines[place] = _line(source, point, shown)
    kernel.files[TABLE] = "".join(lines)
    return 0


def _set(kernel: FakeKernel, shown: dict[str, str], name: str, value: str) -> int:
    match name:
        case "mpol":
            found = _POLICY.match(value)
            memory = CpuSet.parse(kernel.files["/sys/devices/system/node/has_memory"])
            if not found or (found[2] and not CpuSet.parse(found[2]) <= memory):
                return errno.EINVAL
            if value != "default":
                shown[name] = value
        case "huge":
            if value not in _HUGE:
                return errno.EINVAL
            shown.pop(name, None)
            if value != "never":
                shown[name] = value
        case "size":
            shown[name] = f"{int(value) >> 10}k" if value.isdecimal() else value
        case "mode" if value in {"1777", "01777"}:
            pass
        case _:
            shown[name] = value
    return 0


def _parsed(options: str) -> dict[str, str]:
    """A word that begins with a digit is a node of the list before it."""
    words: list[str] = []
    for word in options.split(","):
        if word[:1].isdigit() and words:
            words[-1] += f",{word}"
        else:
            words.append(word)
    return dict(word.partition("=")[::2] for word in words)


def _line(source: str, point: str, shown: dict[str, str]) -> str:
    options = ",".join(f"{name}={value}" if value else name for name, value in shown.items())
    return f"{source} {point} tmpfs {options} 0 0\n"
