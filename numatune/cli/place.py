"""``numatune place``: where all ranks of a host belong."""

from __future__ import annotations

import argparse
import os

from numatune.cli import options
from numatune.cli.run_options import POLICY, SWITCHES
from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.cli.parser import Commands
    from numatune.cpus import CpuSet

_EXAMPLES = """\
Examples
  numatune place --ranks 8                        the applied policy, here
  numatune place --ranks 8 --cpu exclusive -v     with all steps
  numatune place --profile mine.yaml --json       for programs
  numatune --root host.tar.xz place --ranks 8     of a captured host

Every rank computes the same without talking to the others: this is what
`numatune run` does in each of them."""


def add(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Register the parser."""
    parser = commands.add_parser(
        "place",
        parents=[common],
        description="Show which device, node, CPUs and memory each rank gets. Changes nothing, needs no root.",
        epilog=_EXAMPLES,
    )
    parser.add_argument(
        "--ranks", type=options.count, metavar="N", help="how many; default: one for each visible device"
    )
    options.add_launch_profile(parser)
    options.add_variables(parser)
    parser.add_argument("--allowed-cpus", metavar="LIST", help="instead of this process's affinity")
    parser.add_argument("--allowed-mems", metavar="LIST", help="instead of this process's cpuset")
    for name, (_, metavar, told) in POLICY.items():
        parser.add_argument(name, action="append", default=[], metavar=metavar, help=told)
    for name, (_, told) in SWITCHES.items():
        parser.add_argument(name, action="store_true", help=told)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the placements."""
    from numatune import api
    from numatune.cli.output import say, say_json

    reader = api.open_reader(args.root, live=args.root_is_live)
    policy = api.launch_policy(reader, args.profile, _words(args), variables=options.variables(args.var))
    cpus, mems = _set("--allowed-cpus", args.allowed_cpus), _set("--allowed-mems", args.allowed_mems)
    at = api.scene(reader, dict(os.environ), cpus=cpus, mems=mems, overrides=policy.devices)
    made = api.placements(at, policy, args.ranks or len(at.seen.devices) or 1)
    if args.json:
        from numatune.views import placement_json

        say_json(placement_json.placements(made))
    else:
        from numatune.cli.terminal import style
        from numatune.views import placement_text

        say(placement_text.placements(made, style(args), verbose=bool(args.verbose)))
    return 0


def _words(args: argparse.Namespace) -> list[tuple[str, str]]:
    words = [(key, text) for name, (key, _, _) in POLICY.items() for text in getattr(args, name[2:].replace("-", "_"))]
    return [*words, *((key, "yes") for name, (key, _) in SWITCHES.items() if getattr(args, name[2:]))]


def _set(option: str, text: str | None) -> CpuSet | None:
    from numatune.cpus import CpuSet
    from numatune.errors import UsageError

    try:
        return None if text is None else CpuSet.parse(text)
    except ValueError as error:
        raise UsageError(option, str(error)) from error
