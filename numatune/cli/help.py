"""Help texts that keep their lines and fit the terminal all the same."""

from __future__ import annotations

import argparse
import re

from numatune.compat import override

_COLUMN = re.compile(r"(?<=\S)\s{2,}(?=\S)")


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Folds only the lines that are too long, each below its own last column."""

    @override
    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(indent + piece for line in text.splitlines() for piece in folded(line, width))


def folded(line: str, width: int) -> list[str]:
    """A line as it is when it fits, else in pieces: what does not fit hangs below the last column, or the indent."""
    if len(line) <= width:
        return [line]
    import textwrap

    columns = [match.end() for match in _COLUMN.finditer(line) if match.end() < width * 3 // 4]
    start = columns[-1] if columns else len(line) - len(line.lstrip())
    pieces = textwrap.wrap(line[start:], max(width - start, 20), break_long_words=False, break_on_hyphens=False)
    return [line[:start] + pieces[0], *(" " * start + piece for piece in pieces[1:])]
