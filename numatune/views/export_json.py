"""An export as JSON."""

from __future__ import annotations

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from numatune.export.tuning.model import Exported


def exported(made: Exported, target: str) -> dict[str, Any]:
    """Files with their modes in octal, the ids of what they carry, and what they do not."""
    return {
        "format": 1,
        "target": target,
        "files": [{"path": file.path, "mode": f"{file.mode:04o}", "text": file.text} for file in made.files],
        "carries": list(made.carries),
        "left": [{"id": one.id, "why": one.why} for one in made.left],
        "order": list(made.order),
        "then": list(made.then),
    }
