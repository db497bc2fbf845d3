"""docs/reference.md: every section and key of the profile language, and the catalogue of kernel parameters."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final

from numatune.api.known import flowing
from numatune.knobs import knobs
from numatune.knobs.base import Knob
from numatune.knobs.keys import Key, facts, keys, of_kernel_parameter
from numatune.knobs.sysctl_catalogue import CATALOGUE
from numatune.knobs.sysctl_values import accepted_by

_HEADINGS: Final = {"why": "set for", "kernels": "kernels", "effects": "side effects", "source": "source"}
"""Facts that a section tells once, and a key where it differs."""

_HEAD: Final = """\
# Reference

Every section and key of a profile, and what numatune knows of single kernel parameters. This page is generated from
the code (`make docs`); [profiles.md](profiles.md) tells how a profile is written. `numatune explain WORD` shows the
same of a section, a key (`thp.enabled`), a setting of a plan (`thp:enabled`) or a kernel parameter, with what this
host holds and what the applied profile says.

How to read it: `*` in a key stands for a name that the profile chooses. What a profile does not name is not managed:
the host keeps what it has; a default is told where a key of a part that is there has one. Each value may be an
expression, and each setting may have the long form `{value: ..., why: ..., optional: true, when: {...}}`. Facts stand
once for a section, and below its table for keys, and parts with keys below them, where they differ. Pages named
without an address are the kernel's own documentation.
"""


def reference() -> str:
    """The whole page."""
    parts = [_HEAD, _contents(), *(_section(knob) for knob in knobs()), _catalogue()]
    return "\n".join(parts)


def _contents() -> str:
    names = [knob.name for knob in knobs()]
    return f"{' · '.join(f'[{name}](#{name})' for name in names)} · [kernel parameters](#kernel-parameters)\n"


def _section(knob: Knob[Any]) -> str:
    told = facts((knob.name,) if knob.name != "sysctl" else ("sysctl", "*"))
    lines = [f"## {knob.name}", "", *_paragraphs(sys.modules[knob.settings.__module__].__doc__ or "")]
    lines += _paragraphs(knob.model.__doc__ or "", definitions=False)
    lines += [f"- {heading}: {_cell(getattr(told, name))}" for name, heading in _HEADINGS.items()]
    lines += [f"- look yourself: `{told.look}`", ""]
    found = list(keys(knob))
    rows = [(f"`{key.name}`", _cell(key.facts.about), _cell(key.accepts), key.default or "-") for key in found]
    lines += [*_table(("key", "what", "takes", "default"), rows), ""]
    differing = list(_differing(found))
    return "\n".join([*lines, *differing, *([""] if differing else [])])


def _differing(found: Sequence[Key]) -> Iterator[str]:
    """Of each key, and of each part of a section, the facts that are others than those of what is above it."""
    paths = dict.fromkeys(key.path[:end] for key in found for end in range(2, len(key.path) + 1))
    for path in paths:
        own, above = facts(path), facts(path[:-1])
        told = [
            f"{heading}: {_cell(getattr(own, name))}"
            for name, heading in _HEADINGS.items()
            if getattr(own, name) != getattr(above, name) and path != ("sysctl", "*")
        ]
        if told:
            yield f"- `{'.'.join(path)}`: {'. '.join(told)}"


def _catalogue() -> str:
    rows = []
    for name, known in CATALOGUE.items():
        told = of_kernel_parameter(name, known)
        back = {"exact": "", "nearest": "comes back near the original", "never": "does not come back"}[known.undo]
        beside = "; ".join(filter(None, (known.action, known.note, _coupled(known.partner), back)))
        facts_of = (told.about, accepted_by(known), told.why, told.kernels, beside or "-", told.source)
        rows.append((f"`{name}`", *map(_cell, facts_of)))
    return "\n".join(
        [
            "## Kernel parameters",
            "",
            f"{len(rows)} keys of `sysctl:` that numatune knows more of. Any other key of /proc/sys can be set too.",
            "",
            *_table(("key", "what", "takes", "set for", "kernels", "besides", "source"), rows),
            "",
        ]
    )


def _coupled(partner: str) -> str:
    return f"each write zeroes {partner}" if partner else ""


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def _paragraphs(text: str, *, definitions: bool = True) -> Iterator[str]:
    """A docstring as Markdown; its lines of definitions are in the table already."""
    for line in flowing(text).replace("``", "`").splitlines():
        if definitions or not line.partition(": ")[0].replace(", ", "").replace("_", "").isalnum():
            yield from (line, "")


def _cell(text: str) -> str:
    """As a table takes it. What looks like a tag or emphasis stays text."""
    return text.replace("``", "`").replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
