"""Options that several commands share, and what they mean."""

from __future__ import annotations

import argparse

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.api.planning import Request

DIFFERENCES = 2
"""Exit code: done, and differences remain."""

SYMBOLS = """\
Symbols
  ~ change              ! differs and stays so      ✓ as wanted
  + create              ≈ clamped by the kernel     … in force later
  - delete              ✗ denied, failed, unmet          · the kernel owns it
  ↻ restart, reboot     ? not on this kernel        ○ does not apply here
  ↩ give back"""


def add_profiles(parser: argparse.ArgumentParser, *, needed: bool = True) -> None:
    """``P... --var NAME=VALUE``."""
    parser.add_argument(
        "profiles",
        nargs="+" if needed else "*",
        metavar="PROFILE",
        help="a path, or a name in /etc/numatune/profiles or among the shipped; later ones win",
    )
    add_variables(parser)


def add_launch_profile(parser: argparse._ActionsContainer) -> None:
    """``--profile PROFILE``, of commands that ask where workers belong."""
    parser.add_argument(
        "--profile",
        action="append",
        default=[],
        metavar="PROFILE",
        help="take `launch:` of this profile, instead of what is applied here",
    )


def add_variables(parser: argparse.ArgumentParser) -> None:
    """``--var NAME=VALUE``."""
    parser.add_argument(
        "--var", action="append", default=[], metavar="NAME=VALUE", help="set a variable of the profile"
    )


def add_sections(parser: argparse.ArgumentParser) -> None:
    """``--only --skip SECTION,...``."""
    for option, text in (("--only", "these sections alone"), ("--skip", "all sections but these")):
        parser.add_argument(option, action="extend", type=names, default=[], metavar="SECTION,...", help=text)


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Which sections of the profile, and what of them is let through."""
    add_sections(parser)
    add_leaves(parser)
    parser.add_argument(
        "--retry", action="store_true", help="try again what an earlier apply learned to be out of reach"
    )


def add_leaves(parser: argparse.ArgumentParser) -> None:
    """``--allow-disruption --allow-unsafe ID --allow-debugfs``: what is let through."""
    parser.add_argument(
        "--allow-disruption", action="store_true", help="let in what stalls, cuts or kills running work"
    )
    parser.add_argument(
        "--allow-unsafe", action="append", default=[], metavar="ID", help="write this setting beyond its guard rail"
    )
    parser.add_argument(
        "--allow-debugfs",
        action="append_const",
        dest="allow_unsafe",
        const="debugfs",
        help="write what lies in debugfs, where the kernel checks nothing",
    )


def add_differences_ok(parser: argparse.ArgumentParser) -> None:
    """``--differences-ok``."""
    parser.add_argument("--differences-ok", action="store_true", help="exit 0 also when differences remain (not 2)")


def add_consent(parser: argparse.ArgumentParser) -> None:
    """``--yes --wait SECONDS``, of commands that change the host."""
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask; needed where nobody can answer")
    add_wait(parser)


def add_wait(parser: argparse.ArgumentParser) -> None:
    """``--wait SECONDS``, of commands that take the host's lock."""
    parser.add_argument(
        "--wait", type=seconds, default=60.0, metavar="SECONDS", help="for another run to end (default: 60)"
    )


def need_consent(args: argparse.Namespace) -> None:
    """Raises UsageError when --yes is missing and nobody is there to ask."""
    from numatune.cli.terminal import interactive
    from numatune.errors import UsageError

    if not args.yes and (args.json or not interactive()):
        hint = "--check shows what would be done" if "check" in args else ""
        raise UsageError("--yes", "is needed where nobody can be asked", hint=hint)


def names(text: str) -> list[str]:
    """``a,b`` as a list."""
    return [name.strip() for name in text.split(",") if name.strip()]


def add_applied_set(parser: argparse.ArgumentParser) -> None:
    """``--add --keep-released --persist``: what becomes of the profiles that are applied already, and of these."""
    parser.add_argument(
        "--add", action="store_true", help="add the profiles to the applied ones, instead of taking their place"
    )
    parser.add_argument(
        "--keep-released", action="store_true", help="leave what the profiles no longer want, instead of giving it back"
    )
    parser.add_argument(
        "--persist",
        action=argparse.BooleanOptionalAction,
        help="write what makes the set survive a reboot, or take that away (default: as the last apply chose)",
    )


def request(args: argparse.Namespace) -> Request:
    """What the options above ask for. Raises UsageError for a --var without a name or a value."""
    from numatune.api.planning import Request

    return Request(
        profiles=tuple(args.profiles),
        variables=variables(args.var),
        only=tuple(args.only),
        skip=tuple(args.skip),
        allow_disruption=args.allow_disruption,
        allow_unsafe=frozenset(args.allow_unsafe),
        retry=args.retry,
        add=args.add,
        keep_released=args.keep_released,
        on_error=getattr(args, "on_error", None),
        on_unmet=getattr(args, "on_unmet", None),
        persist=args.persist,
    )


def variables(pairs: list[str]) -> dict[str, str]:
    """``["a=1"]`` as a mapping."""
    made = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not (name and equals):
            from numatune.errors import UsageError

            raise UsageError("--var", f"{pair!r} sets nothing", accepted="NAME=VALUE")
        made[name] = value
    return made


def again(args: argparse.Namespace) -> str:
    """The words after ``numatune apply`` that ask for the same once more."""
    import shlex

    where = ["--root", args.root, "--root-is-live"] if args.root_is_live else []
    return shlex.join([*asked(args), *where])


def asked(args: argparse.Namespace) -> list[str]:
    """The words that say what is wanted."""
    words = list(args.profiles)
    for pair in args.var:
        words += ["--var", pair]
    for option, sections in (("--only", args.only), ("--skip", args.skip)):
        words += [option, ",".join(sections)] if sections else []
    words += ["--allow-disruption"] if args.allow_disruption else []
    for setting in args.allow_unsafe:
        words += ["--allow-debugfs"] if setting == "debugfs" else ["--allow-unsafe", setting]
    for option in ("retry", "add", "keep_released"):
        words += [f"--{option.replace('_', '-')}"] if getattr(args, option) else []
    if args.persist is not None:
        words += ["--persist" if args.persist else "--no-persist"]
    return words


def seconds(text: str) -> float:
    """How long to wait, for argparse."""
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not found >= 0:  # nor NaN, which is no time to wait for
        raise argparse.ArgumentTypeError(f"{text!r} is no time to wait; accepted: seconds, 0 or more")
    return found


def count(text: str) -> int:
    """A number of things, for argparse."""
    if not (text.isascii() and text.isdigit() and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of them; accepted: 1, 2, ...")
    return int(text)


def duration(text: str) -> int:
    """Seconds of ``10m``, for argparse."""
    from numatune.engine import when

    try:
        return when.seconds(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def exit_code(differences: int, args: argparse.Namespace) -> int:
    """0 when clean or when differences are all right, else 2."""
    return DIFFERENCES if differences and not args.differences_ok else 0
