"""``numatune profiles``: which there are, what one says, whether it is right, and its JSON Schema for editors."""

from __future__ import annotations

import argparse

from numatune.cli import options
from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.api.planning import Wanted
    from numatune.cli.parser import Commands
    from numatune.errors import NumatuneError, Problem

_EXAMPLES = """\
Examples
  numatune profiles list
      those of /etc/numatune/profiles and those shipped
  numatune profiles show llm-inference
      merged with what it extends, each line with its source
  numatune profiles show llm-inference --resolved
      what it wants of this host, and why
  numatune profiles lint ./mine.yaml
      every mistake with its line; exit 1 when there is one
  numatune profiles schema > numatune.schema.json
      for an editor, whose YAML extension finds it by a profile's first line:
      # yaml-language-server: $schema=numatune.schema.json"""


def add(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Register the parsers."""
    parser = commands.add_parser(
        "profiles",
        parents=[common],
        description="List, show, check and describe profiles. Changes nothing, needs no root.",
        epilog=_EXAMPLES,
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=type(parser))
    for name, text, does in (
        ("list", "which profiles can be named", _list),
        ("show", "one or more profiles merged, with the line behind each value", _show),
        ("lint", "every mistake, with file and line", _lint),
        ("schema", "the language as a JSON Schema", _schema),
    ):
        action = actions.add_parser(name, parents=[common], help=text, description=f"Print {text}.")
        if does in (_show, _lint):
            action.add_argument("profiles", nargs="+", metavar="PROFILE", help="a name or a path")
            options.add_variables(action)
        if does is _show:
            action.add_argument("--resolved", action="store_true", help="what it wants of this host, and why")
        action.set_defaults(run=does)


def _list(args: argparse.Namespace) -> int:
    from numatune.cli.output import say, say_json
    from numatune.profile.listing import listing

    found = listing()
    if args.json:
        keys = ("name", "origin", "path", "version", "summary", "hidden")
        say_json({"format": 1, "profiles": [{key: getattr(each, key) for key in keys} for each in found]})
        return 0
    from numatune.cli.terminal import style
    from numatune.views import profiles_text

    where = {"etc": "/etc", "shipped": "shipped", "path": ""}
    rows = [
        (each.name, where[each.origin], each.version, f"{each.summary}{' (hidden by /etc)' if each.hidden else ''}")
        for each in found
    ]
    say(profiles_text.listing(rows, style(args)))
    return 0


def _show(args: argparse.Namespace) -> int:
    from numatune.cli.output import remark, say, say_json

    if not args.resolved and not args.json:
        from numatune.api.planning import load
        from numatune.profile.spell import spell

        say(spell(load(args.profiles, variables=options.variables(args.var)).sound()))
        return 0
    wanted = _want(args.profiles, args)
    for note in wanted.resolved.notes:
        remark(note)
    if args.json:
        from numatune.views import profiles_json

        say_json(profiles_json.resolved(wanted.resolved.profiles, wanted.resolved.settings))
    else:
        from numatune.cli.terminal import style
        from numatune.views import profiles_text

        say(profiles_text.wanted(wanted.resolved.settings, style(args)))
    return 0


def _lint(args: argparse.Namespace) -> int:
    from numatune.cli.output import say, say_json
    from numatune.errors import NumatuneError

    problems: list[Problem] = []
    for name in args.profiles:
        try:
            wanted = _want([name], args)
        except NumatuneError as error:
            problems += _told(name, error, quiet=args.json)
        else:
            if not args.json:
                say(f"{name}: right, {len(wanted.resolved.settings)} settings on this host")
    if args.json:
        keys = ("where", "found", "accepted", "hint")
        say_json({"format": 1, "problems": [{key: getattr(each, key) for key in keys} for each in problems]})
    return 1 if problems else 0


def _schema(_args: argparse.Namespace) -> int:
    from numatune.cli.output import say_json
    from numatune.profile.schema import schema

    say_json(schema())
    return 0


def _told(name: str, error: NumatuneError, *, quiet: bool) -> tuple[Problem, ...]:
    from numatune.cli.output import say

    if not quiet:
        count = len(error.problems)
        say("\n".join([str(error), f"{name}: {count} mistake{'s' if count > 1 else ''}"]))
    return error.problems


def _want(names: list[str], args: argparse.Namespace) -> Wanted:
    from numatune import api
    from numatune.api.planning import Request, want

    reader = api.open_reader(args.root, live=args.root_is_live)
    return want(reader, Request(profiles=tuple(names), variables=options.variables(args.var)))
