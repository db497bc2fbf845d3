"""What is wrong with text that is no YAML, with a hint at what its writer most likely meant."""

from __future__ import annotations

import re
from typing import Final

import yaml

from numatune.errors import Problem

_NEEDS_QUOTES: Final = re.compile(r"(?:[:,\[-]|^)\s*(?P<value>[><@`%*!&|][^,}\]#\"]*)")
_COLON_WITHOUT_BLANK: Final = re.compile(r"\s*[^\s:#]+\s*[:=]\s*\S+\s*\Z")
_BRACKET_IN_TEXT: Final = re.compile(r"\w[\[{]")
_HINTS: Final = {
    "could not find expected ':'": "write KEY: VALUE, with a blank after the colon",
    "did not find expected '-' indicator": "the items of a list begin with - in the same column",
    "found unexpected end of stream": "a quote is opened there and never closed",
}


def unreadable(error: yaml.YAMLError, text: str, file: str) -> Problem:
    """The Problem of a document that a YAML parser refuses."""
    if isinstance(error, yaml.reader.ReaderError):
        line = text.count("\n", 0, error.position) + 1 if isinstance(error.position, int) else 1
        return Problem(f"{file}:{line}", f"a control character ({error.reason})")
    if not isinstance(error, yaml.MarkedYAMLError):
        return Problem(file, f"no YAML: {error}")
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else 1
    found = f"no YAML: {error.problem or error}"
    if error.context and error.context_mark and error.context_mark.line + 1 != line:
        found += f" {error.context} that begins in line {error.context_mark.line + 1}"
    return Problem(f"{file}:{line}", found, hint=_hint(text.splitlines(), line, error.problem or ""))


def _hint(lines: list[str], number: int, complaint: str) -> str:
    there = lines[number - 1] if number <= len(lines) else ""
    if found := _hint_for_line(there):
        return found
    if complaint == "mapping values are not allowed in this context":
        return _hint_for_colon(lines, number)
    if complaint == "did not find expected key":
        opened = any(there.count(mark) % 2 for mark in "'\"") or there.count("{") != there.count("}")
        return "count quotes and brackets" if opened else "the keys of a mapping begin in the same column"
    if complaint.startswith("did not find expected ','") and _BRACKET_IN_TEXT.search(there):
        return "text that holds a bracket is put in quotes"
    return _HINTS.get(complaint, "")


def _hint_for_line(there: str) -> str:
    """For what is wrong whatever the parser says."""
    if "\t" in there[: len(there) - len(there.lstrip())]:
        return "indent by blanks, not by tabs"
    if found := _NEEDS_QUOTES.search(there):
        value = found["value"].strip()
        return f'a value that begins with {value[0]} is put in quotes: "{value}"'
    return 'an expression is put in quotes: "{{ ... }}"' if "{{" in there else ""


def _hint_for_colon(lines: list[str], number: int) -> str:
    """For a colon where none can be: inside text, below a line that is no KEY: VALUE, or in a line too far in."""
    if lines[number - 1].count(": ") > 1:
        return 'text that holds a colon and a blank is put in quotes: "a: b"'
    above = next((line for line in reversed(lines[: number - 1]) if line.strip()), "")
    if ": " not in above and _COLON_WITHOUT_BLANK.match(above):
        return "write KEY: VALUE, with a blank after the colon, in the line above"
    return "the keys of a mapping begin in the same column"
