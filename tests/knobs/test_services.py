"""Services: what irqbalance was told, what we tell it. Plans and writes are in cases/services."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from fakes.kernel import FakeKernel
from fakes.trees import host_tree

from numatune.cpus import CpuSet
from numatune.discover.services import irqbalance as told_to
from numatune.knobs import irqbalance
from numatune.knobs.base import Context
from numatune.knobs.services import Services, settings, unit_key
from numatune.settings.codecs import CpuList, Text, UnitSet
from numatune.settings.model import Impact, Phase, Setting, SettingId
from numatune.settings.targets import IrqAffinity, Nothing, OwnedFile, UnitProperty, UnitState
from numatune.topology.model import Cpus, Irqbalance, Machine, Topology

UNIT = "/lib/systemd/system/irqbalance.service"
SERVICE = (
    "[Unit]\nDescription=x\n[Service]\nEnvironmentFile=-{file}\nExecStart=/usr/sbin/irqbalance --foreground {last}\n"
)
NIC, NVME = "0000:41:00.0", "0000:c1:00.0"


def irq(device: str) -> Setting:
    target = IrqAffinity(device, 0)
    return Setting(
        id=SettingId(f"irq:{device}/0"), target=target, codec=CpuList(), want="0", phase=Phase.IRQ, section="irq"
    )


def cpuset(group: str, cpus: str) -> Setting:
    target, sid = UnitProperty(group, "AllowedCPUs"), SettingId(f"cpuset:{group}/cpus")
    return Setting(id=sid, target=target, codec=UnitSet(), want=cpus, phase=Phase.CGROUP, section="cpusets")


def host(told: Irqbalance | None = None, *, systemd: bool = True, **cpus: CpuSet) -> Topology:
    return Topology(
        sections=frozenset(),
        machine=Machine(systemd=systemd, possible_cpus=8, distribution="debian 13"),
        cpus=Cpus(online=CpuSet(range(8)), **cpus),
        irqbalance=told or Irqbalance(unit=UNIT, variable="IRQBALANCE_ARGS"),
    )


def made(topology: Topology, *before: Setting, **services: str) -> dict[str, Setting]:
    section = Services.model_validate(services)
    return {one.id: one for one in settings(section, Context(topology=topology, made=before))}


def environment(topology: Topology, *before: Setting) -> list[str]:
    text = made(topology, *before, irqbalance="banned")["service:irqbalance/environment"].want or ""
    return [line for line in text.splitlines() if not line.startswith("#")]


# what irqbalance was told


def found(tree: dict[str, str]) -> Irqbalance:
    return told_to(FakeKernel({**host_tree(nodes=1), **tree}))


@pytest.mark.parametrize(
    ("tree", "variable", "arguments"),
    [
        pytest.param(
            {
                UNIT: SERVICE.format(file="/etc/default/irqbalance", last="$IRQBALANCE_ARGS"),
                "/etc/default/irqbalance": '# IRQBALANCE_ARGS="--old"\nIRQBALANCE_ARGS="--oneshot  --banmod=nvme"\n',
            },
            "IRQBALANCE_ARGS",
            "--oneshot  --banmod=nvme",
            id="debian",
        ),
        pytest.param(
            {
                "/usr/lib/systemd/system/irqbalance.service": SERVICE.format(
                    file="/etc/sysconfig/irqbalance", last="$IRQBALANCE_ARGS"
                ),
                "/etc/sysconfig/irqbalance": "IRQBALANCE_ARGS=--hintpolicy=subset\n",
                "/etc/default/irqbalance": "IRQBALANCE_ARGS=--not-read\n",
            },
            "IRQBALANCE_ARGS",
            "--hintpolicy=subset",
            id="red hat",
        ),
        pytest.param(
            {
                UNIT: SERVICE.format(file="/etc/default/irqbalance", last="${OPTIONS}"),
                "/etc/default/irqbalance": "OPTIONS='--powerthresh=5'\n",
            },
            "OPTIONS",
            "--powerthresh=5",
            id="OPTIONS",
        ),
        pytest.param(
            {UNIT: "[Service]\nExecStart=/usr/sbin/irqbalance --foreground\n"}, "", "", id="no variable at all"
        ),
        pytest.param(
            {
                UNIT: SERVICE.format(file="/etc/default/irqbalance", last="$IRQBALANCE_ARGS"),
                "/etc/systemd/system/irqbalance.service.d/10-own.conf": (
                    "[Service]\nExecStart=\nExecStart=/usr/sbin/irqbalance \\\n    $MY_ARGS\n"
                    'EnvironmentFile=\nEnvironment=MY_ARGS=--interval=5 "OTHER=x y"\n'
                ),
                "/etc/default/irqbalance": "MY_ARGS=--taken-back\n",
            },
            "MY_ARGS",
            "--interval=5",
            id="a drop-in of the administrator's",
        ),
        pytest.param(
            {
                UNIT: SERVICE.format(file="/etc/default/irqbalance", last="$IRQBALANCE_ARGS"),
                "/etc/default/irqbalance": "IRQBALANCE_ARGS=--theirs\n",
                irqbalance.DROP_IN: irqbalance.drop_in(),
                irqbalance.ENVIRONMENT: "IRQBALANCE_ARGS=--ours\nIRQBALANCE_BANNED_CPULIST=0\n",
            },
            "IRQBALANCE_ARGS",
            "--theirs",
            id="our own drop-in does not count",
        ),
    ],
)
def test_the_unit_says_which_variable_and_file_count(tree: dict[str, str], variable: str, arguments: str):
    told = found(tree)
    assert (told.variable, told.arguments, told.banned) == (variable, arguments, None)


@pytest.mark.parametrize(
    ("lines", "banned"),
    [
        ("IRQBALANCE_BANNED_CPULIST=2-3,6\n", "2-3,6"),
        ("IRQBALANCE_BANNED_CPUS=c0\n", "6-7"),
        ("IRQBALANCE_BANNED_CPUS=1,00000000\n", "32"),
        ("IRQBALANCE_BANNED_CPUS=ffffffff00000000\n", "32-63"),
        ("IRQBALANCE_BANNED_CPULIST=1\nIRQBALANCE_BANNED_CPUS=c0\n", "1"),
        ("IRQBALANCE_BANNED_CPULIST=\n", ""),
        ("#IRQBALANCE_BANNED_CPULIST=1\n", None),
        ("IRQBALANCE_BANNED_CPULIST=x\n", None),
    ],
)
def test_cpus_that_are_banned_already_are_known(lines: str, banned: str | None):
    told = found({UNIT: SERVICE.format(file="/etc/default/irqbalance", last="$A"), "/etc/default/irqbalance": lines})
    assert told.banned == (None if banned is None else CpuSet.parse(banned))


@pytest.mark.parametrize(
    ("arguments", "policy"),
    [
        ("--policyscript=/etc/own.sh", "/etc/own.sh"),
        ("--policyscript /etc/own.sh --oneshot", "/etc/own.sh"),
        ("-l /etc/own.d", "/etc/own.d"),
        ("-l/etc/own.d -l /etc/last", "/etc/last"),
        ("--banirq=3", ""),
    ],
)
def test_the_administrators_policy_script_is_known(arguments: str, policy: str):
    told = found(
        {
            UNIT: SERVICE.format(file="/etc/default/irqbalance", last="$IRQBALANCE_ARGS"),
            "/etc/default/irqbalance": f"IRQBALANCE_ARGS='{arguments}'\n",
        }
    )
    assert told.policy == policy


def test_no_unit_is_no_irqbalance():
    assert found({}) == Irqbalance()


# what we tell it


def test_arguments_are_repeated_and_quoted_for_systemd():
    told = Irqbalance(unit=UNIT, variable="OPTIONS", arguments='--banmod="a b" --x=$y')
    assert environment(host(told), irq(NIC)) == [
        f'OPTIONS="--banmod=\\"a b\\" --x=\\$y --policyscript={irqbalance.POLICY}"'
    ]


def test_cpus_of_work_are_banned_and_those_of_housekeeping_are_not():
    lines = environment(host(), cpuset("inference.slice", "4-5"), cpuset("a.slice", "7"), cpuset("system.slice", "0-3"))
    assert lines == ["IRQBALANCE_BANNED_CPULIST=4-5,7", "IRQBALANCE_BANNED_CPUS=b0"]


def test_what_irqbalance_leaves_alone_by_itself_stays_so():
    """Its default, isolated and nohz_full CPUs, counts only while it is told nothing."""
    topology = host(isolated=CpuSet([1]), nohz_full=CpuSet([2]))
    assert environment(topology, cpuset("a.slice", "7"))[0] == "IRQBALANCE_BANNED_CPULIST=1-2,7"
    told = Irqbalance(unit=UNIT, variable="A", banned=CpuSet([3]))
    assert environment(host(told, isolated=CpuSet([1])), cpuset("a.slice", "7"))[0] == "IRQBALANCE_BANNED_CPULIST=3,7"
    empty = Irqbalance(unit=UNIT, variable="A", banned=CpuSet())
    assert environment(host(empty, isolated=CpuSet([1])), cpuset("a.slice", "7"))[0] == "IRQBALANCE_BANNED_CPULIST=7"


def test_an_empty_list_is_never_written():
    """It would mean that no CPU is banned, isolated ones included."""
    assert not [line for line in environment(host(isolated=CpuSet([1])), irq(NIC)) if "BANNED" in line]
    assert not [line for line in environment(host(), irq(NIC), cpuset("a.slice", "0-7")) if "BANNED" in line]


def test_a_unit_that_hands_nothing_on_cannot_be_told_of_a_script():
    rows = made(host(Irqbalance(unit=UNIT)), irq(NIC), cpuset("a.slice", "7"), irqbalance="banned")
    policy = rows["service:irqbalance/policy"].target
    assert isinstance(policy, Nothing)
    assert policy.status == "unsupported"
    assert "IRQBALANCE_BANNED_CPULIST=7" in (rows["service:irqbalance/environment"].want or "")


def test_another_set_of_devices_restarts_irqbalance():
    one, two = (made(host(), *rows, irqbalance="banned") for rows in ([irq(NIC)], [irq(NIC), irq(NVME)]))
    assert one["service:irqbalance/environment"].want != two["service:irqbalance/environment"].want
    assert one["service:irqbalance/drop-in"].want == two["service:irqbalance/drop-in"].want
    target = two["service:irqbalance/environment"].target
    assert isinstance(target, OwnedFile)
    assert target.restart == "irqbalance.service"


def said(script: str, folder: Path, path: str) -> tuple[str, int]:
    file = folder / "policy"
    file.write_text(script)
    file.chmod(0o755)
    ran = subprocess.run([str(file), path, "57"], capture_output=True, text=True, check=False)
    return ran.stdout, ran.returncode


def executable(file: Path, text: str) -> Path:
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return file


def test_the_script_bans_by_device_whatever_the_number(tmp_path: Path):
    script = irqbalance.policy([NIC, NVME, NIC], "")
    assert said(script, tmp_path, f"/sys/bus/pci/devices/{NIC}") == ("ban=true\n", 0)
    assert said(script, tmp_path, f"/sys/bus/pci/devices/{NVME}") == ("ban=true\n", 0)
    assert said(script, tmp_path, "/sys/bus/pci/devices/0000:42:00.0") == ("", 0)
    assert said(script, tmp_path, "/sys") == ("", 0)


def test_the_administrators_script_is_asked_for_all_other_devices(tmp_path: Path):
    theirs = executable(tmp_path / "it's theirs", 'echo "numa_node=$2"')
    script = irqbalance.policy([NIC], str(theirs))
    assert said(script, tmp_path, f"/sys/bus/pci/devices/{NIC}") == ("ban=true\n", 0)
    assert said(script, tmp_path, "/sys/bus/pci/devices/0000:42:00.0") == ("numa_node=57\n", 0)


def test_of_the_administrators_folder_the_first_with_a_word_counts(tmp_path: Path):
    folder = tmp_path / "policy.d"
    folder.mkdir()
    executable(folder / "10-none", "exit 1")
    executable(folder / "20-broken", "echo numa_node=9; exit 2")
    executable(folder / "30-word", "echo balance_level=core")
    executable(folder / "40-late", "echo numa_node=8")
    (folder / "05-no-script").write_text("#!/bin/sh\necho numa_node=7\n")
    script = irqbalance.policy([NIC], str(folder))
    assert said(script, tmp_path, "/sys/bus/pci/devices/0000:42:00.0") == ("balance_level=core\n", 0)
    assert said(irqbalance.policy([NIC], str(tmp_path / "gone")), tmp_path, "/sys") == ("", 0)


def test_red_hats_policy_is_announced():
    rhel = Topology(
        sections=frozenset(),
        machine=Machine(systemd=True, possible_cpus=8, distribution="rhel 9.6"),
        cpus=Cpus(online=CpuSet(range(8))),
        irqbalance=Irqbalance(unit=UNIT, variable="IRQBALANCE_ARGS"),
    )
    assert "SELinux" in made(rhel, irq(NIC), irqbalance="banned")["service:irqbalance/policy"].note
    assert made(host(), irq(NIC), irqbalance="banned")["service:irqbalance/policy"].note == ""


# what is stopped


def test_tuners_stop_without_leave_and_work_does_not():
    rows = made(host(), tuned="stopped", vllm="stopped")
    assert rows["service:tuned/active"].impact_in_use is None
    assert rows["service:vllm/active"].impact_in_use is Impact.DISRUPTS


def test_units_stop_before_anything_is_written():
    rows = made(host(), irq(NIC), tuned="stopped", irqbalance="banned")
    phases = {sid: row.phase for sid, row in rows.items()}
    assert phases["service:tuned/active"] is phases["service:tuned/enabled"] is Phase.QUIET
    assert phases["service:irqbalance/drop-in"] is Phase.FILES
    assert isinstance(rows["service:irqbalance/drop-in"].codec, Text)


def test_a_unit_by_any_spelling_is_one_unit():
    assert [unit_key(text) for text in ("tuned", "tuned.service", "ksm.timer")] == ["tuned", "tuned", "ksm.timer"]
    target = made(host(), **{"ksm.timer": "stopped"})["service:ksm.timer/active"].target
    assert target == UnitState("ksm.timer", "active", "")


@pytest.mark.parametrize("text", ["", "a b", "-x", "../x", "a/b", "x\n", "init.scope", "multi-user.target"])
def test_what_is_no_service_is_refused(text: str):
    with pytest.raises(ValueError, match="accepted:"):
        unit_key(text)
