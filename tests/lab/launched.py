"""What guest/launched.py tells of a launched program, as data, and whether pages are where a policy puts them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from numatune.cpus import CpuSet

PROGRAM = ("/usr/bin/python3", "-IS", "/opt/numatune/guest/launched.py")
# CUDA counts the fastest first where models differ, as those of the stand-ins do.
LAUNCHES = "env CUDA_DEVICE_ORDER=PCI_BUS_ID python3 /opt/numatune/guest/launches.py"
PAGES = 240  # of each mapping
KERNEL = {
    "preferred": "prefer",
    "preferred-many": "prefer (many)",
    "weighted-interleave": "weighted interleave",
    "none": "default",
}
"""A mode in the kernel's words, where they are not ours."""


@dataclass
class Told:
    """Of one process: CPUs and policy of each thread; of each kind of mapping its pages by node."""

    threads: list[tuple[str, str]] = field(default_factory=list)
    pages: dict[str, dict[int, int]] = field(default_factory=dict)


def read(lines: str) -> dict[str, Told]:
    """By process: `self`, `fork`, `spawn`."""
    found: dict[str, Told] = {}
    for line in lines.splitlines():
        who, kind, *words = line.split()
        told = found.setdefault(who, Told())
        if kind == "thread":
            told.threads.append((words[0], " ".join(words[1:])))
        else:
            told.pages[kind] = {int(node): int(count) for node, count in (word.split("=") for word in words)}
    return found


def ready(file: str) -> str:
    """A command that waits until a server's file is there."""
    return f"for try in $(seq 900); do test -e {file} && break; sleep 0.1; done; test -e {file}"


def spelled(memory: str) -> str:
    """A policy as the kernel spells it: ``preferred-many 0-1`` is ``prefer (many):0-1``."""
    mode, _, nodes = memory.partition(" ")
    return f"{KERNEL.get(mode, mode)}{':' if nodes else ''}{nodes}"


def misplaced(told: Told, cpus: str, memory: str, near: str, weights: Mapping[int, int]) -> list[str]:
    """What of one process is not where it belongs, in words.

    cpus     what every thread is to have
    memory   mode and nodes: ``bind 2``
    near     the nodes of those CPUs: where pages go that no policy sends elsewhere
    weights  of the nodes, for weighted-interleave
    """
    wrong = [f"a thread has {one}" for one in told.threads if one != (cpus, spelled(memory))]
    if len(told.threads) < 3:
        wrong.append(f"{len(told.threads)} threads")
    mode, _, text = memory.partition(" ")
    nodes = CpuSet.parse(text or near)
    for kind in ("private", "shared"):
        found = told.pages.get(kind, {})
        if sum(found.values()) != PAGES:
            wrong.append(f"{kind} has {found}, not {PAGES} pages")
        elif not CpuSet(found) <= nodes:
            wrong.append(f"{kind} memory has pages elsewhere: {found}, belongs on {nodes}")
        elif mode in {"interleave", "weighted-interleave"}:
            each = {node: weights[node] if mode == "weighted-interleave" else 1 for node in nodes}
            rounds = PAGES // sum(each.values())
            if any(not rounds * weight <= found.get(node, 0) <= (rounds + 1) * weight for node, weight in each.items()):
                wrong.append(f"{kind} is uneven: {found}, for weights {each}")
    return wrong


def differences(wanted: Mapping[str, Any], ran: Mapping[str, Any], weights: Mapping[int, int]) -> Iterator[str]:
    """Between what a launch was to come to and what it came to, where node N has CPU N alone.

    wanted  `code`, 0 unless given; `says`, the lines on stderr; `cpus` and `memory` of the program
    """
    code = wanted.get("code", 0)
    if ran["code"] != code:
        yield f"exit code {ran['code']}"
    if (said := ran["err"].splitlines()) != [f"numatune: {line}" for line in wanted.get("says", [])]:
        yield f"said {said}"
    found = read(ran["out"])
    if found.keys() != (set() if code else {"self", "fork"}):
        yield f"started {[*found]}"
    for who, told in found.items():
        near = wanted["cpus"]
        yield from (f"{who}: {one}" for one in misplaced(told, wanted["cpus"], wanted["memory"], near, weights))
