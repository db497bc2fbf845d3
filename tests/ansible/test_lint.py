"""Ansible's own tools on the role and the examples."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import debian
import playing
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playing import Host

EXAMPLES = "docs/examples/fleet"
BOOKS = ("tune", "untune", "reboot")


@pytest.fixture(scope="module")
def controller(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    with playing.host([root], tmp_path_factory.mktemp("controller")) as host:
        yield host


def call(host: Host, venv: str, *words: str) -> str:
    """Run a program of a virtual environment in the checkout."""
    path = f"PATH=/opt/{venv}/bin:/usr/bin:/bin"
    return host.guest.run("env", "--chdir=/mnt/checkout", path, *words)


def test_ansible_lint_finds_nothing_in_its_strictest_profile(controller: Host) -> None:
    call(
        controller, "lint", "ansible-lint", "--profile", "production", "--strict", "roles", "docs/examples", "molecule"
    )


@pytest.mark.parametrize("series", debian.SERIES)
@pytest.mark.parametrize("book", BOOKS)
def test_the_example_playbooks_are_understood(controller: Host, series: str, book: str) -> None:
    inventory = ("-i", f"{EXAMPLES}/inventory.yml")
    call(controller, f"ansible-{series}", "ansible-playbook", *inventory, "--syntax-check", f"{EXAMPLES}/{book}.yml")


def test_the_example_inventory_gives_each_group_its_profiles(controller: Host) -> None:
    words = ("ansible-inventory", "-i", f"{EXAMPLES}/inventory.yml", "--list")
    told = json.loads(call(controller, f"ansible-{debian.SERIES[-1]}", *words))["_meta"]["hostvars"]
    assert len(told) == 14
    decode, prefill, embed = (told[f"{name}.example.net"] for name in ("decode-05", "prefill-01", "embed-02"))
    assert decode["numatune_profiles"] == ["llm-inference", "site", "decode"]
    assert prefill["numatune_profiles"] == ["llm-inference", "site"]
    assert embed["numatune_profiles"] == ["serving-host", "site"]
    assert (decode["numatune_arch"], prefill["numatune_arch"]) == ("aarch64", "x86_64")


@pytest.mark.parametrize("series", debian.SERIES)
@pytest.mark.parametrize("name", ["numatune_profile", "numatune_install", "numatune_files"])
def test_ansible_doc_prints_a_module(controller: Host, series: str, name: str) -> None:
    assert "OPTIONS" in call(controller, f"ansible-{series}", "ansible-doc", "-t", "module", name)
