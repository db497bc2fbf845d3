"""Which pages are generated, and from what."""

from __future__ import annotations

from pathlib import Path

from numatune.cli import tree
from numatune.cli.commands import COMMANDS
from tools.docs.man import of_all, of_command, of_profiles
from tools.docs.reference import reference


def pages(root: Path) -> dict[str, str]:
    """Text by path below `root`, the checkout."""
    commands = [tree.command(name) for name in COMMANDS]
    language = (root / "docs/profiles.md").read_text(encoding="utf-8")
    made = {f"docs/man/man1/numatune-{one.words[0]}.1": of_command(one) for one in commands}
    return {
        "docs/reference.md": reference(),
        "docs/man/man1/numatune.1": of_all(tree.top()),
        "docs/man/man5/numatune-profile.5": of_profiles(language),
        **made,
    }
