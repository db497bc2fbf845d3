"""Text and Markdown in the language of manual pages, man(7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token  # noqa: TC002  # one import block reads better than two


def plain(text: str) -> str:
    """Text as it is: no character of it is an instruction."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    escaped = escaped.replace("^", "\\(ha").replace("~", "\\(ti")
    return f"\\&{escaped}" if escaped.startswith((".", "\\(aq")) else escaped


def literal(lines: Sequence[str]) -> Iterator[str]:
    """Lines that stay as they are, indented."""
    yield from (".PP", ".RS 4", ".nf", *(plain(line) if line else ".sp" for line in lines), ".fi", ".RE")


def markdown(text: str) -> Iterator[str]:
    """A page of Markdown below its title: sections, paragraphs, lists, tables as lists, blocks of code."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    yield from _Blocks(tokens).lines()


class _Blocks:
    """The blocks of a page, one after the other."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = iter(tokens)

    def lines(self) -> Iterator[str]:
        for token in self._tokens:
            match token.type:
                case "heading_open":
                    title = next(self._tokens)
                    if token.tag != "h1":
                        yield f".{'SH' if token.tag == 'h2' else 'SS'} {plain(title.content.upper().replace('`', ''))}"
                case "paragraph_open":
                    yield from (".PP", _inline(next(self._tokens)))
                case "bullet_list_open":
                    yield from self._items()
                case "table_open":
                    yield from self._rows()
                case "fence" | "code_block":
                    yield from literal(token.content.rstrip("\n").split("\n"))

    def _items(self) -> Iterator[str]:
        for token in self._tokens:
            if token.type == "bullet_list_close":
                return
            if token.type == "inline":
                yield from (".IP \\(bu 2", _inline(token))

    def _rows(self) -> Iterator[str]:
        """Each row as an item: its first cell, and the others behind it."""
        cells: list[str] = []
        in_head = False
        for token in self._tokens:
            match token.type:
                case "table_close":
                    return
                case "thead_open" | "thead_close":
                    in_head = token.type == "thead_open"
                case "tr_open":
                    cells = []
                case "inline":
                    cells.append(_inline(token))
                case "tr_close" if not in_head:
                    yield from (".TP", cells[0] or "\\&", " \\(em ".join(filter(None, cells[1:])) or "\\&")


def _inline(token: Token) -> str:
    """The words of a line; what is code or strong is bold."""
    text = ""
    for child in token.children or ():
        match child.type:
            case "text":
                text += plain(child.content) if not text else plain(f"x{child.content}")[1:]
            case "code_inline":
                text += f"\\fB{plain(f'x{child.content}')[1:]}\\fR"
            case "strong_open":
                text += "\\fB"
            case "strong_close" | "em_close":
                text += "\\fR"
            case "em_open":
                text += "\\fI"
            case "softbreak" | "hardbreak":
                text += " "
    return text
