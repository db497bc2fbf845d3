"""Runs every transcript in this folder: commands, and what a person sees.

A transcript is a YAML head, a line ``---``, and then commands with their output as on a terminal of 80 columns:

    tells: one sentence
    host: {nodes: 2}          arguments of the generated host
    tree: {path: text}        laid over it
    live: true                the host is a kernel that can be written; else it is the captured tree ./host
    read_only: [/proc/sys]    of a live host: what is on a read-only mount
    files: {two.yaml: text}   what lies in the working directory

``...`` stands for anything in a line, or alone on a line for any lines. ``[exit 2]`` follows what did not exit 0.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from fakes import transcripts

FILES = sorted(Path(__file__).parent.glob("*.txt"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_transcript(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head, _, body = file.read_text(encoding="utf-8").partition("\n---\n")
    transcripts.lay(yaml.safe_load(head), tmp_path, monkeypatch)
    for command, expected in transcripts.steps(body):
        assert command.split()[0] == transcripts.PROGRAM
        if difference := transcripts.difference(expected, transcripts.played(command)):
            pytest.fail(f"{file.name}: $ {command}\n{difference}", pytrace=False)
