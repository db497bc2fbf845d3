"""A shared-memory file: its policy and where its pages are, for people and as JSON, format 1."""

from __future__ import annotations

from typing import Any

from numatune.launch.shared import Shared

FORMAT = 1
"""Of the JSON. Names may be added, none changes its meaning."""

_MIB = 1024


def text(found: Shared) -> str:
    """``/dev/shm/x  64M, 12M of it placed, interleave 0-1`` and a line a node."""
    policy = repr(found.policy)
    lines = [f"{found.path}  {_size(found.bytes // _MIB)}, {_size(found.placed)} of it placed, {policy}"]
    lines += [f"  node {node}  {_size(kib)}  {kib / found.placed:.1%}" for node, kib in found.kib.items()]
    return "\n".join(lines)


def data(found: Shared) -> dict[str, Any]:
    """Sizes in KiB, but of the file in bytes; `policy` is that of its first page."""
    return {
        "format": FORMAT,
        "path": found.path,
        "bytes": found.bytes,
        "policy": {"mode": found.policy.mode, "nodes": list(found.policy.nodes), "reason": found.policy.reason},
        "kib": {str(node): kib for node, kib in found.kib.items()},
    }


def _size(kib: int) -> str:
    return f"{kib / _MIB:.0f}M" if kib >= _MIB else f"{kib}K"
