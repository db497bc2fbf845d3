"""Times and durations: the one place that knows how they are spelled.

A time is UTC in ISO 8601 to the second (``2026-11-29T14:03:00Z``), so that times compare as text. A duration is a whole
number with a unit: ``90s``, ``10m``, ``4h``, ``2d``.
"""

from __future__ import annotations

import time

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_LONGEST = 366 * 86400

DAY = _UNITS["d"]


def seconds(text: str) -> int:
    """Seconds of a duration. Raises ValueError, which says what is accepted."""
    number, unit = text[:-1], text[-1:]
    if unit not in _UNITS or not (number.isascii() and number.isdecimal()):
        raise ValueError(f"{text!r} is no duration; accepted: a whole number and s, m, h or d, like 90s, 10m, 4h, 2d")
    found = int(number) * _UNITS[unit]
    if not 0 < found <= _LONGEST:
        raise ValueError(f"{text!r} is out of range; accepted: 1s to 366d")
    return found


def spelled(duration: int) -> str:
    """A duration in the largest unit that divides it."""
    for unit in ("d", "h", "m"):
        if duration and duration % _UNITS[unit] == 0:
            return f"{duration // _UNITS[unit]}{unit}"
    return f"{duration}s"


def stamp(after: float = 0.0) -> str:
    """The time now, or `after` seconds later (negative: earlier)."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + after))


def for_people(moment: str) -> str:
    """A time as a person reads it: ``2026-11-29 14:03:00 UTC``."""
    return moment.replace("T", " ").replace("Z", " UTC")
