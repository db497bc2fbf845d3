"""``numatune explain``: what a setting is, why it is wanted, what it holds here."""

from __future__ import annotations

import argparse

from numatune.cli import options
from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.cli.parser import Commands

_EXAMPLES = """\
Examples
  numatune explain vm.zone_reclaim_mode    a kernel parameter
  numatune explain irq:0000:41:00.0/1      a row of the applied profile
  numatune explain irq                     a section of the profile
  numatune explain thp.khugepaged.defrag   a key of one
  numatune explain iommu=pt                a parameter of the kernel at boot
  numatune explain unchangeable            a word of a plan
  numatune explain thp:enabled --profile mine.yaml
      as another profile wants it"""


def add(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Register the parser."""
    parser = commands.add_parser(
        "explain",
        parents=[common],
        description="Tell what a setting is: what it does, its range, its side effects, where its value comes from, "
        "and what it holds here against what the applied profile wants. Changes nothing, needs no root.",
        epilog=_EXAMPLES,
    )
    parser.add_argument(
        "what",
        nargs="+",
        metavar="ID|SETTING",
        help="an id or a word of a plan, a kernel parameter, a section, or a key",
    )
    parser.add_argument(
        "--profile", action="append", default=[], dest="profiles", metavar="PROFILE", help="instead of the applied one"
    )
    options.add_variables(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print what is known."""
    from numatune import api
    from numatune.cli.output import say, say_json

    reader = api.open_reader(args.root, live=args.root_is_live)
    things = api.explain(reader, args.what, args.profiles, variables=options.variables(args.var))
    if args.json:
        from numatune.views import explain_json

        say_json(explain_json.explained(things))
    else:
        from numatune.cli.terminal import style
        from numatune.views import explain_text

        say(explain_text.explained(things, style(args)))
    return 0
