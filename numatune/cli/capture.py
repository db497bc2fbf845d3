"""``numatune capture``: a host as a file, to look at and to plan for elsewhere."""

from __future__ import annotations

import argparse

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.api import Captured
    from numatune.cli.parser import Commands

_EXAMPLES = """\
Examples
  numatune capture host.tar.xz
      of this host
  numatune capture --host ssh://root@gpu7 gpu7.tar.xz
      of another, where nothing is installed
  numatune capture --unit vllm.service host.tar.xz
      with the state of one more unit
  numatune --root gpu7.tar.xz plan llm-inference
      what would change there

An allow-list of files travels: no argument lists, no environments, no host
names, serial numbers or hardware addresses. The file is readable for its
owner only.

Exit codes: 0 written, 1 not written."""


def add(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Register the parser."""
    parser = commands.add_parser(
        "capture",
        parents=[common],
        description="Write what numatune reads of a host to an archive. Changes nothing, needs no root.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("out", metavar="OUT", help="*.tar.xz, *.tar.gz, *.tar.bz2 or *.tar")
    parser.add_argument("--host", default="", metavar="URL", help="ssh://[USER@]HOST[:PORT]; default: this host")
    parser.add_argument(
        "--unit", action="append", default=[], metavar="NAME", help="also ask systemd about this unit; may repeat"
    )
    parser.add_argument("--force", action="store_true", help="replace OUT when it is there")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Capture, then say what came."""
    from numatune import api
    from numatune.cli.output import say, say_json
    from numatune.errors import UsageError

    if args.root != "/" and (args.host or not args.root_is_live):
        found = "--host has a root of its own" if args.host else f"{args.root} is a captured tree already"
        raise UsageError("--root", found, accepted="a folder that is the tree of a live host, with --root-is-live")
    made = api.capture(args.out, host=args.host, root=args.root, units=args.unit, force=args.force)
    if args.json:
        say_json(_data(made))
    else:
        say(_text(made, verbose=bool(args.verbose)))
    return 0


def _data(made: Captured) -> dict[str, object]:
    return {
        "format": 1,
        "path": made.path,
        "host": made.host,
        "bytes": made.size,
        "files": made.files,
        "links": made.links,
        "answers": made.answers,
        "unreadable": dict(made.unreadable),
    }


def _text(made: Captured, *, verbose: bool) -> str:
    lines = [f"{made.path}: {made.files} files, {made.links} links, {made.answers} answers, {made.size // 1024} KiB"]
    if made.unreadable:
        from os import strerror

        hint = "" if verbose else " (-v names them)"
        lines.append(f"{len(made.unreadable)} could not be read{hint}: a plan says so of what they hold")
        lines += [f"  {path}: {strerror(code)}" for path, code in sorted(made.unreadable.items()) if verbose]
    return "\n".join(lines)
