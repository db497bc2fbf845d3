"""Where processes belong, and the policy that says so: for `run`, for `place`, and for other programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.cpus import CpuSet
    from numatune.host.protocol import Reader
    from numatune.launch.devices import Found
    from numatune.launch.engines.telling import Told
    from numatune.launch.model import Placement, Process
    from numatune.launch.policy import Policy
    from numatune.launch.proof import Proof
    from numatune.launch.ranks import Rank
    from numatune.launch.shared import Shared
    from numatune.launch.visible import Visible
    from numatune.topology.model import Topology


@dataclass(frozen=True)
class Scene:
    """What all ranks of a host have in common: see `scene`."""

    topology: Topology
    found: Found
    seen: Visible
    cpus: CpuSet
    mems: CpuSet
    environment: Mapping[str, str]


def launch_policy(
    reader: Reader,
    profiles: Sequence[str] = (),
    words: Iterable[tuple[str, str]] = (),
    *,
    variables: Mapping[str, str] | None = None,
) -> Policy:
    """The policy of profiles, without any that of the applied set, without that the default; words go before.

    Raises ProfileError for a profile that asks for no launch, and for all that is wrong with it; LaunchError for words
    that are none; TrustError, StateError.
    """
    from numatune.launch import wording

    base = None
    if profiles:
        base = wording.parse(_of_profiles(reader, profiles, variables or {}), profiles[-1])
    elif reader.live:
        from numatune.launch import stored

        base = stored.policy()
    return wording.read(words, base)


def _of_profiles(reader: Reader, profiles: Sequence[str], variables: Mapping[str, str]) -> str:
    from numatune.api.planning import load
    from numatune.discover import discover
    from numatune.errors import Problem, ProfileError
    from numatune.launch.wording import SETTING
    from numatune.profile import resolve
    from numatune.topology.resolve import with_overrides

    document = load(profiles, variables=variables)
    topology = with_overrides(discover(reader, document.reads), document.overrides)
    for setting in resolve(document, topology).settings:
        if setting.id == SETTING and setting.want is not None:
            return setting.want
    where = ", ".join(profiles)
    raise ProfileError((Problem(where, "asks for no launch here", hint="the section `launch:` does"),))


def scene(
    reader: Reader,
    environment: Mapping[str, str],
    *,
    cpus: CpuSet | None = None,
    mems: CpuSet | None = None,
    overrides: Mapping[str, int] | None = None,
) -> Scene:
    """The host, its accelerators, and what this process may have.

    cpus, mems  instead of this process's affinity and cpuset
    overrides   the operator's word on devices' nodes
    """
    from numatune.launch import devices, host
    from numatune.launch.visible import visible
    from numatune.topology.resolve import with_overrides

    topology = host.look(reader)
    if overrides:
        topology = with_overrides(topology, overrides)
    found = devices.accelerators(reader, topology, host.may_open)
    seen = visible(environment, found.given)
    if reader.live:
        topology, seen = host.ask_library(topology, seen)
    return Scene(
        topology,
        found,
        seen,
        host.allowed_cpus(reader, topology) if cpus is None else cpus,
        host.allowed_mems(reader, topology) if mems is None else mems,
        environment,
    )


def placement(at: Scene, policy: Policy, rank: Rank) -> Placement:
    """Where one rank belongs. Raises LaunchError."""
    from numatune.launch.placement import place

    return _with_what_it_sees(at, place(at.topology, _process(at, rank), policy))


def placements(at: Scene, policy: Policy, ranks: int) -> tuple[Placement, ...]:
    """Where all ranks of a host belong. Raises LaunchError."""
    from numatune.launch.placement import of_ranks
    from numatune.launch.ranks import Rank

    of = of_ranks(at.topology, _process(at, Rank()), policy, ranks)
    return tuple(_with_what_it_sees(at, of(rank)) for rank in range(ranks))


def _process(at: Scene, rank: Rank) -> Process:
    from numatune.launch.model import Process

    return Process(
        rank=rank,
        cpus=at.cpus,
        mems=at.mems,
        seen=at.seen.devices,
        accelerators=at.found.given,
        kin=at.found.kin,
        caller=frozenset(at.environment),
    )


def _with_what_it_sees(at: Scene, made: Placement) -> Placement:
    """What was said of the visible devices comes before the steps of a placement."""
    import dataclasses

    return dataclasses.replace(made, steps=(*at.seen.steps, *made.steps))


def engine_words(  # noqa: PLR0913  # a start has that many properties
    at: Scene, policy: Policy, made: Placement, command: Sequence[str], name: str, *, named: bool
) -> Told:
    """What the engine that `command` starts must be told on this host, for a process that belongs where `made` says.

    `named`: it was asked for by name, and not found by its words. Raises LaunchError.
    """
    from numatune.launch.engines import installed, telling

    drives = len(at.seen.devices) if made.rank is None or len(made.devices) > 1 else 1
    start = telling.Start(
        command=command,
        environment=at.environment,
        installed=installed.beside(command, at.environment),
        policy=policy,
        workers=placements(at, policy, drives) if drives > 1 else (),
        named=named,
        numactl=bool(installed.which("numactl", at.environment)),
    )
    return telling.tell(name, start)


def export_launch(  # noqa: PLR0913  # as above
    at: Scene, policy: Policy, name: str, *, ranks: int, rank: int | None = None, same_hosts: bool = False
) -> str:
    """The placement in the words of docker, systemd, Slurm and others: see export/launch/formats.py.

    ranks  how many there are on a host
    rank   one of them alone, instead of the server as a whole
    Raises LaunchError.
    """
    from numatune.cpus import CpuSet
    from numatune.export.launch.formats import FORMATS
    from numatune.export.launch.job import Job
    from numatune.launch.model import Process
    from numatune.launch.ranks import Rank
    from numatune.launch.seats import Seats

    made = placements(at, policy, ranks)
    kin = [one.address for one in at.found.given if one.vendor == at.seen.vendor]
    names = {one.address: one.names for one in at.topology.devices}
    render = {address: name for address in kin for name in names.get(address, ()) if name.startswith("renderD")}
    seats = Seats(at.topology, Process(rank=Rank(), cpus=at.cpus, mems=at.mems, seen=at.seen.devices), policy)
    job = Job(
        whole=made[rank] if rank is not None else placement(at, policy, Rank()),
        ranks=made,
        policy=policy,
        memory=CpuSet(node.id for node in at.topology.nodes if node.kind == "cpu+mem") & at.mems,
        uuids={one.address: one.uuid for one in at.found.given if one.uuid},
        indexes={address: place for place, address in enumerate(dict.fromkeys(kin))},
        render=render,
        vendor=at.seen.vendor,
        nodes=len(at.topology.nodes),
        reserved=seats.reserved,
        same_hosts=same_hosts,
    )
    return FORMATS[name](job)


def proofs(reader: Reader, *, pids: Sequence[int] = (), match: str = "") -> list[Proof]:
    """Where processes really are, against what was wanted of them: those of `pids`, else all that `run` has started.

    Raises UsageError on a captured host and HostError for a process that is not there.
    """
    from numatune.errors import HostError, UsageError
    from numatune.launch import proof

    if not reader.live:
        raise UsageError("--root", f"{reader.root} is a captured host, on which nothing runs")
    found = proof.processes(pids, match, reader.root)
    for pid in pids:
        if not match and all(one.pid != pid for one in found):
            raise HostError(f"process {pid}", "is not there")
    return found


def shm_show(name: str, *, pid: int | None = None, wait: float = 0.0) -> Shared:
    """The policy of a shared-memory file and where its pages are; looking allocates none. Raises HostError."""
    from numatune.launch import shared

    path = shared.find(name, pid)
    shared.wait(path, wait)
    return shared.show(path)


def shm_policy(  # noqa: PLR0913  # a policy has that many properties
    name: str, mode: str, nodes: Sequence[int], *, pid: int | None = None, wait: float = 0.0, migrate: bool = False
) -> tuple[Shared, Shared]:
    """Give a shared-memory file on tmpfs a policy: (before, after), with a reason where it is not as asked.

    mode   interleave, weighted-interleave, bind, preferred
    nodes  () for an interleave: all with CPUs and memory
    Raises HostError for a file that is not there within `wait` seconds, and for one that is on no tmpfs.
    """
    import dataclasses

    from numatune.launch import shared

    path = shared.find(name, pid)
    shared.wait(path, wait)
    before, after, held = shared.set_policy(path, mode, nodes, migrate=migrate)
    return before, dataclasses.replace(after, policy=held)
