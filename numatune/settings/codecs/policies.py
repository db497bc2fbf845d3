"""Memory policies of a tmpfs, as its mount options spell them (Linux mm/mempolicy.c, mpol_parse_str)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from numatune.compat import override
from numatune.cpus import CpuSet
from numatune.settings.codecs.base import Codec

_POLICY = re.compile(
    r"(default|local|prefer|bind|interleave|weighted interleave|prefer \(many\))((?:=(?:static|relative))?)(?::(.*))?\Z"
)
_NONE, _NEAREST = "default", "local"


@dataclass(frozen=True, slots=True)
class MemPolicy(Codec):
    """``interleave:0-1``; ``default`` where the mount shows none.

    A remount to ``default`` changes nothing (seen on 6.1 to 7.3), so the way back to no policy is ``local``, the
    nearest there is, and counts as it: pages are where they are first touched, but the writer's own numactl no longer
    counts.
    """

    @override
    def show(self, text: str) -> str:
        found = _POLICY.match(text.strip())
        if found is None:
            raise ValueError(f"{text.strip()!r} is no memory policy")
        nodes = f":{CpuSet.parse(found[3])}" if found[3] else ""
        return f"{found[1]}{found[2]}{nodes}"

    @override
    def same(self, a: str, b: str) -> bool:
        first, second = self.show(a), self.show(b)
        return first == second or {first, second} == {_NONE, _NEAREST}

    @override
    def holds(self, want: str, have: str) -> bool:
        """A wanted ``local`` is not what a mount without a policy has."""
        return self.show(want) == self.show(have)

    @override
    def spell(self, want: str, have: str | None) -> tuple[str, ...]:
        spelled = self.show(want)
        return (_NEAREST if spelled == _NONE else spelled,)
