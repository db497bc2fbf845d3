"""A journal in memory, and one that says when it is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from numatune.settings.journal import Record, RunKind, RunStart


class MemoryJournal(list[Record]):
    """`hook` is called "before" and "after" each record."""

    def __init__(self, records: Iterable[Record] = (), hook: Callable[[str], None] | None = None) -> None:
        super().__init__(records)
        self.hook = hook

    def append(self, record: Record, *, sync: bool = False) -> None:  # noqa: ARG002  # memory is always there
        if self.hook:
            self.hook("before")
        super().append(record)
        if self.hook:
            self.hook("after")


def start(run: int = 1, kind: RunKind = "apply", *, boot_id: str = "boot", undoes: tuple[int, ...] = ()) -> RunStart:
    return RunStart(run, kind, "2026-11-29T00:00:00Z", "root", 1, boot_id, undoes=undoes)
