"""The Ansible role on one host, from nothing to nothing: docs/molecule.md says what its steps show."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from lab.base import CHECKOUT

pytestmark = pytest.mark.lab


def test_scenario_default() -> None:
    # A make above this one would hand on its own jobs and variables.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    argv = ["/usr/bin/make", "--no-print-directory", "molecule", "SCENARIOS=default"]
    played = subprocess.run(argv, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False)
    assert played.returncode == 0, failure(played.stdout + played.stderr)


def failure(text: str) -> str:
    """From the first line that tells of a failure; all of it where there is none such."""
    found = re.search(r"^.*(?:= FAILURES =|= ERRORS =|fatal: \[|\bERROR\b).*", text, re.MULTILINE)
    return text[found.start() if found else 0 :]
