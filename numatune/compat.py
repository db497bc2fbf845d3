"""What newer Pythons have in the standard library and 3.11 has not. Costs nothing to import: `typing` is not loaded."""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers take the name for true

if TYPE_CHECKING:
    from typing_extensions import override
else:

    def override(method: object) -> object:
        """typing.override (Python 3.12): the type checker reads it, nothing happens at run time."""
        return method


__all__ = ["override"]
