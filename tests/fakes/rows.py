"""Settings, rows and stored rows, made short for tests of what is pure."""

from __future__ import annotations

from numatune.settings.applied import AppliedRow
from numatune.settings.codecs import Choice, Int
from numatune.settings.journal import LastSeen
from numatune.settings.model import Phase, Setting, SettingId
from numatune.settings.plan import Action, Change, Observation, Status
from numatune.settings.targets import KernelFile, OwnedFile


def sysctl(key: str, want: str | None, **fields: object) -> Setting:
    path = "/proc/sys/" + key.replace(".", "/")
    known = {"codec": Int(), "phase": Phase.SYSCTL, "section": "sysctl", **fields}
    return Setting(id=SettingId(f"sysctl:{key}"), target=KernelFile((path,)), want=want, **known)  # type: ignore[arg-type]


def thp(want: str | None, **fields: object) -> Setting:
    known = {"codec": Choice(), "phase": Phase.THP, "section": "thp", **fields}
    target = KernelFile(("/sys/kernel/mm/transparent_hugepage/enabled",))
    return Setting(id=SettingId("thp:enabled"), target=target, want=want, **known)  # type: ignore[arg-type]


def owned_file(path: str, want: str | None) -> Setting:
    return Setting(
        id=SettingId(f"file:{path}"),
        target=OwnedFile(path),
        codec=Choice(),
        want=want,
        phase=Phase.FILES,
        section="services",
    )


def change(
    setting: Setting, now: str | None, status: Status = Status.OK, action: Action = Action.NONE, **fields: object
) -> Change:
    return Change(setting, Observation(now), status, action, **fields)  # type: ignore[arg-type]


def before(setting: Setting, held: str | None, status: Status = Status.OK) -> AppliedRow:
    return AppliedRow(setting, LastSeen(status, held))
