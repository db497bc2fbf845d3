"""Control groups: v2 with cpuset and memory on one tree, v1 with a tree each; as the kernel does it, errnos too."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator

from fakes.kernel import Behaviour, FakeKernel
from fakes.masks import exclude
from numatune.compat import override
from numatune.cpus import CpuSet
from numatune.settings.codecs import bytes_of

UNLIMITED_V1 = "9223372036854771712"
_PAGE = 4096
_CAN_EMPTY = (7, 3)
_SETS = {"cpus": "Cpus_allowed_list", "mems": "Mems_allowed_list"}


def mounts(kernel: FakeKernel, kind: str) -> dict[str, str]:
    """Mount points by options, of one file system."""
    lines = [line.split() for line in kernel.files.get("/proc/mounts", "").splitlines()]
    return {words[1]: words[3] for words in lines if words[2] == kind}


def bounds(kernel: FakeKernel) -> dict[str, CpuSet]:
    """All that the machine has online."""
    online = kernel.files["/sys/devices/system/cpu/online"]
    memory = kernel.files.get("/sys/devices/system/node/has_memory", "0")
    return {"cpus": CpuSet.parse(online), "mems": CpuSet.parse(memory)}


def children(kernel: FakeKernel, folder: str) -> Iterator[str]:
    for name in kernel.names(folder):
        if kernel.is_folder(f"{folder}/{name}"):
            yield f"{folder}/{name}"


def pids(kernel: FakeKernel, folder: str) -> list[str]:
    return kernel.files.get(f"{folder}/cgroup.procs", "").split()


def populated(kernel: FakeKernel, folder: str) -> bool:
    return bool(pids(kernel, folder)) or any(populated(kernel, child) for child in children(kernel, folder))


def allow(kernel: FakeKernel, folder: str, field: str, allowed: CpuSet) -> None:
    """Tasks of a group are told what they may use now."""
    for pid in pids(kernel, folder):
        path = f"/proc/{pid}/status"
        if path in kernel.files:
            kernel.files[path] = re.sub(rf"(?m)^{field}:.*$", f"{field}:\t{allowed}", kernel.files[path])


def parse(kernel: FakeKernel, text: str) -> CpuSet | int:
    try:
        asked = CpuSet.parse(text)
    except ValueError:
        return errno.EINVAL
    possible = CpuSet.parse(kernel.files.get("/sys/devices/system/cpu/possible", "0-63"))
    return asked if not asked or asked.last <= max(possible.last, 63) else errno.ERANGE


def rounded(text: str) -> str | None:
    """Bytes, down to a page; ``max``; None for what is no size."""
    try:
        size = bytes_of(text)
    except ValueError:
        return None
    return "max" if size is None else str(size // _PAGE * _PAGE)


class CgroupV2(Behaviour):
    """The unified tree."""

    @override
    def start(self, kernel: FakeKernel) -> None:
        for root in mounts(kernel, "cgroup2"):
            if "cpuset" in kernel.files.get(f"{root}/cgroup.controllers", ""):
                self.spread(kernel, root)

    def _root(self, kernel: FakeKernel, path: str) -> str | None:
        return next((root for root in mounts(kernel, "cgroup2") if path == root or path.startswith(f"{root}/")), None)

    @override
    def make(self, kernel: FakeKernel, folder: str) -> int | None:
        root = self._root(kernel, folder)
        if root is None:
            return None
        parent = folder.rpartition("/")[0]
        kind = "domain" if kernel.files.get(f"{parent}/cgroup.type", "domain\n") == "domain\n" else "domain invalid"
        kernel.put(f"{folder}/cgroup.procs", "\n")
        kernel.put(f"{folder}/cgroup.type", f"{kind}\n")
        kernel.put(f"{folder}/cgroup.events", "populated 0\nfrozen 0\n", 0o444)
        kernel.put(f"{folder}/cgroup.subtree_control", "\n")
        self._hand_on(kernel, folder, kernel.files[f"{parent}/cgroup.subtree_control"].split())
        self.spread(kernel, root)
        return 0

    @override
    def drop(self, kernel: FakeKernel, path: str) -> int | None:
        root = self._root(kernel, path)
        if root is None or path in kernel.files:
            return None
        if pids(kernel, path) or any(children(kernel, path)):
            return errno.EBUSY
        kernel.remove(path)
        self.spread(kernel, root)
        return 0

    @override
    def write(self, kernel: FakeKernel, path: str, text: str) -> int | None:
        root = self._root(kernel, path)
        if root is None:
            return None
        folder, _, name = path.rpartition("/")
        match name:
            case "cgroup.subtree_control":
                code = self._subtree(kernel, folder, text)
            case "cpuset.cpus" | "cpuset.mems":
                code = self._set(kernel, folder, name.removeprefix("cpuset."), text)
            case "cpuset.cpus.partition":
                code = self._partition(kernel, folder, text.strip())
            case "memory.max":
                size = rounded(text)
                code = errno.EINVAL if size is None else 0
                kernel.files[path] = kernel.files[path] if size is None else f"{size}\n"
            case _:
                return None
        if not code:
            self.spread(kernel, root)
        return code

    def _isolated(self, kernel: FakeKernel, folder: str) -> CpuSet:
        """CPUs of all isolated partitions below a group."""
        found = CpuSet()
        for child in children(kernel, folder):
            if kernel.files.get(f"{child}/cpuset.cpus.partition") == "isolated\n":
                found |= CpuSet.parse(kernel.files[f"{child}/cpuset.cpus.effective"])
            found |= self._isolated(kernel, child)
        return found

    def _subtree(self, kernel: FakeKernel, folder: str, text: str) -> int:
        path, offered = f"{folder}/cgroup.subtree_control", kernel.files[f"{folder}/cgroup.controllers"].split()
        held = set(kernel.files[path].split())
        wanted = set(held)
        for word in text.split():
            if word[:1] not in "+-" or word[1:] not in {"cpuset", "cpu", "io", "memory", "hugetlb", "pids"}:
                return errno.EINVAL
            if word[0] == "+" and word[1:] not in offered:
                return errno.ENOENT
            wanted = wanted | {word[1:]} if word[0] == "+" else wanted - {word[1:]}
        if any(
            (held - wanted) & set(kernel.files[f"{child}/cgroup.subtree_control"].split())
            for child in children(kernel, folder)
        ):
            return errno.EBUSY
        if pids(kernel, folder) and f"{folder}/cgroup.type" in kernel.files and wanted - held:
            if wanted - held - {"cpuset", "cpu", "pids"}:
                return errno.EBUSY
            kernel.files[f"{folder}/cgroup.type"] = "domain threaded\n"
            for child in children(kernel, folder):
                kernel.files[f"{child}/cgroup.type"] = "domain invalid\n"
        kernel.files[path] = " ".join(sorted(wanted)) + "\n"
        for child in children(kernel, folder):
            self._hand_on(kernel, child, sorted(wanted))
        return 0

    def _hand_on(self, kernel: FakeKernel, folder: str, controllers: list[str]) -> None:
        """Files of what the parent hands on come, the others go. Tasks keep what they were told last."""
        files = {
            "cpuset": {"cpuset.cpus": "", "cpuset.mems": "", "cpuset.cpus.partition": "member"},
            "memory": {"memory.max": "max", "memory.current": "0"},
        }
        kernel.put(f"{folder}/cgroup.controllers", " ".join(controllers) + "\n", 0o444)
        for controller, made in files.items():
            here = f"{folder}/{next(iter(made))}" in kernel.files
            if controller in controllers and not here:
                for name, text in made.items():
                    kernel.put(f"{folder}/{name}", f"{text}\n")
            if controller not in controllers and here:
                for name in kernel.names(folder):
                    if name.startswith(f"{controller}."):
                        kernel.remove(f"{folder}/{name}")

    def _set(self, kernel: FakeKernel, folder: str, what: str, text: str) -> int:
        asked = parse(kernel, text)
        if isinstance(asked, int):
            return asked
        if what == "mems" and not asked <= bounds(kernel)["mems"]:
            return errno.EINVAL
        version = tuple(map(int, kernel.files["/proc/sys/kernel/osrelease"].split("-")[0].split(".")[:2]))
        if not asked and pids(kernel, folder) and version < _CAN_EMPTY:
            return errno.ENOSPC
        kernel.files[f"{folder}/cpuset.{what}"] = f"{asked}\n"
        return 0

    def _partition(self, kernel: FakeKernel, folder: str, word: str) -> int:
        if word not in ("member", "root", "isolated"):
            return errno.EINVAL
        kernel.files[f"{folder}/cpuset.cpus.partition"] = f"{word}\n"
        return 0

    def spread(self, kernel: FakeKernel, folder: str, given: dict[str, CpuSet] | None = None) -> None:
        """Work out what is in force in a group and below it: what it asks of what it is given, or all of that."""
        if given is None:
            self.spread(kernel, folder, bounds(kernel))
            exclude(kernel, self._isolated(kernel, folder))
            return
        below = dict(given)
        taken = CpuSet()
        for child in children(kernel, folder):
            taken |= self._judged(kernel, child, given["cpus"])
        below["cpus"] = given["cpus"] - taken or given["cpus"]
        for child in children(kernel, folder):
            mine = dict(below)
            for what, field in _SETS.items():
                asked = CpuSet.parse(kernel.files.get(f"{child}/cpuset.{what}", ""))
                exclusive = what == "cpus" and self._exclusive(kernel, child)
                mine[what] = (asked & (given if exclusive else below)[what]) or below[what]
                if f"{child}/cpuset.{what}" in kernel.files:
                    kernel.put(f"{child}/cpuset.{what}.effective", f"{mine[what]}\n", 0o444)
                    allow(kernel, child, field, mine[what])
            if f"{child}/cgroup.events" in kernel.files:
                kernel.files[f"{child}/cgroup.events"] = f"populated {int(populated(kernel, child))}\nfrozen 0\n"
            self.spread(kernel, child, mine)

    def _exclusive(self, kernel: FakeKernel, folder: str) -> bool:
        return kernel.files.get(f"{folder}/cpuset.cpus.partition", "").strip() in ("root", "isolated")

    def _judged(self, kernel: FakeKernel, folder: str, given: CpuSet) -> CpuSet:
        """CPUs that a partition takes for itself. One that cannot be is still called what was written, but invalid."""
        path = f"{folder}/cpuset.cpus.partition"
        word = kernel.files.get(path, "member").split()[0]
        if word == "member":
            return CpuSet()
        asked = CpuSet.parse(kernel.files[f"{folder}/cpuset.cpus"])
        parent, siblings = folder.rpartition("/")[0], CpuSet()
        for sibling in children(kernel, parent):
            if sibling != folder:
                siblings |= CpuSet.parse(kernel.files.get(f"{sibling}/cpuset.cpus", ""))
        top = f"{parent}/cpuset.cpus.partition" not in kernel.files
        if not top and not self._exclusive(kernel, parent):
            kernel.files[path] = f"{word} invalid (Parent is not a partition root)\n"
        elif not asked & given or asked & siblings:
            kernel.files[path] = f"{word} invalid (Cpu list in cpuset.cpus not exclusive)\n"
        else:
            kernel.files[path] = f"{word}\n"
            return asked & given
        return CpuSet()


class CgroupV1(Behaviour):
    """The trees of cpuset and of memory, each by itself."""

    def _root(self, kernel: FakeKernel, path: str) -> tuple[str, str] | None:
        for root, options in mounts(kernel, "cgroup").items():
            if path == root or path.startswith(f"{root}/"):
                return root, "cpuset" if "cpuset" in options.split(",") else "memory"
        return None

    @override
    def make(self, kernel: FakeKernel, folder: str) -> int | None:
        found = self._root(kernel, folder)
        if found is None:
            return None
        files = {"cgroup.procs": "", "tasks": ""}
        if found[1] == "cpuset":
            files |= {"cpuset.cpus": "", "cpuset.mems": "", "cpuset.memory_migrate": "0"}
        else:
            files |= {"memory.limit_in_bytes": UNLIMITED_V1, "memory.usage_in_bytes": "0"}
        for name, text in files.items():
            kernel.put(f"{folder}/{name}", f"{text}\n")
        if found[1] == "cpuset":
            for what in _SETS:
                kernel.put(f"{folder}/cpuset.effective_{what}", "\n", 0o444)
        return 0

    @override
    def drop(self, kernel: FakeKernel, path: str) -> int | None:
        if self._root(kernel, path) is None or path in kernel.files:
            return None
        if pids(kernel, path) or any(children(kernel, path)):
            return errno.EBUSY
        kernel.remove(path)
        return 0

    @override
    def write(self, kernel: FakeKernel, path: str, text: str) -> int | None:
        found = self._root(kernel, path)
        folder, _, name = path.rpartition("/")
        if found is None:
            return None
        if name == "memory.limit_in_bytes":
            return self._limit(kernel, folder, text)
        if name not in ("cpuset.cpus", "cpuset.mems"):
            return None
        if folder == found[0]:
            return errno.EACCES
        return self._set(kernel, folder, name.removeprefix("cpuset."), text)

    def _set(self, kernel: FakeKernel, folder: str, what: str, text: str) -> int:
        asked = parse(kernel, text)
        if isinstance(asked, int):
            return asked
        if not asked <= bounds(kernel)[what]:
            return errno.EINVAL
        if not asked <= CpuSet.parse(kernel.files[f"{folder.rpartition('/')[0]}/cpuset.{what}"]):
            return errno.EACCES
        if any(not CpuSet.parse(kernel.files[f"{child}/cpuset.{what}"]) <= asked for child in children(kernel, folder)):
            return errno.EBUSY
        if not asked and pids(kernel, folder):
            return errno.ENOSPC
        kernel.files[f"{folder}/cpuset.{what}"] = f"{asked}\n"
        kernel.files[f"{folder}/cpuset.effective_{what}"] = f"{asked}\n"
        allow(kernel, folder, _SETS[what], asked)
        return 0

    def _limit(self, kernel: FakeKernel, folder: str, text: str) -> int:
        size = "max" if text.strip() == "-1" else rounded(text)
        if size is None or (size == "max" and text.strip() != "-1"):
            return errno.EINVAL
        if size != "max" and int(size) < int(kernel.files[f"{folder}/memory.usage_in_bytes"]):
            return errno.EBUSY
        kernel.files[f"{folder}/memory.limit_in_bytes"] = f"{UNLIMITED_V1 if size == 'max' else size}\n"
        return 0
