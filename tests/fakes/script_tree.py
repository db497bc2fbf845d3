"""What an exported script looks at of a fake kernel, as plain files; and the script that looks at these."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable
from pathlib import Path

from fakes.kernel import FakeKernel
from numatune.host.mounts import table

_FOLDERS = "sys|proc|etc|run|var|mnt|dev/shm|lib/modules"
_ABSOLUTE = re.compile(rf"(?<![\w./}}*:\"'-])/(?=(?:{_FOLDERS})(?:/|\b))|(?<=['\"])/(?=(?:{_FOLDERS})/)")
_NAMED = re.compile(rf"/(?:{_FOLDERS})(?:/[^\s'\"$;*]+)?")
_PATH = "PATH=/usr/sbin:/usr/bin:/sbin:/bin\n"


def lay(kernel: FakeKernel, folder: Path, script: str) -> Path:
    """What a script could look at: files with their texts and modes, empty folders, and what is mounted.

    Links are followed, and what a tree cannot have as a plain file is put as its text.
    """
    for path in sorted(_looked_at(kernel, script)):
        found = kernel.stat(path)
        if found is not None and stat.S_ISDIR(found.mode):
            (folder / path.lstrip("/")).mkdir(parents=True, exist_ok=True)
        elif found is not None:
            made = _made(folder, path)
            made.write_text(kernel.read(path).text or "", encoding="utf-8")
            made.chmod(stat.S_IMODE(found.mode))
    mounts = "".join(f"1 1 0:1 / {folder}{one.point} rw - {one.kind} none {one.options}\n" for one in table(kernel))
    _made(folder, "/proc/self/mountinfo").write_text(mounts, encoding="utf-8")
    return folder


def inside(script: str, folder: Path) -> str:
    """The script with every absolute path of a kernel's below the folder, and every module there is to load."""
    head, path, rest = script.partition(_PATH)
    assert path, "it sets its own search path"
    stub = _made(folder, "/stubs/modprobe")
    stub.write_text("#!/bin/sh\n", encoding="utf-8")
    stub.chmod(0o755)
    return f"{head}{path.replace('=', f'={stub.parent}:')}{_ABSOLUTE.sub(f'{folder}/', rest)}"


def _looked_at(kernel: FakeKernel, script: str) -> set[str]:
    """What it names, what lies beside that, and what it finds by the number of an interrupt, a node or a module."""
    named = {found[0] for found in _NAMED.finditer(script)} | {"/proc/modules", "/sys/module"}
    looked_at = {f"{folder}/{name}" for folder in _folders_of(named) for name in kernel.names(folder)} | named
    for device in re.findall(r"^ *device (\S+)$", script, re.MULTILINE):
        for number in kernel.names(f"/sys/bus/pci/devices/{device}/msi_irqs"):
            looked_at.add(f"/sys/bus/pci/devices/{device}/msi_irqs/{number}")
            looked_at |= {f"/sys/kernel/irq/{number}/hwirq", f"/proc/irq/{number}/smp_affinity_list"}
    for node, size in re.findall(r"^ *pool (\d+) (\d+) ", script, re.MULTILINE):
        pool = f"/sys/devices/system/node/node{node}/hugepages/hugepages-{size}kB"
        looked_at |= {f"{pool}/{name}" for name in kernel.names(pool)}
    for module in re.findall(r"^ *module \S+ (\S+)$", script, re.MULTILINE):
        looked_at |= {f"/sys/module/{module}", f"/sys/module/{module}/initstate"}
    for folder in re.findall(r"^ *tmpfs (\S+) ", script, re.MULTILINE):
        looked_at |= {f"{folder}/{name}" for name in kernel.names(folder)}
    return looked_at | {path for path in kernel.files if path.endswith("/modules.builtin")}


def _folders_of(paths: Iterable[str]) -> set[str]:
    return {path.rpartition("/")[0] for path in paths} - {"", "/sys", "/proc", "/etc", "/run", "/proc/sys/vm"}


def _made(folder: Path, path: str) -> Path:
    made = folder / path.lstrip("/")
    made.parent.mkdir(parents=True, exist_ok=True)
    return made
