"""``numatune ps``: the proof after exec, and with --fix binding what runs already."""

from __future__ import annotations

import argparse

from numatune.cli import options
from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numatune.cli.parser import Commands
    from numatune.launch.worker import Rebind

_EXAMPLES = """\
Examples
  numatune ps                   all that numatune run has started
  numatune ps --match 'VLLM*'   of these the workers of that name
  numatune ps --pid 4711        any process
  numatune ps --json            threads one by one, for programs
  numatune ps --fix             bind workers by the device each has open
  numatune ps --fix --pid 4711  a server and all that it has started

Memory is what was allocated for the process itself; files and what others
share with it are in the JSON apart. Remote is the part of it that is not on
the wanted nodes.

--fix binds all threads of a process where `place` would put the rank of its
device, inside its cpuset. No policy of memory can be set from outside: what
is placed stays, and is told.

Exit codes
  0 all are as wanted    2 something differs, or could not be bound"""


def add(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Register the parser."""
    parser = commands.add_parser(
        "ps",
        parents=[common],
        description="Show where the threads and the memory of started processes really are, against what was wanted. "
        "Needs no root for one's own.",
        epilog=_EXAMPLES,
    )
    parser.add_argument(
        "--pid", action="append", type=options.count, default=[], metavar="PID", help="this process; may come again"
    )
    parser.add_argument("--match", default="", metavar="NAME", help="processes of this name; * and ? stand for any")
    fix = parser.add_argument_group("with --fix")
    parser.add_argument("--fix", action="store_true", help="bind the threads of workers by the device each has open")
    fix.add_argument("--check", action="store_true", help="print what would be bound and change nothing")
    fix.add_argument("-y", "--yes", action="store_true", help="do not ask; needed where nobody can answer")
    options.add_launch_profile(fix)
    options.add_variables(parser)
    options.add_differences_ok(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print them, or bind them."""
    if args.fix:
        return _fix(args)
    _need_fix(args)
    from numatune import api
    from numatune.cli.output import say, say_json
    from numatune.views import placement_proof

    reader = api.open_reader(args.root, live=args.root_is_live)
    found = api.proofs(reader, pids=args.pid, match=args.match)
    if args.json:
        say_json(placement_proof.data(found))
    else:
        from numatune.cli.terminal import style

        say(placement_proof.table(found, style(args)))
    return options.exit_code(sum(bool(one.differences) for one in found), args)


def _need_fix(args: argparse.Namespace) -> None:
    """Raises UsageError for what goes with --fix alone."""
    from numatune.errors import UsageError

    given = {"--check": args.check, "--yes": args.yes, "--profile": args.profile, "--var": args.var}
    for option in (option for option, value in given.items() if value):
        raise UsageError(option, "goes with --fix")


def _fix(args: argparse.Namespace) -> int:
    """Show what would be bound, ask, bind, and print what came of it."""
    from numatune import api
    from numatune.cli.output import remark

    if not args.check:
        options.need_consent(args)
    reader = api.open_reader(args.root, live=args.root_is_live)
    policy = api.launch_policy(reader, args.profile, variables=options.variables(args.var))
    planned = api.rebinds(reader, policy, pids=args.pid, match=args.match)
    if args.check:
        _print_rebinds(planned, args)
        return options.exit_code(sum(bool(one.outside) for one in planned), args)
    if not args.yes and any(one.outside for one in planned) and not _confirmed(planned, args):
        remark("numatune: nothing was changed")
        return 1
    done = api.rebind(planned)
    _print_rebinds(done, args)
    return options.exit_code(sum(bool(one.refused) for one in done), args)


def _confirmed(planned: Sequence[Rebind], args: argparse.Namespace) -> bool:
    from numatune.cli.terminal import ask
    from numatune.views.style import plural

    _print_rebinds(planned, args)
    return ask(f"Bind {plural(sum(len(one.outside) for one in planned), 'thread')}?")


def _print_rebinds(found: Sequence[Rebind], args: argparse.Namespace) -> None:
    from numatune.cli.output import say, say_json
    from numatune.views import placement_rebound

    if args.json:
        say_json(placement_rebound.data(found))
    else:
        from numatune.cli.terminal import style

        say(placement_rebound.table(found, style(args)))
