"""What an export tells to be done with its files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from fakes.commands import lend, typed
from fakes.kernel import FakeKernel
from fakes.trees import host_tree

from numatune.settings.persisted import BOOT, IRQ, UDEV_RULES

IRQS = 'name: irqs\nirq: {rules: [{match: {class: nic}, cpus: "2"}]}\n'


@pytest.fixture(autouse=True)
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that systemd has booted, with a NIC."""
    monkeypatch.chdir(tmp_path)
    Path("irqs.yaml").write_text(IRQS, encoding="utf-8")
    lend(FakeKernel(host_tree(nics=1)), tmp_path, monkeypatch)


def test_the_file_that_was_written_is_named() -> None:
    script = typed("export", "irqs.yaml", "--format", "script", "--output", "my tune.sh")
    assert "then: sh 'my tune.sh' plan, then apply" in script.err
    playbook = typed("export", "irqs.yaml", "--format", "ansible", "--output", "to/tune.yml")
    assert "then: ansible-playbook -i INVENTORY to/tune.yml" in playbook.err
    assert "sh /usr/local/sbin/numatune-exported plan" in typed("export", "irqs.yaml", "--format", "script").err


def test_what_calls_the_script_goes_before_the_way_back() -> None:
    told = json.loads(typed("export", "irqs.yaml", "--format", "systemd", "--json").out)
    (back,) = [line for line in told["then"] if line.startswith("the way back")]
    places = [back.index(word) for word in (f"disable --now {BOOT}", UDEV_RULES, "rollback", "the other files")]
    assert places == sorted(places)


def test_the_playbook_takes_what_calls_the_script_away_first() -> None:
    told = json.loads(typed("export", "irqs.yaml", "--format", "ansible", "--json").out)
    _, absent = yaml.safe_load(told["files"][0]["text"].replace("!unsafe ", ""))[0]["tasks"]
    names = [task["name"] for task in absent["block"]]
    before = names[: names.index("Give back what was there before")]
    assert before[0] == f"Have {BOOT} start no more"
    assert before[-1] == "Remove what calls the script on events"
    events, rest = (task["loop"] for task in absent["block"] if "loop" in task)
    assert UDEV_RULES in events
    assert {path.rpartition("/")[2] for path in rest} >= {BOOT, IRQ, "numatune-exported"}
