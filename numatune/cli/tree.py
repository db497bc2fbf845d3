"""The command line as data, read off the argparse tree: what completion and the manual pages are made from."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

from numatune.cli.commands import COMMANDS
from numatune.cli.parser import grown


@dataclass(frozen=True, slots=True)
class Argument:
    """One option, or one positional.

    names    spellings of an option: ("-y", "--yes"); () for a positional
    metavar  what stands for its value in help; "" for an option without a value
    text     its line of help
    choices  words that its value may be; (): not listed
    many     a positional that takes several words, an option that may be given several times
    needed   whether it must be there
    group    title of the group of options that it stands in
    """

    names: tuple[str, ...]
    metavar: str
    text: str
    choices: tuple[str, ...] = ()
    many: bool = False
    needed: bool = False
    group: str = ""


@dataclass(frozen=True, slots=True)
class Command:
    """A command, or an action of one.

    words  as typed: ("profiles", "show"); () is numatune itself
    text   its line in the list of commands
    usage  the line of `--help`, on one line, without "usage:"
    """

    words: tuple[str, ...]
    text: str
    usage: str
    description: str
    epilog: str
    arguments: tuple[Argument, ...]
    actions: tuple[Command, ...] = ()

    @property
    def takes_a_command(self) -> bool:
        """Whether what follows the options is somebody else's command line."""
        return " CMD" in self.usage

    @property
    def options(self) -> tuple[Argument, ...]:
        """Arguments that have names."""
        return tuple(one for one in self.arguments if one.names)

    @property
    def positionals(self) -> tuple[Argument, ...]:
        """Arguments that are known by their place."""
        return tuple(one for one in self.arguments if not one.names)


def top() -> Command:
    """The program itself; its commands are not built."""
    return _command(grown(), (), "")


def command(name: str) -> Command:
    """One command with its actions. Raises KeyError when there is none of that name."""
    return _command(dict(_branches(grown(name)))[name], (name,), COMMANDS[name][1])


def _command(parser: argparse.ArgumentParser, words: tuple[str, ...], text: str) -> Command:
    return Command(
        words=words,
        text=text,
        usage=" ".join(parser.format_usage().removeprefix("usage: ").split()),
        description=parser.description or "",
        epilog=parser.epilog or "",
        arguments=tuple(_arguments(parser)),
        actions=tuple(_command(below, (*words, name), help_) for name, below, help_ in _actions(parser))
        if words
        else (),
    )


def _branches(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:  # noqa: SLF001  # argparse lists them nowhere else
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001  # it has no public name
            yield from action.choices.items()


def _actions(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser, str]]:
    told = {
        choice.dest: choice.help or ""
        for action in parser._actions  # noqa: SLF001  # as above
        if isinstance(action, argparse._SubParsersAction)  # noqa: SLF001  # as above
        for choice in action._choices_actions  # noqa: SLF001  # the only place of their help
    }
    for name, below in _branches(parser):
        yield name, below, told.get(name, "")


def _arguments(parser: argparse.ArgumentParser) -> Iterator[Argument]:
    for group in parser._action_groups:  # noqa: SLF001  # as above
        for action in group._group_actions:  # noqa: SLF001  # as above
            if not isinstance(action, argparse._SubParsersAction) and action.help != argparse.SUPPRESS:  # noqa: SLF001
                yield _argument(action, group.title or "")


def _argument(action: argparse.Action, group: str) -> Argument:
    names = tuple(action.option_strings)
    return Argument(
        names=names,
        metavar="" if names and action.nargs == 0 else _metavar(action),
        text=_text(action),
        choices=tuple(map(str, action.choices or ())),
        many=action.nargs in {"*", "+"} or type(action).__name__ in {"_AppendAction", "_ExtendAction"},
        needed=action.required and action.nargs not in {"*", "?"},
        group=group,
    )


def _metavar(action: argparse.Action) -> str:
    """As help shows it: `choices` stand for a metavar that there is not."""
    if isinstance(action.metavar, str):
        return action.metavar
    return "|".join(map(str, action.choices)) if action.choices else action.dest.upper()


def _text(action: argparse.Action) -> str:
    """The line of help with its %(default)s filled in, as argparse does."""
    known = {**vars(action), "default": action.default}
    return (action.help or "") % known
