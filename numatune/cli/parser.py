"""The command line as parsers, of which only the branch that is asked for is built: start-up is part of the product."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

from numatune.cli.commands import COMMANDS, GROUPS, named
from numatune.cli.help import HelpFormatter
from numatune.cli.output import say
from numatune.compat import override

TYPE_CHECKING = False  # type checkers take the name for true; importing typing for it costs 5 ms

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn, TypeAlias

    Commands: TypeAlias = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001  # it has no public name

DEFAULTS: dict[str, object] = {"root": "/", "root_is_live": False, "json": False, "no_color": False, "verbose": False}
"""Of the common options: they stand before or after the command, and no default must undo what was given before it."""

_INTRO = "NUMA tuning for inference hosts: a profile says how a host should be."

EXAMPLES = """\
Examples
  numatune topology                       what is in this host, on which node
  numatune plan llm-inference             what that profile would change here
  sudo numatune apply llm-inference       make it so; shows it and asks first
  numatune drift                          has anything moved since?
  sudo numatune rollback                  give back what was there before
  numatune --root host.tar plan my.yaml   the plan for a captured host

Exit codes
  0 done or clean    1 a known error    2 differences remain    3 unexpected
  64 wrong command line    75 another run holds the lock    130 interrupted

numatune COMMAND --help tells more about one command."""


class Parser(argparse.ArgumentParser):
    """Raises UsageError instead of exiting, keeps examples as they are written, takes no abbreviated options.

    Its default `with_profile` is the command for who names a profile where none is taken.
    """

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", HelpFormatter)
        super().__init__(allow_abbrev=False, **options)

    @override
    def print_help(self, file: object = None) -> None:
        say(self.format_help().rstrip())

    @override
    def error(self, message: str) -> NoReturn:
        from numatune.errors import UsageError

        raise UsageError("", message, hint=f"{self.prog} --help")

    @override
    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse does it, but what is left over is told by the branch that could not use it."""
        found, left = super().parse_known_args(args, namespace)
        if left:
            from numatune.errors import UsageError

            hint = self._meant(left) or f"{self.prog} --help"
            raise UsageError("", f"unrecognized arguments: {' '.join(left)}", hint=hint)
        return found, left

    def _meant(self, left: Sequence[str]) -> str:
        """The hint for a profile that has to be named in another way here, "" where none is among what is left over."""
        from numatune.profile import lookup

        way = "--profile" if "--profile" in self._option_string_actions else self.get_default("with_profile")
        profile = next((word for word in left if lookup.names_one(word)), "")
        return f"did you mean {way} {profile}?" if way and profile else ""


class _TopParser(Parser):
    """Whose help comes from the table of commands, so that it needs none of their modules."""

    @override
    def format_help(self) -> str:
        width = max(map(len, COMMANDS))
        lines = [self.format_usage(), _INTRO, ""]
        for title, group in GROUPS.items():
            lines += [title, *(f"  {name:{width}}  {text}" for name, (_, text) in group.items()), ""]
        lines += ["Options, before or after the command"]
        lines += [f"  {', '.join(action.option_strings):20} {action.help}" for action in self._actions if action.help]
        return "\n".join([*lines, "", EXAMPLES, ""])


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The command line as a namespace whose `run` does the work. Raises UsageError; --help and --version exit."""
    top, common = _top()
    name = named(argv)
    if name is None:
        top.parse_args(argv)  # --help, --version, or an option that is wrong
        top.error(f"no command; there are {', '.join(COMMANDS)}")
    if name not in COMMANDS:
        top.error(f"no command {name!r}; {_suggestion(name)}")
    _grow(top, common, name)
    return top.parse_args(argv, argparse.Namespace(**DEFAULTS))


def grown(*names: str) -> argparse.ArgumentParser:
    """The parser with these commands' branches, for what describes the command line: completion, manual pages."""
    top, common = _top()
    _grow(top, common, *names)
    return top


def _top() -> tuple[_TopParser, argparse.ArgumentParser]:
    common = _common_options()
    top = _TopParser(
        prog="numatune",
        parents=[common],
        usage="numatune [--root DIR|TAR [--root-is-live]] [--json] [--no-color] [-v]\n                COMMAND ...",
    )
    top.add_argument("--version", action="version", version=_version(), help="print the version and exit")
    return top, common


def _grow(top: argparse.ArgumentParser, common: argparse.ArgumentParser, *names: str) -> None:
    commands = top.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser, prog="numatune")
    for module in dict.fromkeys(COMMANDS[name][0] for name in names):
        import_module(f"numatune.cli.{module}").add(commands, common)


def _common_options() -> argparse.ArgumentParser:
    common = Parser(add_help=False, argument_default=argparse.SUPPRESS)
    group = common.add_argument_group("common options")
    group.add_argument("--root", metavar="DIR|TAR", help="look at this captured tree instead of this host")
    group.add_argument(
        "--root-is-live", action="store_true", help="--root is the tree of a live host, which can change"
    )
    group.add_argument("--json", action="store_true", help="print JSON")
    group.add_argument("--no-color", action="store_true", help="print without colour, as does NO_COLOR=1")
    group.add_argument("-v", "--verbose", action="store_true", help="tell more: every row, also what is as wanted")
    return common


def _suggestion(name: str) -> str:
    from numatune.errors import did_you_mean

    return did_you_mean(name, COMMANDS) or f"there are {', '.join(COMMANDS)}"


def _version() -> str:
    from numatune import __version__

    return f"numatune {__version__} on Python {sys.version.split()[0]}"
