"""Every kind of target: a right host is `ok`, and each way to be wrong is reported. A check that cannot fail is none.

The cases are in cases/KIND.yaml: settings as they are on the wire (id, phase and section left out), the host as files
(null: there, but unreadable), commands with what they print (without the lines that have `forget` in them), and modes;
`says`: the status, and pieces of what is told.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from fakes.asked import AskedHost

from numatune.settings import wire
from numatune.settings.model import Phase, Setting
from numatune.settings.plan import Status
from numatune.verify.asking import Asking
from numatune.verify.judge import judge
from numatune.verify.verdict import Verdict, told

MOUNTS = "proc /proc proc rw,relatime 0 0\nsysfs /sys sysfs rw,relatime 0 0\n"
KINDS: dict[str, dict[str, Any]] = {
    path.stem: yaml.safe_load(path.read_text()) for path in sorted((Path(__file__).parent / "cases").glob("*.yaml"))
}
CASES = [
    pytest.param(kind, case, id=f"{kind}: {case['tells']}") for kind, data in KINDS.items() for case in data["cases"]
]


def made(data: dict[str, Any], **more: object) -> Setting:
    known = {"@": "Setting", "id": "x:y", "phase": Phase.SYSCTL.value, "section": "x"}
    return wire.from_data({**known, **data, **more}, Setting)


def ask(kind: str, case: dict[str, Any]) -> tuple[Setting, Verdict]:
    data = KINDS[kind]
    files = {"/proc/self/mounts": MOUNTS, **data.get("files", {}), **case.get("files", {})}
    said = {**data.get("commands", {}), **case.get("commands", {})}
    commands = {tuple(command.split(" ")): _without(case.get("forget"), text) for command, text in said.items()}
    host = AskedHost(
        {path: text for path, text in files.items() if path not in case.get("gone", ())},
        commands,
        {path: int(mode, 8) for path, mode in case.get("modes", {}).items()},
        frozenset(argv[0] for argv in commands),
    )
    setting = made(data["settings"][case["setting"]])
    return setting, judge(setting, {}, Asking(host))


def _without(word: str | None, text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if word is None or word not in line)


@pytest.mark.parametrize(("kind", "case"), CASES)
def test_says(kind: str, case: dict[str, Any]):
    setting, said = ask(kind, case)
    assert said.status == case["says"][0], said
    for piece in case["says"][1:]:
        assert piece in f"{said.source}\n{told(setting, said)}", said


@pytest.mark.parametrize("kind", KINDS)
def test_every_setting_has_a_case_in_which_it_fails(kind: str):
    failed = {case["setting"] for case in KINDS[kind]["cases"] if case["says"][0] != "ok"}
    assert failed == set(KINDS[kind]["settings"])


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_can_hold_and_can_fail(kind: str):
    said = {case["says"][0] for case in KINDS[kind]["cases"]}
    assert "ok" in said
    assert said & {"drifted", "unmet"}


def test_what_another_setting_has_yet_to_make_is_drift():
    folder, file = (KINDS["cgroup"]["settings"][name] for name in ("made", "cpus"))
    known = {setting.id: setting for setting in (made(folder, id="x:dir"), made(file, id="x:cpus", needs="x:dir"))}
    absent, there = {"/proc/self/mounts": MOUNTS}, {"/sys/fs/cgroup/inference/cgroup.procs": ""}
    needy = next(setting for setting in known.values() if setting.needs)
    said = judge(needy, known, Asking(AskedHost(absent)))
    assert (said.status, "x:dir comes first" in said.message) == (Status.DRIFTED, True)
    assert judge(needy, known, Asking(AskedHost(absent | there))).status is Status.UNSUPPORTED
    assert judge(needy, {}, Asking(AskedHost(absent))).status is Status.UNSUPPORTED  # its maker was not asked for


def test_a_key_with_an_equals_sign_is_never_given_to_sysctl():
    """`sysctl -n vm.swappiness=10` writes."""
    host = AskedHost({"/proc/sys/vm/swappiness=10": "1\n"}, programs=frozenset({"sysctl"}))
    answer = Asking(host).sysctl("/proc/sys/vm/swappiness=10")
    assert answer.text == "1\n"
    assert not [argv for argv in host.asked if argv[0] == "sysctl"]


@pytest.mark.parametrize("key", ["-w", "vm/*", "vm/swap piness", "--system", "../../etc/passwd"])
def test_nor_is_what_could_be_an_option_or_a_pattern(key: str):
    host = AskedHost({}, programs=frozenset({"sysctl"}))
    Asking(host).sysctl(f"/proc/sys/{key}")
    assert not [argv for argv in host.asked if argv[0] == "sysctl"]


def test_a_verdict_survives_the_way_between_the_processes():
    _, said = ask(*CASES[0].values)
    assert Verdict.from_line(said.as_line()) == said
