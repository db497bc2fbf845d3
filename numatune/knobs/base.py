"""What every knob is made of.

A knob is one small file: one pydantic class for its section of the profile, one pure function from that section and the
topology to Settings, one `KNOB` at its end. It never touches a host. Registration is one line in knobs/__init__.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, Protocol, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, WithJsonSchema, model_validator

from numatune.cpus import CpuSet
from numatune.errors import Problem
from numatune.settings.codecs import AnyCodec, Text
from numatune.settings.model import Phase, Setting, SettingId, Source
from numatune.settings.targets import Nothing, Target
from numatune.topology.model import Section as TopologySection
from numatune.topology.model import Topology

Path = tuple[str, ...]
"""Keys from the top of the merged profile: ("sysctl", "vm.swappiness"); list items by index: ("irq", "rules", "0")."""


class Section(BaseModel):
    """Base of what untrusted text becomes: unknown keys are refused, values are not bent into another type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True)


T = TypeVar("T")


class Asked(Section, Generic[T]):
    """One setting in its long form ``{value: 0, why: ..., optional: true}``; the bare value is its short form.

    A mapping always is the long form, so T is never a mapping. `when` never arrives here: profile/ evaluates it before
    knobs see the section.
    """

    value: T
    why: str = ""
    optional: bool | None = None

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, data: Any) -> Any:
        return data if isinstance(data, Mapping | Asked) else {"value": data}


def cpu_set(value: Any) -> CpuSet:
    """A set from an expression, a list text ``0-3,8``, a number, or a YAML list of them. Raises ValueError."""
    match value:
        case CpuSet():
            return value
        case "all":
            hint = 'an expression knows them: "{{ cpus.online }}", "{{ nodes.memory }}"'
            raise ValueError(f"'all' is no set; accepted: a list like 0-3,8; hint: {hint}")
        case str():
            return CpuSet.parse(value)
        case int() if not isinstance(value, bool):
            return CpuSet([value])
        case list() | tuple() if not any(isinstance(item, list | tuple) for item in value):
            union = CpuSet()
            for item in value:
                union |= cpu_set(item)
            return union
    found = "a mapping" if isinstance(value, Mapping) else "a list of lists" if isinstance(value, list) else repr(value)
    raise ValueError(f"{found} is no set; accepted: a list like 0-3,8 or an expression")


_CPU_SET_SCHEMA = {
    "description": "CPUs or nodes: a list like 0-3,8, a number, a list of them, or an expression",
    "type": ["string", "integer", "array"],
    "items": {"type": ["string", "integer"]},
}

CpuSetField = Annotated[CpuSet, BeforeValidator(cpu_set), WithJsonSchema(_CPU_SET_SCHEMA)]
"""Sets of CPUs or nodes in a section."""


class Refused(ValueError):  # noqa: N818  # reads as what happened to the profile, not as a kind of error
    """A knob cannot make settings of its section: a value wrong on every host, or one that belongs to somebody else.

    `problems` are (path below the section, Problem without `where`); profile/ adds file:line and reports all at once.
    """

    def __init__(self, *problems: tuple[Path, Problem]) -> None:
        super().__init__("; ".join(str(problem) for _, problem in problems))
        self.problems = problems


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a knob may know besides its own section.

    `made`: the settings that the knobs before it (in the order of their registration) made of their sections.
    """

    topology: Topology
    sources: Mapping[Path, Source] = field(default_factory=dict)
    made: tuple[Setting, ...] = ()

    def source(self, *path: str) -> Source | None:
        """The line that asked for `path`, or for the nearest thing around it."""
        for end in range(len(path), 0, -1):
            if found := self.sources.get(path[:end]):
                return found
        return None


class _Reasoned(Protocol):
    """A part of a section that tells why, and whether it counts: Asked, and what has these two keys of its own."""

    @property
    def why(self) -> str: ...
    @property
    def optional(self) -> bool | None: ...


def wanted(  # noqa: PLR0913  # where it was asked, what is asked, where it lives, how it is spelled, when it is written
    context: Context, path: Path, asked: _Reasoned, *, want: str, target: Target, codec: AnyCodec, phase: Phase
) -> Setting:
    """A setting of the section path[0], named by the rest of `path`, with all that the profile says of it.

    The rest of its fields is for ``dataclasses.replace``. What this host has nothing of is a Text, whatever it was.
    """
    return Setting(
        id=SettingId(f"{path[0]}:{'/'.join(path[1:])}"),
        target=target,
        codec=Text() if isinstance(target, Nothing) else codec,
        want=want,
        phase=phase,
        section=path[0],
        source=context.source(*path),
        why=asked.why,
        optional=asked.optional,
    )


def joined(*phrases: str) -> str:
    """Phrases as one note."""
    return "; ".join(phrase for phrase in phrases if phrase)


@dataclass(frozen=True, slots=True)
class Inner:
    """A mapping inside a section.

    key    one spelling for its keys, as of a Knob
    short  what a bare value under one of its keys is short for: ``64kB: inherit`` for ``64kB: {enabled: inherit}``
    """

    key: Callable[[str], str]
    short: str


S = TypeVar("S", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Knob(Generic[S]):
    """A section of the profile.

    name      its key in the profile
    model     what the section is parsed into
    reads     which parts of the topology `settings` looks at
    settings  pure; raises Refused
    key       one spelling for the keys of the section (kernel/x -> kernel.x), so that two spellings of one key meet
              when profiles merge; raises ValueError for a key that is none
    inner     mappings inside the section whose keys have several spellings too
    keys_are_values   its keys may be expressions
    """

    name: str
    model: type[S]
    reads: frozenset[TopologySection]
    settings: Callable[[S, Context], tuple[Setting, ...]]
    key: Callable[[str], str] = str
    inner: Mapping[str, Inner] = field(default_factory=dict)
    keys_are_values: bool = False
