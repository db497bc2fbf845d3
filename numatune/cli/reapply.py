"""``numatune reapply``: the host as its applied set says, once more. What a boot and a driver's return call."""

from __future__ import annotations

import argparse

from numatune.cli import options
from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.cli.parser import Commands
    from numatune.settings.drift import Drift

_EXAMPLES = """\
Examples
  sudo numatune reapply             make it so once more
  sudo numatune reapply --only irq  interrupts alone: a driver was bound again
  numatune reapply --boot           what numatune-boot.service calls

No profile is read: what was applied is stored with every value, and is worked
out anew only where the host's nodes, CPUs, devices or kernel have changed.
It is no run of its own: what was there before the apply stays what rollback
gives back. What is held (numatune hold) is left alone. numatune drift
--repair does the same for what somebody moved, three times a day at most.

Exit codes: 0 the host is as wanted, 2 differences remain (with --boot: 0),
1 nothing is applied here, 75 another run holds the lock."""


def add(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Register the parser."""
    parser = commands.add_parser(
        "reapply",
        parents=[common],
        description="Make this host as its applied set says, once more: after a reboot, or when a device is back.",
        epilog=_EXAMPLES,
    )
    parser.add_argument(
        "--only", action="extend", type=options.names, default=[], metavar="SECTION,...", help="these sections alone"
    )
    parser.add_argument(
        "--boot", action="store_true", help="at boot: nothing runs yet that would be disrupted; differences are logged"
    )
    options.add_differences_ok(parser)
    options.add_wait(parser)
    parser.set_defaults(run=run, with_profile="numatune apply")


def run(args: argparse.Namespace) -> int:
    """Reapply, and print what was put back and what still differs."""
    from numatune import api

    host = api.open_host(args.root, live=args.root_is_live)
    if not (args.json or args.verbose) and api.clean(host):
        return 0
    found = api.reapply(host, only=tuple(args.only), boot=args.boot, wait=args.wait)
    _print(found, args)
    if args.boot and found.counted:
        _log(found)
        return 0
    return options.exit_code(found.counted, args)


def _log(found: Drift) -> None:
    """Nobody reads the exit code of a boot: what differs goes to the log."""
    from numatune.api import log

    differing = [row.change.setting.id for row in found.rows if row.counted]
    log.line(f"at boot {len(differing)} settings are not as applied: {', '.join(differing)}")


def _print(found: Drift, args: argparse.Namespace) -> None:
    from numatune.cli.output import remark, say, say_json

    if args.json:
        from numatune.views import drift_json

        say_json(drift_json.drift(found))
        return
    from numatune.cli.terminal import style
    from numatune.views import drift_text

    for note in drift_text.notes(found):
        remark(f"numatune: {note}")
    if text := drift_text.drift(found, style(args), verbose=args.verbose):
        say(text)
