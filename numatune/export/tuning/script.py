"""A shell script that does what apply does: the same order, the same guard rails, originals kept, everything read back.

POSIX sh with coreutils, or BusyBox. The rows come first, for whoever reads it; the machinery below them is put together
from shell/*.sh, of which only that is taken which the rows need.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from numatune.export.tuning import rows
from numatune.export.tuning.model import Exported, File, Tuning
from numatune.export.tuning.remarks import comments, remarks
from numatune.settings.codecs import Members
from numatune.settings.model import Setting
from numatune.settings.targets import (
    PLACES,
    Cgroup,
    Fact,
    Folder,
    HugepagePool,
    IrqAffinity,
    Module,
    Mount,
    MountOption,
    OwnedFile,
    Target,
    UnitProperty,
    UnitState,
)

PATH = "/usr/local/sbin/numatune-exported"
"""Where units of systemd and plays of Ansible put it."""

KEPT, LIVE = "/var/lib/numatune-exported", "/run/numatune-exported"
"""Originals of what outlives a reboot, and of what does not."""

_ALWAYS = ("asked", "rows", "giving_back", "spellings", "files")
_BY_KIND: tuple[tuple[str, tuple[type[Target], ...]], ...] = (
    ("groups", (Cgroup,)),
    ("interrupts", (IrqAffinity,)),
    ("pools", (HugepagePool,)),
    ("units", (UnitProperty, UnitState)),
    ("unit_properties", (UnitProperty,)),
    ("unit_states", (UnitState,)),
    ("owned_files", (OwnedFile,)),
    ("mounts", (Folder, Mount, MountOption)),
    ("modules", (Module,)),
    ("cmdline", (Fact,)),
)


def export(tuning: Tuning) -> Exported:
    """The script, alone."""
    return Exported(
        files=(File(PATH, text(tuning), 0o755),),
        carries=tuning.carried,
        left=tuning.left,
        then=(f"sh {PATH} plan, then apply; rollback gives back what was there. Nothing of it survives a reboot.",),
    )


def text(tuning: Tuning) -> str:
    """The whole of it."""
    settings = [one for one in tuning.settings if rows.is_seen(one)]
    moved = rows.movers(settings)
    units = [one for one in settings if isinstance(one.target, UnitState)]
    files = [one for one in settings if isinstance(one.target, OwnedFile)]
    values = [one for one in settings if one not in units and one not in files]
    away = [one for one in reversed(settings) if isinstance(one.target, PLACES)]
    parts = (
        ("stop_units", "Units that would undo the rest: they stop first, and start last on the way back.", units),
        ("write_files", "Files that tell such units what to leave alone.", files),
        ("set_values", "Everything else, in the order of writing.", values),
        ("take_places_away", "Of a rollback: what was made and goes away, innermost first.", away),
    )
    body = "\n".join(_function(name, about, some, moved, tuning.allow_unsafe) for name, about, some in parts)
    pieces = [_piece(name) for name in _pieces(settings)]
    digest = hashlib.sha256("".join([body, *pieces]).encode()).hexdigest()[:16]
    return "".join([_head(tuning, digest), body, *pieces, _piece("runs")])


def _head(tuning: Tuning, digest: str) -> str:
    host = tuning.host
    profiles = ", ".join(f"{one.name} {one.version} ({one.hash})".replace("  ", " ") for one in tuning.profiles)
    lines = [
        "#!/bin/sh",
        "# numatune export: what apply does, for a host on which numatune does not run. Needs root, sh and coreutils.",
        f"# Profile: {rows.plain(profiles)}",
        f"# Made for: {rows.plain(f'Linux {host.kernel} {host.arch}')}, nodes {host.nodes}, CPUs {host.cpus}",
        f"# Its fingerprint: {host.fingerprint}",
        "# On another host (other nodes or CPUs) it refuses. Usage: plan | apply | reapply | rollback, --help",
        *comments(remarks(tuning.left)).splitlines(),
        "",
        "# shellcheck disable=SC2034 # what one part sets another reads, where the rows need that",
        "set -f -u",
        "LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin",
        "export LC_ALL PATH",
        "umask 022",
        "",
        f"made_for_nodes={shlex.quote(host.nodes)}",
        f"made_for_cpus={shlex.quote(host.cpus)}",
        f"set_id={digest}",
        f"kept={KEPT}",
        f"live={LIVE}",
        "work=$live/now",
        f"cgroups={_cgroups(tuning.settings)}",
        f"sections={shlex.quote(' '.join(dict.fromkeys(one.section for one in tuning.settings)))}",
        f"disruption={'yes' if tuning.allow_disruption else 'no'}",
        f"debugfs={'yes' if 'debugfs' in tuning.allow_unsafe else 'no'}",
        "unsafe='' only='' patience=60 differences=2 force=no verbose=no root=no",
        "command='' mode='' section='' differ=0 changed=0 aspect_now='' figure='' refusal=''",
        "nl='\n'",
        "",
    ]
    return "\n".join(lines)


def _function(name: str, about: str, settings: Sequence[Setting], moved: rows.Movers, unsafe: frozenset[str]) -> str:
    """Indented, but for what is in here-documents."""
    inner = "\n".join(f"    {line}" if line else "" for line in rows.lines(settings, moved, unsafe)) or "    :"
    return f"\n# {about}\n{name}() {{\n{inner.lstrip(chr(10))}\n}}\n"


def _pieces(settings: Iterable[Setting]) -> list[str]:
    """Names of what the rows need, in the order of the file."""
    found = tuple(settings)
    names = list(_ALWAYS)
    names += ["members"] if any(isinstance(one.codec, Members) for one in found) else []
    names += ["guards"] if any(one.guard is not None for one in found) else []
    names += [name for name, kinds in _BY_KIND if any(isinstance(one.target, kinds) for one in found)]
    return names


def _cgroups(settings: Iterable[Setting]) -> str:
    """The root of the tree that units have their groups in."""
    for setting in settings:
        if isinstance(setting.target, UnitProperty) and setting.target.effective:
            first = next((part for part in setting.target.effective.split("/") if part.endswith(".slice")), "")
            return setting.target.effective.partition(f"/{first}")[0] if first else "/sys/fs/cgroup"
    return "/sys/fs/cgroup"


@cache
def _piece(name: str) -> str:
    return (Path(__file__).parent / "shell" / f"{name}.sh").read_text(encoding="utf-8")
