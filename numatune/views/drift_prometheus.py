"""A drift check as a page of metrics, in the text format that node_exporter's textfile collector reads.

The page has two parts: what the check says of itself, and what the host held. The second stays true until something
moves, so a page can be made from the last one without another look.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numatune.settings.drift import Drift, DriftRow

    Samples = Iterable[tuple[Mapping[str, str], float]]
    """Labels and value, each a line."""

_SINCE_APPLY = {" ": "same", "M": "moved", "D": "gone", "R": "reset", "-": "never-applied"}
_LOOK = "# What the host held, look "
_NUMBER = r"([0-9]+(?:\.[0-9]+)?)"
_SUCCEEDED = re.compile(rf"^numatune_check_last_success_timestamp_seconds {_NUMBER}$", re.MULTILINE)
_REPAIRS = re.compile(rf"^numatune_check_repairs_total {_NUMBER}$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What a check says of itself. Times are seconds since 1970, UTC.

    ran        when it ended
    seconds    how long it took, without the random delay
    failed     it did not come to its end, so nothing is known of the host
    succeeded  the last one that did, this one included; None: none is known
    repairs    settings put back by all checks that wrote this page
    """

    version: str
    ran: float
    seconds: float
    failed: bool = False
    succeeded: float | None = None
    repairs: int = 0


@dataclass(frozen=True, slots=True)
class Last:
    """What the page of the check before tells.

    look  names the look at the host that `held` was made from; "": no name was given
    held  the second part of the page, as text
    """

    succeeded: float | None = None
    repairs: int = 0
    look: str = ""
    held: str = ""


def page(check: Check, held: str = "", look: str = "") -> str:
    """The whole file. `held`: what `settings` made; "" after a failed check."""
    parts = [
        _family("numatune_build_info", "The numatune that checked.", [({"version": check.version}, 1)]),
        _family("numatune_check_success", "Whether the last check came to its end.", [({}, not check.failed)]),
        _family("numatune_check_last_run_timestamp_seconds", "When the last check ended.", [({}, check.ran)]),
        _family(
            "numatune_check_last_success_timestamp_seconds",
            "When the last check ended that came to its end.",
            [] if check.succeeded is None else [({}, check.succeeded)],
        ),
        _family("numatune_check_duration_seconds", "How long the last check took.", [({}, check.seconds)]),
        _family(
            "numatune_check_repairs_total", "Settings that checks put back.", [({}, check.repairs)], kind="counter"
        ),
    ]
    return "".join(parts) + (f"{_LOOK}{look or '-'}\n{held}" if held else "")


def settings(found: Drift) -> str:
    """The second part of a page: what the host held. Only what has rows is a series."""
    rows = found.rows
    profiles = [{"profile": info.name, "version": info.version, "hash": info.hash} for info in found.profiles]
    counted = Counter({row.change.setting.section: 0 for row in rows})
    counted.update(row.change.setting.section for row in rows if row.counted)
    held = Counter(map(_labels, rows))
    return "".join(
        [
            _family("numatune_applied_info", "Profiles of the applied set.", [(labels, 1) for labels in profiles]),
            _family("numatune_applied_timestamp_seconds", "When the last apply was.", _applied(found.since)),
            _family(
                "numatune_drift_settings",
                "Settings of the applied set by what the host holds and what became of them since the last apply.",
                [(dict(labels), count) for labels, count in sorted(held.items())],
            ),
            _family(
                "numatune_drift_differences",
                "Settings that drift counts.",
                [({"section": section}, count) for section, count in sorted(counted.items())],
            ),
            _family("numatune_drift_held", "Settings on hold.", [({}, sum(bool(row.change.held) for row in rows))]),
            _family(
                "numatune_reboot_required",
                "Whether a wanted kernel parameter waits for a reboot.",
                [({}, any(map(_waits_for_reboot, rows)))],
            ),
        ]
    )


def last(text: str) -> Last:
    """What a page of ours tells; of any other text nothing."""
    succeeded, repairs = _SUCCEEDED.search(text), _REPAIRS.search(text)
    _, _, rest = text.partition(f"\n{_LOOK}")
    look, _, held = rest.partition("\n")
    return Last(
        float(succeeded[1]) if succeeded else None, int(float(repairs[1])) if repairs else 0, look.strip("-"), held
    )


def _labels(row: DriftRow) -> tuple[tuple[str, str], ...]:
    change = row.change
    since = _SINCE_APPLY[row.letters[0]]
    return (("section", change.setting.section), ("status", change.status.value), ("since_apply", since))


def _waits_for_reboot(row: DriftRow) -> bool:
    from numatune.settings.plan import Status, counts  # noqa: PLC0415  # a page made from the last one needs no plan

    return row.change.status is Status.REBOOT and counts(row.change.setting, row.change.status)


def _applied(since: str) -> Samples:
    """The time of an apply as seconds, where there was one."""
    from datetime import datetime  # noqa: PLC0415  # as above

    return [({}, datetime.fromisoformat(since).timestamp())] if since else []


def _family(name: str, about: str, samples: Samples, *, kind: str = "gauge") -> str:
    """A metric with its lines; nothing at all where there is no line."""
    lines = [f"{name}{_spelled(labels)} {_number(value)}\n" for labels, value in samples]
    return "".join([f"# HELP {name} {about}\n# TYPE {name} {kind}\n", *lines]) if lines else ""


def _spelled(labels: Mapping[str, str]) -> str:
    pairs = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{pairs}}}" if pairs else ""


def _escaped(value: str) -> str:
    """The three characters that would end a label's value early."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    """Whole numbers without a point, others to the millisecond."""
    return f"{value:.3f}".rstrip("0").rstrip(".")
