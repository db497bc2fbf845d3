"""The profile language: strict YAML, extends, expressions over the host, conditions, and every mistake with its line.

`load` reads the profiles of some names with everything that they extend, as a Document that knows no host; `resolve`
works a Document out on one host, as Settings, or as a ProfileError with all problems at once.

Names are looked up when they are first used: completion lists profiles at every press of a key, and reads none.
"""

from __future__ import annotations

from importlib import import_module

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.profile.document import Document as Document
    from numatune.profile.document import restore as restore
    from numatune.profile.loading import load as load
    from numatune.profile.resolving import Resolved as Resolved
    from numatune.profile.resolving import resolve as resolve

_WHERE = {
    "Document": "document",
    "Resolved": "resolving",
    "load": "loading",
    "resolve": "resolving",
    "restore": "document",
}

__all__ = sorted(_WHERE)  # noqa: PLE0605  # made from the table above


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"numatune.profile.{_WHERE[name]}"), name)
