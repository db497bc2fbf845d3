"""The page on the shipped profiles says what they say, and each of them tells what a reader must know."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from numatune.profile.lookup import shipped_folder
from numatune.profile.reader import read

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "shipped-profiles.md"
FILES = sorted(Path(shipped_folder()).glob("*.yaml"))
MADE: dict[str, Any] = runpy.run_path(str(HERE / "shipped_page.py"))


def test_the_page_is_what_the_profiles_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == MADE["page"](), "python tests/profile/shipped_page.py writes it anew"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_profile_tells_for_whom_it_is_what_is_left_out_and_where_vendors_disagree(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert list(MADE["paragraph"](text))
    assert list(MADE["items"](text, "Left out on purpose"))
    assert list(MADE["items"](text, "Disagreements")) or path.stem == "kernel-defaults"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_value_has_its_reason(path: Path) -> None:
    """But for what goes with a value that has one: a sibling of the same section, or a rule's repetition."""
    tree, problems = read(path.read_text(encoding="utf-8"), path.name)
    assert problems == ()
    sections = {key: entry.node for key, entry in tree.entries.items() if key not in MADE["OWN_KEYS"]}
    told = {key: [one.why for one in MADE["lines"](key, node, ())] for key, node in sections.items()}
    silent = {key for key, whys in told.items() if not any(whys)}
    assert silent <= {"expect" if path.stem == "amd-instinct-apu" else "", "cpufreq" if path.stem in TAKES_AWAY else ""}


SOURCE = re.compile(
    r"#\d|\b(mm|kernel|Documentation|admin-guide)/|\bcommit [0-9a-f]{12}\b|\bCONFIG_"
    r"|\b(guides?|profiles?|images?|documentation|scripts|patches|write-up|release notes)\b"
    r"|TuneD|SAP|OpenShift|DGX OS|Aerial|NVIDIA AI Enterprise|\bderived\b"
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_reason_names_its_source_or_says_that_it_is_our_own(path: Path) -> None:
    """A short name, a file of the kernel, a change of somebody's, or "derived"."""
    tree, _ = read(path.read_text(encoding="utf-8"), path.name)
    sections = {key: entry.node for key, entry in tree.entries.items() if key not in MADE["OWN_KEYS"]}
    told = {one.name: one.why for key, node in sections.items() for one in MADE["lines"](key, node, ()) if one.why}
    assert [f"{name}: {why}" for name, why in told.items() if not SOURCE.search(why)] == []


@pytest.mark.parametrize(
    "why", ["It is faster so", "As for NICs", "Off since Linux 3.16", "The default of Ubuntu 24.04"]
)
def test_a_reason_alone_is_no_source(why: str) -> None:
    assert not SOURCE.search(why)


TAKES_AWAY = {"vm-guest", "amd-instinct-apu"}  # what the profile below them sets
