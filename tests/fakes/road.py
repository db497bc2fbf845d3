"""plan, apply and rollback of one profile on one host, with a journal in memory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numatune import profile
from numatune.discover import discover
from numatune.engine.diff import Options, diff
from numatune.engine.execute import execute
from numatune.engine.fold import fold
from numatune.engine.observe import flat, observe
from numatune.engine.restore import Spared, restore
from numatune.host.protocol import Host
from numatune.settings.journal import Record, RunKind, RunStart
from numatune.settings.model import SettingId
from numatune.settings.plan import Action, Change, Outcome


class Notes(list[Record]):
    """A journal that no power cut will meet."""

    def append(self, record: Record, *, sync: bool = False) -> None:  # noqa: ARG002  # as the protocol says
        super().append(record)


class Road:
    """`folder`: where the profile's file is written."""

    def __init__(self, host: Host, folder: Path) -> None:
        self.host = host
        self.folder = folder
        self.notes = Notes()

    def plan(self, text: str, **options: Any) -> dict[SettingId, Change]:
        """Rows of a profile, given without its name, in the order of writing."""
        path = self.folder / "road.yaml"
        path.write_text(f"name: road\n{text}")
        path.chmod(0o644)
        document = profile.load([str(path)])
        settings = flat(profile.resolve(document, discover(self.host, document.reads)).settings)
        changes = diff(settings, observe(settings, self.host), Options(**options))
        return {change.setting.id: change for change in changes}

    def apply(self, changes: Mapping[SettingId, Change]) -> dict[SettingId, Outcome]:
        outcomes = execute(tuple(changes.values()), self.host, self.notes, _start("apply"))
        return {outcome.id: outcome for outcome in outcomes}

    def rollback(self) -> tuple[Spared, ...]:
        """What it left alone."""
        owned = fold(self.notes)
        changes, spared = restore(owned, observe([each.setting for each in owned.values()], self.host), "boot")
        execute(changes, self.host, self.notes, _start("rollback"))
        return spared


def actions(changes: Mapping[SettingId, Change]) -> set[Action]:
    return {change.action for change in changes.values()}


def _start(kind: RunKind) -> RunStart:
    return RunStart(1, kind, "2026-11-29T00:00:00Z", "root", 1, "boot")
