"""A Jinja2 environment in which an expression can compute with a host's facts, and nothing else.

No statements, no globals, no methods of built-in types, an allow-list of filters; arithmetic on numbers of bounded size
only, so that no expression can ask for much time or memory. What is not listed here does not exist.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from jinja2 import StrictUndefined, Undefined
from jinja2.filters import FILTERS
from jinja2.sandbox import ImmutableSandboxedEnvironment

from numatune.compat import override
from numatune.cpus import CpuSet
from numatune.errors import did_you_mean
from numatune.knobs.base import cpu_set
from numatune.profile.facts import View
from numatune.profile.failed import Failed

MAX_TEXT: Final = 4096
MAX_SET: Final = 8192
"""Members of a set: as many CPUs as a Linux of today can be built for (NR_CPUS on x86 with MAXSMP)."""
MAX_NUMBER: Final = 1 << 63
_MAX_PRECISION: Final = 18

_BUILTIN_FILTERS: Final = (
    *("abs", "max", "min", "sum"),
    *(
        "count",
        "first",
        "last",
        "length",
        "list",
        "map",
        "reject",
        "rejectattr",
        "select",
        "selectattr",
        "sort",
        "unique",
    ),
    *("d", "default", "lower", "string", "trim", "upper"),
)
_MAPPED: Final = frozenset({"abs", "first", "float", "int", "length", "lower", "round", "string", "trim", "upper"})
"""Filters that `map` may put on each item: what one item becomes is never larger than the item."""
_SET_NAMES: Final = frozenset({"first", "last", "take"})
_OPERATORS: Final = frozenset({"+", "-", "*", "/", "//", "%", "**"})


class Environment(ImmutableSandboxedEnvironment):
    """See the module's head."""

    intercepted_binops = _OPERATORS

    def __init__(self) -> None:
        super().__init__(undefined=StrictUndefined, autoescape=False, cache_size=0, keep_trailing_newline=True)
        self.globals.clear()
        self.filters = {name: FILTERS[name] for name in _BUILTIN_FILTERS} | _OWN_FILTERS

    @override
    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        return attr in _names_of(obj)

    @override
    def is_safe_callable(self, obj: Any) -> bool:
        if isinstance(obj, Undefined):
            str(obj)  # says which name is undefined
        owner = getattr(obj, "__self__", None)
        return getattr(obj, "__name__", "") in _names_of(owner)

    @override
    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, Undefined):
            return super().getattr(obj, attribute)
        if isinstance(obj, Mapping):
            return obj[attribute]
        names = _names_of(obj)
        if attribute in names:
            return getattr(obj, attribute)
        raise Failed(f"{_called(obj)} has no {attribute}", *one_of(attribute, names))

    @override
    def getitem(self, obj: Any, argument: Any) -> Any:
        if isinstance(obj, View):
            return obj.item(argument)
        if isinstance(obj, Mapping) or (isinstance(obj, list | tuple | str) and type(argument) is int):
            return obj[argument]
        if isinstance(argument, str):
            return self.getattr(obj, argument)
        raise Failed(f"{_called(obj)} has no [{argument!r}]")

    @override
    def call(self, context: Any, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        if self.is_safe_callable(obj):
            signature = inspect.signature(obj)
            try:
                signature.bind(*args, **kwargs)
            except TypeError as error:
                name, takes = obj.__name__, ", ".join(signature.parameters)
                raise Failed(f"{name}( ) with {len(args) + len(kwargs)} values", f"{name}({takes})") from error
        return super().call(context, obj, *args, **kwargs)

    @override
    def call_filter(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Only `map` asks here: filters that are written out are compiled."""
        if name not in _MAPPED:
            raise Failed(f"map({name!r})", *one_of(name, _MAPPED))
        return super().call_filter(name, *args, **kwargs)

    @override
    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if isinstance(left, Undefined) or isinstance(right, Undefined):
            return left + right  # says which name is undefined
        if isinstance(left, CpuSet) or isinstance(right, CpuSet):
            return _sets(operator, left, right)
        if operator == "+" and isinstance(left, str) and isinstance(right, str):
            return short(left + right)
        if operator == "+" and isinstance(left, list) and isinstance(right, list):
            return [*left, *right] if len(left) + len(right) <= MAX_TEXT else _too_long()
        if not _number(left) or not _number(right):
            raise Failed(f"{_called(left)} {operator} {_called(right)}", "numbers, and sets with + or -")
        return _numbers(operator, left, right)


def short(text: str) -> str:
    """`text` when it is of a sane length. Raises Failed."""
    return text if len(text) <= MAX_TEXT else _too_long()


def one_of(word: str, known: Iterable[str]) -> tuple[str, str]:
    """What there is instead of a misspelt word, and a hint at the one that is nearest."""
    names = sorted(known)
    return ", ".join(names) or "nothing", did_you_mean(word, names)


def _set(value: Any) -> CpuSet:
    """A set of a sane size. Raises Failed, or ValueError for what is no set."""
    made = cpu_set(value)
    return made if len(made) <= MAX_SET else _too_long()


def _sets(operator: str, left: Any, right: Any) -> CpuSet:
    if operator == "-":
        return _set(left) - _set(right)
    if operator == "+":
        return _set(left) | _set(right)
    raise Failed(f"a set {operator} something", "+ and - between sets, and the filters union and intersect")


def _numbers(operator: str, left: float, right: float) -> float:
    if operator == "**" and not (0 <= right < MAX_NUMBER.bit_length() and abs(left) <= 1 << 16):
        raise Failed("so large a power", "exponents 0 to 63 of numbers up to 65536")
    made = _ARITHMETIC[operator](left, right)
    if abs(made) >= MAX_NUMBER:
        raise Failed(f"a number beyond 2**63 by {operator}")
    return made


_ARITHMETIC: Final[Mapping[str, Callable[[Any, Any], float]]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": lambda a, b: a**b,
}


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _names_of(obj: Any) -> frozenset[str]:
    if isinstance(obj, View):
        return obj.public
    return _SET_NAMES if isinstance(obj, CpuSet) else frozenset()


def _called(value: Any) -> str:
    """A value by kind, for messages."""
    if isinstance(value, View):
        return value.called
    if isinstance(value, bool | None):
        return str(value).lower()
    if isinstance(value, str):
        return f"the text {value[:40]!r}"
    names = {CpuSet: "a set", list: "a list", tuple: "a list", dict: "a mapping", int: str(value), float: str(value)}
    return names.get(type(value), "that")


def _too_long() -> Any:
    raise Failed("too much in one value", f"texts and lists of up to {MAX_TEXT}, sets of up to {MAX_SET} members")


def _int(value: Any) -> int:
    """The filter `int`; unlike Jinja2's own it does not make 0 of what is no number."""
    if isinstance(value, CpuSet | list | tuple | None) or abs(made := int(value)) >= MAX_NUMBER:
        raise Failed(f"{_called(value)} where a number belongs")
    return made


def _float(value: Any) -> float:
    return float(value)


def _round(value: float, precision: int = 0, method: str = "common") -> float:
    """The filter `round`, for a precision that a number can have: 10 ** precision is worked out."""
    if not (_number(value) and type(precision) is int and abs(precision) <= _MAX_PRECISION):
        raise Failed(f"round({precision!r}) of {_called(value)}", f"numbers, and up to {_MAX_PRECISION} digits")
    rounded: float = FILTERS["round"](value, precision, method)
    return rounded


def _join(values: Iterable[Any], separator: str = "") -> str:
    made = ""
    for value in values:
        made = short(f"{made}{separator if made else ''}{value}")
    return made


def _of_two(name: str, combine: Callable[[CpuSet, CpuSet], CpuSet]) -> Callable[..., CpuSet]:
    """A filter that makes one set of the one before it and its argument."""

    def combined(left: Any, *others: Any) -> CpuSet:
        if len(others) != 1:
            raise Failed(f"{name} of {len(others) + 1} sets", f"two: one | {name}(other)")
        return combine(_set(left), _set(others[0]))

    return combined


_OWN_FILTERS: Final[dict[str, Callable[..., Any]]] = {
    "int": _int,
    "float": _float,
    "join": _join,
    "round": _round,
    "set": _set,
    "union": _of_two("union", CpuSet.__or__),
    "intersect": _of_two("intersect", CpuSet.__and__),
    "difference": _of_two("difference", CpuSet.__sub__),
}
