"""Short names of things that several views tell of."""

from __future__ import annotations

from collections.abc import Sequence

from numatune.settings.plan import ProfileInfo

_SECTION_OF = {"cpuset": "cpusets", "service": "services"}
"""Of names whose first word is not their section's."""


def profile_line(profiles: Sequence[ProfileInfo]) -> str:
    """``serving-host 2026.11 (3f9a01c2), mine (91b2c3d4)``."""
    return ", ".join(" ".join(filter(None, (p.name, p.version, f"({p.hash[:8]})" if p.hash else ""))) for p in profiles)


def below_section(name: str, section: str) -> str:
    """The name of a setting, or of a family of them, below the heading of its section: ``inference.slice/cpus``."""
    first, colon, rest = name.partition(":")
    return rest if colon and _SECTION_OF.get(first, first) == section else name
