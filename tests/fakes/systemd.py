"""systemd as process 1, as systemctl 252 to 257 answer for it.

All is told by files that a real host has too: unit files and drop-ins, links in .wants, /dev/null for a mask. A unit
runs when it has a control group (system.slice/irqbalance.service below the unified tree). What a stopped unit had is
kept in facts, so that it starts as it was.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from fakes.cgroup import CgroupV2, children, mounts
from fakes.kernel import LINK, Behaviour, FakeKernel
from numatune.compat import override
from numatune.cpus import CpuSet
from numatune.host.protocol import Ran
from numatune.settings.codecs import bytes_of

ETC, RUN = "/etc/systemd/system", "/run/systemd/system"
FOLDERS = (ETC, RUN, "/usr/lib/systemd/system", "/lib/systemd/system")
CONTROL = ("/run/systemd/system.control", "/etc/systemd/system.control")
LIVE = {"AllowedCPUs": "cpuset.cpus", "AllowedMemoryNodes": "cpuset.mems", "MemoryMax": "memory.max"}
_NOT_BOOTED = (
    "System has not been booted with systemd as init system (PID 1). Can't operate.\n"
    "Failed to connect to bus: Host is down\n"
)
_STASH = "systemd: a stopped unit had"


class Systemd(Behaviour):
    """Answers ``systemctl``; not there at all where the host has none (`installed` False)."""

    def __init__(self, *, installed: bool = True) -> None:
        self.installed = installed

    @override
    def command(self, kernel: FakeKernel, argv: tuple[str, ...]) -> Ran | None:
        if argv[0] != "systemctl" or not self.installed:
            return None
        if kernel.files.get("/proc/1/comm") != "systemd\n":
            return Ran(1, "", _NOT_BOOTED)
        options = [word for word in argv if word.startswith("-")]
        verb, *names = [word for word in argv[1:] if not word.startswith("-")]
        if verb == "show":
            return self._show(kernel, argv)
        if kernel.uid:
            return Ran(1, "", f"Failed to {verb} unit: Access denied\n")
        return self._told(kernel, verb, names, runtime="--runtime" in options)

    def _told(self, kernel: FakeKernel, verb: str, names: list[str], *, runtime: bool) -> Ran:
        match verb, names:
            case ("daemon-reload", []) | ("reset-failed" | "kill", [_, *_]):
                return Ran(0)
            case "stop", [_, _, *_]:
                return max((self._job(kernel, "stop", unit) for unit in names), key=lambda ran: ran.code)
            case "set-property", [unit, *assignments]:
                return self._set_property(kernel, unit, assignments, CONTROL[0 if runtime else 1])
            case (("start" | "stop" | "restart" | "try-restart"), [unit]):
                return self._job(kernel, verb, unit)
            case (("enable" | "disable" | "mask" | "unmask"), [unit]):
                return self._file(kernel, verb, unit, RUN if runtime else ETC)
        raise AssertionError((verb, names))

    @override
    def snapshot(self, kernel: FakeKernel, state: dict[str, str]) -> None:
        """Drop-ins that say nothing any more stay where they are, and change nothing."""
        for path in [
            path for path, text in state.items() if path.startswith(CONTROL) and not text.partition("=")[2].strip("\n")
        ]:
            del state[path]
        for path in [path for path, text in state.items() if path.startswith(CONTROL) and text.endswith("=infinity\n")]:
            del state[path]

    def _show(self, kernel: FakeKernel, argv: tuple[str, ...]) -> Ran:
        unit = argv[-1]
        asked = [argv[place + 1] for place, word in enumerate(argv) if word == "-p"]
        group = self.group(kernel, unit)
        told = {
            "LoadState": self._load_state(kernel, unit),
            "ActiveState": "active" if group else "inactive",
            "UnitFileState": self._file_state(kernel, unit),
            "FragmentPath": self._fragment(kernel, unit),
            "ControlGroup": group.removeprefix(self._tree(kernel)) if group else "",
            "TriggeredBy": "",
            **{name: self._property(kernel, unit, name) for name in LIVE},
        }
        return Ran(0, "".join(f"{name}={told[name]}\n" for name in sorted(asked) if name in told))

    # what runs

    def _tree(self, kernel: FakeKernel) -> str:
        return next(iter(mounts(kernel, "cgroup2")), "/sys/fs/cgroup/systemd")

    def group(self, kernel: FakeKernel, unit: str) -> str:
        """The control group of a unit that runs, "" of one that does not."""
        return next((found for found in self._groups(kernel, self._tree(kernel)) if found.endswith(f"/{unit}")), "")

    def _groups(self, kernel: FakeKernel, folder: str) -> Iterator[str]:
        for child in children(kernel, folder):
            yield child
            yield from self._groups(kernel, child)

    def _job(self, kernel: FakeKernel, verb: str, unit: str) -> Ran:
        load, group = self._load_state(kernel, unit), self.group(kernel, unit)
        if load == "not-found":
            missing = "not loaded" if verb == "stop" else "not found"
            return Ran(5, "", f"Failed to {verb} {unit}: Unit {unit} {missing}.\n")
        if load == "masked" and verb != "stop":
            return Ran(1, "", f"Failed to {verb} {unit}: Unit {unit} is masked.\n")
        if verb == "stop" and group:
            self._stop(kernel, unit, group)
        if verb in {"start", "restart"} and not group:
            self.start_unit(kernel, unit)
        return Ran(0)

    def _stop(self, kernel: FakeKernel, unit: str, group: str) -> None:
        pids = kernel.files.get(f"{group}/cgroup.procs", "").split()
        gone = [group, *(f"/proc/{pid}" for pid in pids)]
        kept = {path: text for path, text in kernel.files.items() if any(path.startswith(f"{top}/") for top in gone)}
        kernel.facts[f"{_STASH} {unit}"] = json.dumps(kept)
        for path in gone:
            kernel.remove(path)

    def start_unit(self, kernel: FakeKernel, unit: str) -> None:
        """With what it had when it was stopped, and with what it has been told since."""
        for path, text in json.loads(kernel.facts.pop(f"{_STASH} {unit}", "{}")).items():
            kernel.put(path, text)
        if not self.group(kernel, unit):
            parent = self._parent(kernel, unit)
            CgroupV2().make(kernel, f"{parent}/{unit}")
        for name in LIVE:
            self._apply(kernel, unit, name, at_start=True)

    def _parent(self, kernel: FakeKernel, unit: str) -> str:
        stem = unit.removesuffix(".slice")
        if stem == unit:
            outer = "system.slice"
        elif "-" in stem:
            outer = f"{stem.rpartition('-')[0]}.slice"
        else:
            return self._tree(kernel)
        if not self.group(kernel, outer):
            self.start_unit(kernel, outer)
        return self.group(kernel, outer)

    # what units are told

    def _property(self, kernel: FakeKernel, unit: str, name: str) -> str:
        for folder in CONTROL:
            text = kernel.files.get(f"{folder}/{unit}.d/50-{name}.conf")
            if text is not None:
                return text.partition(f"{name}=")[2].strip()
        file = kernel.files.get(self._fragment(kernel, unit), "")
        told = [line.partition("=")[2] for line in file.splitlines() if line.startswith(f"{name}=")]
        return told[-1] if told else ("infinity" if name == "MemoryMax" else "")

    def _set_property(self, kernel: FakeKernel, unit: str, assignments: list[str], folder: str) -> Ran:
        if self._load_state(kernel, unit) == "not-found":
            return Ran(1, "", f"Failed to set unit properties on {unit}: Unit {unit} not found.\n")
        for assignment in assignments:
            name, _, value = assignment.partition("=")
            if name not in LIVE:
                return Ran(1, "", f"Unknown assignment: {assignment}\n")
            try:
                spelled = self._spelled(name, value)
            except ValueError:
                return Ran(1, "", f"Failed to parse {name} value: {value}\n")
            kernel.put(f"{folder}/{unit}.d/50-{name}.conf", f"{name}={spelled}\n")
            self._apply(kernel, unit, name)
        return Ran(0)

    def _spelled(self, name: str, value: str) -> str:
        if name == "MemoryMax":
            size = bytes_of(value)
            return "infinity" if size is None else str(size)
        return str(CpuSet.parse(value.replace(" ", ","))).replace(",", " ")

    def _apply(self, kernel: FakeKernel, unit: str, name: str, *, at_start: bool = False) -> None:
        """Into the control group of a unit that runs. A cpuset that nobody needs goes, and its files too."""
        group, value = self.group(kernel, unit), self._property(kernel, unit, name)
        if not group or (at_start and value in ("", "infinity")):
            return
        tree, cgroups = self._tree(kernel), CgroupV2()
        if name == "MemoryMax":
            cgroups.write(kernel, f"{group}/memory.max", "max" if value == "infinity" else value)
            return
        above = [tree, *(f"{tree}/{'/'.join(parts)}" for parts in _heads(group.removeprefix(f"{tree}/").split("/")))]
        if value:
            for folder in above:
                cgroups.write(kernel, f"{folder}/cgroup.subtree_control", "+cpuset")
            cgroups.write(kernel, f"{group}/{LIVE[name]}", value.replace(" ", ","))
        elif not any(self._property(kernel, one, what) for one in self._running(kernel) for what in list(LIVE)[:2]):
            for folder in reversed(above):
                cgroups.write(kernel, f"{folder}/cgroup.subtree_control", "-cpuset")
        else:
            kernel.files[f"{group}/{LIVE[name]}"] = "\n"
            cgroups.spread(kernel, tree)

    def _running(self, kernel: FakeKernel) -> list[str]:
        return [group.rpartition("/")[2] for group in self._groups(kernel, self._tree(kernel))]

    # unit files

    def _fragment(self, kernel: FakeKernel, unit: str) -> str:
        return next((f"{folder}/{unit}" for folder in FOLDERS if f"{folder}/{unit}" in kernel.files), "")

    def _masks(self, kernel: FakeKernel, unit: str) -> Mapping[str, str]:
        named = {f"{ETC}/{unit}": "masked", f"{RUN}/{unit}": "masked-runtime"}
        return {path: word for path, word in named.items() if kernel.links.get(path) == "/dev/null"}

    def _load_state(self, kernel: FakeKernel, unit: str) -> str:
        if self._masks(kernel, unit):
            return "masked"
        there = self._fragment(kernel, unit) or self.group(kernel, unit) or unit.endswith(".slice")
        return "loaded" if there else "not-found"

    def _wants(self, kernel: FakeKernel, unit: str, folder: str) -> list[str]:
        return [path for path in kernel.links if path.startswith(f"{folder}/") and path.endswith(f".wants/{unit}")]

    def _file_state(self, kernel: FakeKernel, unit: str) -> str:
        file = self._fragment(kernel, unit)
        if masked := self._masks(kernel, unit):
            return next(iter(masked.values()))
        for folder, word in ((ETC, "enabled"), (RUN, "enabled-runtime")):
            if self._wants(kernel, unit, folder):
                return word
        if not file:
            return ""
        return "disabled" if "[Install]" in kernel.files[file] else "static"

    def _file(self, kernel: FakeKernel, verb: str, unit: str, folder: str) -> Ran:
        file, own = self._fragment(kernel, unit), f"{folder}/{unit}"
        refusal = ""
        if verb in {"enable", "disable"} and not file:
            refusal = f"Unit file {unit} does not exist."
        elif verb == "enable" and self._masks(kernel, unit):
            refusal = f"Unit file {unit} is masked."
        elif verb == "mask" and own in kernel.files:
            refusal = f"File {own} already exists."
        if refusal:
            return Ran(1, "", f"Failed to {verb} unit: {refusal}\n")
        if verb == "enable":
            lines = kernel.files[file].splitlines()
            for target in [line.partition("=")[2] for line in lines if line.startswith("WantedBy=")]:
                kernel.put(f"{folder}/{target}.wants/{unit}", f"{LINK}{file}")
        elif verb == "mask":
            kernel.put(own, f"{LINK}/dev/null")
        for path in {"disable": self._wants(kernel, unit, folder), "unmask": self._masks(kernel, unit)}.get(verb, ()):
            kernel.remove(path)
        return Ran(0)


def _heads(parts: list[str]) -> Iterator[list[str]]:
    """All groups above a unit's, outermost first."""
    for depth in range(1, len(parts)):
        yield parts[:depth]
