"""An export for a terminal: its file, or its files one after the other; and notes beside it."""

from __future__ import annotations

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.export.tuning.model import Exported


def text(made: Exported) -> str:
    """The text of a single file as it is; of several each with its path and mode above it."""
    if len(made.files) == 1:
        return made.files[0].text
    return "\n".join(f"# --- {file.path} (mode {file.mode:04o})\n{file.text}" for file in made.files)


def notes(made: Exported) -> tuple[str, ...]:
    """What is not carried, what order is not kept, what to do with it."""
    return tuple(f"note: {line}" for line in made.notes)
