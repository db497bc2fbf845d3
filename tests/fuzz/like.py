"""Data as the published schema takes it, with something else in between now and then, and its text."""

from __future__ import annotations

import functools
import json
from random import Random
from typing import Any, Final

from fuzz import odd
from numatune.profile.schema import schema

WRONG = 30
"""One value in so many is none that the schema takes."""

_OWN_KEYS: Final = {
    "sysctl": (
        "vm.min_free_kbytes",
        "vm.dirty_bytes",
        "vm.nr_hugepages",
        "kernel.watchdog_cpumask",
        "net.a.b",
        "vm/swappiness",
    ),
    "hugepages": ("2M", "1G", "2048kB", "64kB", "3M", "16G"),
    "cpusets": ("inference.slice", "a.slice", "a-b.slice", "x/y", "kubepods.slice", "system.slice", "a"),
    "services": ("irqbalance", "numad", "tuned.service", "sshd", "a@b"),
    "modules": ("nvidia_peermem", "nvme_core.io_timeout", "a-b"),
    "vars": ("a", "b", "c d"),
    "devices": ("0000:41:00.0", "41:00.0", "eth0"),
    "shm": ("/dev/shm", "/mnt/a", "/mnt/a/b", "{{ vars.a }}", "/"),  # noqa: S108  # a mount point
    "sizes": ("64kB", "2M", "x"),
    "ranks": ("0", "1", "x"),
    "env": ("OMP_NUM_THREADS", "nics", "A B"),
    "queues": ("writeback", "cpumask"),
    "by_node": ("0", "1", "x"),
    "weights": ("0", "1", "70000"),
    "drivers": ("nvidia", "a b"),
}
"""Keys of mappings that take any: by the key that leads there."""

_WORDS: Final = (
    "0-3",
    "0",
    "1",
    "2",
    "0-1",
    "local",
    "all",
    "8G",
    "64M",
    "max",
    "performance",
    "always",
    "loaded",
    "cores",
)


@functools.cache
def known() -> dict[str, Any]:
    """The schema."""
    return schema()


def section(random: Random) -> dict[str, Any]:
    """A mapping with a few sections."""
    names = random.sample(sorted(known()["properties"]), random.randint(1, 3))
    return {name: like(random, known()["properties"][name], name) for name in names}


def like(  # noqa: C901, PLR0911  # one a kind
    random: Random, found: dict[str, Any], key: str = "", depth: int = 0
) -> Any:
    """Something that `found`, a part of the schema, takes; a wrong scalar now and then."""
    if random.randrange(WRONG) == 0 or depth > 8:  # deeper than any section
        return odd.scalar(random)
    if "$ref" in found:
        name = found["$ref"].rpartition("/")[2]
        return odd.scalar(random) if name == "expression" else like(random, known()["$defs"][name], key, depth)
    for several in ("anyOf", "oneOf"):
        if several in found:
            return like(random, random.choice(found[several]), key, depth)
    if "enum" in found or "const" in found:
        return random.choice(found.get("enum", [found.get("const")]))
    kinds = found.get("type", "object" if "properties" in found else "string")
    match random.choice(kinds) if isinstance(kinds, list) else kinds:
        case "object":
            return _object(random, found, key, depth)
        case "array":
            return [like(random, found.get("items", {}), key, depth + 1) for _ in range(random.randint(0, 3))]
        case "boolean":
            return random.random() < 0.5  # a coin
        case "null":
            return None
        case "integer" | "number":
            return _within(random, found)
        case _:
            return random.choice(_WORDS)


def _within(random: Random, found: dict[str, Any]) -> int:
    """At an edge of what is accepted, inside, or just beyond."""
    low = found.get("minimum", 0)
    high = found.get("maximum", 1 << 40)
    return int(random.choice((low, high, low - 1, high + 1, random.randint(int(low), int(high)), odd.number(random))))


def _object(random: Random, found: dict[str, Any], key: str, depth: int) -> dict[str, Any]:
    named = found.get("properties", {})
    names = [*named, *_OWN_KEYS.get(key, ())]
    rest = found.get("additionalProperties")
    chosen = random.sample(names, min(len(names), random.randint(0, 4)))
    if random.randrange(WRONG) == 0:
        chosen.append(random.choice((odd.scalar(random), "when", "value", "name")))
    made = {}
    for each in chosen:
        part = named.get(each) or (rest if isinstance(rest, dict) else {})
        made[each] = like(random, part, each if each in _OWN_KEYS or each in named else key, depth + 1)
    return made


def text(random: Random, data: Any) -> str:
    """YAML, in one of the ways to write it."""
    match random.randrange(3):
        case 0:
            return json.dumps(data, ensure_ascii=False)
        case 1 if isinstance(data, dict):
            return "".join(f"{json.dumps(key)}: {json.dumps(value)}\n" for key, value in data.items())
        case _:
            return _block(random, data, 0) + "\n"


def _block(random: Random, data: Any, indent: int) -> str:
    pad = "\n" + " " * indent
    if isinstance(data, dict) and data:
        return "".join(f"{pad}{_bare(random, key)}:{_block(random, value, indent + 2)}" for key, value in data.items())
    if isinstance(data, list) and data:
        return "".join(f"{pad}-{_block(random, value, indent + 2)}" for value in data)
    return f" {_bare(random, data)}" if isinstance(data, str) else f" {json.dumps(data)}"


def _bare(random: Random, word: str) -> str:
    """A text without quotes, mostly where that means the same."""
    plain = word.isascii() and word.isprintable() and word and not set(word) & set("{}[]&*#?|<>=!%@\\`\"',:")
    return word if plain or random.randrange(40) == 0 else json.dumps(word)
