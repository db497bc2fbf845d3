"""A merged profile as YAML again, with the file and line behind each value: what `profiles show` prints."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from numatune.profile.document import Document
from numatune.profile.scalars import Trap, plain
from numatune.profile.tree import Branch, Leaf, Node, Row

_SAFE = re.compile(r"[A-Za-z0-9_./+(][A-Za-z0-9_./+()=%-]*(?: [A-Za-z0-9_./+()=%;-]+)*\Z", re.ASCII)
"""Text that YAML reads as itself without quotes."""
_HEAD = ("name", "summary", "version", "requires")


def spell(document: Document) -> str:
    """One profile that asks for the same as all of the document's together, whatever host it is for."""
    tree = document.tree
    conditions = [when for file in document.files.values() for when in file.tree.whens]
    lines = list(_entries(_only(tree, *_HEAD), 0))
    lines += [f"{word} {_flow(when)}  # {when.source}" for word, when in zip(_words(), conditions, strict=False)]
    for key in tree.entries:
        if key not in {*_HEAD, "extends"}:
            lines += ["", *_entries(_only(tree, key), 0)]
    return "\n".join(lines)


def _words() -> Iterator[str]:
    """YAML has one `when` a mapping; more of them are told as a comment."""
    yield "when:"
    while True:
        yield "# and when:"


def _only(tree: Branch, *keys: str) -> Branch:
    return Branch({key: tree.entries[key] for key in keys if key in tree.entries}, tree.source)


def _entries(tree: Branch, depth: int) -> Iterator[str]:
    indent = "  " * depth
    for key, entry in tree.entries.items():
        node = entry.node
        if isinstance(node, Branch) and (node.entries or node.whens):
            yield f"{indent}{_key(key)}:"
            for word, when in zip(_words(), node.whens, strict=False):
                yield f"{indent}  {word} {_flow(when)}  # {when.source}"
            yield from _entries(node, depth + 1)
        elif isinstance(node, Row) and any(isinstance(item, Branch) for item in node.items):
            yield f"{indent}{_key(key)}:"
            for item in node.items:
                yield f"{indent}  - {_flow(item)}  # {item.source}"
        else:
            yield f"{indent}{_key(key)}: {_flow(node)}  # {entry.source}"


def _flow(node: Node) -> str:
    match node:
        case Leaf():
            return _scalar(node)
        case Row():
            return f"[{', '.join(map(_flow, node.items))}]"
        case Branch():
            pairs = [f"{_key(key)}: {_flow(entry.node)}" for key, entry in node.entries.items()]
            pairs += [f"when: {_flow(when)}" for when in node.whens]
            return f"{{{', '.join(pairs)}}}"


def _key(key: str) -> str:
    return key if _SAFE.match(key) else json.dumps(key, ensure_ascii=False)


def _scalar(leaf: Leaf) -> str:
    if leaf.value is None:
        return "null"
    if not isinstance(leaf.value, str):
        return leaf.text
    return leaf.text if _SAFE.match(leaf.text) and _is_text(leaf.text) else json.dumps(leaf.value, ensure_ascii=False)


def _is_text(text: str) -> bool:
    """Whether YAML reads it as text without quotes."""
    try:
        return isinstance(plain(text), str)
    except Trap:
        return False
