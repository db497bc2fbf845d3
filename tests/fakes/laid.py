"""A generated host as files of this machine's disk."""

from __future__ import annotations

from pathlib import Path

from fakes.trees import LINK, Tree


def lay(tree: Tree, folder: Path) -> None:
    """Files, folders and links below a folder. Absolute links start at this machine's root, so none may be there."""
    made: set[Path] = set()
    for name, text in tree.items():
        path = folder / name.lstrip("/")
        above = path if name.endswith("/") else path.parent
        if above not in made:
            above.mkdir(parents=True, exist_ok=True)
            made.add(above)
        if text.startswith(LINK):
            path.symlink_to(text.removeprefix(LINK))
        elif not name.endswith("/"):
            path.write_text(text, encoding="utf-8")
            path.chmod(tree.modes.get(name, 0o644))
