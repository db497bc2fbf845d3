"""``numatune ps``: the proof after exec."""

from __future__ import annotations

import argparse

from numatune.cli import options
from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.cli.parser import Commands

_EXAMPLES = """\
Examples
  numatune ps                   all that numatune run has started
  numatune ps --match 'VLLM*'   of these the workers of that name
  numatune ps --pid 4711        any process
  numatune ps --json            threads one by one, for programs

Memory is what was allocated for the process itself; files and what others
share with it are in the JSON apart. Remote is the part of it that is not on
the wanted nodes.

Exit codes
  0 all are as wanted    2 something differs"""


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
    options.add_differences_ok(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print them."""
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
