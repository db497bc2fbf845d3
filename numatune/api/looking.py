"""A host -> topology, with the nodes that an operator gave to devices."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.host.protocol import Reader
    from numatune.topology.model import Topology


def topology(
    reader: Reader, *, profiles: Sequence[str] = (), variables: Mapping[str, str] | None = None
) -> tuple[Topology, tuple[tuple[str, str], ...]]:
    """Everything there is to know of a host, and (address, reason) of every override that it has no place for.

    Overrides come from `devices:` of the profiles; without any, on a live host, from those of the applied set. Raises
    ProfileError, TrustError, StateError.
    """
    from numatune.discover import discover
    from numatune.topology.resolve import misplaced, with_overrides

    found = discover(reader)
    overrides = _asked(profiles, variables or {}) if profiles else _applied(reader.root) if reader.live else {}
    return with_overrides(found, overrides), misplaced(found, overrides)


def _asked(profiles: Sequence[str], variables: Mapping[str, str]) -> Mapping[str, int]:
    from numatune import profile

    return profile.load(profiles, variables=variables).sound().overrides


def _applied(root: str) -> dict[str, int]:
    """Of the stored copy, later parts win."""
    from numatune.engine import paths

    path = paths.applied(paths.state(root))
    if not os.path.lexists(path):
        return {}
    from numatune.engine import applied

    stored = applied.load(path)
    if stored is None:
        return {}
    from numatune import profile

    return {address: node for part in stored.parts for address, node in profile.restore(part.stored).overrides.items()}
