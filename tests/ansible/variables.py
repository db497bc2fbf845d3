"""The table of the role's variables in docs/ansible.md, from its argument specification. Run it to write the table."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

CHECKOUT = Path(__file__).parents[2]
ROLE = CHECKOUT / "roles" / "numatune"
PAGE = CHECKOUT / "docs" / "ansible.md"
MARKUP = re.compile(r"\b[CVO]\((.*?)\)")


def options() -> dict[str, dict[str, Any]]:
    """The role's variables as meta/argument_specs.yml describes them."""
    specs = yaml.safe_load((ROLE / "meta/argument_specs.yml").read_text(encoding="utf-8"))
    found: dict[str, dict[str, Any]] = specs["argument_specs"]["main"]["options"]
    return found


def table() -> str:
    """Name, default, meaning."""
    rows = ["| variable | default | |", "|---|---|---|"]
    for name, option in options().items():
        text = option["description"]
        words = MARKUP.sub(r"`\1`", " ".join(text) if isinstance(text, list) else text)
        choices = [f"`{choice}`" for choice in option.get("choices", []) if choice]
        one_of = f"{', '.join(choices)}: " if choices else ""
        rows.append(f"| `{name}` | {spelled(option['default'])} | {one_of}{words} |")
    return "\n".join(rows) + "\n"


def spelled(value: object) -> str:
    """A default in a cell."""
    return "" if value in ("", [], {}) else f"`{value if isinstance(value, str) else json.dumps(value)}`"


def main() -> None:
    """Put the table into the page, in the place of the one that is there."""
    text = PAGE.read_text(encoding="utf-8")
    head, rest = text.split("| variable | default | |\n", 1)
    _, tail = rest.split("\n\n", 1)
    PAGE.write_text(f"{head}{table()}\n{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
