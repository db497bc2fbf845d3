"""``numatune history``: the runs that changed this host."""

from __future__ import annotations

import argparse

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.cli.parser import Commands

_EXAMPLES = """\
Examples
  numatune history            all runs, the newest first
  numatune history 12         what run 12 changed, from what to what
  numatune history --json     for programs"""


def add(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Register the parser."""
    parser = commands.add_parser(
        "history",
        parents=[common],
        description="List the runs that changed this host: when, who, what, and what became of them.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("number", nargs="?", type=int, metavar="RUN", help="tell what this run changed")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the history."""
    from numatune import api
    from numatune.cli.output import say, say_json

    api.need_own(args.root, live=args.root_is_live)
    found = api.history(api.open_reader(args.root, live=args.root_is_live), args.number)
    if args.json:
        from numatune.views import history_json

        say_json(history_json.runs(found.runs, found.rows))
        return 0
    from numatune.cli.terminal import style
    from numatune.views import history_text

    if found.rows is None:
        say(history_text.runs(found.runs, style(args)))
    else:
        say(history_text.run(found.runs[0], found.rows, style(args)))
    return 0
