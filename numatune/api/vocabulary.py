"""What explain knows besides settings: words of plans, parameters of the kernel's command line, last words of names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.host.protocol import Reader
    from numatune.settings.plan import Change
    from numatune.settings.words import Word
    from numatune.views.explained import Explained

_CMDLINE = "/proc/cmdline"
_SECTION = "kernel_cmdline"
_SHOWN = 5


def word_of_a_plan(word: str, rows: Collection[Change]) -> Explained | None:
    """A status, an action or an impact, with the rows that it is said of; None for any other word."""
    from numatune.settings.model import Impact
    from numatune.settings.plan import Action, Status, counted
    from numatune.views.explained import Explained

    kinds: tuple[tuple[type[Word], str], ...] = (
        (Status, "what a host holds"),
        (Action, "what apply would do"),
        (Impact, "what a change does to work that runs"),
    )
    for kind, about in kinds:
        if (told := next((one for one in kind if one == word), None)) is not None:
            known = [("what", told.meaning)]
            if isinstance(told, Status):
                known.append(("counted", counted(told)))
            here = [change.setting.id for change in rows if told in (change.status, change.action, change.impact)]
            return Explained(f"{word}: a word of plans, {about}", (*known, ("here", _listed(here, len(rows)))))
    return None


def _listed(ids: Collection[str], count: int) -> str:
    if not count:
        return "no profile is applied or named"
    more = [f"{len(ids) - _SHOWN} more"] if len(ids) > _SHOWN else []
    named = ", ".join([*list(ids)[:_SHOWN], *more])
    return f"{len(ids)} of {count} rows" + (f": {named}" if named else "")


def at_boot(word: str) -> bool:
    """Whether what is no key of a profile can only be a parameter at boot: ``numa=off``, ``iommu.passthrough``."""
    from numatune.capture.reduce import tells

    return ":" not in word and ("=" in word or ("." in word and tells(word)))


def boot_parameter(word: str, rows: Iterable[Change], reader: Reader) -> Explained:
    """A parameter of the kernel's command line: what profiles say of it, and whether it is on this host's."""
    from numatune.knobs.keys import facts
    from numatune.views.explained import Explained

    about = facts((_SECTION,))
    asked = [change for change in rows if change.setting.section == _SECTION and change.setting.want]
    change = next((one for one in asked if word in (one.setting.want, _name(one.setting.want or ""))), None)
    known = [
        *(("what", about.about), ("set for", about.why), ("kernels", about.kernels)),
        *(("side effects", about.effects), ("source", about.source)),
    ]
    if told := "\n".join(_in_profiles(_name(word))):
        known.append(("profiles", told))
    if change is None:
        known.append(("holds here", _on_the_command_line(word, reader)))
    return Explained(f"{_SECTION}: {word}", tuple(known), change, about.look)


def _in_profiles(name: str) -> Iterator[str]:
    """What each profile that can be named says of a parameter, and why."""
    from pathlib import Path

    from numatune.errors import ProfileError
    from numatune.profile import lookup
    from numatune.profile.reader import read
    from numatune.profile.tree import Branch, Leaf, walk

    for found in lookup.catalogue():
        try:
            tree, _ = read(lookup.text(found), found.label)
        except ProfileError:
            continue  # whoever names it is told
        for path, node in walk(tree):
            if path[:1] != (_SECTION,) or len(path) != 3:  # noqa: PLR2004  # the section, require or forbid, a number
                continue
            entries = node.entries if isinstance(node, Branch) else {}
            value = entries["value"].node if "value" in entries else node
            why = entries["why"].node if "why" in entries else None
            if isinstance(value, Leaf) and _name(value.text) == name:
                reason = f": {' '.join(why.text.split())}" if isinstance(why, Leaf) else ""
                yield f"{Path(found.path).stem} has {value.text} under {path[1]}{reason}"


def _on_the_command_line(word: str, reader: Reader) -> str:
    from numatune.host.uncaptured import lacks
    from numatune.settings.codecs import Cmdline
    from numatune.settings.plan import NOT_CAPTURED

    text = reader.read(_CMDLINE).text
    if text is None:
        return f"nothing: {NOT_CAPTURED if lacks(_CMDLINE, reader) else 'the command line cannot be read'}"
    return Cmdline().about(word, text) or "nothing: it is not on the command line"


def _name(parameter: str) -> str:
    return parameter.partition("=")[0].replace("-", "_")


def names(ids: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    """Settings and keys by their last words: swappiness is vm.swappiness; each name stands for itself too.

    A key below names that one chooses goes without them too: shm.policy is shm.*.policy.
    """
    from numatune.knobs import knobs
    from numatune.knobs.keys import keys
    from numatune.knobs.leaves import ANY
    from numatune.knobs.sysctl_catalogue import CATALOGUE

    found: dict[str, dict[str, None]] = {}
    of_knobs = [key for knob in knobs() for key in keys(knob) if "match" not in key.path]
    in_keys = (key.name for key in of_knobs if ANY not in key.path)
    for name in dict.fromkeys([*CATALOGUE, *in_keys, *(one.removeprefix("sysctl:") for one in ids)]):
        last = name.rpartition("/")[2] if "/" in name else name.rpartition(".")[2]
        for word in (name, last):
            found.setdefault(word, {})[name] = None
    for key in of_knobs:
        if ANY in key.path[:-1]:
            found.setdefault(".".join(part for part in key.path if part != ANY), {})[key.name] = None
    return {word: tuple(meant) for word, meant in found.items()}
