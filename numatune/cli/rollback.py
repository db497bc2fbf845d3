"""``numatune rollback``: give back what was there before."""

from __future__ import annotations

import argparse

from numatune.cli import options
from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.api.restoring import TakenBack
    from numatune.cli.parser import Commands

_EXAMPLES = """\
Examples
  sudo numatune rollback                 the newest run that changed something
  sudo numatune rollback --run 12 --yes  run 12 and all later ones
  sudo numatune rollback --all           everything that numatune has changed
  numatune rollback --check              what would be given back

Only what still holds the value that numatune left is given back; what
somebody else has changed since is left alone and named. Works on a full disk,
and for a run that was cut off by a kill or a power cut.

Exit codes: 0 all is back, 2 something was spared or could not be given back."""


def add(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Register the parser."""
    parser = commands.add_parser(
        "rollback",
        parents=[common],
        description="Give back what was there before, as far as nobody else has changed it since.",
        epilog=_EXAMPLES,
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--run", type=int, dest="since", metavar="RUN", help="take back this run and all later ones")
    which.add_argument("--all", action="store_true", help="take back every run")
    parser.add_argument("--check", action="store_true", help="print what would be given back and change nothing")
    options.add_consent(parser)
    options.add_differences_ok(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Take back, and print what came of it."""
    from numatune import api
    from numatune.cli.output import remark

    if args.check:
        api.need_own(args.root, live=args.root_is_live)
        reader = api.open_reader(args.root, live=args.root_is_live)
        made = api.proposal(reader, since=args.since, every=args.all)
        _print(made, args)
        return options.exit_code(len(made.spared), args)
    host = api.open_host(args.root, live=args.root_is_live)
    options.need_consent(args)
    from numatune.cli.progress import progress

    with progress() as tell:
        done = api.rollback(
            host,
            since=args.since,
            every=args.all,
            wait=args.wait,
            confirm=None if args.yes else lambda made: _confirmed(made, args),
            progress=tell,
        )
    if done.declined:
        remark("numatune: nothing was changed")
        return 1
    _print(done, args)
    return options.exit_code(len(done.spared) + len(done.left), args)


def _confirmed(made: TakenBack, args: argparse.Namespace) -> bool:
    """Show what would be given back and ask."""
    from numatune.cli.terminal import ask
    from numatune.views.style import plural

    _print(made, args)
    return ask(f"Give {plural(len(made.plan.to_do), 'setting')} back?")


def _print(made: TakenBack, args: argparse.Namespace) -> None:
    from numatune.cli.output import say, say_json

    spared = [(one.id, one.reason) for one in made.spared]
    if args.json:
        from numatune.views import rollback_json

        say_json(rollback_json.report(made.runs, made.plan, made.outcomes, spared, made.run))
        return
    from numatune.cli.terminal import style
    from numatune.views import rollback_text

    if not made.runs:
        say(rollback_text.NOTHING)
    elif made.run is None:
        say(rollback_text.proposal(made.runs, made.plan, spared, style(args)))
    else:
        say(rollback_text.report(made.runs, made.plan, made.outcomes, spared, style(args)))
