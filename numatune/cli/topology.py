"""``numatune topology``: what a host is made of."""

from __future__ import annotations

import argparse

from numatune.cli import options
from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.cli.parser import Commands

_EXAMPLES = """\
Examples
  numatune topology                       nodes, distances, devices
  numatune topology -v                    also the devices' interrupts
  numatune topology --all                 all PCI devices
  numatune topology --profile mine.yaml   devices on the nodes that it says
  numatune --root host.tar.gz topology    of a captured host
  numatune topology --json                everything, for programs
  numatune topology --svg host.svg        a picture, for a wiki or a browser

Devices are accelerators, network, NVMe and InfiniBand. Of an interrupt both
the CPUs that it was given and those that it runs on are shown."""


def add(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Register the parser."""
    parser = commands.add_parser(
        "topology",
        parents=[common],
        description="Show nodes, CPUs, devices and interrupts of a host. Changes nothing, needs no root.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("--all", action="store_true", help="all PCI devices, also bridges and the like")
    parser.add_argument(
        "--profile",
        action="append",
        default=[],
        metavar="PROFILE",
        help="take devices' nodes from its `devices:`; default: those of what is applied here",
    )
    options.add_variables(parser)
    parser.add_argument("--svg", default="", metavar="FILE", help="write a picture, light and dark; - for stdout")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the topology, or draw it."""
    from numatune import api
    from numatune.cli.output import remark, say, say_json
    from numatune.errors import UsageError

    if args.json and args.svg:
        raise UsageError("--svg", "--json prints data, --svg a picture", accepted="one of them")

    reader = api.open_reader(args.root, live=args.root_is_live)
    found, ignored = api.topology(reader, profiles=args.profile, variables=options.variables(args.var))
    for address, why in ignored:
        remark(f"devices: {address} is ignored: {why}")
    if args.json:
        from numatune.views import topology_json

        say_json(topology_json.topology(found, reader.root))
    elif args.svg:
        from numatune.views.picture import svg

        _put(args.svg, svg.topology(found, everything=args.all))
    else:
        from numatune.cli.terminal import style
        from numatune.views import topology_text

        say(topology_text.topology(found, style(args), everything=args.all, verbose=bool(args.verbose)))
    return 0


def _put(path: str, picture: str) -> None:
    """To a file, which is replaced, or to stdout. Raises NumatuneError where it cannot be written."""
    from pathlib import Path

    from numatune.cli.output import remark, say
    from numatune.errors import NumatuneError

    if path == "-":
        say(picture.rstrip("\n"))
        return
    try:
        Path(path).write_text(picture, encoding="utf-8")
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL
        found = f"cannot be written: {getattr(error, 'strerror', None) or error}"
        raise NumatuneError(path, found, hint="--svg takes a file in a folder that you may write to") from error
    remark(f"{path}: {len(picture) // 1024} KiB")
