"""The host that a case file of tests/knobs describes."""

from __future__ import annotations

from typing import Any

from fakes.kernel import FakeKernel
from fakes.trees import host_tree


def kernel_of(case: dict[str, Any]) -> FakeKernel:
    """By its keys host, tree, modes, read_only and uid; of `tree`, null takes away."""
    tree = host_tree(**case.get("host", {}))
    for path, text in case.get("tree", {}).items():
        if text is not None:
            tree[path] = text
        for gone in [name for name in tree if text is None and (name == path or name.startswith(f"{path}/"))]:
            del tree[gone]
    modes = {path: int(str(mode), 8) for path, mode in case.get("modes", {}).items()}
    return FakeKernel(tree, modes=modes, read_only=case.get("read_only", ()), uid=case.get("uid", 0))
