"""Settings, plans and journal records as JSON and back, by the standard library alone.

A dataclass becomes an object whose "@" is its class name and which leaves out fields at their defaults. Only the
classes below are made from a file, whatever it says.
"""

from __future__ import annotations

import dataclasses
import enum
import json
from typing import Any, TypeVar

from numatune.errors import StateError
from numatune.settings import applied, codecs, journal, measures, model, plan, targets

_CLASSES: dict[str, type[Any]] = {
    cls.__name__: cls
    for module in (measures, targets, model, plan, journal, applied)
    for cls in vars(module).values()
    if dataclasses.is_dataclass(cls) and isinstance(cls, type)
} | {cls.__name__: cls for cls in codecs.AnyCodec.__args__}
_ENUMS: dict[str, type[enum.Enum]] = {
    cls.__name__: cls for cls in (model.Phase, model.Impact, plan.Status, plan.Action)
}
_FIELDS = {name: {f.name: f for f in dataclasses.fields(cls)} for name, cls in _CLASSES.items()}

T = TypeVar("T")


def to_data(value: object) -> Any:
    """`value` as what json.dumps takes. Raises TypeError on a class that has no place on the wire."""
    match value:
        case enum.Enum():
            return value.value
        case None | bool() | int() | str():
            return value
        case tuple() | list():
            return [to_data(item) for item in value]
    name = type(value).__name__
    if name not in _CLASSES:
        raise TypeError(f"{name} is not known on the wire")
    data: dict[str, Any] = {"@": name}
    for field in _FIELDS[name].values():
        held = getattr(value, field.name)
        if held != field.default:
            data[field.name] = to_data(held)
    return data


def from_data(data: Any, expected: type[T]) -> T:
    """The value that `to_data` made `data` from. Raises StateError when it is not an `expected` after all."""
    try:
        made = _value(data)
    except (KeyError, TypeError, ValueError) as error:
        raise StateError("", f"is no {expected.__name__} record: {error!r}") from error
    if not isinstance(made, expected):
        raise StateError("", f"a {type(made).__name__} record where a {expected.__name__} belongs")
    return made


def dumps(value: object) -> str:
    """One line of JSON, without the newline."""
    return json.dumps(to_data(value), separators=(",", ":"), ensure_ascii=True)


def _value(data: Any) -> Any:
    match data:
        case list():
            return tuple(_value(item) for item in data)
        case {"@": str(name)}:
            known = _FIELDS[name]
            held = {key: item for key, item in data.items() if key != "@"}
            return _CLASSES[name](**{key: _field(str(known[key].type), item) for key, item in held.items()})
        case _:
            return data


def _field(annotation: str, item: Any) -> Any:
    made = _ENUMS.get(annotation.partition(" ")[0])
    return made(item) if made and item is not None else _value(item)
