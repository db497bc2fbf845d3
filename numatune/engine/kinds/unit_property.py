"""A resource property of a unit of systemd: asked by ``systemctl show``, given by ``systemctl set-property``.

A unit that does not run keeps the property and gets it when it starts: until then it is pending. Where systemd cannot
be asked (a captured tree), the unit's cgroup says what systemd wrote there.
"""

from __future__ import annotations

import errno

from numatune.engine.kinds import cgroup, systemctl
from numatune.host.protocol import Host, Reader
from numatune.settings.codecs import meets
from numatune.settings.model import Setting
from numatune.settings.plan import Change, Observation
from numatune.settings.targets import UnitProperty

_ASKED = ("AllowedCPUs", "AllowedMemoryNodes", "MemoryMax", "LoadState", "ActiveState", "ControlGroup")
"""Always the same list, so that whoever remembers answers asks once for all properties of a unit."""

_NONE = frozenset({"", "infinity"})
"""How a property is taken back."""

_RUNNING = frozenset({"active", "reloading", "activating", "deactivating", "refreshing", "maintenance"})


def look(target: UnitProperty, setting: Setting, reader: Reader) -> Observation:
    """The property, what the unit's cgroup has in force, and who runs there when a change would be felt."""
    shown = systemctl.show(target.unit, _asked(target), reader)
    if isinstance(shown, int):
        return _from_cgroup(target, shown, reader)
    where = f"{target.unit} {target.name}="
    if target.name not in shown:
        return Observation(None, errno.EOPNOTSUPP, where)
    if shown.get("LoadState") == "not-found":  # never of a slice: systemd makes one when it is named
        return Observation(None, errno.ENOENT, where)
    text = shown[target.name]
    live = _live(target, shown.get("ControlGroup", ""))
    effective = reader.read(live).text if live else None
    idle = shown.get("ActiveState") not in _RUNNING
    if setting.want is None or meets(setting.codec, setting.want, text):
        return Observation(text, where=where, effective=effective, pending=idle)
    users = cgroup.hurt(setting, text, live.rpartition("/")[0], reader) if live else ()
    return Observation(text, where=where, effective=effective, pending=idle, in_use=bool(users), users=users)


def write(target: UnitProperty, change: Change, host: Host) -> int:
    """Each value by itself and in order: going back to empty first widens, or tasks keep the old CPUs."""
    scope = ("--runtime",) if target.runtime else ()
    for text in change.writes:
        assignment = f"{target.name}={text.strip()}"
        if failed := systemctl.tell(("set-property", *scope, "--", target.unit, assignment), host):
            return failed
    if change.writes and change.writes[-1].strip() in _NONE:
        _drop_idle_group(target, host)
    return 0


def _drop_idle_group(target: UnitProperty, host: Host) -> None:
    """A slice that gets a property while it does not run is given a group by systemd, which keeps it (257)."""
    shown = systemctl.show(target.unit, _asked(target), host)
    if target.effective and not isinstance(shown, int) and shown.get("ActiveState") == "inactive":
        host.drop(target.effective.rpartition("/")[0])  # refused by the kernel while anything is in it


def _asked(target: UnitProperty) -> tuple[str, ...]:
    return _ASKED if target.name in _ASKED else (*_ASKED, target.name)


def _live(target: UnitProperty, group: str) -> str:
    """The file in the cgroup that the unit really has; "" when it has none, or when there is no such file to name."""
    if target.effective is None or not group:
        return ""
    folder, _, name = target.effective.rpartition("/")
    parts = folder.split("/")
    first = next(
        (place for place, part in enumerate(parts) if part.endswith((".slice", ".scope", ".service"))), len(parts)
    )
    return f"{'/'.join(parts[:first])}{group.rstrip('/')}/{name}"


def _from_cgroup(target: UnitProperty, code: int, reader: Reader) -> Observation:
    """What systemd wrote into the unit's cgroup, where a tree without systemd to ask has one."""
    if code == systemctl.NOT_SYSTEMD and target.effective is not None:
        asked = target.effective.removesuffix(".effective")
        found = reader.read(asked)
        if found.text is not None:
            return Observation(found.text, where=asked, effective=reader.read(target.effective).text)
    return Observation(None, code, f"{target.unit} {target.name}=")
