"""What is known of a setting on any host, under the headings of `explain`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numatune.knobs.base import Knob
from numatune.knobs.keys import Facts, Key, keys, of_kernel_parameter
from numatune.knobs.sysctl_catalogue import CATALOGUE, UNKNOWN
from numatune.knobs.sysctl_values import accepted_by

Known = tuple[tuple[str, str], ...]
"""Headings with what is known under them."""

WAYS_BACK = {"exact": "", "nearest": "near the original", "never": "none"}
"""How well an original comes back, where that is not exact."""


def of_key(key: Key) -> Known:
    """Of the key of a profile that a setting comes of."""
    return (("what", key.facts.about), *_told(key.facts, key.accepts), ("in a profile", key.name))


def of_sysctl(key: str) -> tuple[Known, str]:
    """Of a kernel parameter, and the command that shows it. Of one that is in no catalogue: what holds for any."""
    known = CATALOGUE.get(key, UNKNOWN)
    told = of_kernel_parameter(key, known)
    more = (("way back", WAYS_BACK[known.undo]), ("an action", known.action))
    facts = (("what", told.about), *_told(told, accepted_by(known)), *more)
    return tuple((heading, text) for heading, text in facts if text), told.look


def of_section(knob: Knob[Any]) -> Known:
    """Of a section: the head of its module, how it is written, and what each key is."""
    import sys

    return (
        ("what", flowing(sys.modules[knob.settings.__module__].__doc__ or "")),
        ("written as", flowing(knob.model.__doc__ or "")),
        ("keys", "\n".join(_in_a_line(key) for key in keys(knob) if "match" not in key.path)),
    )


def _told(facts: Facts, accepts: str) -> Iterator[tuple[str, str]]:
    yield "range", accepts or "what the rest of it needs; a profile does not write it"
    yield "set for", facts.why
    yield "kernels", facts.kernels
    yield "side effects", facts.effects
    yield "source", facts.source


def _in_a_line(key: Key) -> str:
    return f"{'.'.join(key.path[1:])}: {key.facts.about} ({key.accepts})"


def flowing(text: str) -> str:
    """A docstring with its paragraphs, and definitions (``key  what it means``), in one line each."""
    import inspect
    import re

    lines: list[str] = []
    for line in inspect.cleandoc(text).splitlines():
        defines = re.match(r"\S+(?:, \S+)*  +\S", line)
        if not line or defines or not lines or not lines[-1]:
            lines.append(re.sub(r"  +", ": ", line.strip(), count=1) if defines else line.strip())
        else:
            lines[-1] += f" {line.strip()}"
    return "\n".join(line for line in lines if line)
