"""The host after it was taken back: nothing of numatune is there, and everything is as it was found."""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from testinfra.host import Host

testinfra_hosts = ["ansible://all"]

NOTED = Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"])


def noted(host: Host, when: str) -> list[str]:
    return (NOTED / f"{host.backend.get_hostname()}.{when}").read_text(encoding="utf-8").splitlines()


def test_values_and_files_are_as_they_were(host: Host) -> None:
    compared = difflib.unified_diff(noted(host, "before"), noted(host, "after"), n=0, lineterm="")
    moved = [line for line in compared if not line.startswith(("---", "+++", "@@"))]
    assert not moved, "\n".join(moved)


def test_no_unit_of_numatune_is_known(host: Host) -> None:
    assert host.check_output("systemctl list-units --all --plain --no-legend 'numatune*'") == ""
    assert host.run("command -v numatune").rc != 0
