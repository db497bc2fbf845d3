"""What pydantic finds wrong with a section, in the words of the profile: where, found, accepted, did you mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from numatune.errors import Problem, did_you_mean
from numatune.knobs.base import Refused
from numatune.profile.tree import Path

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Complaint = tuple[Path, Problem]
"""Where in the section, and what (without `where`)."""

_TYPES = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "text",
    "string_sub_type": "text",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "mapping_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "none_required": "null",
    "string_too_short": "a longer text",
    "string_too_long": "a shorter text",
    "too_short": "more items",
    "too_long": "fewer items",
}


def parse(model: type[BaseModel], data: Any) -> BaseModel | list[Complaint]:
    """The section as its model, or everything that is wrong with it."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        return _complaints(model, data, error.errors(include_url=False))


def _complaints(model: type[BaseModel], data: Any, errors: Sequence[ErrorDetails]) -> list[Complaint]:
    """One complaint a place: the alternatives of a union complain together."""
    grouped: dict[Path, list[ErrorDetails]] = {}
    for error in errors:
        grouped.setdefault(_path(data, error["loc"], missing=error["type"] == "missing"), []).append(error)
    complaints: list[Complaint] = []
    for path, group in grouped.items():
        others = [other for other in grouped if other != path and other[: len(path)] == path]
        if others and all(error["type"] in _TYPES for error in group):
            continue  # another form of a union, which what was written does not look like
        complaints += _at(model, path, group)
    return complaints


def _at(model: type[BaseModel], path: Path, group: Sequence[ErrorDetails]) -> list[Complaint]:
    own = [error for error in group if error["type"] == "value_error"]
    if own:
        return [complaint for error in own for complaint in _raised(path, error)]
    missing = [error for error in group if error["type"] == "missing"]
    if missing:
        return [(path[:-1], Problem("", f"{path[-1]} is missing"))] if path else []
    unknown = [error for error in group if error["type"] == "extra_forbidden"]
    if unknown:
        known = _keys_around(model, unknown[0]["loc"])
        return [(path, Problem("", f"unknown key {path[-1]}", ", ".join(known), did_you_mean(path[-1], known)))]
    accepted = list(dict.fromkeys(_accepted(error) for error in group))
    words = [word for error in group for word in _words(error)]
    found = found_text(group[0]["input"])
    return [(path, Problem("", found, " or ".join(accepted), _hint(group[0]["input"], words, accepted)))]


def _raised(path: Path, error: ErrorDetails) -> Iterable[Complaint]:
    """A ValueError that a validator of ours raised, whose text is ``found; accepted: ...``."""
    raised = error.get("ctx", {}).get("error")
    if isinstance(raised, Refused):
        return [((*path, *below), found) for below, found in raised.problems]
    return [(path, Problem.told(raised))]


_LIMITS = {
    "greater_than_equal": "{ge} or more",
    "greater_than": "more than {gt}",
    "less_than_equal": "{le} or less",
    "less_than": "less than {lt}",
    "string_pattern_mismatch": "text like {pattern}",
}


def _accepted(error: ErrorDetails) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind in {"literal_error", "enum"}:
        return str(context.get("expected", "")).replace("'", "").replace(" or ", ", ")
    if kind in _LIMITS:
        return _LIMITS[kind].format(**context)
    return _TYPES.get(kind) or error["msg"].removeprefix("Input should be ")


def _words(error: ErrorDetails) -> list[str]:
    if error["type"] != "literal_error":
        return []
    return [word.strip() for word in _accepted(error).split(",")]


def found_text(value: Any) -> str:
    """A value as a person would call it."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return repr(value) if len(value) <= 80 else f"{value[:77]!r}..."  # noqa: PLR2004  # a line's width
        case Mapping():
            return "a mapping" if value else "an empty mapping"
        case list() | tuple():
            return "a list"
        case None:
            return "null"
    return str(value)


def _hint(value: Any, words: Sequence[str], accepted: Sequence[str]) -> str:
    if isinstance(value, bool) and any("number" in text for text in accepted):
        return f"write {int(value)}"
    if isinstance(value, str) and words:
        return did_you_mean(value.lower(), words) if value.lower() not in words else f"write {value.lower()}"
    return ""


def _path(data: Any, location: tuple[int | str, ...], *, missing: bool) -> Path:
    """Where in the data an error is, without the union members and the long form's value that pydantic names too."""
    path: list[str] = []
    here = data
    for index, part in enumerate(location):
        inside = isinstance(here, Mapping) and part in here
        inside |= isinstance(here, list | tuple) and isinstance(part, int) and part < len(here)
        if inside:
            here = here[part]
        elif not missing or index < len(location) - 1:
            continue
        path.append(str(part))
    return tuple(path)


def _keys_around(model: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """The keys that the mapping at this place could have."""
    kinds: list[Any] = [model]
    for part in location[:-1]:
        kinds = [inner for kind in kinds for inner in _inside(kind, part)] or kinds
    models = [found for kind in kinds for found in _models(kind)]
    return list(dict.fromkeys(field.alias or name for found in models for name, field in found.model_fields.items()))


def _inside(kind: Any, part: int | str) -> list[Any]:
    """The annotations of what is at a key or index of `kind`; none when `part` is pydantic's name of a union member."""
    found = []
    for model in _models(kind):
        if "root" in model.model_fields:
            found += _inside(model.model_fields["root"].annotation, part)
        found += [field.annotation for name, field in model.model_fields.items() if part in (name, field.alias)]
    if get_origin(kind) in {dict, list, tuple}:
        found.append(get_args(kind)[-1 if get_origin(kind) is dict else 0])
    elif not _is_model(kind):
        forms = [form for form in get_args(kind) if get_origin(form)]
        found += [inner for form in forms for inner in _inside(form, part)]
    return found


def _models(kind: Any) -> list[type[BaseModel]]:
    """The models that an annotation is, or is a union of."""
    if _is_model(kind):
        return [kind]
    if get_origin(kind) in {dict, list, tuple}:
        return []
    return [model for alternative in get_args(kind) for model in _models(alternative)]


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
