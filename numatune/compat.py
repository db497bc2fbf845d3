"""What newer Pythons have in the standard library and 3.11 has not."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import override
else:

    def override(method: object) -> object:
        """typing.override (Python 3.12): the type checker reads it, nothing happens at run time."""
        return method


__all__ = ["override"]
