"""A Reader's tree as a Topology. Nothing is asked of the network, of a library or of a command."""

from __future__ import annotations

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from numatune.host.protocol import Reader
    from numatune.topology.model import Section, Topology


def discover(reader: Reader, sections: Collection[Section] | None = None) -> Topology:
    """The host as `sections` of its topology; None: all of them. MACHINE and CPUS always are."""
    from numatune.discover.host import discover_host  # noqa: PLC0415  # drift on an unchanged host needs none of it

    return discover_host(reader, sections)


def fingerprint(reader: Reader) -> str:
    """What tells whether the same values would be worked out again: see discover/identity.py."""
    from numatune.discover.identity import fingerprint_of  # noqa: PLC0415  # as above

    return fingerprint_of(reader)
