"""What is known of single sysctls: data/sysctl.toml as frozen records, and which keys look misspelt."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """One sysctl; the fields are explained at the head of the data file. The defaults fit a key that is not in it."""

    type: Literal["int", "words", "cpulist", "choice", "any"] = "int"
    min: int | None = None
    max: int | None = None
    or_zero: bool = False
    ordered: bool = True
    words: int | None = None
    choices: tuple[str, ...] = ()
    phase: Literal["sysctl", "balancing", "reclaim", "compaction", "hugepages"] = "sysctl"
    pool: bool = False
    partner: str = ""
    zero_by_partner: bool = False
    not_above: str = ""
    absent: str = ""
    note: str = ""
    note_if: str = ""
    note_unless: str = ""
    undo: Literal["exact", "nearest", "never"] = "exact"
    undo_if: str = ""
    action: str = ""
    disrupts_unless_zero: bool = False
    about: str = ""
    why: str = ""
    source: str = ""

    def note_for(self, want: str) -> str:
        """What a change to `want` does besides."""
        applies = self.note_if in ("", want) and (not self.note_unless or want != self.note_unless)
        return self.note if applies else ""

    def undo_for(self, want: str) -> Literal["exact", "nearest", "never"]:
        """How well the way back from `want` works."""
        return self.undo if self.undo_if in ("", want) else "exact"


UNKNOWN: Final = Known(type="any")


def _load() -> tuple[Mapping[str, Known], frozenset[str]]:
    with (Path(__file__).parent / "data" / "sysctl.toml").open("rb") as file:
        data: dict[str, Any] = tomllib.load(file)
    names = data.pop("names")
    others = frozenset(f"{folder}.{name}" for folder, text in names.items() for name in text.split())
    known = {key: Known(**{**row, "choices": tuple(row.get("choices", ()))}) for key, row in data.items()}
    return MappingProxyType(known), others | known.keys()


CATALOGUE, NAMES = _load()


def misspelt(key: str) -> str:
    """The name that an unknown key of vm or kernel nearly is, "" when there is none."""
    folder = key.partition(".")[0]
    if key in NAMES or folder not in {"vm", "kernel"}:
        return ""
    inside = [name for name in NAMES if name.startswith(f"{folder}.")]
    close = difflib.get_close_matches(key, sorted(inside), n=1, cutoff=0.88)
    return close[0] if close else ""


def json_schema(known: Known) -> dict[str, Any]:
    """One key as an editor should know it, in the long form of a setting."""
    value: dict[str, Any] = {}
    if known.type == "int":
        limits = {"minimum": 0 if known.or_zero else known.min, "maximum": known.max}
        number = {"type": "integer", **{name: limit for name, limit in limits.items() if limit is not None}}
        pattern = r"^((>=|<=) *)?-?[0-9]+$" if known.ordered else r"^-?[0-9]+$"
        value = {"anyOf": [number, {"type": "string", "pattern": pattern}]}
    elif known.type == "choice":
        value = {"enum": list(known.choices)}
    return {
        "title": "Asked",
        "description": ". ".join(filter(None, (known.about, known.note, known.absent))),
        "type": "object",
        "properties": {"value": value, "why": {"type": "string"}, "optional": {"type": "boolean"}},
        "additionalProperties": False,
    }
