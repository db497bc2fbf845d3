"""`when`: conditions on the host. All keys of one `when` must hold; a list under a key means any of its items."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, get_args

from numatune.errors import did_you_mean
from numatune.topology.model import Device, DeviceKind, Topology

_COMPARE = re.compile(r"\s*(>=|<=|==|!=|>|<|=)?\s*(.*?)\s*\Z", re.DOTALL)
_VERSION = re.compile(r"\d{1,9}(?:\.\d{1,9})*\Z", re.ASCII)
_COUNT = re.compile(r"\d{1,9}\Z", re.ASCII)
_LEADING = re.compile(r"\d{1,9}(?:\.\d{1,9})*", re.ASCII)
_NOT_SAID: Final = {
    "gpu": "accelerator",
    "metal": "none",
    "bare-metal": "none",
    "baremetal": "none",
    "physical": "none",
}
"""Words that people use for a kind of device and for no virtualisation, and that no host ever says."""
_ARCHITECTURES: Final = {"amd64": "x86_64", "x86-64": "x86_64", "arm64": "aarch64"}
_KINDS: Final = get_args(DeviceKind)
_DEVICE_KEYS: Final = ("kind", "driver", "vendor", "device", "class", "address", "name")
_CGROUPS: Final = ("v1", "v2", "hybrid", "none")


class Invalid(ValueError):  # noqa: N818  # reads as what the condition is
    """A condition that is none, on any host: under which key, what was found, what is accepted, a hint."""

    def __init__(self, key: str, found: str, accepted: str = "", hint: str = "") -> None:
        super().__init__(found)
        self.key = key
        self.found = found
        self.accepted = accepted
        self.hint = hint


def unmet(conditions: Any, topology: Topology) -> tuple[str, tuple[Invalid, ...]]:
    """Why the conditions do not hold on this host, "" when they do; and those that are none."""
    if not isinstance(conditions, Mapping) or not conditions:
        return "", (Invalid("", "no condition", f"a mapping with {', '.join(CONDITIONS)}"),)
    reasons: list[str] = []
    invalid: list[Invalid] = []
    for key, wanted in conditions.items():
        try:
            reasons += _unmet(key, wanted, topology)
        except Invalid as error:
            invalid.append(error)
    return "; ".join(reasons), tuple(invalid)


def _unmet(key: str, wanted: Any, topology: Topology) -> list[str]:
    """The reason why one condition does not hold, none when it does. Raises Invalid."""
    if key not in CONDITIONS:
        raise Invalid(key, f"unknown key {key}", ", ".join(CONDITIONS), did_you_mean(key, CONDITIONS))
    alternatives = wanted if isinstance(wanted, list | tuple) else (wanted,)
    answers = [CONDITIONS[key](key, alternative, topology) for alternative in alternatives]
    if "" in answers:
        return []
    if len(answers) == 1:
        return answers
    return [f"{key}: {', '.join(map(_text, alternatives)) or 'none of nothing'}"]


def _kernel(key: str, wanted: Any, topology: Topology) -> str:
    have = topology.machine.kernel
    comparisons = _comparisons(key, wanted, '">=5.15" or ">=5.15, <6.12"')
    met = _versions(key, wanted, comparisons, have, 'a version like ">=5.15"')
    return "" if met else f"{key} {_text(wanted)}: this is {have or 'not known'}"


def _versions(key: str, wanted: Any, comparisons: Iterable[tuple[str, str]], have: str, accepted: str) -> bool:
    """Whether what a release begins with, ``6.12.43`` of ``6.12.43-amd64``, is as compared. Raises Invalid."""
    leading = _LEADING.match(have)
    held = _numbers(leading[0]) if leading else []
    met = bool(held)
    for operator, version in comparisons:
        if not _VERSION.match(version):
            raise Invalid(key, _found(wanted), accepted)
        want = _numbers(version)
        met = met and _holds(operator, (held + [0] * len(want))[: len(want)], want)
    return met


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def _count(of: Callable[[Topology], int], one: str, more: str) -> Callable[[str, Any, Topology], str]:
    def check(key: str, wanted: Any, topology: Topology) -> str:
        for operator, number in _comparisons(key, wanted, '2 or ">=2"'):
            if not _COUNT.match(number):
                raise Invalid(key, _found(wanted), 'a number, or one like ">=2"')
            if not _holds(operator, [of(topology)], [int(number)]):
                have = of(topology)
                return f"{key} {_text(wanted)}: this host has {have} {one if have == 1 else more}"
        return ""

    return check


def _word(of: Callable[[Topology], str], known: tuple[str, ...] = ()) -> Callable[[str, Any, Topology], str]:
    def check(key: str, wanted: Any, topology: Topology) -> str:
        ((operator, word),) = _comparisons(key, wanted, "a word, or one like !=none", several=False)
        if operator not in {"=", "!="} or not word or (known and word not in known):
            raise Invalid(key, _found(wanted), ", ".join(known) or "a word, or !=word")
        if word in _NOT_SAID:
            raise Invalid(key, word, hint=f"did you mean {_NOT_SAID[word]}?")
        have = of(topology)
        same = fnmatch.fnmatchcase(have, _ARCHITECTURES.get(word, word))
        met = bool(have) and same is (operator == "=")
        return "" if met else f"{key} {_text(wanted)}: this is {have or 'not known'}"

    return check


def _distribution(key: str, wanted: Any, topology: Topology) -> str:
    name, _, rest = str(wanted).strip().partition(" ")
    if not isinstance(wanted, str) or not re.fullmatch(r"[a-z0-9_.*-]+", name):
        raise Invalid(key, _found(wanted), 'a name like debian, or with a version: "debian >=12"')
    have_name, _, have_version = topology.machine.distribution.partition(" ")
    comparisons = _comparisons(key, rest, '"debian >=12"') if rest else []
    as_asked = _versions(key, wanted, comparisons, have_version, 'a name and a version: "debian >=12"')
    met = fnmatch.fnmatchcase(have_name, name) and (as_asked or not rest)
    return "" if met else f"{key} {wanted}: this is {topology.machine.distribution or 'not known'}"


def _device(key: str, wanted: Any, topology: Topology) -> str:
    if isinstance(wanted, str) and wanted:
        if wanted in _NOT_SAID:
            raise Invalid(key, wanted, hint=f"did you mean {_NOT_SAID[wanted]}?")
        met = any(_is_called(device, wanted) for device in topology.devices)
        return "" if met else f"{key} {wanted}: this host has none"
    if not isinstance(wanted, Mapping) or not wanted:
        raise Invalid(key, _found(wanted), f"a kind, driver or name, or a mapping with {', '.join(_DEVICE_KEYS)}")
    for name, pattern in wanted.items():
        if name not in _DEVICE_KEYS or not isinstance(pattern, str):
            accepted = f"{', '.join(_DEVICE_KEYS)}, each with a text (* and ? match any)"
            raise Invalid(key, f"{name}: {_found(pattern)}", accepted, did_you_mean(name, _DEVICE_KEYS))
        if name == "kind" and not fnmatch.filter(_KINDS, pattern):
            hint = f"did you mean {_NOT_SAID[pattern]}?" if pattern in _NOT_SAID else did_you_mean(pattern, _KINDS)
            raise Invalid(key, f"kind: {pattern}", ", ".join(_KINDS), hint)
    met = any(all(_has(device, name, str(pattern)) for name, pattern in wanted.items()) for device in topology.devices)
    described = ", ".join(f"{name} {pattern}" for name, pattern in wanted.items())
    return "" if met else f"{key} {described}: this host has none"


def _is_called(device: Device, pattern: str) -> bool:
    known = (device.kind, device.driver, device.address, *device.names)
    return any(fnmatch.fnmatchcase(name, pattern) for name in known if name)


def _has(device: Device, name: str, pattern: str) -> bool:
    match name:
        case "class":
            values: tuple[str, ...] = (device.class_,)
        case "name":
            values = device.names
        case _:
            values = (getattr(device, name),)
    return any(fnmatch.fnmatchcase(value.lower(), pattern.lower()) for value in values)


def _comparisons(key: str, wanted: Any, accepted: str, *, several: bool = True) -> list[tuple[str, str]]:
    """(operator, operand) pairs of ``>=5.15, <6.12``; no operator is ``=``."""
    if isinstance(wanted, bool) or not isinstance(wanted, str | int | float):
        raise Invalid(key, _found(wanted), accepted)
    parts = str(wanted).split(",") if several else [str(wanted)]
    matches = [_COMPARE.match(part) for part in parts]
    return [({"==": "=", None: "="}.get(match[1], match[1]), match[2]) for match in matches if match]


def _holds(operator: str, have: list[int], want: list[int]) -> bool:
    return {
        "=": have == want,
        "!=": have != want,
        ">=": have >= want,
        "<=": have <= want,
        ">": have > want,
        "<": have < want,
    }[operator]


def _text(wanted: Any) -> str:
    """A condition as a person would write it."""
    if isinstance(wanted, Mapping):
        return ", ".join(f"{key} {_text(value)}" for key, value in wanted.items()) or "nothing"
    return str(wanted).lower() if isinstance(wanted, bool) else str(wanted)


def _found(wanted: Any) -> str:
    return repr(wanted) if isinstance(wanted, str) else _text(wanted)


CONDITIONS: Final[Mapping[str, Callable[[str, Any, Topology], str]]] = {
    "kernel": _kernel,
    "arch": _word(lambda topology: topology.machine.arch),
    "virt": _word(lambda topology: topology.machine.virt),
    "distribution": _distribution,
    "cpu_nodes": _count(
        lambda topology: sum(bool(node.cpus) for node in topology.nodes) or 1, "node with CPUs", "nodes with CPUs"
    ),
    "cpus": _count(lambda topology: len(topology.cpus.online), "CPU online", "CPUs online"),
    "memory_only": _count(
        lambda topology: sum(node.kind == "memory-only" for node in topology.nodes),
        "node with memory alone",
        "nodes with memory alone",
    ),
    "page_kb": _count(lambda topology: topology.machine.page_size >> 10, "kB in a page", "kB in a page"),
    "device": _device,
    "cgroup": _word(lambda topology: topology.cgroups.mode, _CGROUPS),
}
