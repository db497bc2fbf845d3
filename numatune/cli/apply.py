"""``numatune apply``: make the host as a profile says, keeping the originals."""

from __future__ import annotations

import argparse

from numatune.cli import options
from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from numatune.api.applying import Applied
    from numatune.api.planning import Request
    from numatune.cli.parser import Commands
    from numatune.settings.applied import SavedPlan
    from numatune.settings.plan import Plan

_EXAMPLES = f"""\
Examples
  sudo numatune apply llm-inference
      shows the plan, asks first
  sudo numatune apply llm-inference --yes
      where nobody can be asked
  sudo numatune apply llm-inference --only thp,irq
      two sections of it
  numatune apply llm-inference --check
      the plan, nothing else
  sudo numatune apply mine.yaml --on-error rollback
      all of it or nothing
  sudo numatune apply --plan today.plan
      a saved plan, if the host has not moved since
  sudo numatune apply mine.yaml --confirm-within 10m
      taken back after that time unless you run numatune confirm
  sudo numatune apply mine.yaml --persist
      also after a reboot, a driver's return, a link change

What was there before is kept: numatune rollback gives it back, also after a
kill or a power cut in the middle. Applying twice changes nothing the second
time.

{options.SYMBOLS}

What the profile expects of the host (its section expect) is looked at before
the first write: where that is not so, nothing is changed.

Exit codes: 0 the host is as wanted, 2 differences remain, 1 nothing was done
or all was taken back, 75 another run holds the lock."""


def add(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Register the parser."""
    parser = commands.add_parser(
        "apply",
        parents=[common],
        description="Make this host as the profiles say. Originals are on disk before the first write.",
        epilog=_EXAMPLES,
    )
    options.add_profiles(parser, needed=False)
    options.add_selection(parser)
    options.add_applied_set(parser)
    options.add_differences_ok(parser)
    parser.add_argument("--plan", metavar="FILE", help="carry out a saved plan, if the host has not moved since")
    parser.add_argument("--check", action="store_true", help="print the plan and change nothing")
    options.add_consent(parser)
    parser.add_argument("--why", default="", metavar="TEXT", help="a reason, kept in the history")
    parser.add_argument(
        "--confirm-within",
        type=options.duration,
        metavar="DURATION",
        help="take the run back after 90s, 10m, 4h unless numatune confirm comes",
    )
    parser.add_argument(
        "--on-error",
        choices=("continue", "rollback"),
        help="after a refused write go on (default, unless the profile says otherwise) or take the run back",
    )
    parser.add_argument(
        "--on-unmet",
        choices=("stop", "warn"),
        help="where the host is not what the profile expects, change nothing (default, unless the profile says"
        " otherwise) or go on",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Apply, and print what came of it."""
    _check_words(args)
    if args.check:
        from numatune.cli import plan

        return plan.show(args)

    from numatune import api
    from numatune.cli.progress import progress

    host = api.open_host(args.root, live=args.root_is_live)
    options.need_consent(args)
    if args.json and not args.plan and (report := api.repeated(host, options.request(args))):
        from numatune.cli.output import say_json

        say_json(report)
        return options.exit_code(report["summary"]["differences"], args)
    with progress() as tell:
        done = api.apply(
            host,
            _wanted(args),
            why=args.why,
            wait=args.wait,
            confirm=None if args.yes else lambda made: _confirmed(made, args),
            confirm_within=args.confirm_within,
            progress=tell,
            report=_report if args.json else None,
        )
    if done.declined:
        from numatune.cli.output import remark

        remark("numatune: nothing was changed")
        return 1
    _print(done, args)
    if done.waiting:
        from numatune.cli.output import remark
        from numatune.engine.when import for_people

        remark(f"numatune: taken back at {for_people(done.waiting.until)} unless you run: sudo numatune confirm")
    if done.taken_back:
        return 1
    return options.exit_code(done.differences, args)


def _check_words(args: argparse.Namespace) -> None:
    """Profiles, or a saved plan that knows them already."""
    from numatune.errors import UsageError

    if args.plan and (args.check or options.asked(args)):
        raise UsageError("--plan", "a saved plan holds its profiles and options already", accepted="--plan FILE alone")
    if not (args.plan or args.profiles):
        raise UsageError("", "no profile", accepted="numatune apply PROFILE...", hint="numatune profiles list")


def _wanted(args: argparse.Namespace) -> Request | SavedPlan:
    """What is asked of the host, anew or as it was saved."""
    if not args.plan:
        return options.request(args)
    from dataclasses import replace

    from numatune import api

    saved = api.load_plan(args.plan)
    return replace(saved, on_error=args.on_error or saved.on_error, on_unmet=args.on_unmet or saved.on_unmet)


def _confirmed(made: Plan, args: argparse.Namespace) -> bool:
    """Show the plan and ask."""
    from numatune.cli.output import say
    from numatune.cli.terminal import ask, style
    from numatune.views import plan_text
    from numatune.views.style import plural

    say(plan_text.plan(made, style(args), verbose=args.verbose))
    return ask(f"Apply {plural(len(made.to_do), 'change')} to this host?")


def _print(done: Applied, args: argparse.Namespace) -> None:
    from numatune.cli.output import say, say_json

    if args.json:
        say_json(_report(done))
        return
    from numatune.cli.terminal import style
    from numatune.views import plan_text

    back = done.taken_back.run if done.taken_back else None
    shown = plan_text.report(
        done.plan, done.outcomes, style(args), run=done.run, taken_back_by=back, verbose=args.verbose
    )
    say(shown)


def _report(done: Applied) -> dict[str, Any]:
    from numatune.views import plan_json

    back = done.taken_back.run if done.taken_back else None
    until = done.waiting.until if done.waiting else None
    return plan_json.report(done.plan, done.outcomes, done.run, taken_back_by=back, confirm_until=until)
