"""``numatune export``: a profile as plain files, a script or a playbook, for hosts where numatune does not run."""

from __future__ import annotations

import argparse

from numatune.cli import options
from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.cli.parser import Commands

FORMATS = ("sysctl.d", "tmpfiles.d", "systemd", "script", "ansible")
"""As in export/tuning/formats.py, which --help does without."""

_EXAMPLES = """\
Examples
  numatune export llm-inference --format script --output tune.sh
      a shell script with the order and the guard rails of apply
  numatune export llm-inference --format sysctl.d
      the lines of early boot alone; what they cannot keep is said
  numatune --root host.tar.xz export mine.yaml --format systemd --output DIR
      for a captured host: units, drop-ins and the script, below DIR
  numatune export mine.yaml --format ansible --output tune.yml
      a playbook for hosts like this one

What a format cannot carry, and what order it cannot keep, is said in its
comments and on standard error. The script and what calls it refuse on a host
with other nodes or CPUs than those of the host that it was made for.

Exit codes: 0 done, 1 the profile is wrong."""


def add(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Register the parser."""
    parser = commands.add_parser(
        "export",
        parents=[common],
        description="Print what apply --persist would install here, for hosts where numatune does not run. "
        "Changes nothing, needs no root.",
        epilog=_EXAMPLES,
    )
    options.add_profiles(parser)
    options.add_sections(parser)
    options.add_leaves(parser)
    parser.add_argument("--format", required=True, choices=FORMATS, metavar="FORMAT", help=", ".join(FORMATS))
    parser.add_argument("--output", metavar="FILE|DIR", help="write it there; of systemd a folder with all files below")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print it, or write it; what it leaves out goes to standard error too."""
    from numatune import api
    from numatune.api.planning import Request
    from numatune.cli.output import remark, say, say_json
    from numatune.views import export_json, export_text

    request = Request(
        profiles=tuple(args.profiles),
        variables=options.variables(args.var),
        only=tuple(args.only),
        skip=tuple(args.skip),
        allow_disruption=args.allow_disruption,
        allow_unsafe=frozenset(args.allow_unsafe),
    )
    made = api.export(api.open_reader(args.root, live=args.root_is_live), request, args.format)
    written = api.write_export(made, args.output) if args.output else ()
    made = made.written(written[0]) if written else made
    if args.json:
        say_json(export_json.exported(made, args.format))
        return 0
    for line in export_text.notes(made):
        remark(line)
    for path in written:
        remark(f"wrote {path}")
    if not args.output:
        say(export_text.text(made).rstrip("\n"))
    return 0
