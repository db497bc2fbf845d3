"""What a setting or a word is: what is known of it anywhere, and its row on this host."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from numatune.host.protocol import Reader
    from numatune.knobs.base import Knob
    from numatune.knobs.keys import Key
    from numatune.settings.measures import Measure
    from numatune.settings.plan import Change
    from numatune.views.explained import Explained


def explain(
    reader: Reader, words: Sequence[str], profiles: Sequence[str] = (), *, variables: Mapping[str, str] | None = None
) -> tuple[Explained, ...]:
    """One answer for each word: an id, a key or a section of the profile, a kernel parameter, a word of plans.

    With profiles their values are told, else those of the applied set. Raises NumatuneError for a word that is none of
    these.
    """
    rows: dict[str, Change] = {change.setting.id: change for change in _rows(reader, profiles, variables or {})}
    return tuple(_explained(word, rows, reader) for word in words)


def _rows(reader: Reader, profiles: Sequence[str], variables: Mapping[str, str]) -> Sequence[Change]:
    from numatune.api.memory import recall
    from numatune.api.planning import Request, difference, options_for, plan

    if profiles:
        return plan(reader, Request(profiles=tuple(profiles), variables=variables, keep_released=True)).rows
    memory = recall(reader)
    if memory.applied is None:
        return ()
    options = options_for(frozenset(), allow_disruption=False, retry=False)
    return difference(memory.applied.settings, reader, options, memory)


def _explained(word: str, rows: Mapping[str, Change], reader: Reader) -> Explained:
    from numatune.api.vocabulary import at_boot, boot_parameter
    from numatune.knobs import knobs
    from numatune.knobs.keys import named

    known = {knob.name: knob for knob in knobs()}
    if word in known:
        return _section(known[word], rows.values())
    sid = next((sid for sid in (word, *(f"{name}:{word}" for name in known)) if sid in rows), "")
    if not sid and (key := named(word)) is not None and key.path[0] in known:
        return _setting(word, key, None)
    if not sid and at_boot(word):
        return boot_parameter(word, rows.values(), reader)
    if parameter := _sysctl_key(sid or word):
        return _sysctl(parameter, rows.get(f"sysctl:{parameter}"), reader)
    return _by_id(sid or word, rows.get(sid)) or _other(word, rows, [*known], reader)


def _by_id(sid: str, change: Change | None) -> Explained | None:
    """A setting that a key makes, or what makes settings persist; None: no profile makes one of that id."""
    from numatune.knobs.keys import key_of
    from numatune.settings.applied import PERSIST

    if (key := key_of(sid)) is not None:
        return _setting(sid, key, change)
    section = sid.partition(":")[0] if change is None else change.setting.section
    return _persisting(sid, change) if section == PERSIST else None


def _other(word: str, rows: Mapping[str, Change], sections: Sequence[str], reader: Reader) -> Explained:
    """What is no whole name of a setting: a word of plans, a parameter at boot, the last word of one name."""
    from numatune.api.vocabulary import boot_parameter, names, word_of_a_plan
    from numatune.capture.reduce import tells

    if (found := word_of_a_plan(word.replace(" ", "-"), rows.values())) is not None:
        return found
    known = names(rows)
    meant = known.get(word, ())
    if len(meant) == 1 and meant != (word,):
        return _explained(meant[0], rows, reader)
    if tells(word) and not meant:
        return boot_parameter(word, rows.values(), reader)
    raise _unknown(word, {**known, **{section: (section,) for section in sections}})


def _section(knob: Knob[Any], rows: Iterable[Change]) -> Explained:
    from collections import Counter

    from numatune.api.known import of_section
    from numatune.views.explained import Explained

    statuses = Counter(change.status.value for change in rows if change.setting.section == knob.name)
    here = ", ".join(f"{count} {status}" for status, count in sorted(statuses.items()))
    known = (*of_section(knob), ("here", here or "no profile that is applied or named has this section"))
    return Explained(f"{knob.name}: a section of the profile", known)


def _setting(title: str, key: Key, change: Change | None) -> Explained:
    from numatune.api.known import of_key
    from numatune.views.explained import Explained

    known = of_key(key)
    if change is None:
        here = ("here", "no profile that is applied or named asks for it")
        return Explained(title, (*known, here), check=key.facts.look)
    return Explained(title, (*known, *_limits(change)), change, _check(change) or key.facts.look)


def _limits(change: Change) -> Iterator[tuple[str, str]]:
    """Why this very setting may not be there, and how well it comes back."""
    from numatune.api.known import WAYS_BACK
    from numatune.settings.targets import KernelFile

    target, undo = change.setting.target, change.setting.undo
    if isinstance(target, KernelFile) and target.absent:
        yield "may be absent", target.absent
    if undo != "exact":
        yield "way back", WAYS_BACK[undo]


def _persisting(sid: str, change: Change | None) -> Explained:
    from numatune.views.explained import Explained

    what = ("what", "no part of a profile: with apply --persist it brings the others back after a reboot")
    if change is None:
        return Explained(sid, (what, ("here", "nothing of that name is applied")))
    return Explained(sid, (what,), change, _check(change))


def _sysctl(key: str, change: Change | None, reader: Reader) -> Explained:
    """With what the catalogue knows, and the value that is there, whether or not a profile asks for one."""
    from numatune.api.known import of_sysctl
    from numatune.api.vocabulary import names
    from numatune.host.uncaptured import lacks
    from numatune.knobs.sysctl import path_of
    from numatune.knobs.sysctl_catalogue import CATALOGUE, misspelt
    from numatune.settings.plan import NOT_CAPTURED
    from numatune.views.explained import Explained

    known, check = of_sysctl(key)
    here = []
    if change is None:
        text = reader.read(path_of(key)).text
        if text is None and key not in CATALOGUE:
            close = misspelt(key)
            raise _unknown(key, {key: (close,)} if close else names(()))
        absent = NOT_CAPTURED if lacks(path_of(key), reader) else "this kernel has no such file"
        here.append(("holds here", f"nothing: {absent}" if text is None else text.strip()))
    return Explained(f"sysctl:{key}", (*known, *here), change, check)


def _sysctl_key(word: str) -> str:
    """The canonical key when the word is one, "" else: ``vm/swappiness``, ``sysctl:vm.swappiness``, its file's path."""
    from numatune.knobs.sysctl import canonical

    written = word.removeprefix("sysctl:").removeprefix("/proc/sys/")
    if not written or (":" in written and written == word) or ("." not in written and "/" not in written):
        return ""
    try:
        return canonical(written)
    except ValueError:
        return ""


