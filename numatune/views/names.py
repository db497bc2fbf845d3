"""Short names of things that several views tell of."""

from __future__ import annotations

from collections.abc import Sequence

from numatune.settings.plan import ProfileInfo


def profile_line(profiles: Sequence[ProfileInfo]) -> str:
    """``serving-host 2026.11 (3f9a01c2), mine (91b2c3d4)``."""
    return ", ".join(" ".join(filter(None, (p.name, p.version, f"({p.hash[:8]})" if p.hash else ""))) for p in profiles)
