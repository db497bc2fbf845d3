"""What pydantic finds wrong with a section, in the words of the profile: where, found, accepted, did you mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from numatune.errors import Problem, did_you_mean
from numatune.knobs.base import Refused
from numatune.profile.tree import Path
from numatune.profile.wording import MAPPINGS, TYPES, told

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo
    from pydantic_core import ErrorDetails

Complaint = tuple[Path, Problem]
"""Where in the section, and what (without `where`)."""
Location = tuple[int | str, ...]
"""Where pydantic says that it is: with the names of union members and of the long form's `value` in between."""


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
        if others and all(error["type"] in TYPES for error in group):
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
        return [(path, _unknown_key(model, unknown[0]["loc"]))]
    mappings = [error["loc"] for error in group if error["type"] in MAPPINGS]
    keys = list(_fields_around(model, (*mappings[0], ""))) if mappings else []
    return [(path, told(group, keys))]


def _unknown_key(model: type[BaseModel], location: Location) -> Problem:
    key, known = str(location[-1]), _fields_around(model, location)
    below = [name for name, field in known.items() if any(key in _fields(each) for each in _models_below(field))]
    hint = f"it is a key of {' and of '.join(below)}" if below else did_you_mean(key, known)
    return Problem("", f"unknown key {key}", ", ".join(known), hint)


def _raised(path: Path, error: ErrorDetails) -> Iterable[Complaint]:
    """A ValueError that a validator of ours raised, whose text is ``found; accepted: ...``."""
    raised = error.get("ctx", {}).get("error")
    if isinstance(raised, Refused):
        return [((*path, *below), found) for below, found in raised.problems]
    return [(path, Problem.told(raised))]


def _path(data: Any, location: Location, *, missing: bool) -> Path:
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


def _fields_around(model: type[BaseModel], location: Location) -> dict[str, FieldInfo]:
    """The keys that the mapping around this place could have."""
    kinds: list[Any] = [model]
    for part in location[:-1]:
        kinds = [inner for kind in kinds for inner in _inside(kind, part)] or kinds
    models = [found for kind in kinds for found in _models(kind)]
    return {key: field for found in models for key, field in _fields(found).items()}


def _fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """A model's fields by their keys in the profile; none of what is one field as a whole."""
    return {field.alias or name: field for name, field in model.model_fields.items() if name != "root"}


def _models_below(field: FieldInfo) -> list[type[BaseModel]]:
    """The models that a field is, or that its items are."""
    kind = field.annotation
    return _models(kind) or [model for inner in _inside(kind, 0) for model in _models(inner)]


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
