"""``numatune run``: start a command where it belongs, in the place of this process."""

from __future__ import annotations

import os

from numatune.cli.output import remark, say
from numatune.cli.run_options import FLAGS, LISTS, POLICY, SWITCHES, VALUES, Asked, read, wrong
from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence

    from numatune.api import Scene
    from numatune.cli.parser import Commands
    from numatune.launch.engines.telling import Told
    from numatune.launch.model import Placement
    from numatune.launch.policy import Policy
    from numatune.launch.ranks import Rank

REFUSED = 125
"""Exit code: a strict policy refused to start the command."""

_EXAMPLES = """\
Examples
  numatune run -- vllm serve MODEL               beside all devices it sees
  torchrun ... numatune run -- python train.py   each rank beside its own
  numatune run --cpu exclusive --print           what would be done here
  numatune run --nodes 0 0 1 1 -- CMD            a node for each rank
  numatune run --rank 3 --explain -- CMD         every step and its reason

What cannot be done is a line on stderr, and CMD starts all the same.

Exit codes
  CMD's own    125 refused under --strict    126 CMD cannot be executed
  127 there is no CMD    64 wrong options of run"""


def add(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Register a parser that knows how to tell of the options; `read` takes them."""
    parser = commands.add_parser(
        "run",
        parents=[common],
        usage="numatune run [OPTIONS] -- CMD [ARGUMENT ...]",
        description="Start CMD where it belongs: on the CPUs of its device's node, with memory there, inside what this "
        "process may have. Nothing of numatune stays: CMD takes its place.",
        epilog=_EXAMPLES,
    )
    known = {option for action in common._actions for option in action.option_strings}  # noqa: SLF001  # no public list
    rows = [(name, metavar, told) for name, (metavar, told) in (*VALUES.items(), *LISTS.items())]
    rows += [(name, metavar, told) for name, (_, metavar, told) in POLICY.items()]
    rows += [(name, "", told) for name, (_, told) in SWITCHES.items()]
    rows += [(name, "", told) for name, told in FLAGS.items() if name != "--help"]
    for name, metavar, told in rows:
        if name not in known and metavar:
            parser.add_argument(name, metavar=metavar, help=told)
        elif name not in known:
            parser.add_argument(name, action="store_true", help=told)


def main(argv: Sequence[str]) -> int:
    """Read the command line, start the command. Comes back only when nothing was started. Raises UsageError."""
    asked = read(argv)
    if "--help" in asked.flags:
        from numatune.cli.parser import parse

        parse(["run", "--help"])
    _check(asked)
    if "--print" in asked.flags:
        return _print(asked)
    return _start(asked)


def _check(asked: Asked) -> None:
    """Raises UsageError for what goes without a command, or with --print only."""
    if "--print" in asked.flags:
        return
    if not asked.command or not asked.command[0]:
        raise wrong("", "no command to run", "numatune run [OPTIONS] -- CMD", "--print starts nothing")
    for name in ("--root", "--allowed-cpus", "--allowed-mems", "--json"):
        if name in asked.values or name in asked.flags:
            raise wrong(name, "goes with --print: a command starts on this host, as it is", hint="--print")


def _engine(asked: Asked) -> str:
    """The engine that CMD starts, "" for none. Raises UsageError for one that nobody knows."""
    from numatune.launch.engines.recognise import ENGINES, engine

    named = asked.value("--engine")
    if named not in {None, "none", *ENGINES}:
        raise wrong("--engine", f"{named!r}", ", ".join((*ENGINES, "none")))
    return ("" if named == "none" else named) if named else engine(asked.command or [""])


def _start(asked: Asked) -> int:
    """Bind this process and exec. An error of ours is one line, and the command starts as it would have without us."""
    from numatune.launch.starting import start

    if not _engine(asked) and _is_plain(asked):
        additions = _quickly()
        if additions is not None:
            code, told = start(asked.command, additions)
            remark(f"numatune: {told}")
            return code
    from numatune.errors import UsageError

    additions, command = {}, asked.command
    undo: list[Callable[[], None]] = []
    strict = bool({("strict", "yes"), ("on_unknown", "fail")} & set(asked.words))
    try:
        from numatune.launch.applying import Before

        undo.append(Before.now().restore)
        policy = _policy(asked)
        strict = policy.strict or policy.on_unknown == "fail"
        command, additions = _bind(asked, policy)
    except UsageError:
        raise
    except Exception as error:  # noqa: BLE001  # a server must start, whatever is wrong with its launcher
        for restore in undo:
            restore()
        told = _told(error)
        _line(asked, told if strict else f"{told}; {asked.command[0]} starts unbound")
        if strict:
            return REFUSED
    code, told = start(command, additions)
    remark(f"numatune: {told}")
    return code


def _is_plain(asked: Asked) -> bool:
    """Whether nothing is said but what the table of the applied profile may have worked out already."""
    return not (asked.words or asked.values or asked.lists or asked.flags - {"--quiet"})


def _quickly() -> dict[str, str] | None:
    """Bind by that table; None where the long way must be taken."""
    from numatune.launch import quick, starting

    try:
        return quick.start(quick.FILE, starting.environment())
    except Exception:  # noqa: BLE001  # the long way tells what is wrong
        return None


def _told(error: Exception) -> str:
    """An error as one line."""
    from numatune.errors import NumatuneError

    if isinstance(error, NumatuneError | ValueError):
        return "; ".join(str(error).splitlines())
    return f"unexpected {type(error).__name__}: {error}"


def _bind(asked: Asked, policy: Policy) -> tuple[list[str], dict[str, str]]:
    """Make the placement true; the command as its engine is to get it, and the variables besides its own."""
    from numatune import api
    from numatune.launch import applying, carried, starting

    def line(text: str) -> None:
        _line(asked, text)

    if policy.cgroup:
        applying.join(policy.cgroup, line, strict=policy.strict)
    if policy.widen:
        applying.widen(line)
    environment = {os.fsdecode(name): os.fsdecode(value) for name, value in starting.environment().items()}
    at = _scene(asked, policy, environment)
    made = api.placement(at, policy, _rank(asked, policy, environment))
    try:
        told = _told_engine(asked, at, policy, made)
    except Exception as error:  # the process is bound all the same
        if policy.strict:
            raise
        told = None
        line(f"the engine is told nothing: {_told(error)}")
    _tell(asked, made, told)
    held = applying.apply(made, policy, line)
    added = {name: text for name, text in told.env.items() if name not in environment} if told else {}
    command = told.command(asked.command) if told else asked.command
    return command, {**made.env, **added, carried.VARIABLE: carried.travelling(made, held)}


def _told_engine(asked: Asked, at: Scene, policy: Policy, made: Placement) -> Told | None:
    """What the engine must be told; None where CMD is none."""
    from numatune import api

    if not (name := _engine(asked)):
        return None
    return api.engine_words(at, policy, made, asked.command, name, named=asked.value("--engine") is not None)


def _tell(asked: Asked, made: Placement, told: Told | None) -> None:
    every = "--explain" in asked.flags
    for step in (*made.steps, *(told.steps if told else ())):
        if step.warns or every:
            _line(asked, step.line)
    if "--verbose" in asked.flags:
        _line(asked, f"CPUs {made.cpus}, memory {made.memory.mode} {made.memory.nodes}".rstrip())


def _line(asked: Asked, text: str) -> None:
    if "--quiet" not in asked.flags:
        remark(f"numatune: {text}")


def _print(asked: Asked) -> int:
    """The placement, on stdout; of an engine also what it would be told."""
    from dataclasses import replace

    from numatune import api

    policy, environment = _policy(asked), dict(os.environ)
    at = _scene(asked, policy, environment)
    made = api.placement(at, policy, _rank(asked, policy, environment))
    if told := _told_engine(asked, at, policy, made):
        made = replace(made, env={**made.env, **told.env}, steps=(*made.steps, *told.steps))
    if "--json" in asked.flags:
        from numatune.cli.output import say_json
        from numatune.views import placement_json

        data = placement_json.placements([made])
        say_json({**data, "command": told.command(asked.command)} if told else data)
    else:
        from argparse import Namespace

        from numatune.cli.terminal import style
        from numatune.views import placement_text

        look = style(Namespace(no_color="--no-color" in asked.flags))
        say(placement_text.placements([made], look, verbose=bool(told or asked.flags & {"--explain", "--verbose"})))
    return 0


def _policy(asked: Asked) -> Policy:
    """Of profile, applied set and options. Raises UsageError for options that are none."""
    from numatune import api
    from numatune.errors import LaunchError, UsageError
    from numatune.launch import wording

    words = [*_ranks(asked), *asked.words]
    try:
        wording.read(words)
    except LaunchError as error:
        problem = error.problems[0]
        option = f"--{problem.where.replace('_', '-')}"
        raise UsageError(option, problem.found, accepted=problem.accepted, hint="numatune run --help") from error
    variables = dict(pair.partition("=")[::2] for pair in asked.values.get("--var", []))
    reader = api.open_reader(asked.value("--root") or "/")
    return api.launch_policy(reader, asked.values.get("--profile", []), words, variables=variables)


def _ranks(asked: Asked) -> list[tuple[str, str]]:
    """Lists by rank, and the device, as words of a policy. A list of one word is for every rank."""
    nodes, cpus = asked.lists.get("--nodes", []), asked.lists.get("--cpus", [])
    rows = [list[str]() for _ in range(max(len(nodes), len(cpus)))]
    for key, texts in (("node", nodes), ("cpus", cpus)):
        for row, text in zip(rows, texts, strict=False):
            row.append(f"{key}={text}")
    device = asked.value("--device")
    given = [f"device={device}"] if device else []
    if len(rows) <= 1:
        words = [*given, *(rows[0] if rows else [])]
        return [("others", " ".join(words))] if words else []
    told = [("rank", f"{rank} {' '.join(words)}") for rank, words in enumerate(rows)]
    return [*told, *([("others", " ".join(given))] if given else [])]


def _scene(asked: Asked, policy: Policy, environment: Mapping[str, str]) -> Scene:
    from numatune import api

    reader = api.open_reader(asked.value("--root") or "/")
    cpus, mems = asked.set("--allowed-cpus"), asked.set("--allowed-mems")
    return api.scene(reader, environment, cpus=cpus, mems=mems, overrides=policy.devices)


def _rank(asked: Asked, policy: Policy, environment: Mapping[str, str]) -> Rank:
    """The launcher's, unless an option says it."""
    import dataclasses

    from numatune.launch.ranks import Rank, local_rank

    rank, size = asked.number("--rank"), asked.number("--local-size")
    if rank is not None:
        return Rank(rank, size, "--rank")
    found = local_rank(environment, strict=policy.strict)
    return dataclasses.replace(found, size=size, alone=False) if size is not None else found
