"""What processes have against what they were to get: for people and as JSON, format 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numatune.launch.proof import Proof
from numatune.views.columns import columns
from numatune.views.style import Style

FORMAT = 1
"""Of the JSON. Names may be added, none changes its meaning."""

_HEAD = ("pid", "name", "rank", "node", "CPUs wanted", "CPUs", "memory wanted", "memory", "by node", "remote", "")
_RIGHT = "pid,remote"
_KIB = 1024


def table(found: Sequence[Proof], style: Style) -> str:
    """A row a process; below it what differs."""
    if not found:
        return "No process here was started by numatune run, or none that may be looked at."
    lines = columns(_HEAD, [_cells(one) for one in found], style, right=_RIGHT)
    for one in found:
        if one.differences:
            lines += ["", style.paint(f"Process {one.pid}", "bold"), *(f"  {text}" for text in one.differences)]
    return "\n".join(lines)


def data(found: Sequence[Proof]) -> dict[str, Any]:
    """``processes``: wanted, real, what differs. Memory is in KiB by node."""
    return {"format": FORMAT, "processes": [_process(one) for one in found]}


def _cells(one: Proof) -> tuple[str, ...]:
    wanted = one.wanted
    return (
        str(one.pid),
        one.name,
        "" if wanted is None or wanted.rank is None else str(wanted.rank),
        "" if wanted is None or wanted.node is None else str(wanted.node),
        "" if wanted is None else str(wanted.cpus) or "any",
        _several({str(thread.cpus) for thread in one.threads}),
        "" if wanted is None else f"{wanted.memory.mode} {wanted.memory.nodes}".rstrip(),
        _several({f"{thread.policy} {thread.nodes}".rstrip() for thread in one.threads if thread.policy}),
        " ".join(f"{node}:{size(kib)}" for node, kib in sorted(one.kib.items())),
        "" if one.remote is None else f"{one.remote:.1%}",
        one.unreadable or ("differs" if one.differences else "as wanted" if wanted else "not started by numatune"),
    )


def _several(texts: set[str]) -> str:
    return min(texts) if len(texts) == 1 else f"{len(texts)} kinds" if texts else ""


def size(kib: int) -> str:
    """``5K``, ``15M``, ``1.2G``."""
    return f"{kib / _KIB / _KIB:.1f}G" if kib >= _KIB * _KIB else f"{kib / _KIB:.0f}M" if kib >= _KIB else f"{kib}K"


def _process(one: Proof) -> dict[str, Any]:
    wanted = one.wanted
    return {
        "pid": one.pid,
        "name": one.name,
        "uid": one.user,
        "wanted": None
        if wanted is None
        else {
            "rank": wanted.rank,
            "node": wanted.node,
            "cpus": str(wanted.cpus) or None,
            "memory": {"mode": wanted.memory.mode, "nodes": str(wanted.memory.nodes)},
            "devices": list(wanted.devices),
        },
        "threads": [
            {
                "tid": thread.id,
                "cpus": str(thread.cpus),
                "memory": {"mode": thread.policy, "nodes": str(thread.nodes)} if thread.policy else None,
            }
            for thread in one.threads
        ],
        "kib": by_node(one.kib),
        "others_kib": by_node(one.others_kib),
        "remote": one.remote,
        "unreadable": one.unreadable,
        "differences": list(one.differences),
    }


def by_node(kib: Mapping[int, int]) -> dict[str, int]:
    """For JSON, whose names are texts."""
    return {str(node): amount for node, amount in sorted(kib.items())}
