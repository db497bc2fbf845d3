"""``numatune hold`` and ``numatune unhold``: leave settings as they are for a while."""

from __future__ import annotations

import argparse

from numatune.cli import options
from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numatune.cli.parser import Commands
    from numatune.settings.applied import Hold

_HOLD = """\
Examples
  numatune hold
      what is held, by whom, until when
  sudo numatune hold sysctl:vm.swappiness --for 4h --why "a lower value"
      one setting
  sudo numatune hold 'irq:0000:41:00.0/*' --for 2d
      all that a glob names
  sudo numatune hold --all --for 90m --why "firmware update"
      everything, also what a later apply brings

While a setting is held, drift and verify show it without counting it, drift
--repair does not put it back, and apply leaves it alone. Durations: 90s, 10m,
4h, 2d."""

_UNHOLD = """\
Examples
  sudo numatune unhold sysctl:vm.swappiness
  sudo numatune unhold --all"""


def add(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Register both parsers."""
    hold = commands.add_parser(
        "hold", parents=[common], description="Leave settings as they are for a while; alone: list.", epilog=_HOLD
    )
    hold.add_argument("ids", nargs="*", metavar="ID", help="a setting of the applied set, or a glob over such")
    hold.add_argument("--all", action="store_true", help="every setting, also those that a later apply brings")
    hold.add_argument(
        "--for", dest="duration", type=options.duration, metavar="DURATION", help="how long: 90s, 10m, 4h, 2d"
    )
    hold.add_argument("--why", default="", metavar="TEXT", help="a reason, shown with the held rows")
    options.add_wait(hold)
    hold.set_defaults(run=run)
    unhold = commands.add_parser("unhold", parents=[common], description="End holds.", epilog=_UNHOLD)
    unhold.add_argument("ids", nargs="*", metavar="ID", help="a held setting, or a glob over such")
    unhold.add_argument("--all", action="store_true", help="every hold")
    options.add_wait(unhold)
    unhold.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """List, hold, or end holds."""
    if args.command == "unhold":
        return _unhold(args)
    if args.ids or args.all:
        return _hold(args)
    return _list(args)


def _hold(args: argparse.Namespace) -> int:
    from numatune import api
    from numatune.errors import UsageError

    _one_of(args)
    if args.duration is None:
        raise UsageError("--for", "is missing", accepted="a duration: 90s, 10m, 4h, 2d")
    host = api.open_host(args.root, live=args.root_is_live)
    made = api.hold(host, args.ids, args.duration, every=args.all, why=args.why, wait=args.wait)
    _show(made, args)
    return 0


def _unhold(args: argparse.Namespace) -> int:
    from numatune import api
    from numatune.errors import UsageError

    _one_of(args)
    if not (args.ids or args.all):
        raise UsageError("", "which hold?", accepted="IDs, or --all", hint="`numatune hold` lists them")
    host = api.open_host(args.root, live=args.root_is_live)
    _show(api.unhold(host, args.ids, every=args.all, wait=args.wait), args, ended=True)
    return 0


def _list(args: argparse.Namespace) -> int:
    from numatune import api
    from numatune.errors import UsageError

    if args.duration is not None or args.why:
        raise UsageError("", "which setting?", accepted="IDs, or --all")
    _show(api.holds(api.open_reader(args.root, live=args.root_is_live)), args)
    return 0


def _show(holds: Sequence[Hold], args: argparse.Namespace, *, ended: bool = False) -> None:
    from numatune.cli.output import say, say_json
    from numatune.views import holds as view

    if args.json:
        say_json(view.as_json(holds, ended=ended))
    else:
        say(view.as_text(holds, ended=ended))


def _one_of(args: argparse.Namespace) -> None:
    if args.ids and args.all:
        from numatune.errors import UsageError

        raise UsageError("--all", "and IDs at once", accepted="one of them")
