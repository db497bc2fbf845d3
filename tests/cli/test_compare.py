"""Two hosts side by side: each case of compare.yaml lays two on disk and tells what a terminal of 80 columns shows.

a, b   arguments of the generated hosts; `a_tree`, `b_tree`: laid over them, null takes away
argv   after ``compare golden gpu7``
code   exit code
screen what is printed
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from fakes.commands import typed
from fakes.kernel import FakeKernel
from fakes.shells import bare_path, lay_out, ssh
from fakes.trees import host_tree

from numatune import api
from numatune.api.comparing import compare_readers
from numatune.host.memory import MemoryTree

CASES: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "compare.yaml").read_text(encoding="utf-8"))
KEYS = {"tells", "a", "b", "a_tree", "b_tree", "argv", "code", "screen"}


@pytest.mark.parametrize("case", [pytest.param(case, id=case["tells"]) for case in CASES])
def test_compare(case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(case) <= KEYS
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    for name, side in (("golden", "a"), ("gpu7", "b")):
        lay_out(tree_of(case, side), tmp_path / name)
    seen = typed("compare", "golden", "gpu7", *case.get("argv", ()))
    assert seen.screen.rstrip("\n") == case["screen"].rstrip("\n")
    assert seen.code == case["code"]


def tree_of(case: dict[str, Any], side: str) -> Any:
    tree = host_tree(**case.get(side, {}))
    for path, text in case.get(f"{side}_tree", {}).items():
        if text is None:
            for gone in [name for name in tree if name == path or name.startswith(f"{path}/")]:
                del tree[gone]
        else:
            tree[path] = text
    return tree


def test_json_has_all_rows_where_all_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lay_out(host_tree(nodes=2, nics=1), tmp_path / "one")
    lay_out(host_tree(nodes=2, nics=1, sysctl={"vm.swappiness": "10"}), tmp_path / "two")
    told = typed("compare", "one", "two", "--json")
    assert told.code == 2
    assert (told.json["format"], told.json["a"], told.json["b"]) == (1, "one", "two")
    assert told.json["rows"] == [
        {"section": "settings", "of": "sysctl", "name": "vm.swappiness", "a": "60", "b": "10", "state": "differs"}
    ]
    every = typed("compare", "one", "two", "--json", "--all").json
    assert every["summary"] == told.json["summary"]
    assert len(every["rows"]) == sum(every["summary"].values()) > 100
    assert typed("compare", "one", "two", "--differences-ok").code == 0
    assert typed("compare", "one", "two", "--only", "nodes,devices").code == 0


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (("one", "absent"), 1, "absent"),
        (
            ("one", "one", "--only", "nods"),
            64,
            "accepted: machine, cpus, nodes, devices, interrupts, settings, drivers",
        ),
        (("--root", "one", "one", "one"), 64, "compare is told both hosts"),
        (("one", "ssh://-oProxyCommand=x"), 64, "ssh://"),
    ],
)
def test_what_is_no_host(
    argv: tuple[str, ...], code: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lay_out(host_tree(nodes=1), tmp_path / "one")
    seen = typed("compare", *argv)
    assert (seen.code, said in seen.err) == (code, True), seen.err


def test_over_ssh_it_is_a_capture_that_is_gone_afterwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The host at the other end is this one, by a shell with a bare PATH; other tests may change its settings."""
    here, log = tmp_path / "bin", tmp_path / "asked"
    here.mkdir()
    (tmp_path / "tmp").mkdir()
    ssh(here, bare_path(tmp_path / "there", "dash"), log)
    monkeypatch.setenv("PATH", str(here))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    rows = {(row.section, row.of, row.name): row.state for row in api.compare("local", "ssh://gpu7").rows}
    assert {state for (section, *_), state in rows.items() if section == "cpus"} == {"same"}
    assert {section for section, *_ in rows} >= {"machine", "cpus", "nodes", "settings"}
    assert log.read_text().splitlines()[-2:] == ["gpu7", "sh"]
    assert list((tmp_path / "tmp").iterdir()) == []


def test_shifted_addresses_are_no_difference() -> None:
    nics: list[dict[str, Any]] = [
        {"node": node, "name": f"enp{bus}s0", "address": f"0000:{bus}:00.0"} for node, bus in ((0, 41), (1, 81))
    ]
    moved = [{**nic, "address": nic["address"].replace(":4", ":5"), "name": f"x{nic['name']}"} for nic in nics]
    rows = compare_readers(FakeKernel(host_tree(nodes=2, nics=nics)), FakeKernel(host_tree(nodes=2, nics=moved)))
    assert [row for row in rows if row.state == "differs"] == []
    assert {row.of for row in rows if row.section == "interrupts"} == {
        "nic 0000:41:00.0, 0000:51:00.0",
        "nic 0000:81:00.0",
    }


@pytest.mark.parametrize(
    ("theirs", "state"),
    [({}, "untold"), ({"cpufreq/boost": "0\n"}, "differs"), ({"cpufreq/policy0/scaling_governor": "a\n"}, "same")],
    ids=["no file of cpufreq was captured", "it has no driver", "it has one"],
)
def test_a_driver_of_one_host_is_missed_only_where_the_other_would_show_it(theirs: dict[str, str], state: str) -> None:
    trees = [
        {**host_tree(nodes=1), **{f"/sys/devices/system/cpu/{name}": text for name, text in files.items()}}
        for files in ({"cpufreq/policy0/scaling_governor": "a\n"}, theirs)
    ]
    rows = compare_readers(*(MemoryTree("captured", tree) for tree in trees))
    assert [row.state for row in rows if row.name == "policy*/scaling_governor"] == [state]
