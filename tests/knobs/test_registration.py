"""Knobs are found by name, and imported when their section is asked for."""

from __future__ import annotations

import subprocess
import sys

from numatune.knobs import SECTIONS, knobs


def test_a_section_is_called_as_its_module() -> None:
    assert [knob.name for knob in knobs()] == list(SECTIONS)


def test_a_profile_pays_for_the_sections_that_it_has() -> None:
    ask = "import sys; from numatune.knobs import knobs; list(knobs({'sysctl': 1})); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-c", ask], capture_output=True, text=True, check=True)
    loaded = {name.rpartition(".")[2] for name in done.stdout.split() if name.startswith("numatune.knobs.")}
    assert loaded & set(SECTIONS) == {"sysctl"}
