"""Workers and where they belong by their devices, before and after they are bound: for people and as JSON, format 1."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from numatune.launch.worker import Rebind
from numatune.views.columns import columns
from numatune.views.placement_proof import by_node, size
from numatune.views.style import Style, plural

FORMAT = 1
"""Of the JSON. Names may be added, none changes its meaning."""

_HEAD = ("pid", "name", "devices", "node", "CPUs", "threads", "memory by node", "elsewhere", "")
_RIGHT = "pid,elsewhere"


def table(found: Sequence[Rebind], style: Style) -> str:
    """A row a process; below it what was refused, and what memory stays."""
    if not found:
        return "No process here was started by numatune run, or none that may be looked at."
    lines = columns(_HEAD, [_cells(one) for one in found], style, right=_RIGHT)
    for one in found:
        if told := [line for text in _told(one) for line in style.wrap(text, 2)]:
            lines += ["", style.paint(f"Process {one.proof.pid}", "bold"), *(f"  {line}" for line in told)]
    return "\n".join(lines)


def data(found: Sequence[Rebind]) -> dict[str, Any]:
    """``processes``: where each belongs, threads that were not there, and what came of it; ``bound`` is null before."""
    return {"format": FORMAT, "processes": [_process(one) for one in found]}


def _cells(one: Rebind) -> tuple[str, ...]:
    proof = one.proof
    away = sum(one.elsewhere.values())
    return (
        str(proof.pid),
        proof.name,
        " ".join(one.devices),
        "" if one.node is None else str(one.node),
        str(one.cpus),
        str(len(proof.threads)),
        " ".join(f"{node}:{size(kib)}" for node, kib in sorted(proof.kib.items())),
        size(away) if away else "",
        _state(one),
    )


def _state(one: Rebind) -> str:
    if one.left:
        return one.left
    if one.refused:
        return f"{plural(len(one.refused), 'thread')} refused"
    threads, what = (one.outside, "to bind") if one.bound is None else (one.bound, "bound")
    return f"{plural(len(threads), 'thread')} {what}" if threads else "as wanted"


def _told(one: Rebind) -> Iterator[str]:
    yield from (step.line for step in one.steps if step.warns)
    yield from (f"thread {thread} refused: {reason}" for thread, reason in one.refused.items())
    if one.elsewhere:
        there = ", ".join(f"{size(kib)} at node {node}" for node, kib in sorted(one.elsewhere.items()))
        yield f"{there} was placed before and stays; new pages follow the threads, unless a policy says otherwise"
        yield f"migratepages {one.proof.pid} {_nodes(one)} {one.nodes} moves what is not pinned, and stalls it"


def _nodes(one: Rebind) -> str:
    return ",".join(map(str, sorted(one.elsewhere)))


def _process(one: Rebind) -> dict[str, Any]:
    proof = one.proof
    return {
        "pid": proof.pid,
        "name": proof.name,
        "uid": proof.user,
        "devices": list(one.devices),
        "node": one.node,
        "cpus": str(one.cpus) or None,
        "memory_nodes": str(one.nodes),
        "left": one.left,
        "threads": len(proof.threads),
        "outside": list(one.outside),
        "bound": None if one.bound is None else list(one.bound),
        "refused": [{"tid": thread, "reason": reason} for thread, reason in one.refused.items()],
        "kib": by_node(proof.kib),
        "elsewhere_kib": by_node(one.elsewhere),
        "steps": [
            {"step": step.step, "result": step.result, "reason": step.reason, "warns": step.warns} for step in one.steps
        ],
    }
