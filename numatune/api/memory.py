"""What numatune remembers of a host: the applied set, what it owns, holds. Of a captured tree it remembers nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.engine.runs import Run
    from numatune.host.protocol import Reader
    from numatune.settings.applied import AppliedSet, Hold, Revived
    from numatune.settings.journal import Owned
    from numatune.settings.model import SettingId
    from numatune.settings.plan import Remembered


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """See the module.

    remembered  what earlier applies learned by trying, in this boot
    ledger      what is ours, when asked for
    newest      number of the newest run, 0 for none
    revived     what this boot has made so again
    """

    boot_id: str = ""
    applied: AppliedSet | None = None
    remembered: Mapping[SettingId, Remembered] = field(default_factory=dict)
    holds: tuple[Hold, ...] = ()
    ledger: Mapping[SettingId, Owned] = field(default_factory=dict)
    newest: int = 0
    revived: Mapping[SettingId, Revived] = field(default_factory=dict)

    def rebooted(self) -> bool:
        """Whether the host was restarted since the last apply."""
        return self.applied is not None and self.applied.boot_id != self.boot_id


def listed(reader: Reader) -> tuple[Run, ...]:
    """All runs that touched this host, oldest first; of a captured tree none. Raises TrustError, StateError."""
    from numatune.engine import paths, runs

    return runs.listed(paths.runs(paths.state(reader.root))) if reader.live else ()


def recall(reader: Reader, *, ledger: bool = False) -> Memory:
    """Everything from the state folder. Raises TrustError, StateError."""
    if not reader.live:
        return Memory()
    from numatune.engine import applied, paths, revived, runs, store
    from numatune.engine.boot import boot_id
    from numatune.engine.fold import fold
    from numatune.settings.applied import Holds

    state = paths.state(reader.root)
    boot, stored = boot_id(reader), applied.load(paths.applied(state))
    holds = store.load(paths.holds(state), Holds)
    folder = paths.runs(state)
    again = revived.load(paths.boot(state), boot)
    chosen = runs.choose(listed(reader), every=True) if ledger and stored else runs.Chosen((), ())
    owned = revived.overlay(fold(runs.records(chosen.runs)), again, boot, chosen.numbers)
    return Memory(
        boot_id=boot,
        applied=stored,
        remembered={**applied.remembered(stored, boot), **revived.learned(again)},
        holds=holds.holds if holds else (),
        ledger=owned,
        newest=runs.next_number(folder) - 1,
        revived=again,
    )
