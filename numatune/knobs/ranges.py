"""What a value may be, in words: read off the JSON Schema of a knob's model."""

from __future__ import annotations

from typing import Any

_JSON = dict[str, Any]
_NAMES = {"integer": "a whole number", "number": "a number", "string": "a text", "boolean": "true or false"}
_MANY = (1 << 63) - 1


def spelled(schema: _JSON) -> str:  # noqa: PLR0911  # one a form of schema
    """``0 to 200``, ``always, madvise or never``, ``true or false``; what is described in words stays as it is."""
    match schema:
        case {"description": str(text)} if schema.get("type") != "object":
            return text
        case {"enum": [*words]}:
            return _listed(words)
        case {"const": word}:
            return _word(word)
        case {"anyOf": [*forms]}:
            told = dict.fromkeys(spelled(form) for form in forms if form.get("type") != "null")
            return "; or ".join(told)
        case {"type": "array", "items": {"type": _} | {"enum": _} as item}:
            return f"a list of: {spelled(item)}"
        case {"type": "integer" | "number" as kind}:
            return _limits(kind, schema.get("minimum"), schema.get("maximum"))
        case {"type": str(kind)}:
            return _NAMES.get(kind, "")
        case {"type": [*kinds]}:
            return " or ".join(_NAMES[kind] for kind in kinds if kind in _NAMES)
    return "a number, a text, or a list of them"


def _limits(kind: str, low: int | None, high: int | None) -> str:
    if low is None and high is None:
        return _NAMES[kind]
    if high is None or high >= _MANY:
        return f"{low} or more"
    return f"{low} to {high}" if low is not None else f"up to {high}"


def _listed(words: list[Any]) -> str:
    told = [_word(word) for word in words if word is not None]
    return f"{', '.join(told[:-1])} or {told[-1]}" if len(told) > 1 else told[0]


def _word(word: Any) -> str:
    return str(word).lower() if isinstance(word, bool) else str(word)
