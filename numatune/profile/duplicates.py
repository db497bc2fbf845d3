"""Two settings on one target: whoever wrote both meant only one of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from numatune.errors import Problem
from numatune.profile.tree import problem
from numatune.settings import targets
from numatune.settings.model import Setting, Source

_POOLS: Final = frozenset({"/proc/sys/vm/nr_hugepages", "/proc/sys/vm/nr_hugepages_mempolicy"})
"""Files that spread pages over the very pools that the section `hugepages` sets a node at a time."""


def duplicates(settings: Iterable[Setting]) -> list[Problem]:
    """A Problem for each setting whose target another setting before it has, naming both lines."""
    first: dict[str, Setting] = {}
    problems: list[Problem] = []
    spread: Setting | None = None
    pool: Setting | None = None
    for setting in settings:
        others = [other for claim in _claims(setting) if (other := first.setdefault(claim, setting)) is not setting]
        problems += [_clash(other, setting) for other in others[:1]]
        if setting.section == "hugepages":
            pool = pool or setting
        elif isinstance(setting.target, targets.KernelFile) and _POOLS.intersection(setting.target.paths):
            spread = spread or setting
    return [*problems, _clash(spread, pool)] if spread and pool else problems


def _clash(other: Setting, setting: Setting) -> Problem:
    source = setting.source or Source("", 0)
    hint = f"{other.id} is set at {other.source}" if other.source else ""
    return problem(source, (), f"{setting.id} is on the same target as {other.id}", "one setting a target", hint)


def _claims(setting: Setting) -> Iterator[str]:  # noqa: C901  # one a kind
    """What nobody else may set beside this setting."""
    yield f"id {setting.id}"
    match setting.target:
        case targets.KernelFile(paths):
            yield from (f"file {path}" for path in paths)
        case targets.IrqAffinity(device, index):
            yield f"interrupt {device} {index}"
        case targets.HugepagePool(node, kb):
            yield f"pool {node} {kb}"
        case targets.Cgroup(path) | targets.OwnedFile(path):
            yield f"path {path}"
        case targets.UnitProperty(unit, name):
            yield f"property {unit} {name}"
        case targets.UnitState(unit, aspect):
            yield f"unit {unit} {aspect}"
        case targets.Folder(path):
            yield f"folder {path}"
        case targets.Mount(path):
            yield f"mount {path}"
        case targets.MountOption(path, name):
            yield f"mount option {path} {name}"
        case targets.Module(name):
            yield f"module {name}"
        case targets.Fact() | targets.Trait() | targets.Nothing():
            pass
