"""What the files that persist hang on, of a host and of numatune's own place on it."""

from __future__ import annotations

from dataclasses import dataclass

OURS = "# Written by numatune, taken away by numatune rollback or numatune apply --no-persist."
"""The first line of every file that numatune itself writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Plain facts, found by whoever asks for the export.

    program      the argv by which a boot calls numatune
    environment  variables that it needs to find its state
    systemd      it is process 1
    sysctl_d, tmpfiles_d  whether anything reads them at boot
    forgets      why what is written to /etc is gone after a reboot; "" where it stays
    hooks        folders whose scripts a service that runs here calls when a link comes up, with that service's name
    checks       the program has a check that tells what has moved, and puts it back within limits
    ours         the first line of every file
    """

    program: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()
    systemd: bool = True
    sysctl_d: bool = True
    tmpfiles_d: bool = True
    forgets: str = ""
    hooks: tuple[tuple[str, str], ...] = ()
    checks: bool = True
    ours: str = OURS
