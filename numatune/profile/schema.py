"""The profile language as a JSON Schema, for editors: made from the knobs' models, so that it cannot lag behind them.

It is more lenient than `resolve`: wherever a scalar is, an expression may be; every mapping may have a `when`; null
takes an inherited value away; a setting may have its short or its long form.
"""

from __future__ import annotations

from typing import Any, Final

from numatune.knobs import knobs
from numatune.profile.resolving import WORDS

_JSON = dict[str, Any]
_EXPRESSION: Final[_JSON] = {"$ref": "#/$defs/expression"}
_WHEN: Final[_JSON] = {"$ref": "#/$defs/when"}
_SCALAR: Final = ["string", "number", "boolean", "null"]
_COMPARISON: Final[_JSON] = {"type": ["string", "number", "array"]}
_CONDITIONS: Final[_JSON] = {
    "kernel": {**_COMPARISON, "description": 'Kernel release, as far as it is given: ">=5.15", ">=5.15, <6.12"'},
    "arch": {"type": ["string", "array"], "description": "x86_64, aarch64; !=x86_64"},
    "virt": {"type": ["string", "array"], "description": "none on metal, kvm, ...; !=none in any guest"},
    "distribution": {"type": ["string", "array"], "description": 'debian, "debian >=12"'},
    "cpu_nodes": {**_COMPARISON, "description": 'How many nodes have CPUs: 2, ">=2"'},
    "cpus": {**_COMPARISON, "description": 'How many CPUs are online: ">=64"'},
    "memory_only": {**_COMPARISON, "description": 'How many nodes have memory and no CPUs: ">=1"'},
    "page_kb": {**_COMPARISON, "description": 'Size of a page, kB: 4, ">4"'},
    "device": {
        "type": ["string", "array", "object"],
        "description": "accelerator, nic, a driver, a name; or a mapping",
    },
    "cgroup": {"type": ["string", "array"], "description": "v1, v2, hybrid, none"},
}


def schema() -> _JSON:
    """A schema of draft 2020-12 for a whole profile."""
    definitions: _JSON = {
        "expression": {"type": "string", "pattern": r"\{\{.*\}\}", "description": "An expression over the host"},
        "when": {
            "type": "object",
            "description": "Conditions that must all hold; a list under one of them means any of its items",
            "properties": _CONDITIONS,
            "additionalProperties": False,
            "minProperties": 1,
        },
    }
    properties: _JSON = _own_properties()
    for knob in knobs():
        made = knob.model.model_json_schema(ref_template=f"#/$defs/{knob.name}.{{model}}")
        for name, definition in made.pop("$defs", {}).items():
            definitions[f"{knob.name}.{name}"] = _loosened(definition)
        properties[knob.name] = _or_null(_loosened(made))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "numatune profile",
        "type": "object",
        "required": ["name"],
        "properties": properties,
        "additionalProperties": False,
        "$defs": definitions,
    }


def _own_properties() -> _JSON:
    text = {"type": _SCALAR}
    node = {"type": ["integer", "null"], "minimum": 0}
    return {
        "name": {**text, "description": "A word"},
        "summary": {**text, "description": "One line for `profiles list`"},
        "version": {**text, "description": "Free text; shown in plans, history and metrics"},
        "requires": {**text, "description": 'The numatune that is needed: ">=0.1"'},
        "extends": {
            "type": ["string", "array"],
            "items": {"type": "string"},
            "description": "Names or paths of profiles that this one is laid over",
        },
        "when": _WHEN,
        "vars": {
            "type": ["object", "null"],
            "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
            "additionalProperties": {"type": [*_SCALAR, "array"]},
            "description": "Values for expressions: {{ vars.NAME }}; --var NAME=VALUE goes before",
        },
        "devices": {
            "type": ["object", "null"],
            "description": "Which node a device is at, where the firmware says nothing or wrong",
            "additionalProperties": {
                "anyOf": [
                    node,
                    {"type": "object", "properties": {"node": node, "why": text}, "additionalProperties": False},
                ]
            },
        },
        **{key: {"enum": [*words, None]} for key, words in WORDS.items()},
    }


def _loosened(found: Any) -> Any:
    """A model's schema as a profile may be written."""
    if isinstance(found, list):
        return [_loosened(item) for item in found]
    if not isinstance(found, dict):
        return found
    kept = {key: value for key, value in found.items() if key not in {"default", "title"}}
    made: _JSON = {key: _loosened(value) for key, value in kept.items()}
    match kept:
        case {"type": "object"}:
            made = _loosened_object(kept, title=str(found.get("title", "")))
        case {"enum": _} | {"const": _} | {"pattern": _} | {"type": "integer" | "number" | "boolean"}:
            made = {"anyOf": [kept, _EXPRESSION]}
        case {"type": "string"}:
            made = {**kept, "type": _SCALAR}
        case {"type": "array", "items": _}:
            made = {"anyOf": [made, _EXPRESSION]}
    return made


def _loosened_object(found: _JSON, *, title: str) -> _JSON:
    properties = {key: _or_null(_loosened(value)) for key, value in found.get("properties", {}).items()}
    made: _JSON = {**found, "properties": {**properties, "when": _WHEN}}
    made.pop("required", None)  # what is inherited need not be said again
    if isinstance(found.get("additionalProperties"), dict):
        made["additionalProperties"] = _or_null(_loosened(found["additionalProperties"]))
    if title.startswith("Asked"):
        return {"description": made.pop("description", ""), "anyOf": [properties["value"], made]}
    return made


def _or_null(found: _JSON) -> _JSON:
    null = {"type": "null"}
    match found:
        case {"type": list(types)}:
            return {**found, "type": [*types, *({"null"} - set(types))]}
        case {"type": "object" | "array" as kind}:
            return {**found, "type": [kind, "null"]}
        case {"anyOf": list(forms)}:
            return {**found, "anyOf": forms if null in forms else [*forms, null]}
    return {"anyOf": [found, null]}
