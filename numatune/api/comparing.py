"""Two hosts, or what was captured of them, side by side."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.host.protocol import Reader
    from numatune.topology.comparison import Entry, Row

SECTIONS = ("machine", "cpus", "nodes", "devices", "interrupts", "settings", "drivers")
_NO_TUNING = frozenset({"quiet", "ro", "rw"})
"""Parameters of the kernel that say nothing of how a host performs."""
HERE = ("local", "live")
"""What this host is called on the command line."""


@dataclass(frozen=True, slots=True)
class Compared:
    """`a`, `b`: as the user named them. `rows`: all, those that are the same too."""

    a: str
    b: str
    rows: tuple[Row, ...]

    @property
    def differing(self) -> tuple[Row, ...]:
        """What differs."""
        return tuple(row for row in self.rows if row.state == "differs")


def compare(a: str, b: str, *, only: Collection[str] = ()) -> Compared:
    """Compare two hosts: captured trees (folder or archive), ``ssh://[user@]host[:port]``, ``local`` for this one.

    only  of SECTIONS, () for all
    Changes nothing anywhere; over ssh it takes a capture, for which nothing is installed there. Raises HostError when
    a host or tree cannot be read, UsageError for a section that there is not.
    """
    from numatune.errors import UsageError

    for section in only:
        if section not in SECTIONS:
            raise UsageError("--only", f"no section {section!r}", accepted=", ".join(SECTIONS))
    with contextlib.ExitStack() as stack:
        readers = [stack.enter_context(opened(name)) for name in (a, b)]
        rows = compare_readers(*readers)
    return Compared(a, b, tuple(row for row in rows if not only or row.section in only))


def compare_readers(a: Reader, b: Reader) -> tuple[Row, ...]:
    """The same of two trees."""
    from numatune.api.compared_files import drivers, settings
    from numatune.discover import discover
    from numatune.topology import comparison
    from numatune.topology.entries import entries
    from numatune.topology.pairing import labels, pairs

    hosts = (discover(a), discover(b))
    found = tuple(pairs(hosts[0].devices, hosts[1].devices))
    called = labels(found)
    both = [(one, two) for one, two in found if one and two]
    paired = ({one.address for one, _ in both}, {two.address for _, two in both})
    nodes = {node.id for node in hosts[0].nodes} & {node.id for node in hosts[1].nodes}
    sides = [
        [*_head(reader), *entries(host, names, nodes=nodes, paired=theirs)]
        for reader, host, names, theirs in zip((a, b), hosts, called, paired, strict=True)
    ]
    for side, files, modules in zip(sides, settings(a, b, hosts, called), drivers(a, b), strict=True):
        side += [*files, *modules]
    return comparison.compare(*sides)


@contextlib.contextmanager
def opened(name: str) -> Iterator[Reader]:
    """A host or what was captured of it, to be read. Raises HostError."""
    from numatune.api.hosts import open_reader

    if name in HERE:
        yield open_reader()
    elif name.startswith("ssh://"):
        import tempfile

        from numatune.api.capturing import capture

        with tempfile.TemporaryDirectory(prefix="numatune-compare-") as folder:
            yield open_reader(capture(f"{folder}/host.tar", host=name).path)
    else:
        yield open_reader(name)


def _head(reader: Reader) -> Iterator[Entry]:
    """The processor's model, and the parameters of the kernel that are not of this one machine."""
    from numatune.capture.reduce import reduced
    from numatune.discover.read import fields, text
    from numatune.topology.comparison import Entry

    model = fields(text(reader, "/proc/cpuinfo")).get("model name")
    yield Entry(section="machine", of="", name="processor", value=model)
    cmdline = text(reader, "/proc/cmdline")
    if cmdline is None:
        return
    values: dict[str, list[str]] = {}
    for word in reduced("/proc/cmdline", cmdline).split():
        name, equals, value = word.partition("=")
        if name in _NO_TUNING:
            continue
        values.setdefault(name, []).append(value if equals else "given")
    for name, given in sorted(values.items()):
        yield Entry(section="machine", of="command line", name=name, value=" ".join(dict.fromkeys(given)))
