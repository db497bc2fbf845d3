"""The values of a knob's model: where each is in a profile, and its JSON Schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

ANY: Final = "*"
"""In a path: a name that the profile chooses, or an index of a list."""

_JSON = dict[str, Any]
_Leaf = tuple[tuple[str, ...], _JSON, _JSON]


def leaves(schema: _JSON, path: tuple[str, ...]) -> Iterator[_Leaf]:
    """Every value below `path`: its path, its schema, and that of the class that has it."""
    yield from _below(schema, schema.get("$defs", {}), path, schema)


def _below(schema: _JSON, parts: _JSON, path: tuple[str, ...], holder: _JSON) -> Iterator[_Leaf]:
    found = _plain(schema, parts)
    if found.get("type") == "object":
        for name, value in _members(found):
            yield from _below(value, parts, (*path, name), found)
        return
    if found.get("type") == "array":
        item = _plain(found["items"], parts)
        if item.get("type") == "object":
            yield from _below(item, parts, (*path, ANY), found)
            return
        found = {**found, "items": item}
    yield path, found, holder


def _members(schema: _JSON) -> Iterator[tuple[str, _JSON]]:
    yield from schema.get("properties", {}).items()
    for value in (schema.get("additionalProperties"), *schema.get("patternProperties", {}).values()):
        if isinstance(value, dict):
            yield ANY, value


def _plain(schema: _JSON, parts: _JSON) -> _JSON:
    """What a value is: references followed, null left out, the long form of a setting opened, a short form left out."""
    beside = {key: value for key, value in schema.items() if key in {"default", "description"}}
    if "$ref" in schema:
        return {**_plain(parts[schema["$ref"].rpartition("/")[2]], parts), **beside}
    if "anyOf" in schema:
        forms = [_plain(form, parts) for form in schema["anyOf"] if form.get("type") != "null"]
        mappings = [form for form in forms if form.get("type") == "object"]
        if mappings or len(forms) == 1:
            return {**(mappings or forms)[-1], **beside}
        return {**schema, "anyOf": forms}
    if {"value", "why"} <= set(schema.get("properties", {})):
        return {**_plain(schema["properties"]["value"], parts), **beside}
    return schema
