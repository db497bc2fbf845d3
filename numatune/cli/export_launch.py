"""``numatune export-launch``: placements in the words of whoever else starts processes."""

from __future__ import annotations

import argparse
import os

from numatune.cli import options
from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.cli.parser import Commands

FORMATS = (
    *("docker", "compose", "podman-quadlet", "kubelet", "systemd", "slurm", "mpirun", "numactl"),
    *("vllm", "sglang", "torchrun"),
)
"""As in export/launch/formats.py, which --help does without."""

_EXAMPLES = """\
Examples
  numatune export-launch mine.yaml --format docker
      options for docker run: CPUs, memory nodes, devices by UUID
  numatune export-launch mine.yaml --format systemd --rank 3
      a drop-in for the service of rank 3
  numatune export-launch mine.yaml --format slurm --ranks 8
      each host finds its own places; --same-hosts adds masks of this one
  numatune --root host.tar.xz export-launch mine.yaml --format numactl

A cpuset confines memory as hard as bind. With a milder policy it gets every
node with CPUs and memory, which keeps GPU memory out; numatune run inside
does the rest."""


def add(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Register the parser."""
    parser = commands.add_parser(
        "export-launch",
        parents=[common],
        description="Print where a server belongs in the words of another launcher. Changes nothing, needs no root.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("profiles", nargs="*", metavar="PROFILE", help="default: what is applied here")
    options.add_variables(parser)
    parser.add_argument("--format", required=True, choices=FORMATS, metavar="FORMAT", help=", ".join(FORMATS))
    parser.add_argument("--ranks", type=options.count, metavar="N", help="on each host; default: a rank a device")
    parser.add_argument("--rank", type=int, metavar="N", help="one rank, instead of the server as a whole")
    parser.add_argument("--same-hosts", action="store_true", help="also what holds for hosts like this one only")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print it."""
    from numatune import api
    from numatune.cli.output import say, say_json
    from numatune.errors import UsageError

    reader = api.open_reader(args.root, live=args.root_is_live)
    policy = api.launch_policy(reader, args.profiles, variables=options.variables(args.var))
    at = api.scene(reader, dict(os.environ), overrides=policy.devices)
    ranks = args.ranks or len(at.seen.devices) or 1
    if args.rank is not None and not 0 <= args.rank < ranks:
        raise UsageError("--rank", f"{args.rank} of {ranks} ranks", accepted=f"0 to {ranks - 1}")
    text = api.export_launch(at, policy, args.format, ranks=ranks, rank=args.rank, same_hosts=args.same_hosts)
    if args.json:
        say_json({"format": 1, "target": args.format, "text": text})
    else:
        say(text.rstrip("\n"))
    return 0
