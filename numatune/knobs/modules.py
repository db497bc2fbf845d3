"""modules: modules of the kernel that a GPU host needs or must not have, and their parameters that can change.

nvidia_peermem, which lets a network adapter reach GPU memory, is not loaded by anybody by itself; a parameter that is
read at loading only is told as that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any, Final

from pydantic import AfterValidator, ConfigDict, RootModel

from numatune.errors import Problem
from numatune.knobs.base import Asked, Context, Knob, Path, Refused, wanted
from numatune.settings.codecs import AnyCodec, Bool, Int, Words
from numatune.settings.model import Impact, Phase, Setting
from numatune.settings.targets import KernelFile
from numatune.settings.targets import Module as ModuleTarget

_KEY: Final = re.compile(r"[A-Za-z0-9_-]{1,56}(?:\.[A-Za-z0-9_]{1,64})?", re.ASCII)
_VALUE: Final = re.compile(r"[\x21-\x7e]{1,200}", re.ASCII)
_STATES: Final = ("loaded", "absent")
_ABSENT: Final = "the module is not loaded, or has no such parameter"
_COMES_WITH: Final = "loads what it needs besides, which a rollback leaves"


def key(text: str) -> str:
    """One spelling for a module, or a parameter of one: nvidia-peermem is nvidia_peermem. Raises ValueError."""
    if not _KEY.fullmatch(text):
        raise ValueError(f"{text!r} is no module; accepted: nvidia_peermem, or a parameter like nvme_core.io_timeout")
    module, dot, parameter = text.partition(".")
    return f"{module.replace('-', '_')}{dot}{parameter}"


Value = bool | int | str


class Modules(RootModel[dict[Annotated[str, AfterValidator(key)], Asked[Value] | None]]):
    """``{nvidia_peermem: loaded, nouveau: absent, nvme_core.io_timeout: 255}``.

    A module is loaded or absent; MODULE.PARAMETER, as on the kernel command line, has a value.
    """

    model_config = ConfigDict(strict=True, frozen=True)


def settings(section: Modules, context: Context) -> tuple[Setting, ...]:
    """One setting for each module, then one for each parameter."""
    asked = {name: one for name, one in section.root.items() if one is not None}
    problems = [problem for name, one in asked.items() for problem in _problems(name, one.value)]
    if problems:
        raise Refused(*problems)
    modules = [_module(name, one, context) for name, one in asked.items() if "." not in name]
    return (*modules, *(_parameter(name, one, modules, context) for name, one in asked.items() if "." in name))


def _problems(name: str, value: Value) -> Iterator[tuple[Path, Problem]]:
    if "." not in name and value not in _STATES:
        hint = f"a parameter of it is written {name}.PARAMETER" if not isinstance(value, str) else ""
        yield (name,), Problem("", repr(value), " or ".join(_STATES), hint)
    elif isinstance(value, str) and not _VALUE.fullmatch(value):
        yield (name,), Problem("", repr(value), "one word of printable characters")


def _module(name: str, asked: Asked[Any], context: Context) -> Setting:
    made = wanted(
        context,
        ("modules", name),
        asked,
        want=str(asked.value),
        target=ModuleTarget(name),
        codec=Words(),
        phase=Phase.FILES,
    )
    if asked.value == "loaded":
        return replace(made, note=_COMES_WITH)
    return replace(made, impact=Impact.DISRUPTS)


def _parameter(name: str, asked: Asked[Any], modules: list[Setting], context: Context) -> Setting:
    module, _, parameter = name.partition(".")
    maker = next((one.id for one in modules if one.want == "loaded" and one.target == ModuleTarget(module)), None)
    want, codec = _spelled(asked.value)
    made = wanted(
        context,
        ("modules", name),
        asked,
        want=want,
        target=KernelFile((f"/sys/module/{module}/parameters/{parameter}",), absent=_ABSENT),
        codec=codec,
        phase=Phase.FILES,
    )
    return replace(made, needs=maker)


def _spelled(value: Value) -> tuple[str, AnyCodec]:
    match value:
        case bool():
            return ("true" if value else "false"), Bool()
        case int():
            return str(value), Int()
        case _:
            return value, Words()


KNOB: Final = Knob(name="modules", model=Modules, reads=frozenset(), settings=settings, key=key)
