"""Run by test_systemd_live.py where systemd is process 1: plan, apply, plan, rollback of units and properties."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from fakes.road import Road, actions

from numatune.discover import discover
from numatune.engine import kinds
from numatune.engine.diff import Options, row
from numatune.engine.observe import look
from numatune.host.local import LocalHost
from numatune.knobs import irqbalance
from numatune.knobs.base import Context
from numatune.knobs.services import Services, settings
from numatune.settings.codecs import Size, UnitSet, Words
from numatune.settings.model import Phase, Setting, SettingId
from numatune.settings.plan import Action, Change, Status
from numatune.settings.targets import UnitProperty, UnitState
from numatune.topology.model import Section

HOST = LocalHost()
ETC, RUN = Path("/etc/systemd/system"), Path("/run/systemd/system")
UNIT = (
    "[Unit]\nDefaultDependencies=no\n[Service]\nType=exec\nEnvironmentFile=-/etc/default/irqbalance\n"
    "ExecStart=/bin/sh -c 'sleep 1000' $IRQBALANCE_ARGS\n[Install]\nWantedBy=minimal.target\n"
)


def systemctl(*argv: str) -> str:
    ran = HOST.run(("systemctl", *argv))
    assert ran.code == 0, ran.err
    return ran.out.strip()


def state(unit: str) -> tuple[str, str]:
    shown = systemctl("show", "-p", "ActiveState", "-p", "UnitFileState", "--value", unit).split("\n")
    return shown[0], shown[-1]


def a_unit(folder: Path, name: str, *, runtime: bool = False) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(UNIT)
    systemctl("daemon-reload")
    systemctl("enable", *(["--runtime"] if runtime else []), name)
    systemctl("start", name)


def goes_and_comes(folder: Path, word: str, gone: tuple[str, str], before: tuple[str, str]) -> None:
    """Apply, an empty plan, rollback."""
    road, text = Road(HOST, folder), f"services: {{tuned: {word}}}"
    assert state("tuned.service") == before
    outcomes = road.apply(road.plan(text))
    assert {came.status for came in outcomes.values()} == {Status.OK}, outcomes
    assert state("tuned.service") == gone
    assert actions(road.plan(text)) == {Action.NONE}
    assert road.rollback() == ()
    assert state("tuned.service") == before


def properties() -> None:
    """A slice that does not run keeps what it is told, and forgets it again."""
    wanted = {
        "AllowedCPUs": (UnitSet(everything="0-1"), "0", ""),
        "AllowedMemoryNodes": (UnitSet(everything="0"), "0", ""),
        "MemoryMax": (Size(unlimited="infinity"), str(8 << 30), "infinity"),
    }
    for name, (codec, want, original) in wanted.items():
        target = UnitProperty("inference.slice", name, f"/sys/fs/cgroup/inference.slice/{name}")
        setting = Setting(
            id=SettingId(name), target=target, codec=codec, want=want, phase=Phase.CGROUP, section="cpusets"
        )
        planned = row(setting, look(setting, HOST), Options())
        assert (planned.status, planned.seen.text) == (Status.DRIFTED, original), planned
        assert kinds.carry_out(planned, HOST) == 0
        assert row(setting, look(setting, HOST), Options()).status is Status.PENDING
        back = replace(planned, writes=codec.back(original, want))
        assert kinds.carry_out(back, HOST) == 0
        assert look(setting, HOST).text == original


def refusals() -> None:
    absent = UnitState("no-such-unit.service", "active")
    setting = Setting(
        id=SettingId("x"), target=absent, codec=Words(), want="active", phase=Phase.QUIET, section="services"
    )
    code = kinds.carry_out(Change(setting, look(setting, HOST), Status.DRIFTED, Action.UPDATE, ("active",)), HOST)
    assert kinds.refusal(absent, code)[0] is Status.UNSUPPORTED, code
    target = UnitProperty("no-such-unit.service", "AllowedCPUs")
    setting = replace(setting, target=target, codec=UnitSet(), want="0")
    assert row(setting, look(setting, HOST), Options()).status is Status.UNSUPPORTED
    code = kinds.carry_out(Change(setting, look(setting, HOST), Status.DRIFTED, Action.UPDATE, ("0",)), HOST)
    assert kinds.refusal(target, code)[0] is Status.UNSUPPORTED, code


def told() -> tuple[str, dict[str, str]]:
    """Arguments and environment of what runs as irqbalance."""
    pid = systemctl("show", "-p", "MainPID", "--value", irqbalance.UNIT)
    words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    variables = Path(f"/proc/{pid}/environ").read_text().split("\0")
    return " ".join(words[3:]).strip(), dict(word.split("=", 1) for word in variables if "=" in word)


def banned() -> None:
    """irqbalance reads our file after the administrator's, keeps his arguments, and is as before when it is gone."""
    Path("/etc/default").mkdir(exist_ok=True)
    Path("/etc/default/irqbalance").write_text("IRQBALANCE_ARGS=\"--banmod=a --banmod='b c'\"\n")
    a_unit(ETC, irqbalance.UNIT)
    before = told()
    topology = discover(HOST, {Section.SERVICES})
    cpus = Setting(
        id=SettingId("cpuset:a.slice/cpus"),
        target=UnitProperty("a.slice", "AllowedCPUs"),
        codec=UnitSet(),
        want=str(topology.cpus.online.last),
        phase=Phase.CGROUP,
        section="cpusets",
    )
    section = Services.model_validate({"irqbalance": "banned"})
    made = settings(section, Context(topology=topology, made=(cpus,)))
    changes = [row(setting, look(setting, HOST), Options()) for setting in made]
    assert [(change.status, change.action) for change in changes] == [(Status.DRIFTED, Action.CREATE)] * len(changes)
    assert [kinds.carry_out(change, HOST) for change in changes] == [0] * len(changes)
    arguments, environment = told()
    assert arguments == before[0] == "--banmod=a --banmod=b c"
    assert environment["IRQBALANCE_BANNED_CPULIST"] == cpus.want
    assert {row(setting, look(setting, HOST), Options()).status for setting in made} == {Status.OK}
    assert discover(HOST, {Section.SERVICES}).irqbalance == topology.irqbalance
    assert [kinds.carry_out(replace(change, action=Action.DELETE), HOST) for change in changes] == [0] * len(changes)
    assert "IRQBALANCE_BANNED_CPULIST" not in told()[1]
    assert told()[0] == before[0]


def main(folder: Path) -> None:
    a_unit(RUN, "tuned.service")
    goes_and_comes(folder, "stopped", ("inactive", "disabled"), ("active", "enabled"))
    goes_and_comes(folder, "masked", ("inactive", "masked"), ("active", "enabled"))
    systemctl("disable", "tuned.service")
    systemctl("enable", "--runtime", "tuned.service")
    goes_and_comes(folder, "stopped", ("inactive", "disabled"), ("active", "enabled-runtime"))
    properties()
    refusals()
    banned()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
