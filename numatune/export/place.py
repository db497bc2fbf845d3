"""What the files that persist hang on, of a host and of numatune's own place on it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Plain facts, found by whoever asks for the export.

    program      the argv by which a boot calls numatune
    environment  variables that it needs to find its state
    systemd      it is process 1
    sysctl_d, tmpfiles_d  whether anything reads them at boot
    forgets      why what is written to /etc is gone after a reboot; "" where it stays
    hooks        folders whose scripts a service that runs here calls when a link comes up, with that service's name
    """

    program: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()
    systemd: bool = True
    sysctl_d: bool = True
    tmpfiles_d: bool = True
    forgets: str = ""
    hooks: tuple[tuple[str, str], ...] = ()


OURS = "# Written by numatune, taken away by numatune rollback or numatune apply --no-persist."
"""The first line of every file."""
