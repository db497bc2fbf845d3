"""Workers that run already, to where their devices are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.host.protocol import Reader
    from numatune.launch.policy import Policy
    from numatune.launch.worker import Rebind, Worker


def rebinds(reader: Reader, policy: Policy, *, pids: Sequence[int] = (), match: str = "") -> list[Rebind]:
    """Where processes belong by the devices that they have open.

    They are those of `pids` and all that these have started, else all that `run` has started. Raises UsageError for
    another host than this one, whose numbers of processes mean others here, and HostError for a process that is not
    there.
    """
    from numatune.api.launching import scene
    from numatune.errors import HostError, UsageError
    from numatune.launch import opened, proof, rebinding

    if not reader.live or reader.root != "/":
        raise UsageError("--root", f"{reader.root} is another host", hint="processes are bound on this one alone")
    at = scene(reader, {}, overrides=policy.devices)
    workers = opened.workers(at.found.given)
    found = proof.processes(_with_children(workers, pids), match)
    for pid in pids:
        if not match and all(one.pid != pid for one in found):
            raise HostError(f"process {pid}", "is not there")
    return rebinding.wanted(at.topology, at.found, policy, workers, found)


def rebind(planned: Iterable[Rebind]) -> list[Rebind]:
    """Bind their threads; what came of each."""
    from numatune.launch import rebinding

    return [rebinding.rebind(one) for one in planned]


def _with_children(workers: Sequence[Worker], pids: Sequence[int]) -> list[int]:
    """Processes, and all that come from them."""
    found = dict.fromkeys(pids)
    grown = 0
    while len(found) > grown:
        grown = len(found)
        found.update(dict.fromkeys(one.pid for one in workers if one.parent in found))
    return list(found)
