"""``numatune plan``: what a profile would change here, without changing it."""

from __future__ import annotations

import argparse

from numatune.cli import options
from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.cli.parser import Commands

_EXAMPLES = f"""\
Examples
  numatune plan llm-inference
      what would change here
  numatune plan llm-inference -v
      every row, also what is as wanted
  numatune plan ./mine.yaml --var reserve_cores=4
      another value of one of its variables
  numatune plan base extra --only sysctl,thp
      two profiles, two sections of them
  numatune --root host.tar.gz plan llm-inference
      for a captured host
  numatune plan llm-inference --json
      for programs; --schema describes it
  numatune plan llm-inference --out today.plan
      for numatune apply --plan today.plan

{options.SYMBOLS}

Exit codes: 0 nothing to do, 2 differences, 1 the profile is wrong."""


def add(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Register the parser."""
    parser = commands.add_parser(
        "plan",
        parents=[common],
        description="Show how this host differs from what a profile means here. Changes nothing, needs no root.",
        epilog=_EXAMPLES,
    )
    options.add_profiles(parser, needed=False)
    options.add_selection(parser)
    options.add_applied_set(parser)
    options.add_differences_ok(parser)
    parser.add_argument("--out", metavar="FILE", help="save the plan for apply --plan FILE")
    parser.add_argument("--schema", action="store_true", help="print the JSON Schema of --json and exit")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the plan, or the schema of its JSON."""
    if args.schema:
        from numatune.cli.output import say
        from numatune.views.plan_json import schema

        say(schema().rstrip())
        return 0
    if not args.profiles:
        from numatune.errors import UsageError

        raise UsageError("", "no profile", accepted="numatune plan PROFILE...", hint="numatune profiles list")
    return show(args)


def show(args: argparse.Namespace) -> int:
    """Work the plan out and print it."""
    from numatune import api
    from numatune.cli.output import say, say_json
    from numatune.settings.plan import differences

    saved = api.prepare(api.open_reader(args.root, live=args.root_is_live), options.request(args))
    made, out = saved.plan, getattr(args, "out", None)
    if out:
        api.save_plan(out, saved)
    if args.json:
        from numatune.views import plan_json

        say_json(plan_json.plan(made))
    else:
        from numatune.cli.terminal import style
        from numatune.views import plan_text

        again = f"--plan {out}" if out else options.again(args)
        captured = "" if args.root == "/" or args.root_is_live else args.root
        say(plan_text.plan(made, style(args), again=again, captured=captured, verbose=args.verbose))
    return options.exit_code(differences(made.rows), args)
