"""A policy as words, and the one that is applied on this host."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes.kernel import FakeKernel
from fakes.trees import host_tree
from hypothesis import given
from hypothesis import strategies as st
from launch.test_run import HEAVY, numatune

from numatune import profile
from numatune.cpus import CpuSet
from numatune.discover import discover
from numatune.engine import applied
from numatune.errors import LaunchError, TrustError
from numatune.launch import policy as words
from numatune.launch import stored, wording
from numatune.launch.policy import Policy, RankPolicy
from numatune.settings.applied import AppliedRow, AppliedSet

sets = st.none() | st.sets(st.integers(0, 300), min_size=1).map(CpuSet)
names = st.from_regex(r"[A-Z_][A-Z0-9_]{0,8}", fullmatch=True)
ranks = st.builds(RankPolicy, node=st.none() | st.integers(0, 99), cpus=sets, memory=sets)
policies = st.builds(
    Policy,
    cpu=st.sampled_from(words.CPU_MODES),
    cpus=sets,
    smt=st.sampled_from(words.SMT),
    reserve_cores=st.integers(0, 99),
    memory=st.sampled_from(words.MEMORY_MODES),
    memory_nodes=sets,
    fallback=st.lists(st.sampled_from(words.FALLBACKS), min_size=1).map(tuple),
    strict=st.booleans(),
    on_unknown=st.sampled_from(words.ON_UNKNOWN),
    widen=st.booleans(),
    env=st.dictionaries(names, st.from_regex(r"[ -~]{0,9}", fullmatch=True)),
    nics=st.booleans(),
    thp=st.sampled_from(words.THP),
    ranks=st.dictionaries(st.integers(0, 99), ranks),
    others=ranks,
    devices=st.dictionaries(st.just("0000:41:00.0"), st.integers(0, 9)),
)


@given(policies)
def test_a_policy_comes_back_as_it_was_stored(policy: Policy):
    assert wording.parse(wording.text(policy), "here") == policy


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "a stored policy of another format: ''"),
        ("numatune-launch 2\ncpu node\n", "another format: 'numatune-launch 2'"),
        ("numatune-launch 1\ncpu nodes\n", "here: cpu: 'nodes'; accepted: node, exclusive"),
        ("numatune-launch 1\nbind yes\n", "here: bind: no key of a launch policy"),
        ("numatune-launch 1\nrank 0 up=1\n", "'up=1' says nothing of a rank"),
        ("numatune-launch 1\ncpus\n", "an empty set"),
        ("numatune-launch 1\nenv X\n", "'X' sets nothing"),
    ],
)
def test_what_is_no_policy(text: str, found: str):
    with pytest.raises(LaunchError) as refused:
        wording.parse(text, "here")
    assert found in str(refused.value)


def test_the_file_of_apply_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "launch"
    monkeypatch.setattr(stored, "FILE", str(file))
    monkeypatch.delenv("NUMATUNE_STATE_DIR", raising=False)
    file.write_text(wording.text(Policy(cpu="l3")))
    file.chmod(0o644)
    assert stored.policy() == Policy(cpu="l3")
    file.chmod(0o666)
    with pytest.raises(TrustError):
        stored.policy()
    file.unlink()
    monkeypatch.setenv("NUMATUNE_STATE_DIR", str(tmp_path / "none"))
    assert stored.policy() is None


def keep(state: Path, text: str) -> None:
    """An applied set of that profile, as apply would leave it."""
    asked = state / "asked.yaml"
    asked.write_text(text)
    document = profile.load([str(asked)])
    settings = profile.resolve(document, discover(FakeKernel(host_tree()), document.reads)).settings
    rows = tuple(AppliedRow(setting) for setting in settings)
    applied.save(str(state / "applied.json"), AppliedSet((), rows, "boot", "fingerprint"))


def test_run_uses_the_applied_set_without_yaml(tmp_path: Path):
    keep(tmp_path, "name: case\nlaunch: {memory: none, env: {WORKERS: cores}}\n")
    env = {"NUMATUNE_STATE_DIR": str(tmp_path)}
    ran = numatune("run", "--", "printenv", "WORKERS", env=env, before=["-X", "importtime"])
    assert ran.stdout.strip().isdigit()
    names = {line.rpartition("|")[2].strip() for line in ran.stderr.splitlines() if line.startswith("import time:")}
    assert "numatune.settings.applied" in names
    assert not names & (HEAVY - {"json"})
    assert numatune("run", "--env", "WORKERS=7", "--", "printenv", "WORKERS", env=env).stdout == "7\n"


def test_a_broken_applied_set_starts_the_command_all_the_same(tmp_path: Path):
    (tmp_path / "applied.json").write_text("{")
    ran = numatune("run", "--", "echo", "started", env={"NUMATUNE_STATE_DIR": str(tmp_path)})
    assert (ran.returncode, ran.stdout) == (0, "started\n")
    assert "is no file of numatune's" in ran.stderr
    assert "starts unbound" in ran.stderr


def test_a_profile_without_a_launch_is_an_error(tmp_path: Path):
    asked = tmp_path / "plain.yaml"
    asked.write_text("name: plain\nsysctl: {vm.swappiness: 1}\n")
    ran = numatune("run", "--profile", str(asked), "--print")
    assert ran.returncode == 1
    assert "asks for no launch here" in ran.stderr


def test_a_profile_on_a_captured_host(tmp_path: Path):
    asked = tmp_path / "asked.yaml"
    asked.write_text("name: asked\nlaunch: {cpu: exclusive, reserve_cores: '{{ nodes.cpu | length }}'}\n")
    tree = tmp_path / "host"
    for path, text in host_tree(nodes=2, cpus_per_node=8, accelerators=2).items():
        file = tree / path.removeprefix("/")
        if text.startswith("-> "):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.symlink_to(f"{tree}{text[3:]}" if text.startswith("-> /") else text[3:])
        elif not path.endswith("/"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    ran = numatune("--root", str(tree), "place", "--profile", str(asked))
    rows = [line.split() for line in ran.stdout.splitlines()[1:]]
    assert [row[2:4] for row in rows] == [["0", "2-7"], ["1", "10-15"]]


def test_place_and_run_agree():
    place = numatune("place", "--ranks", "2", "--json", "--allowed-cpus", "0-1")
    run = numatune("run", "--print", "--json", "--rank", "0", "--local-size", "2", "--allowed-cpus", "0-1")
    one, other = (json.loads(ran.stdout)["ranks"][0] for ran in (place, run))
    assert one["rank"] == 0
    assert one == other
