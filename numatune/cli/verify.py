"""``numatune verify``: a second opinion on this host, by testinfra."""

from __future__ import annotations

import argparse

from numatune.cli import options
from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from numatune.api.planning import Request
    from numatune.cli.parser import Commands

_EXAMPLES = """\
Examples
  numatune verify                       compared with what was applied
  numatune verify llm-inference         compared with that profile
  numatune verify -v                    every setting, and who was asked
  numatune verify --junit verify.xml    for a build server
  numatune verify --only sysctl,thp     two sections
  numatune verify llm-inference --hosts ssh://root@gpu7,ssh://gpu8:2222
      other hosts, on which nothing is installed

Each setting is asked for anew by testinfra, in a process of its own, and
where there is one at another place than plan looks: sysctl, /proc/interrupts,
/proc/zoneinfo, a node's meminfo, /proc/PID/status of a task, systemctl show.
What is held (numatune hold) is shown and not counted; of other hosts neither
that nor what is applied there is known. Your own ssh configuration, keys and
known hosts are used; off a terminal nobody is asked for anything.

Exit codes: 0 as wanted, 2 differences, 1 nothing is applied here, the profile
is wrong, or a host could not be asked."""


def add(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Register the parser."""
    parser = commands.add_parser(
        "verify",
        parents=[common],
        description="Test this host against the wanted values, without the code that sets them. Needs no root.",
        epilog=_EXAMPLES,
    )
    options.add_profiles(parser, needed=False)
    options.add_sections(parser)
    parser.add_argument(
        "--hosts",
        action="extend",
        type=options.names,
        metavar="URL,...",
        help="these instead of this host: ssh://[USER@]HOST[:PORT]",
    )
    parser.add_argument("--junit", metavar="FILE", help="also write the checks as JUnit XML")
    options.add_differences_ok(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Ask, and print what was said."""
    from pathlib import Path

    from numatune.api.planning import Request

    request = Request(
        profiles=tuple(args.profiles),
        variables=options.variables(args.var),
        only=tuple(args.only),
        skip=tuple(args.skip),
    )
    junit = Path(args.junit) if args.junit else None
    return _here(args, request, junit) if args.hosts is None else _others(args, request, junit)


def _here(args: argparse.Namespace, request: Request, junit: Path | None) -> int:
    from numatune import api
    from numatune.cli.output import remark, say, say_json
    from numatune.settings.plan import differences

    reader = api.open_reader(args.root, live=args.root_is_live)
    said, anew = api.verify(reader, request, junit=junit)
    if args.json:
        from numatune.views.verify_json import verified as as_json

        say_json(as_json(said, anew))
    else:
        from numatune.cli.terminal import style
        from numatune.views.verify_text import verified as as_text

        if anew:
            remark(f"numatune: {anew}: values were worked out anew from the stored profile")
        say(as_text(said, style(args), again=_again(args), verbose=args.verbose))
    return options.exit_code(differences(said.rows), args)


def _others(args: argparse.Namespace, request: Request, junit: Path | None) -> int:
    """1 when a host could not be asked, whatever the others hold."""
    from numatune import api
    from numatune.cli.output import say, say_json
    from numatune.cli.terminal import interactive, style
    from numatune.errors import UsageError
    from numatune.views import verify_hosts

    if args.root != "/":
        raise UsageError("--hosts", "asks other hosts, each as a whole", accepted="no --root beside it")
    told = api.verify_hosts(args.hosts, request, junit=junit, may_ask=interactive() and not args.json)
    made = verify_hosts.json(told)
    if args.json:
        say_json(made)
    else:
        say(verify_hosts.text(told, style(args), again=_again(args), verbose=args.verbose))
    return 1 if made["summary"]["not_asked"] else options.exit_code(made["summary"]["differences"], args)


def _again(args: argparse.Namespace) -> str:
    """The words that tell what apply would do."""
    import shlex

    pairs = [word for pair in args.var for word in ("--var", pair)]
    return shlex.join(["plan", *args.profiles, *pairs] if args.profiles else ["drift"])
