"""``numatune compare``: where two hosts, or what was captured of them, differ."""

from __future__ import annotations

import argparse

from numatune.cli import options
from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.cli.parser import Commands

_EXAMPLES = """\
Examples
  numatune compare golden.tar.xz local
      a host that is right, and this one
  numatune compare golden.tar.xz ssh://root@gpu7
      and another, where nothing is installed
  numatune compare golden.tar.xz gpu7.tar.xz --only devices,interrupts
      two captures, two sections
  numatune compare before.tar.xz local --all
      also what is the same
  numatune compare golden.tar.xz local --json
      for programs

Sections are machine, cpus, nodes, devices, interrupts, settings and drivers.
Devices are the same where model and address are, or model and order of the
slots; interrupts by their device and name. Numbers of interrupts, names of
interfaces and what else only tells machines apart is left out, and memory
counts in steps of 128 MiB.

Exit codes: 0 no difference, 2 differences, 1 a host cannot be read."""


def add(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Register the parser."""
    parser = commands.add_parser(
        "compare",
        parents=[common],
        description="Show where two hosts differ in what they are made of and how they are set. Changes nothing.",
        epilog=_EXAMPLES,
    )
    for name in ("a", "b"):
        parser.add_argument(
            name, metavar=name.upper(), help="a captured tree (folder or archive), ssh://[USER@]HOST[:PORT], or local"
        )
    parser.add_argument("--all", action="store_true", help="also what is the same")
    parser.add_argument(
        "--only", action="extend", type=options.names, default=[], metavar="SECTION,...", help="these sections alone"
    )
    options.add_differences_ok(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print what differs."""
    from numatune import api
    from numatune.cli.output import say, say_json
    from numatune.errors import UsageError

    if args.root != "/":
        raise UsageError("--root", "compare is told both hosts", accepted="numatune compare A B")
    made = api.compare(args.a, args.b, only=args.only)
    if args.json:
        from numatune.views import compare_json

        say_json(compare_json.comparison(made.a, made.b, made.rows, everything=args.all))
    else:
        from numatune.cli.terminal import style
        from numatune.views import compare_text

        say(compare_text.comparison(made.a, made.b, made.rows, style(args), everything=args.all))
    return options.exit_code(len(made.differing), args)
