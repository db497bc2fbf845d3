"""shm: on which nodes shared memory lies: the memory policy of a tmpfs.

A file takes its mount's policy over when it is made, and that goes before what its writer asks for (numactl). So a
mount of its own for the one cache that should be spread is better than /dev/shm, which everybody uses. It reaches files
of that mount only: no SysV shared memory, no memfd, no anonymous shared mapping, no hugetlbfs, and no container or unit
with a /dev/shm of its own.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, RootModel, model_validator

from numatune.cpus import CpuSet
from numatune.knobs.base import Context, CpuSetField, Knob, Section, joined, wanted
from numatune.knobs.node_ids import without_memory
from numatune.settings.codecs import AnyCodec, Choice, MemPolicy, Size, Words, bytes_of
from numatune.settings.model import Guard, Impact, Phase, Refuse, Setting, SettingId
from numatune.settings.targets import Folder, Mount, MountOption, Nothing
from numatune.topology.kernel import at_least
from numatune.topology.memory import total_memory
from numatune.topology.model import Section as TopologySection
from numatune.topology.model import Topology

Policy = Literal["interleave", "weighted-interleave", "bind", "prefer", "local"]
_SHARED: Final = "/dev/shm"  # noqa: S108  # a mount point, no temporary file
_PATH: Final = re.compile(r"/[\x21-\x7e]{1,200}", re.ASCII)
_MODE: Final = re.compile(r"[01]?[0-7]{3}")
_SHARE: Final = 90
"""Per cent of the memory of its nodes that a tmpfs may be as large as: beyond that a full one leaves no memory."""

_EVERYBODY: Final = "for all POSIX shared memory of this host; a mount of its own for one cache (with a size) is better"
_NO_WAY_BACK: Final = "a remount takes no policy off again: a rollback sets local, which goes before a writer's numactl"
_FILES: Final = "files that are there keep the policy they have"


def path_key(text: str) -> str:
    """A mount point in its one spelling. Raises ValueError; an expression is left to be worked out."""
    if "{{" in text:
        return text
    if not _PATH.fullmatch(text) or ".." in text.split("/") or "\\" in text or posixpath.normpath(text) == "/":
        raise ValueError(
            f"{text!r} is no mount point; accepted: a path like {_SHARED} or /mnt/kv-cache, without blanks"
        )
    return posixpath.normpath(text)


def _size(text: str) -> str:
    if bytes_of(text) is None:
        raise ValueError(f"{text!r} is no size of a mount; accepted: a size like 512G")
    return text


def _mode(text: str) -> str:
    if not _MODE.fullmatch(text):
        raise ValueError(f"{text!r} is no mode; accepted: three or four octal digits in quotes, like '1777'")
    return text


class Shm(Section):
    """One mount.

    policy  interleave: evenly; weighted-interleave: by the weights (Linux 6.9); bind; prefer: one node; local
    nodes   by default every node that has CPUs and memory
    size    makes it a mount of its own, mounted where there is none yet: 512G
    huge    huge pages: never, always, within_size (as far as a file reaches), advise
    mode    of a mount of its own, when it is mounted: 1777
    """

    policy: Policy
    nodes: CpuSetField | None = None
    size: Annotated[str, AfterValidator(_size)] | None = None
    huge: Literal["never", "always", "within_size", "advise"] | None = None
    mode: Annotated[str, AfterValidator(_mode)] | None = None
    why: str = ""
    optional: bool | None = None

    @model_validator(mode="after")
    def _fits(self) -> Shm:
        if self.policy == "local" and self.nodes is not None:
            raise ValueError("nodes beside policy: local, which has none; accepted: one of them")
        if self.mode is not None and self.size is None:
            raise ValueError("a mode without a size; accepted: mode beside size, for a mount of its own")
        return self


class ShmSection(RootModel[dict[Annotated[str, AfterValidator(path_key)], Shm | None]]):
    """``{/mnt/kv-cache: {policy: interleave, size: 512G}}``, by mount point; the key may be an expression."""


def settings(section: ShmSection, context: Context) -> tuple[Setting, ...]:
    """The rows of each mount: that it is there, its policy, its size, its huge pages. Outer ones first."""
    made: list[Setting] = []
    for path, asked in sorted(section.root.items()):
        if asked is not None:
            outer = (one.id for one in made if isinstance(one.target, Mount) and path.startswith(f"{one.target.path}/"))
            made += _Wanted(path, asked, context, max(outer, key=len, default=None)).settings()
    return tuple(made)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """One mount point and what is asked of it. `outer`: the mount of ours in which its folder lies."""

    path: str
    asked: Shm
    context: Context
    outer: SettingId | None

    @property
    def topology(self) -> Topology:
        return self.context.topology

    @property
    def own(self) -> bool:
        """Whether it is a mount of its own, which is mounted where it is missing."""
        return self.asked.size is not None and self.path != _SHARED

    @property
    def nodes(self) -> CpuSet:
        if self.asked.nodes is not None:
            return self.asked.nodes
        return CpuSet(node.id for node in self.topology.nodes if node.kind == "cpu+mem")

    def settings(self) -> Iterator[Setting]:
        if lacking := self._lacking():
            yield self._row("policy", Nothing("unsupported", lacking), Words(), self._policy())
            return
        maker = None
        if self.own:
            folder, mount = self._made()
            maker = mount.id
            yield from (folder, mount)
        options = [self._with_policy(), *self._sized(), *self._huge()]
        yield from (replace(option, needs=maker) for option in options)

    def _made(self) -> tuple[Setting, Setting]:
        """The folder and the mount on it."""
        folder = replace(self._row("folder", Folder(self.path), Choice(), "here"), needs=self.outer)
        options = {"size": self._bytes(), "mode": self.asked.mode or "1777", "huge": self.asked.huge or ""}
        words = [f"{name}={text}" for name, text in options.items() if text]
        target = Mount(self.path, ",".join([*words, f"mpol={self._policy()}"]))
        mount = replace(self._row("mount", target, Choice(), "here"), needs=folder.id, guard=self._too_large())
        return folder, mount

    def _with_policy(self) -> Setting:
        now = next((one.policy for one in self.topology.mounts if one.point == self.path), None)
        without = now == "" or (now is None and not self.own)
        everybody, files = _EVERYBODY if self.path == _SHARED else "", _FILES if now is not None else ""
        note = joined(everybody, files, _NO_WAY_BACK if without else "", self._slow())
        made = self._row("policy", MountOption(self.path, "mpol"), MemPolicy(), self._policy())
        return replace(made, impact=Impact.NEW_PROCESSES, undo="nearest" if without else "exact", note=note)

    def _sized(self) -> Iterator[Setting]:
        if self.asked.size is not None:
            codec = Size(page=self.topology.machine.page_size)
            made = self._row("size", MountOption(self.path, "size"), codec, self._bytes())
            yield replace(made, guard=self._too_large())

    def _huge(self) -> Iterator[Setting]:
        if self.asked.huge is not None:
            made = self._row("huge", MountOption(self.path, "huge"), Words(), self.asked.huge)
            yield replace(made, impact=Impact.NEW_PROCESSES)

    def _row(self, name: str, target: Folder | Mount | MountOption | Nothing, codec: AnyCodec, want: str) -> Setting:
        path = ("shm", self.path)
        made = wanted(self.context, path, self.asked, want=want, target=target, codec=codec, phase=Phase.TIERS)
        return replace(made, id=SettingId(f"shm:{self.path}/{name}"))

    def _policy(self) -> str:
        """As the kernel spells it."""
        word = "weighted interleave" if self.asked.policy == "weighted-interleave" else self.asked.policy
        return word if word == "local" else f"{word}:{self.nodes}"

    def _bytes(self) -> str:
        return str(bytes_of(self.asked.size or "0"))

    def _lacking(self) -> str:
        """Why this host cannot have it, or ""."""
        topology, local = self.topology, self.asked.policy == "local"
        if not topology.numa:
            return "this kernel has no nodes, and mounts no policy"
        if self.asked.policy == "weighted-interleave" and not at_least(topology.machine.kernel, 6, 9):
            return "weighted interleave came with Linux 6.9"
        return ("" if local else self._wrong_nodes()) or self._wrong_mount()

    def _wrong_mount(self) -> str:
        """Why what is mounted there cannot have it, or ""."""
        at = next((one for one in self.topology.mounts if one.point == self.path), None)
        if not self.topology.mounts:
            return "nothing here tells what is mounted"
        if at is None:
            return "" if self.own else f"no tmpfs is mounted at {self.path}; with a size, one of its own is"
        if at.kind != "tmpfs":
            return f"{at.kind} is mounted at {self.path}, which has no memory policy"
        if not (MemPolicy().holds(self._policy(), at.policy or "default") or self._can_remount):
            return "the policy of a mount that is there can be changed since Linux 5.4"
        return ""

    @property
    def _can_remount(self) -> bool:
        return at_least(self.topology.machine.kernel, 5, 4)

    def _wrong_nodes(self) -> str:
        without = [why for node in self.nodes if (why := without_memory(node, self.topology))]
        if without or not self.nodes:
            return without[0] if without else "no node is named"
        if self.asked.policy == "prefer" and len(self.nodes) > 1:
            return f"prefer takes one node, not {self.nodes}"
        return ""

    def _slow(self) -> str:
        """Whether nodes without CPUs take part."""
        alone = CpuSet(node.id for node in self.topology.nodes if node.kind == "memory-only") & self.nodes
        if not alone or self.asked.policy != "interleave":
            return ""
        return f"nodes {alone} have memory alone (CXL, or a GPU's), and get as many pages as the others"

    def _too_large(self) -> Guard | None:
        sizes = [node.memory_bytes for node in self.topology.nodes if node.id in self.nodes]
        known = [size for size in sizes if size is not None]
        bound = self.asked.policy in {"bind", "interleave"} and len(known) == len(sizes) and known
        memory = sum(known) if bound else total_memory(self.topology)
        size = int(self._bytes())
        if memory is None or size <= memory * _SHARE // 100:
            return None
        where = f"nodes {self.nodes}" if bound else "this host"
        return Refuse(f"{size >> 20} MiB is more than {_SHARE} % of the {memory >> 20} MiB of {where}")


KNOB: Final = Knob(
    name="shm",
    model=ShmSection,
    reads=frozenset({TopologySection.NODES, TopologySection.MOUNTS}),
    settings=settings,
    key=path_key,
    keys_are_values=True,
)
