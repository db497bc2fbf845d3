"""A policy as words, ``cpu exclusive``, one a line: what flags say, and what apply stores for `run`.

It is read before every server, so that it is neither JSON nor YAML.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from numatune.cpus import CpuSet
from numatune.errors import LaunchError, did_you_mean
from numatune.launch.policy import (
    CPU_MODES,
    FALLBACKS,
    INTERLEAVE,
    KEEP,
    MEMORY_MODES,
    ON_UNKNOWN,
    SMT,
    THP,
    Policy,
    RankPolicy,
)
from numatune.launch.quick import TABLE

Pair = tuple[str, str]

HEAD = "numatune-launch 1"
"""First line of a stored policy; the number is its format."""

SETTING = "launch:policy"
"""The setting whose wanted text it is."""

YES, NO = "yes", "no"


def read(pairs: Iterable[Pair], base: Policy | None = None, where: str = "") -> Policy:
    """`base` with what the pairs say. `rank`, `env` and `device` add to what is there. Raises LaunchError."""
    policy = base or Policy()
    for key, text in pairs:
        try:
            policy = _with(policy, key, text)
        except ValueError as error:
            found, _, accepted = str(error).partition("; accepted: ")
            raise LaunchError(f"{where}{key}", found, accepted=accepted) from error
    return policy


def pairs(policy: Policy) -> list[Pair]:
    """What differs from the defaults, as `read` takes it."""
    plain, told = Policy(), list[Pair]()
    for key in _FIELDS:
        value = getattr(policy, key)
        if value != getattr(plain, key):
            told.append((key, _spelled(value)))
    told += [("env", f"{name}={text}") for name, text in sorted(policy.env.items())]
    told += [("device", f"{address} {node}") for address, node in sorted(policy.devices.items())]
    told += [("rank", f"{rank} {_rank_text(one)}") for rank, one in sorted(policy.ranks.items())]
    if policy.others != RankPolicy():
        told.append(("others", _rank_text(policy.others)))
    return told


def text(policy: Policy, table: Sequence[str] = ()) -> str:
    """A stored policy, and the table of launch/compiled.py behind it."""
    lines = (HEAD, *(f"{key} {value}" for key, value in pairs(policy)))
    behind = (TABLE.rstrip("\n"), *table) if table else ()
    return "".join(f"{line}\n" for line in (*lines, *behind))


def parse(stored: str, where: str) -> Policy:
    """The policy of a stored text. Raises LaunchError for a newer format and for what is none."""
    head, *lines = stored.partition(f"\n{TABLE}")[0].splitlines() or [""]
    if head != HEAD:
        raise LaunchError(where, f"a stored policy of another format: {head!r}", accepted=HEAD)
    split = (line.partition(" ") for line in lines if line)
    return read([(key, value) for key, _, value in split], where=f"{where}: ")


def _with(policy: Policy, key: str, value: str) -> Policy:
    match key:
        case "env":
            name, equals, given = value.partition("=")
            if not (name and equals):
                raise ValueError(f"{value!r} sets nothing; accepted: NAME=VALUE")
            return replace(policy, env={**policy.env, name: given})
        case "device":
            address, _, node = value.partition(" ")
            return replace(policy, devices={**policy.devices, address: _whole(node)})
        case "rank":
            rank, _, rest = value.partition(" ")
            return replace(policy, ranks={**policy.ranks, _whole(rank): _rank(rest)})
        case "others":
            return replace(policy, others=_rank(value))
        case _ if key in _FIELDS:
            return replace(policy, **{key: _FIELDS[key](value)})
    raise ValueError(f"no key of a launch policy; accepted: {did_you_mean(key, _FIELDS) or ', '.join(_FIELDS)}")


def _rank(value: str) -> RankPolicy:
    """``node=0 memory=0-1``."""
    known: Mapping[str, Callable[[str], Any]] = {"device": str, "node": _whole, "cpus": _set, "memory": _set}
    found: dict[str, Any] = {}
    for word in value.split():
        key, equals, given = word.partition("=")
        if key not in known or not equals:
            raise ValueError(f"{word!r} says nothing of a rank; accepted: {', '.join(f'{name}=' for name in known)}")
        found[key] = known[key](given)
    return RankPolicy(**found)


def _rank_text(one: RankPolicy) -> str:
    told = {"device": one.device, "node": one.node, "cpus": one.cpus, "memory": one.memory}
    return " ".join(f"{key}={value}" for key, value in told.items() if value is not None)


def _spelled(value: object) -> str:
    match value:
        case bool():
            return YES if value else NO
        case tuple():
            return ",".join(map(str, value))
    return str(value)


def _word(accepted: tuple[str, ...]) -> Callable[[str], str]:
    def read_word(value: str) -> str:
        if value not in accepted:
            raise ValueError(f"{value!r}; accepted: {', '.join(accepted)}")
        return value

    return read_word


def _words(value: str) -> tuple[str, ...]:
    return tuple(_word(FALLBACKS)(word.strip()) for word in value.split(",") if word.strip())


def _set(value: str) -> CpuSet:
    found = CpuSet.parse(value)
    if not found:
        raise ValueError("an empty set; accepted: a list like 0-3,8")
    return found


def _shm(value: str) -> str:
    word, colon, nodes = value.partition(":")
    if word not in {KEEP, INTERLEAVE} or (colon and word == KEEP):
        raise ValueError(f"{value!r}; accepted: {KEEP}, {INTERLEAVE}, {INTERLEAVE}:NODES")
    return f"{word}:{_set(nodes)}" if colon else word


def _whole(value: str) -> int:
    if not (value.isascii() and value.isdigit()):
        raise ValueError(f"{value!r} is no number; accepted: 0, 1, ...")
    return int(value)


def _flag(value: str) -> bool:
    return _word((YES, NO))(value) == YES


_FIELDS: Mapping[str, Callable[[str], Any]] = {
    "cpu": _word(CPU_MODES),
    "cpus": _set,
    "smt": _word(SMT),
    "reserve_cores": _whole,
    "memory": _word(MEMORY_MODES),
    "memory_nodes": _set,
    "fallback": _words,
    "strict": _flag,
    "on_unknown": _word(ON_UNKNOWN),
    "widen": _flag,
    "nics": _flag,
    "cgroup": str,
    "thp": _word(THP),
    "shm": _shm,
}

KEYS = frozenset(_FIELDS)
"""Keys that have one value."""
