"""``numatune shm``: the memory policy of a shared-memory file from outside the server, and where its pages are."""

from __future__ import annotations

import argparse

from numatune.cli import options
from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.cli.parser import Commands
    from numatune.launch.shared import Shared

_EXAMPLES = """\
Examples
  numatune shm show psm_4f1e                   one of /dev/shm, or a path
  numatune shm policy kv_cache --interleave    over all with CPUs and memory
  numatune shm policy kv_cache --bind 1 --migrate
  numatune shm policy kv_cache --interleave --wait 60
      as soon as a server has made it, before it is touched
  numatune shm policy kv_cache --interleave --pid 4711
      in the mount namespace of that process, as of a container

Pages go where the policy says when they are touched first. Those that are
placed already stay, unless --migrate moves them. A file that grows later has
no policy beyond its size of now."""


def add(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Register the parsers."""
    parser = commands.add_parser(
        "shm",
        parents=[common],
        description="Set and show where the pages of a shared-memory file on tmpfs go. Needs no root for one's own.",
        epilog=_EXAMPLES,
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=type(parser))
    show = actions.add_parser("show", parents=[common], help="its policy and pages by node", description="Show both.")
    policy = actions.add_parser(
        "policy", parents=[common], help="give it a policy", description="Set it, and tell what was placed before."
    )
    for action in (show, policy):
        action.add_argument("name", metavar="PATH|NAME", help="a path, or a name of POSIX shared memory")
        action.add_argument("--pid", type=options.count, metavar="PID", help="as this process sees it")
        action.add_argument(
            "--wait", type=options.seconds, default=0.0, metavar="SECONDS", help="for it to be there and have a size"
        )
    ways = policy.add_mutually_exclusive_group(required=True)
    ways.add_argument("--interleave", action="store_true", help="spread evenly")
    ways.add_argument("--weighted-interleave", action="store_true", help="spread by the nodes' weights")
    ways.add_argument("--bind", metavar="NODES", help="keep there; beyond what is free the kernel kills")
    ways.add_argument("--prefer", metavar="NODE", help="there first, elsewhere when it is full")
    policy.add_argument("--nodes", metavar="NODES", help="of an interleave; default: all with CPUs and memory")
    policy.add_argument("--migrate", action="store_true", help="move pages that are placed already, as far as allowed")
    show.set_defaults(run=_show)
    policy.set_defaults(run=_policy)


def _show(args: argparse.Namespace) -> int:
    from numatune import api

    _print(api.shm_show(args.name, pid=args.pid, wait=args.wait), args)
    return 0


def _policy(args: argparse.Namespace) -> int:
    """Exit 1 when it is not in force as asked; one node to interleave over is no failure."""
    from numatune import api, mempolicy
    from numatune.cli.output import remark

    mode, nodes = _wanted(args)
    before, after = api.shm_policy(args.name, mode, nodes, pid=args.pid, wait=args.wait, migrate=args.migrate)
    if before.placed:
        moved = sum(max(0, kib - after.kib.get(node, 0)) for node, kib in before.kib.items())
        remark(f"numatune: {before.placed} KiB were placed already; {moved} KiB of it moved")
    _print(after, args)
    if after.policy.reason:
        remark(f"numatune: {after.policy.reason}")
    alone = "interleave" in mode and len(nodes or mempolicy.usable()) == 1
    return 0 if alone or not after.policy.reason else 1


def _wanted(args: argparse.Namespace) -> tuple[str, list[int]]:
    from numatune.cpus import CpuSet
    from numatune.errors import UsageError

    mode = next(mode for mode in ("interleave", "weighted_interleave", "bind", "prefer") if getattr(args, mode))
    text = args.nodes if "interleave" in mode else getattr(args, mode)
    if args.nodes and "interleave" not in mode:
        raise UsageError("--nodes", f"goes with an interleave; --{mode} names its own")
    try:
        nodes = list(CpuSet.parse(text)) if text else []
    except ValueError as error:
        raise UsageError(f"--{'nodes' if 'interleave' in mode else mode}", str(error)) from error
    if mode == "prefer" and len(nodes) != 1:
        raise UsageError("--prefer", f"{text}", accepted="one node")
    return {"weighted_interleave": "weighted-interleave", "prefer": "preferred"}.get(mode, mode), nodes


def _print(found: Shared, args: argparse.Namespace) -> None:
    from numatune.cli.output import say, say_json
    from numatune.views import placement_shm

    if args.json:
        say_json(placement_shm.data(found))
    else:
        say(placement_shm.text(found))
