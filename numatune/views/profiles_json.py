"""What a profile wants of a host, for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numatune.settings.model import Setting
from numatune.settings.plan import ProfileInfo
from numatune.settings.targets import Nothing
from numatune.views.profiles_text import value


def resolved(profiles: Sequence[ProfileInfo], settings: Sequence[Setting]) -> dict[str, Any]:
    """Format 1: the profiles, and each setting with what is wanted, why and where that is written."""
    return {
        "format": 1,
        "profiles": [{"name": info.name, "version": info.version, "hash": info.hash} for info in profiles],
        "settings": [_setting(setting) for setting in settings],
    }


def _setting(setting: Setting) -> dict[str, Any]:
    away = setting.target if isinstance(setting.target, Nothing) else None
    return {
        "id": setting.id,
        "section": setting.section,
        "wanted": value(setting),
        "why": setting.why,
        "source": str(setting.source) if setting.source else "",
        "optional": setting.optional,
        "note": setting.note,
        "status": away.status if away else "",
        "reason": away.reason if away else "",
    }
