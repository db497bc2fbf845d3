"""``python -m tools.docs``: write every generated page, and take away those of commands that are gone."""

from __future__ import annotations

from pathlib import Path

from tools.docs.pages import pages

ROOT = Path(__file__).resolve().parent.parent.parent


def write() -> None:
    """Every page, as `pages` says."""
    made = pages(ROOT)
    for old in (ROOT / "docs/man").rglob("*.[15]"):
        if str(old.relative_to(ROOT)) not in made:
            old.unlink()
    for name, text in made.items():
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
