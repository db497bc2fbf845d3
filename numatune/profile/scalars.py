"""What a plain scalar means: the YAML 1.2 core schema, less the numbers that people misread.

YAML 1.1, which PyYAML speaks, reads ``off`` as false, ``1:30`` as 90 and ``0000:41:00.0`` as 2460.0; none of that here.
"""

from __future__ import annotations

import re

NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?(0|[1-9][0-9]{0,18})\Z")
_FLOAT = re.compile(r"[-+]?(0|[1-9][0-9]{0,18})?\.[0-9]{1,19}\Z|[-+]?(0|[1-9][0-9]{0,18})\.\Z")
_TRAPS = (
    (re.compile(r"[-+]?0[xX][0-9a-fA-F]+\Z"), "hexadecimal"),
    (re.compile(r"[-+]?0[oO][0-7]+\Z"), "octal"),
    (re.compile(r"[-+]?0[bB][01]+\Z"), "binary"),
    (re.compile(r"[-+]?0[0-9]+\Z"), "octal to some and decimal to others"),
    (re.compile(r"[-+]?[0-9]+(_[0-9]+)+\Z"), "a number with underscores"),
    (re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)[eE][-+]?[0-9]+\Z"), "a number with an exponent"),
    (re.compile(r"[-+]?\.(inf|Inf|INF)\Z|\.(nan|NaN|NAN)\Z"), "no finite number"),
    (re.compile(r"[-+]?[0-9]{20,}\Z"), "a number of more than 19 digits"),
)


class Trap(ValueError):  # noqa: N818  # reads as what was written
    """A number that YAML readers disagree on. `kind` names it, `hint` says what to write instead."""

    def __init__(self, kind: str, hint: str) -> None:
        super().__init__(kind)
        self.kind = kind
        self.hint = hint


def plain(text: str) -> bool | float | int | str | None:
    """The value of an unquoted scalar. Raises Trap."""
    if text in NULL:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    if _INT.match(text):
        return int(text)
    if _FLOAT.match(text):
        return float(text)
    for pattern, kind in _TRAPS:
        if pattern.match(text):
            raise Trap(kind, _instead(text))
    return text


def _instead(text: str) -> str:
    digits = text.replace("_", "")
    sign = -1 if digits.startswith("-") else 1
    digits = digits.lstrip("+-")
    if re.fullmatch(r"0[xX][0-9a-fA-F]{1,16}|0[oO][0-7]{1,21}|0[bB][01]{1,63}", digits):
        return f"write {sign * int(digits, 0)}, or quote it when it is text"
    if re.fullmatch(r"[0-9]{1,19}", digits):
        return f"write {sign * int(digits)}, or quote it when it is text"
    return "write it out in decimal, or quote it when it is text"
