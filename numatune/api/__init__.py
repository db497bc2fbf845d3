"""The one stable surface: what the command line calls, tests and other programs too.

Names are looked up when they are first used, because a command should pay for nothing that it does not need. The
functions take a Reader or a Host, made by `open_reader` and `open_host`, and raise NumatuneError; none of them prints.
Modules here are named for what they do, and never like a function (`planning.plan`), so that both have a name.
"""

from __future__ import annotations

from importlib import import_module

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.api.hosts import open_host as open_host
    from numatune.api.hosts import open_reader as open_reader
    from numatune.api.looking import topology as topology
    from numatune.api.planning import Request as Request
    from numatune.api.planning import load as load
    from numatune.api.planning import plan as plan

_MODULES: dict[str, tuple[str, ...]] = {
    "hosts": ("open_host", "open_reader"),
    "looking": ("topology",),
    "planning": ("Request", "load", "plan"),
}
_WHERE = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(_WHERE)  # noqa: PLE0605  # made from the table above


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"numatune.api.{_WHERE[name]}"), name)
