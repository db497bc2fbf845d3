"""What a kernel tells of memory besides its sizes: HMAT, weights."""

from __future__ import annotations

from collections.abc import Mapping

from fakes.tree_kernel import version

KSM = "/sys/kernel/mm/ksm"
WEIGHTS = "/sys/kernel/mm/mempolicy/weighted_interleave"


def weighted_interleave(kernel: str, memory: Mapping[int, int], bandwidths: Mapping[int, int]) -> dict[str, str]:
    """HMAT's bandwidths (MB/s by node), and a weight for each node with memory. `memory`: bytes by node."""
    tree = {}
    for node, speed in bandwidths.items():
        for access in ("access0", "access1"):
            base = f"/sys/devices/system/node/node{node}/{access}/initiators"
            tree |= {f"{base}/{way}_bandwidth": f"{speed}\n" for way in ("read", "write")}
            tree |= {f"{base}/{way}_latency": "100\n" for way in ("read", "write")}
            tree[f"{base}/node0"] = "-> ../../../node0"
    with_memory = [node for node, size in memory.items() if size]
    if version(kernel) < (6, 9):
        return tree
    weights = dict.fromkeys(with_memory, 1)
    if version(kernel) >= (6, 16):
        weights |= reduced(bandwidths)
        auto = "__auto_type" if version(kernel) == (6, 18) else "auto"
        tree[f"{WEIGHTS}/{auto}"] = "true\n"
    return tree | {f"{WEIGHTS}/node{node}": f"{weight}\n" for node, weight in weights.items()}


def reduced(bandwidths: Mapping[int, int]) -> dict[int, int]:
    """Weights in proportion to bandwidths, at most 32 (near what Linux mm/mempolicy.c makes of them)."""
    most = max(bandwidths.values(), default=1)
    return {node: max(1, round(32 * speed / most)) for node, speed in bandwidths.items()}


def ksm(kernel: str) -> dict[str, str]:
    """Merging that is switched off, with nothing merged."""
    files = {
        "run": "0",
        "merge_across_nodes": "1",
        "max_page_sharing": "256",
        "use_zero_pages": "0",
        "pages_to_scan": "100",
        "sleep_millisecs": "20",
        "pages_shared": "0",
        "pages_sharing": "0",
    }
    if version(kernel) >= (6, 7):
        files["smart_scan"] = "1"
    if version(kernel) >= (6, 8):
        files["advisor_mode"] = "[none] scan-time"
    return {f"{KSM}/{name}": f"{text}\n" for name, text in files.items()}
