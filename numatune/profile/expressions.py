"""Expressions in scalars: ``"{{ ... }}"``. A scalar that is one expression keeps the type of its value.

A scalar of text and expressions becomes text, or none as soon as one of its expressions yields none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from jinja2 import TemplateError, nodes
from jinja2.environment import TemplateExpression

from numatune.compat import override
from numatune.cpus import CpuSet
from numatune.errors import Problem
from numatune.profile.facts import View
from numatune.profile.failed import Endless, Failed
from numatune.profile.sandbox import Environment, one_of, short

MAX_SOURCE: Final = 2000
MAX_CHAIN: Final = 16
"""Variables that one leads to, one by the other."""

Value = bool | int | float | str | CpuSet | tuple[Any, ...] | None
"""What an expression may yield."""

_Part = str | TemplateExpression
_UNEXPECTED = re.compile(r"unexpected char '(.)'")
_NO_FILTER = re.compile(r"No filter named '(.*?)'")
_NO_NAME = re.compile(r"'(\w+)' is undefined\Z")
_SETS: Final = "sets: a - b, a + b, a | intersect(b)"
_OURS: Final = {
    "CpuSet": "a set",
    "NoneType": "none",
    "bool": "true or false",
    "float": "a number",
    "int": "a number",
    "list": "a list",
    "str": "a text",
    "tuple": "a list",
}
_PYTHONS_WORD = re.compile(rf"'({'|'.join(_OURS)})'")
"""The name of a type in a TypeError, and what the language calls it."""
_BARE_LIST = re.compile(r"\d-\d")


class Variables(View):
    """`vars`: each worked out when it is first asked for."""

    __slots__ = ("_made", "_names", "_open", "_work_out")
    called = "vars"

    def __init__(self, names: frozenset[str], work_out: Callable[[str], Value]) -> None:
        self._names = names
        self._work_out = work_out
        self._made: dict[str, Value] = {}
        self._open: list[str] = []

    @property
    @override
    def public(self) -> frozenset[str]:  # type: ignore[override]  # its names are the profile's, not the class's
        """The profile's own names."""
        return self._names

    def __getattr__(self, name: str) -> Value:
        if name not in self._names:
            raise AttributeError(name)
        if name in self._open:
            circle = " → ".join((*self._open[self._open.index(name) :], name))
            raise Endless(f"a circle: {circle}", "variables that do not lead back to themselves")
        if len(self._open) >= MAX_CHAIN:
            raise Endless(f"variables lead to each other over more than {MAX_CHAIN} steps")
        if name not in self._made:
            self._open.append(name)
            try:
                self._made[name] = self._work_out(name)
            finally:
                self._open.pop()
        return self._made[name]

    @override
    def item(self, key: object) -> Value:
        if isinstance(key, str) and key in self._names:
            return self.__getattr__(key)
        raise Failed(f"vars has no {key}", *one_of(str(key), self._names))


class Expressions:
    """Works expressions out over one set of names; each text once, as the names do not change."""

    def __init__(self, names: Mapping[str, object]) -> None:
        self.names = dict(names)
        self._environment = Environment()
        self._values: dict[str, Value | Failed] = {}

    def value(self, text: str) -> Value:
        """The value of a scalar that has an expression in it. Raises Failed."""
        if text not in self._values:
            try:
                self._values[text] = self._work_out(text)
            except Endless:
                raise
            except Failed as failed:
                self._values[text] = failed
        known = self._values[text]
        if isinstance(known, Failed):
            raise known
        return known

    def _work_out(self, text: str) -> Value:
        if len(text) > MAX_SOURCE:
            raise Failed(f"an expression of {len(text)} characters", f"at most {MAX_SOURCE}")
        try:
            return _joined([part if isinstance(part, str) else _plain(part(self.names)) for part in self._parts(text)])
        except Failed:
            raise
        except TemplateError as error:
            raise self._template_failure(error) from error
        except (RecursionError, MemoryError) as error:
            raise Endless("an expression that is nested too deeply") from error
        except ZeroDivisionError as error:
            raise Failed("a division by zero") from error
        except Exception as error:  # whatever an expression raises is a mistake in that expression
            raise _other_failure(error) from error

    def _parts(self, text: str) -> list[_Part]:
        parts: list[_Part] = []
        for output in self._environment.parse(text).body:
            if not isinstance(output, nodes.Output):
                raise Failed("a statement {% ... %}", "expressions {{ ... }}")
            for node in output.nodes:
                if isinstance(node, nodes.TemplateData):
                    parts.append(node.data)
                else:
                    _no_bare_list(node, text)
                    parts.append(self._expression(node))
        return parts

    def _expression(self, node: nodes.Expr) -> TemplateExpression:
        """As Environment.compile_expression does it, from a node that is parsed already."""
        body: list[nodes.Node] = [nodes.Assign(nodes.Name("result", "store"), node, lineno=1)]
        template = self._environment.from_string(nodes.Template(body, lineno=1))
        return TemplateExpression(template, undefined_to_none=False)

    def _template_failure(self, error: TemplateError) -> Failed:
        message = error.message or type(error).__name__
        if unknown := _NO_NAME.match(message):
            return Failed(message, *one_of(unknown[1], self.names))
        if unknown := _NO_FILTER.search(message):
            accepted, hint = one_of(unknown[1], self._environment.filters)
            return Failed(f"no filter {unknown[1]}", accepted, hint or _SETS)
        hint = _SETS if _UNEXPECTED.search(message) else ""
        return Failed(message.replace("'end of print statement'", "}}").removesuffix("."), hint=hint)


def _no_bare_list(node: nodes.Expr, text: str) -> None:
    """Refuse ``cpus.online - 0-3``, which is CPU 0 and then CPU 3 taken away. Raises Failed."""
    for each in (node, *node.find_all(nodes.Sub)) if _BARE_LIST.search(text) else ():
        match each:
            case nodes.Sub(left=nodes.Sub(right=nodes.Const(value=low)), right=nodes.Const(value=high)):
                found = f"{low}-{high} without quotes is {low} and then {high} taken away"
                raise Failed(found, f"a list like '{low}-{high}', or a minus between blanks")


def _plain(value: Any) -> Value:
    """What a template yields as what a profile can hold. Raises Failed."""
    if value is None or isinstance(value, bool | int | float | CpuSet):
        return value
    if isinstance(value, str):
        return short(str(value))
    if isinstance(value, list | tuple):
        return tuple(_plain(item) for item in value)
    if isinstance(value, View):
        raise Failed(f"{value.called} as a whole", f"one of its parts: {', '.join(sorted(value.public))}")
    str(value)  # an undefined name says here which one it is
    raise Failed("something that is no value", "a number, a text, a set or a list", "is it a function without ( )?")


def _joined(parts: list[Value]) -> Value:
    if len(parts) == 1:
        return parts[0]
    if any(part is None for part in parts):
        return None
    return short("".join(_text(part) for part in parts))


def _text(part: Value) -> str:
    if isinstance(part, tuple):
        return ",".join(_text(item) for item in part)
    if isinstance(part, bool):
        return str(part).lower()
    return str(int(part)) if isinstance(part, float) and part.is_integer() else str(part)


def _other_failure(error: Exception) -> Failed:
    message = str(error.args[0] if isinstance(error, KeyError) and error.args else error)
    if isinstance(error, TypeError):
        message = _PYTHONS_WORD.sub(lambda match: _OURS[match[1]], message)
    told = Problem.told(message)
    return Failed(told.found or type(error).__name__, told.accepted, told.hint)