def _check(change: Change) -> str:  # noqa: PLR0911  # one a kind
    """The command that shows the value without numatune."""
    from numatune.settings.targets import (
        Cgroup,
        Fact,
        Folder,
        HugepagePool,
        IrqAffinity,
        KernelFile,
        Module,
        Mount,
        MountOption,
        Nothing,
        OwnedFile,
        Trait,
        UnitProperty,
        UnitState,
    )

    match change.setting.target:
        case UnitProperty(unit=unit, name=name):
            return shlex.join(("systemctl", "show", "-p", name, unit))
        case UnitState(unit=unit, aspect=aspect):
            return shlex.join(("systemctl", "is-active" if aspect == "active" else "is-enabled", unit))
        case Mount(path=path) | MountOption(path=path):
            return shlex.join(("findmnt", "-o", "FSTYPE,FS-OPTIONS", path))
        case Cgroup(path=path) | Folder(path=path):
            return shlex.join(("ls", "-d", path))
        case Module(name=name):
            return shlex.join(("modinfo", name))
        case KernelFile() | HugepagePool() | IrqAffinity() | OwnedFile() | Fact():
            return shlex.join(("cat", change.seen.where)) if change.seen.where else ""
        case Trait(of=measure):
            return shlex.join(_look_yourself(measure))
        case Nothing():
            return ""


def _look_yourself(measure: Measure) -> tuple[str, ...]:
    """The command of somebody else that shows a measure."""
    from numatune.settings.measures import Beside as Neighbours
    from numatune.settings.measures import Devices, Memory, NodeKnown, Nodes, NodesPerPackage, OnlineCpus, Threads

    match measure:
        case OnlineCpus() | NodesPerPackage():
            return ("lscpu", "-e=CPU,NODE,SOCKET,ONLINE")
        case Threads():
            return ("lscpu", "-e=CPU,CORE,SOCKET,ONLINE")
        case Nodes() | Memory():
            return ("numactl", "--hardware")
        case Devices():
            return ("lspci", "-Dk")
        case NodeKnown(device=address):
            return ("cat", f"/sys/bus/pci/devices/{address}/numa_node")
        case Neighbours():
            return ("lspci", "-tv")


def _unknown(word: str, known: Mapping[str, Sequence[str]]) -> Exception:
    """`known`: names by what may be written for them."""
    from difflib import get_close_matches

    from numatune.errors import NumatuneError

    alike = [word] if word in known else get_close_matches(word, known, 3)
    meant = list(dict.fromkeys(name for one in alike for name in known[one]))[:3]
    hint = f"did you mean {' or '.join(meant)}?" if meant else "numatune plan PROFILE -v lists the ids of a profile"
    accepted = "an id, a key, a section, a kernel parameter, a word of a plan"
    return NumatuneError("", f"nothing is known of {word!r}", accepted=accepted, hint=hint)
