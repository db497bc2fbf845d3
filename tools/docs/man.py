"""Manual pages: one for numatune, one for each command, one for the profile language.

One for each command, because a page says what its ``--help`` says, and options of one name differ between commands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from numatune import __version__
from numatune.cli.commands import GROUPS
from numatune.cli.parser import EXAMPLES
from numatune.cli.tree import Argument, Command
from numatune.knobs import knobs
from numatune.knobs.keys import keys
from tools.docs.roff import literal, markdown, plain

_DATE: Final = "2026-11-30"
"""Of the release; a page that is made again is the same page."""

_FILES: Final = {
    "/etc/numatune/profiles": "profiles that can be named, looked up before the shipped ones",
    "/etc/numatune/launch": "how numatune run places what it starts; written by apply",
    "/var/lib/numatune": "the applied set and a journal of each run; what a rollback needs",
    "/run/numatune/lock": "held by whoever changes the host",
}
_ENVIRONMENT: Final = {
    "NUMATUNE_STATE_DIR": "another folder instead of /var/lib/numatune",
    "NUMATUNE_PROFILES_DIR": "another folder instead of /etc/numatune/profiles",
    "NO_COLOR": "print without colour",
}
_STATUS: Final = {
    "0": "done, or clean",
    "1": "a known error: one message, with a hint",
    "2": "differences remain",
    "3": "unexpected; the trace is in a file that is named",
    "64": "the command line is wrong",
    "75": "another run holds the lock",
    "130": "interrupted",
}
_TITLES: Final = {"options": "OPTIONS", "positional arguments": "ARGUMENTS"}


def of_command(command: Command) -> str:
    """numatune-COMMAND(1)."""
    name = f"numatune-{command.words[0]}"
    lines = [*_head(name, 1), ".SH NAME", f"{plain(name)} \\- {plain(command.text)}", ".SH SYNOPSIS"]
    lines += [".B numatune", plain(_synopsis(command))]
    for action in command.actions:
        lines += [".br", ".B numatune", plain(_synopsis(action))]
    lines += [".SH DESCRIPTION", plain(command.description), *_arguments(command.arguments)]
    for action in command.actions:
        lines += [f".SH {plain(' '.join(action.words).upper())}", plain(action.description)]
        own = (one for one in action.arguments if one.group != "common options" and "--help" not in one.names)
        lines += [line for one in own for line in _argument(one)]
    return _page([*lines, *_epilog(command.epilog), *_see("numatune(1)", "numatune-profile(5)")])


def of_all(top: Command) -> str:
    """numatune(1)."""
    lines = [*_head("numatune", 1), ".SH NAME", "numatune \\- NUMA tuning for inference hosts", ".SH SYNOPSIS"]
    lines += [".B numatune", plain(top.usage.removeprefix("numatune ")), ".SH DESCRIPTION"]
    lines += [
        "A profile says how a host should be: kernel parameters, huge pages, interrupts, cpusets, where shared memory",
        "lies, and how servers are started. numatune works out what that means on this host, shows the difference,",
        "makes it so, proves it, keeps it so, and takes it back.",
    ]
    lines.append(".SH COMMANDS")
    for title, group in GROUPS.items():
        lines.append(f".SS {plain(title)}")
        for name, (_, text) in group.items():
            lines += [".TP", f".BR {plain(f'numatune-{name}')} (1)", plain(text)]
    lines += list(_arguments(top.arguments))
    for heading, rows in {"EXIT STATUS": _STATUS, "FILES": _FILES, "ENVIRONMENT": _ENVIRONMENT}.items():
        lines.append(f".SH {heading}")
        lines += [line for name, text in rows.items() for line in (".TP", f".B {plain(name)}", plain(text))]
    return _page([*lines, *_epilog(EXAMPLES.partition("\n\nExit codes")[0]), *_see("numatune-profile(5)")])


def of_profiles(language: str) -> str:
    """numatune-profile(5), of docs/profiles.md and what the knobs take."""
    lines = [*_head("numatune-profile", 5), ".SH NAME", "numatune\\-profile \\- how a host should be, as YAML"]
    lines += [".SH DESCRIPTION", *markdown(language), ".SH KEYS"]
    for knob in knobs():
        for key in keys(knob):
            told = f"{key.facts.about} ({key.accepts})"
            lines += [".TP", f".B {plain(key.name)}", plain(told)]
    return _page([*lines, *_see("numatune(1)", "numatune-profiles(1)", "numatune-explain(1)")])


def _head(name: str, section: int) -> Iterator[str]:
    yield '.\\" Made by `make docs`: change the command or docs/profiles.md instead.'
    yield f'.TH {plain(name.upper())} {section} {_DATE} "numatune {__version__}" "numatune"'
    yield from (".nh", ".ad l")


def _synopsis(command: Command) -> str:
    """The line of ``--help``, without the options that all commands have."""
    usage = command.usage.removeprefix("numatune ")
    return re.sub(r" \[-h\] \[--root DIR\|TAR\] \[--root-is-live\] \[--json\] \[--no-color\] \[-v\]", "", usage)


def _arguments(arguments: Iterable[Argument]) -> Iterator[str]:
    """By group, those that all commands have last."""
    found = list(arguments)
    groups = dict.fromkeys(one.group for one in found)
    for group in sorted(groups, key=lambda title: (title == "common options", [*groups].index(title))):
        shown = [one for one in found if one.group == group]
        yield f".SH {plain(_TITLES.get(group, group.upper()))}"
        yield from (line for one in shown for line in _argument(one))


def _argument(one: Argument) -> Iterator[str]:
    value = f" \\fI{plain(one.metavar)}\\fR" if one.metavar else ""
    spelled = ", ".join(f"\\fB{plain(name)}\\fR" for name in one.names) + value if one.names else value.strip()
    listed = f"; {', '.join(one.choices)}" if one.choices and one.text != ", ".join(one.choices) else ""
    yield from (".TP", spelled, plain(f"{one.text}{listed}") or "\\&")


def _epilog(text: str) -> Iterator[str]:
    """Blocks of it: a title with lines below it stays as it is written, the rest is text."""
    notes = []
    for block in filter(None, text.split("\n\n")):
        title, *below = block.split("\n")
        if below and all(line.startswith("  ") for line in below):
            yield f".SH {plain(title.upper())}"
            yield from literal([line.removeprefix("  ") for line in below])
        elif block.startswith("Exit codes:"):
            yield from (".SH EXIT STATUS", plain(" ".join(block.removeprefix("Exit codes: ").split())))
        else:
            notes.append(" ".join(block.split()))
    for number, note in enumerate(notes):
        yield from (".SH NOTES" if number == 0 else ".PP", plain(note))


def _see(*pages: str) -> Iterator[str]:
    yield ".SH SEE ALSO"
    for number, page in enumerate(pages):
        name, _, section = page.rstrip(")").partition("(")
        yield f".BR {plain(name)} ({section})" + ("," if number + 1 < len(pages) else "")


def _page(lines: Iterable[str]) -> str:
    """A heading begins a paragraph by itself."""
    kept: list[str] = []
    for line in lines:
        if not (line == ".PP" and kept[-1].startswith((".SH", ".SS"))):
            kept.append(line)
    return "\n".join(kept) + "\n"
