"""Every command there is: group -> name -> (module of this package, one line of help).

The line of help is here and not in the module, so that ``numatune --help`` imports none of them.
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers take the name for true; importing typing for it costs 5 ms

if TYPE_CHECKING:
    from collections.abc import Sequence

GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "Look (changes nothing, needs no root)": {
        "topology": ("topology", "what this host is made of: nodes, CPUs, devices, interrupts"),
        "profiles": ("profiles", "which profiles there are; show, check and describe them"),
        "plan": ("plan", "what a profile would change here"),
        "drift": ("drift", "what has moved since the last apply, or differs from a profile"),
        "check": ("check", "the drift check for cron: quiet when clean, one at a time"),
        "verify": ("verify", "a second opinion: test the host against the wanted values"),
        "explain": ("explain", "what a setting is, why it is wanted, what it holds here"),
        "export": ("export", "a profile as plain files, a script or a playbook"),
        "compare": ("compare", "where two hosts, or captures of them, differ"),
        "history": ("history", "the runs that changed this host"),
        "capture": ("capture", "this host or another as a file, for --root"),
    },
    "Launch (needs no root)": {
        "run": ("run", "start a command where it belongs"),
        "place": ("place", "where all ranks of a host belong, and why"),
        "ps": ("ps", "where what was started really is"),
        "export-launch": ("export_launch", "the same for docker, systemd, Slurm and others"),
        "shm": ("shm", "shared memory: its policy, and where its pages are"),
    },
    "Change (needs root)": {
        "apply": ("apply", "make the host as a profile says, keeping the originals"),
        "reapply": ("reapply", "make the host as it was applied, once more"),
        "confirm": ("confirm", "keep what apply --confirm-within would take back"),
        "rollback": ("rollback", "give back what was there before"),
        "hold": ("hold", "leave settings as they are for a while"),
        "unhold": ("hold", "end a hold"),
    },
    "Help": {
        "completion": ("completion", "a script by which a shell completes command lines"),
    },
}

COMMANDS: dict[str, tuple[str, str]] = {name: entry for group in GROUPS.values() for name, entry in group.items()}


def named(argv: Sequence[str]) -> str | None:
    """The first word that is no common option, nor the value of one: the command."""
    words = iter(argv)
    for word in words:
        if word == "--root":
            next(words, None)
        elif not word.startswith("-"):
            return word
    return None
