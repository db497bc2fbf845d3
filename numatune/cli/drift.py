"""``numatune drift``: what has moved since the last apply. Quiet when nothing has."""

from __future__ import annotations

import argparse

from numatune.cli import options
from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.api.planning import Request
    from numatune.cli.parser import Commands
    from numatune.settings.drift import Drift

_EXAMPLES = """\
Examples
  numatune drift                 says nothing when all is as it was left
  numatune drift -v              every row
  sudo numatune drift --repair   put back what somebody moved
  numatune drift llm-inference   compared with that profile
  numatune drift --json          for programs
  numatune check                 the same for cron and timers

Two letters a row
  since the last apply           apply would
      same                           do nothing
    M moved                        M change it
    D gone                         A create it
    R reset by a reboot            X give it back
    - never applied                ! not change it

What the last apply reported already, what is held (numatune hold) and what
is optional is not counted. --repair puts back only what numatune had set and
what disturbs no running work, each setting three times in 24 hours at most.

Exit codes: 0 clean, 2 differences, 1 nothing is applied here."""


def add(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Register the parser."""
    parser = commands.add_parser(
        "drift",
        parents=[common],
        description="What has moved since the last apply, and what apply would do about it. Changes nothing, needs no "
        "root, except with --repair.",
        epilog=_EXAMPLES,
    )
    options.add_profiles(parser, needed=False)
    options.add_differences_ok(parser)
    parser.add_argument("--repair", action="store_true", help="put back what was moved, where that disturbs nobody")
    options.add_wait(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Compare, and print what differs."""
    from numatune import api

    if args.profiles or args.repair or args.var:
        _check(args)
    if args.repair:
        host = api.open_host(args.root, live=args.root_is_live)
        if _is_quiet(args) and api.clean(host):
            return 0
        found = api.repair(host, wait=args.wait)
    else:
        reader = api.open_reader(args.root, live=args.root_is_live)
        if _is_quiet(args) and api.clean(reader):
            return 0
        found = api.drift(reader, _request(args) if args.profiles else None)
    show(found, args)
    return options.exit_code(found.counted, args)


def _is_quiet(args: argparse.Namespace) -> bool:
    """Whether a clean host is nothing to tell of."""
    return not (args.profiles or args.json or args.verbose)


def _check(args: argparse.Namespace) -> None:
    """Raises UsageError for options that do not go together."""
    from numatune.errors import UsageError

    if args.repair and args.profiles:
        raise UsageError("--repair", "puts back what was applied", accepted="no PROFILE beside it")
    if args.var and not args.profiles:
        raise UsageError("--var", "sets a variable of a profile", accepted="numatune drift PROFILE --var NAME=VALUE")


def _request(args: argparse.Namespace) -> Request:
    from numatune.api.planning import Request

    return Request(profiles=tuple(args.profiles), variables=options.variables(args.var))


def show(found: Drift, args: argparse.Namespace, *, plain: bool = False) -> None:
    """Print a drift as the options ask for: JSON, or what differs. `plain`: in ASCII."""
    from numatune.cli.output import remark, say, say_json

    if args.json:
        from numatune.views import drift_json

        say_json(drift_json.drift(found))
        return
    from dataclasses import replace

    from numatune.cli.terminal import style
    from numatune.views import drift_text

    look = replace(style(args), unicode=False) if plain else style(args)
    for note in drift_text.notes(found):
        remark(f"numatune: {note}")
    if text := drift_text.drift(found, look, verbose=args.verbose):
        say(text)
