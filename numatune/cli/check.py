"""``numatune check``: the drift check that cron or a timer runs."""

from __future__ import annotations

import argparse

from numatune.cli import options
from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.cli.parser import Commands

_EXAMPLES = """\
Examples
  numatune check
      prints differences, which cron mails; nothing when clean
  numatune check --syslog --textfile /var/lib/node_exporter/numatune.prom
      tells syslog and Prometheus instead
  numatune check --repair --log /var/log/numatune.log
      puts back what somebody moved, and writes it down
  numatune check --notify "/usr/local/bin/page-me --team inference"
      hands the drift to a command, as JSON on its standard input
  numatune check --delay-up-to 10m
      not all hosts of a fleet at once

One check at a time: while one is going on another ends at once with 0 and
says nothing. With --syslog, --log, --textfile or --notify differences are not
printed; errors always are. What is counted: numatune drift --help.

Exit codes: 0 clean, 2 differences, 1 the check failed or could not be told,
75 with --repair: another run did not end."""

_LONGEST_DELAY = 86400


def add(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Register the parser."""
    parser = commands.add_parser(
        "check",
        parents=[common],
        description="What has moved since the last apply, for cron or a timer: quiet when clean, one at a time. "
        "Changes nothing, needs no root, except with --repair.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("--repair", action="store_true", help="put back what was moved, where that disturbs nobody")
    parser.add_argument(
        "--delay-up-to", type=_delay, default=0, metavar="DURATION", help="sleep a random time first: 90s, 10m, 1h"
    )
    group = parser.add_argument_group("who is told, instead of standard output")
    group.add_argument("--syslog", action="store_true", help="one line a difference to syslog")
    group.add_argument("--log", default="", metavar="FILE", help="one line a difference at the end of FILE")
    group.add_argument(
        "--textfile", type=_textfile, metavar="FILE", help="metrics for node_exporter, each time: *.prom"
    )
    group.add_argument(
        "--notify", type=_command, default=(), metavar="COMMAND", help="run it, without a shell, on differences"
    )
    options.add_differences_ok(parser)
    options.add_wait(parser)
    parser.set_defaults(run=run, with_profile="numatune drift")


def run(args: argparse.Namespace) -> int:
    """Check, and print what nobody else is told."""
    from numatune import api
    from numatune.cli.output import remark

    api.need_own(args.root, live=args.root_is_live)
    outputs = api.Outputs(syslog=args.syslog, log=args.log, textfile=args.textfile or "", notify=args.notify)
    asked = bool(args.json or args.verbose)
    host = api.open_host(args.root, live=args.root_is_live) if args.repair else None
    reader = host or api.open_reader(args.root, live=args.root_is_live)
    checked = api.check(reader, outputs, repair=host, wait=args.wait, delay=args.delay_up_to, whole=asked)
    if checked is None:
        if asked:
            remark("numatune: another check is going on, or nothing is left to check")
        return 0
    for trouble in checked.troubles:
        remark(f"numatune: {trouble}")
    if checked.error is not None:
        raise checked.error
    if checked.found is not None and (asked or not outputs):
        import sys

        from numatune.cli.drift import show

        show(checked.found, args, plain=not sys.stdout.isatty())  # cron's mail may say that it is in ASCII
    code = options.exit_code(checked.found.counted if checked.found else 0, args)
    return code or (1 if checked.troubles else 0)


def _delay(text: str) -> int:
    """A duration of a day at most, for argparse."""
    found = options.duration(text)
    if found > _LONGEST_DELAY:
        raise argparse.ArgumentTypeError(f"{text!r} is too long to sleep; accepted: up to 1d")
    return found


def _textfile(text: str) -> str:
    """A name that node_exporter reads, for argparse."""
    if not text.endswith(".prom"):
        raise argparse.ArgumentTypeError(f"{text!r} is not read by node_exporter; accepted: a name like numatune.prom")
    return text


def _command(text: str) -> tuple[str, ...]:
    """The words of a command, for argparse."""
    import shlex

    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}") from error
    if not words:
        raise argparse.ArgumentTypeError("names no command; accepted: a program and its arguments")
    return words
