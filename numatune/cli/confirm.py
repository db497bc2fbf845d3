"""``numatune confirm``: keep what ``apply --confirm-within`` would take back."""

from __future__ import annotations

import argparse

from numatune.cli import options
from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.cli.parser import Commands

_EXAMPLES = """\
Examples
  sudo numatune apply llm-inference --confirm-within 10m
  sudo numatune confirm
      once you have seen that the host is still reachable

Without confirm in time the run is rolled back, as by numatune rollback."""


def add(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Register the parser."""
    parser = commands.add_parser(
        "confirm", parents=[common], description="Keep the run that waits to be confirmed.", epilog=_EXAMPLES
    )
    options.add_wait(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Confirm, and say what is kept."""
    from numatune import api
    from numatune.cli.output import say, say_json

    done = api.confirm(api.open_host(args.root, live=args.root_is_live), wait=args.wait)
    if args.json:
        say_json({"format": 1, "run": done.waiting.run, "until": done.waiting.until, "stopped": done.stopped})
    elif done.stopped:
        say(f"Run {done.waiting.run} is kept.")
    else:
        say(f"Run {done.waiting.run} is kept. Its time was over, and nothing had taken it back.")
    return 0
