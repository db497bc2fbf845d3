"""The rows of the exported script: one call of shell/*.sh for each setting, with what must hold for it before."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

from numatune.export.tuning import spelling
from numatune.export.tuning.model import CHECKED
from numatune.settings.codecs import Cmdline, GroupSet, UnitSet
from numatune.settings.model import (
    FitsFree,
    Guard,
    Impact,
    NotBelow,
    Refuse,
    RoomFor,
    Setting,
    SettingId,
    Unpopulated,
    Zero,
)
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

_UNSET = {"mpol": "default", "huge": "never", "size": ""}
_END = "END_OF_FILE"
_WIDTH = 110
_COMM = 15
"""The kernel keeps that many characters of a program's name (TASK_COMM_LEN less one)."""

Movers = Mapping[SettingId, Sequence[SettingId]]
"""By setting: those whose write moves it besides."""


def movers(settings: Sequence[Setting]) -> Movers:
    """Which settings move which."""
    by_target = {setting.target: setting.id for setting in settings}
    found: dict[SettingId, list[SettingId]] = {}
    for setting in settings:
        for companion in setting.companions:
            moved = by_target.get(companion.target)
            if moved is not None and setting.want is not None:
                found.setdefault(moved, []).append(setting.id)
    return found


def lines(settings: Sequence[Setting], moved: Movers, unsafe: frozenset[str] = frozenset()) -> Iterator[str]:
    """The rows in their order, each section and each device announced. Inner lines of here-documents included."""
    section = device = why = ""
    for setting in settings:
        if setting.section != section:
            section, why = setting.section, ""
            yield ""
            yield f"section {_word(section)}"
        if isinstance(setting.target, Nothing) and setting.target.status == "not-applicable":
            yield from _comment(f"{setting.id} does not apply here: {setting.target.reason}")
            continue
        if setting.why and setting.why != why:
            why = setting.why
            yield from _comment(why)
        if setting.want is None and not isinstance(setting.target, KernelFile):
            continue
        if isinstance(setting.target, IrqAffinity) and setting.target.device != device:
            device = setting.target.device
            yield f"device {_word(device)}"
        yield from _row(setting, moved.get(setting.id, ()), unsafe)


def plain(text: str) -> str:
    """On one line: what a comment can hold."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def is_seen(setting: Setting) -> bool:
    """Whether the script looks at it: at all that can be written, and of what cannot at the kernel command line."""
    return not isinstance(setting.target, CHECKED) or isinstance(setting.codec, Cmdline)


def _row(setting: Setting, moved_by: Sequence[SettingId], unsafe: frozenset[str]) -> Iterator[str]:
    counts = {True: " optional", False: " strict", None: ""}[setting.optional]
    yield f"row {_word(setting.id)}{counts}"
    if moved_by:
        yield f"moved_by {' '.join(map(_word, moved_by))}"
    if setting.want is None and isinstance(setting.target, KernelFile):
        yield f"watch {spelling.same(setting)} {' '.join(map(_word, setting.target.paths))}"
        return
    yield from _conditions(setting, unsafe)
    yield from _call(setting)


def _conditions(setting: Setting, unsafe: frozenset[str]) -> Iterator[str]:
    """What must hold before it is written."""
    if setting.needs:
        yield f"needs {_word(setting.needs)}"
    if setting.impact is Impact.DISRUPTS:
        yield "disrupts always"
    elif setting.impact_in_use is Impact.DISRUPTS:
        yield "disrupts used"
    if setting.guard is not None and setting.id not in unsafe:
        yield f"guarded {_guard(setting.guard)}"
    if spelling.by_partner(setting):
        yield "by_partner"
    if setting.note:
        yield f"notes {_word(setting.note)}"
    if isinstance(setting.codec, GroupSet) and setting.codec.everything:
        yield f"from_all {_word(setting.codec.everything)}"
    if isinstance(setting.target, KernelFile | UnitProperty) and setting.target.effective:
        yield f"in_force {_word(setting.target.effective)}"
    if isinstance(setting.target, KernelFile) and setting.target.absent:
        yield f"where_absent {_word(setting.target.absent)}"


def _guard(guard: Guard) -> str:
    match guard:
        case Refuse(figure=figure):
            words: tuple[str | int, ...] = ("refused", figure)
        case FitsFree(meminfo=meminfo, unit=unit, pool=pool):
            words = ("fits_free", meminfo, unit, pool)
        case NotBelow(used=used):
            words = ("not_below", used)
        case Unpopulated(folder=folder):
            words = ("unpopulated", folder)
        case Zero(file=file, why=why):
            words = ("zero", file, why)
        case RoomFor(file=file, unit=unit, meminfo=meminfo):
            words = ("room_for", file, unit, meminfo)
        case _:
            assert_never(guard)
    return " ".join(_word(str(word)) for word in words)


def _call(setting: Setting) -> Iterator[str]:  # noqa: C901, PLR0912  # one branch a kind
    same, want = spelling.same(setting), _word(spelling.want(setting))
    match setting.target:
        case KernelFile(paths=paths):
            yield f"file {same} {want} {' '.join(map(_word, paths))}"
        case IrqAffinity(index=index, label=label):
            yield f"interrupt {index} {want}{_aside(label)}"
        case HugepagePool(node=node, kb=kb):
            yield f"pool {node} {kb} {want}"
        case Cgroup(path=path):
            yield f"cgroup {_word(path)}"
        case Folder(path=path):
            yield f"folder {_word(path)}"
        case Mount(path=path, options=options):
            yield f"tmpfs {_word(path)} {_word(options)}"
        case MountOption(path=path, name=name):
            yield f"mount_option {same} {want} {_word(path)} {name} {_word(_UNSET[name])}"
        case UnitProperty(unit=unit, name=name):
            twice = " twice" if isinstance(setting.codec, UnitSet) and setting.codec.moves else ""
            yield f"unit_property {same} {want} {_word(unit)} {name}{twice}"
        case UnitState(unit=unit, aspect=aspect, process=process):
            yield f"unit_state {want} {_word(unit)} {aspect}{f' {_word(process[:_COMM])}' if process else ''}"
        case OwnedFile() as target:
            yield from _owned(target, setting.want or "")
        case Module(name=name):
            yield f"module {want} {_word(name)}"
        case Nothing(status=status, reason=reason):
            yield f"nothing {status} {_word(reason)} {want}"
        case Fact() | Trait():
            present = not isinstance(setting.codec, Cmdline) or setting.codec.present
            yield f"cmdline {'present' if present else 'absent'} {want}"
        case _:
            assert_never(setting.target)


def _owned(target: OwnedFile, text: str) -> Iterator[str]:
    read_by = [word for word in (target.restart, target.through) if word]
    words = [_word(target.path), f"{target.mode:o}", *map(_word, read_by)]
    yield f"owned_file {' '.join(words)} <<'{_END}'\n{text.removesuffix(chr(10))}\n{_END}"


def _aside(label: str) -> str:
    return f" # {plain(label)}" if label else ""


def _comment(why: str) -> Iterator[str]:
    """Folded, and without what could end the comment."""
    pieces = textwrap.wrap(plain(why), _WIDTH, break_long_words=False, break_on_hyphens=False)
    yield from (f"# {piece}" for piece in pieces)


def _word(word: str) -> str:
    return shlex.quote(word)
