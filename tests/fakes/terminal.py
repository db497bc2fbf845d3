"""Shells at a terminal: a line is typed, a key is pressed, and the shell tells what its line is then."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

_KEY = b"\x0f"
"""Tells the line; each shell binds it to a word that prints what it holds between the marks."""
_EMPTY = b"\x15"
_FROM, _TO = "\x02", "\x03"
_PATIENCE = 60.0

BASH = r"""
PS1='ready>' PS2=
source <(numatune completion bash)
bind 'set completion-query-items 0' 'set page-completions off' 'set bell-style none' 'set enable-bracketed-paste off'
bind '"\C-t": insert-completions'
bind -x '"\C-o": printf "\x02%s\x03" "$READLINE_LINE"'
"""
ZSH = r"""
PS1='ready>' RPS1= PS2=
unsetopt prompt_cr prompt_sp beep
autoload -Uz compinit && compinit -u -D
source <(numatune completion zsh)
zstyle ':completion:all-matches::::' completer _all_matches _complete
zstyle ':completion:all-matches:*' insert yes
zle -C all-matches complete-word _generic
tell() { printf '\x02%s\x03' "$BUFFER"; }
zle -N tell
bindkey '^I' complete-word '^T' all-matches '^O' tell
"""
FISH = "numatune completion fish | source; complete -C $argv[1]"
SHELLS: Mapping[str, tuple[str, Sequence[str]]] = {
    "bash": (BASH, ("bash", "--noprofile", "--rcfile", "{rc}", "-i")),
    "zsh": (ZSH, ("zsh", "-i")),
}


class Shell:
    """A shell in a folder, which is asked about one line after the other."""

    def __init__(self, name: str, folder: Path, env: Mapping[str, str]) -> None:
        self._name, self._folder, self._env = name, folder, env
        self._terminal = -1

    def __enter__(self) -> Self:
        if self._name == "fish":
            return self
        script, words = SHELLS[self._name]
        rc = self._folder / (".zshrc" if self._name == "zsh" else ".rc")
        rc.write_text(script, encoding="utf-8")
        self._terminal, theirs = pty.openpty()
        env = {**self._env, "ZDOTDIR": str(self._folder), "TERM": "dumb", "COLUMNS": "400", "LINES": "200"}
        argv = [word.format(rc=rc) for word in words]
        streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
        self._process = subprocess.Popen(argv, **streams, start_new_session=True, cwd=self._folder, env=env)
        os.close(theirs)
        self._until("ready>")
        return self

    def __exit__(self, *_: object) -> None:
        if self._name != "fish":
            self._process.kill()
            self._process.wait()
            os.close(self._terminal)

    def typed(self, line: str) -> str:
        """What is in the line after a tab at its end."""
        return self._pressed(line, b"\t")

    def candidates(self, line: str) -> list[str]:
        """All words that the shell would put in place of the last one."""
        if self._name == "fish":
            argv = ["fish", "--no-config", "-c", FISH, line]
            ran = subprocess.run(argv, capture_output=True, text=True, env=self._env, cwd=self._folder, check=True)
            return [found.partition("\t")[0] for found in ran.stdout.splitlines()]
        after = self._pressed(line, b"\x14")
        return [] if after == line else after.removeprefix(line.rpartition(" ")[0]).split()

    def _pressed(self, line: str, key: bytes) -> str:
        os.write(self._terminal, _EMPTY + line.encode() + key + _KEY)
        return self._until(_TO).rpartition(_FROM)[2].removesuffix(_TO)

    def _until(self, end: str) -> str:
        """What the shell prints up to there."""
        seen, stop = "", time.monotonic() + _PATIENCE
        while end not in seen:
            ready, _, _ = select.select([self._terminal], [], [], max(0.0, stop - time.monotonic()))
            assert ready, f"no {end!r} in {seen!r}"
            seen += os.read(self._terminal, 1 << 16).decode(errors="replace")
        return seen[: seen.index(end) + len(end)]
