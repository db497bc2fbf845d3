"""``numatune completion``: scripts by which shells complete command lines of numatune.

A script asks numatune itself for what can stand at the cursor, so all shells know the same, and it never gets old.
"""

from __future__ import annotations

import argparse

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.cli.candidates import Answer
    from numatune.cli.parser import Commands

SHELLS = {"bash": "numatune.bash", "zsh": "_numatune", "fish": "numatune.fish"}
"""Script in cli/shells, by shell."""

_EXAMPLES = """\
Examples
  source <(numatune completion bash)
      in this shell; in ~/.bashrc for every one
  sudo sh -c 'numatune completion bash > /etc/bash_completion.d/numatune'
      for everybody, where the package bash-completion is installed
  source <(numatune completion zsh)
      in ~/.zshrc, below compinit
  numatune completion fish > ~/.config/fish/completions/numatune.fish
      for fish

Commands, options and their words are completed, profiles, runs, settings that
are applied, sections, kernel parameters, and files where files are wanted."""


def add(commands: Commands, common: argparse.ArgumentParser) -> None:
    """Register the parser."""
    parser = commands.add_parser(
        "completion",
        parents=[common],
        usage="numatune completion [-h] {bash,zsh,fish}",
        description="Print a script by which a shell completes command lines of numatune.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))
    parser.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)  # what the script asks
    parser.add_argument("--line", help=argparse.SUPPRESS)  # the same as one line, as bash has it
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the script, or answer one."""
    from numatune.cli.output import say

    if args.line is None and not args.words:
        from importlib.resources import files

        say(files("numatune.cli").joinpath("shells", SHELLS[args.shell]).read_text(encoding="utf-8").rstrip("\n"))
        return 0
    from numatune.cli import candidates, values

    words = args.words[1:] if args.words[:1] == ["--"] else args.words
    typed = words if args.line is None else candidates.split(args.line)
    for line in _lines(candidates.answer(typed or [""], values.known), typed[-1] if typed else ""):
        say(line)
    return 0


def _lines(answer: Answer, word: str) -> list[str]:
    """What the scripts read: the kind, what stands before a file, the word as it is; then a word and its meaning."""
    head = f"{answer.kind}\t{answer.begin}\t{word}"
    return [head, *(f"{text}\t{' '.join(told.split())}" for text, told in answer.words)]
