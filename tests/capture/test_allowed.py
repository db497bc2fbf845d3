"""What travels and what does not, and how a tree tells what it would have."""

from __future__ import annotations

import json
import re
import tarfile
from pathlib import Path
from typing import Any

import pytest
from fakes.shells import Capture, bare_path, lay_out, program
from fakes.trees import host_tree

from numatune import api
from numatune.capture import way
from numatune.capture.allowed import PROPERTIES, UNITS, globs
from numatune.capture.pack import write
from numatune.capture.scrub import Scrub
from numatune.capture.stream import parse
from numatune.capture.tree import tree_of
from numatune.engine.kinds import unit_property, unit_state
from numatune.errors import HostError
from numatune.host.captured import open_tree
from numatune.host.memory import MemoryTree
from numatune.host.told import MANIFEST, Manifest, ToldTree
from numatune.host.uncaptured import lacks
from numatune.knobs import services
from numatune.knobs.sysctl import path_of
from numatune.knobs.sysctl_catalogue import CATALOGUE

SHIPPED = sorted(path.stem for path in (Path(__file__).parents[2] / "profiles").glob("*.yaml"))

SECRET = "sesame"  # noqa: S105  # what must not travel
MAC = "02:42:ac:11:00:02"
UUID = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
POD = "kubepods-pod6ba7b810_9dad_11d1_80b4_00c04fd430c8.slice"

PRIVATE = {
    "/proc/cmdline": f"root=UUID={UUID} numa=off ip=10.1.2.3 token={SECRET} iommu=pt -- --password {SECRET}\n",
    "/proc/sys/kernel/hostname": f"{SECRET}\n",
    "/proc/sys/kernel/domainname": f"{SECRET}\n",
    "/proc/sys/kernel/core_pattern": f"|/usr/bin/{SECRET} %p\n",
    "/proc/sys/net/ipv4/tcp_fastopen_key": f"{SECRET}\n",
    "/proc/77/comm": "irqbalance\n",
    "/proc/77/cmdline": f"irqbalance\0--{SECRET}\0",
    "/proc/77/environ": f"TOKEN={SECRET}\0",
    "/proc/1/mounts": (
        f"/dev/disk/by-uuid/{UUID} / ext4 rw,{SECRET} 0 0\n{SECRET}:/home /home nfs rw 0 0\nsysfs /sys sysfs ro 0 0\n"
    ),
    "/proc/cpuinfo": f"processor : 0\nflags : lm fpu\nSerial : {SECRET}\nprocessor : 1\nflags : lm fpu\n",
    "/proc/device-tree/ibm,partition-name": f"{SECRET}\0",
    "/sys/class/dmi/id/product_serial": f"{SECRET}\n",
    "/sys/class/dmi/id/product_uuid": f"{UUID}\n",
    "/sys/class/dmi/id/sys_vendor": "QEMU\n",
    "/etc/hostname": f"{SECRET}\n",
    "/etc/machine-id": "0123456789abcdef0123456789abcdef\n",
    "/etc/os-release": f"ID=debian\nVERSION_ID=13\nBUILD_ID={SECRET}\n",
    "/etc/sysctl.d/50-x.conf": (
        f"# {SECRET}\nkernel.core_pattern = |{SECRET}\nvm.swappiness = 7\nnet.ipv4.tcp_fastopen_key={SECRET}\n"
    ),
    "/etc/numatune/launch": f"numatune-launch 1\nenv TOKEN={SECRET}\nenv OMP_NUM_THREADS=4\n--\n+ TOKEN={SECRET}\n",
    "/etc/default/irqbalance": f"# {SECRET}\nPASSWORD={SECRET}\nIRQBALANCE_BANNED_CPULIST=1\n",
    "/etc/systemd/system/irqbalance.service": (
        f"[Unit]\nDescription={SECRET}\n[Service]\nEnvironment=TOKEN={SECRET}\n"
        "EnvironmentFile=/etc/default/irqbalance\nExecStart=/usr/sbin/irqbalance $IRQBALANCE_ARGS\n"
    ),
    f"/sys/fs/cgroup/{POD}/cgroup.procs": "77\n",
    "/sys/class/net/enx0242ac110002": "-> ../../devices/virtual/net/enx0242ac110002",
    "/sys/devices/virtual/net/enx0242ac110002/address": f"{MAC}\n",
}


def private() -> dict[str, str]:
    tree = host_tree(nodes=1, nics=1)
    tree.update(PRIVATE)
    tree["/proc/interrupts"] += f" 99:          0          0  IO-APIC  99-edge      enx0242ac110002-rx {MAC}\n"
    return tree


def test_what_is_private_stays_there(capture: Capture, tmp_path: Path):
    capture(private())
    with tarfile.open(tmp_path / "host.tar.xz") as archive:
        opened = [(member.name, archive.extractfile(member)) for member in archive if member.isreg()]
        texts = [f"{name}\n{(held.read() if held else b'').decode()}" for name, held in opened]
        whole = "\n".join([*texts, *(f"{member.name} {member.linkname}" for member in archive)])
    for name in (SECRET, UUID, POD, MAC, "0242ac110002", "0123456789abcdef0123456789abcdef", "10.1.2.3", "nfs"):
        assert name not in whole, name
    assert "3f2504e0-4f89-41d3-9a0c-0305e82c3301" not in whole  # the boot id


def test_what_is_needed_of_it_travels(capture: Capture):
    tree = capture(private())
    assert (tree.read("/proc/cmdline").text or "").split() == ["numa=off", "iommu=pt"]
    assert tree.read("/proc/77/comm").text == "irqbalance\n"
    assert (tree.read("/proc/cpuinfo").text or "").count("flags") == 1
    assert tree.read("/etc/sysctl.d/50-x.conf").text == "\n\nvm.swappiness = 7\n\n"
    assert "env TOKEN=?\nenv OMP_NUM_THREADS=4\n" in (tree.read("/etc/numatune/launch").text or "")
    assert tree.read("/etc/default/irqbalance").text == "IRQBALANCE_BANNED_CPULIST=1\n"
    unit = tree.read("/etc/systemd/system/irqbalance.service").text or ""
    assert [line.partition("=")[0] for line in unit.splitlines()] == [
        "[Unit]",
        "[Service]",
        "EnvironmentFile",
        "ExecStart",
    ]
    assert re.fullmatch(r"[0-9a-f]{32}\n", tree.read("/proc/sys/kernel/random/boot_id").text or "")
    assert tree.read("/proc/device-tree/ibm,partition-name").text == ""
    name = next(name for name in tree.names("/sys/class/net") if name.startswith("enx"))
    assert re.fullmatch(r"enx[0-9a-f]{12}", name)
    assert name in (tree.read("/proc/interrupts").text or "")
    conflicts = {row.setting.id: row.seen.conflicts for row in planned(tree)}["sysctl:vm.swappiness"]
    assert [(conflict.owner, conflict.where, conflict.value) for conflict in conflicts] == [
        ("sysctl.d", "/etc/sysctl.d/50-x.conf:3", "7")
    ]


def planned(reader: Any) -> Any:
    return api.plan(reader, api.Request(profiles=("llm-inference",))).rows


@pytest.mark.parametrize(
    "text", ["0-3,8", "ffffffff,ffffffff", "0000:41:00.0", "18446744073709551615", "enp65s0f0np0", "a1:b2"]
)
def test_what_names_nobody_stays(text: str):
    assert Scrub(b"key")(text) == text


def test_one_name_has_one_token_and_another_host_another():
    scrub, other = Scrub(b"key"), Scrub(b"other")
    assert scrub(f"{MAC} {MAC.upper()}").split()[0] == scrub(MAC) != other(MAC)
    assert len(set(scrub(f"{MAC} {MAC.upper()}").split())) == 1


def test_every_known_sysctl_is_looked_for():
    left_out = {"kernel.core_pattern"}
    for key, known in CATALOGUE.items():
        assert (path_of(key) in globs()) is not bool(known.action or key in left_out), key


def test_everything_that_is_asked_of_units_is_asked():
    assert {*unit_property._ASKED, *unit_state._ASKED} == set(PROPERTIES)  # noqa: SLF001  # what a capture must know
    assert {f"{name}.service" for name in services._TUNERS} <= set(UNITS)  # noqa: SLF001  # as above


@pytest.mark.parametrize("profile", SHIPPED)
def test_nothing_that_a_shipped_profile_asks_for_is_unknown(profile: str, capture: Capture):
    tree = capture(host_tree(nodes=2, nics=2, nvmes=1, accelerators=1))
    rows = api.plan(tree, api.Request(profiles=(profile,), variables={})).rows
    told = {"expect", "shm"}  # measured over many files; by /proc/mounts, wherever a profile mounts
    kept = [row for row in rows if row.setting.section not in told]
    assert [row.setting.id for row in kept if row.seen.where and lacks(row.seen.where, tree)] == []


def test_what_was_not_looked_for_is_told_from_what_is_not_there(capture: Capture, tmp_path: Path):
    profile = tmp_path / "mine.yaml"
    keys = "{vm.zone_reclaim_mode: 0, kernel.kptr_restrict: {value: 1, optional: false}}"
    profile.write_text(f"name: mine\nsysctl: {keys}\n")
    tree = capture(host_tree(nodes=1, sysctl={"vm.zone_reclaim_mode": None, "kernel.kptr_restrict": "0"}))
    rows = {row.setting.id: row for row in api.plan(tree, api.Request(profiles=(str(profile),))).rows}
    assert rows["sysctl:kernel.kptr_restrict"].reason == "not in this captured tree"
    assert rows["sysctl:vm.zone_reclaim_mode"].status == "unsupported"
    assert rows["sysctl:vm.zone_reclaim_mode"].reason != "not in this captured tree"


SYSTEMCTL = r"""
for unit do :; done
case "$1 $2" in
"list-units --type=slice") printf '%s\n' "-.slice loaded active" "mine.slice loaded active active Mine" ;;
show*)
    case $unit in irqbalance.service) state=active file=enabled ;; *) state=inactive file= ;; esac
    printf '%s\n' LoadState=loaded "ActiveState=$state" "UnitFileState=$file" "ControlGroup=/x" AllowedCPUs=0-1
    ;;
esac
"""


def test_systemd_answers_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = lay_out(host_tree(nodes=1), tmp_path / "host")
    (folder / "run/systemd/system").mkdir(parents=True, exist_ok=True)
    program(bare_path(tmp_path / "bin", "dash"), "systemctl", SYSTEMCTL)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    data, mark = way.take(way.Way(("sh",), "host", str(folder)), ["vllm.service"])
    write(str(tmp_path / "host.tar"), tree_of(parse(data, mark, "host"), "0"), force=False)
    tree = open_tree(str(tmp_path / "host.tar"))
    shown = tree.ask(("systemctl", "show", "-p", "ActiveState", "-p", "UnitFileState", "--", "irqbalance.service"))
    assert (shown.code, shown.out) == (0, "ActiveState=active\nUnitFileState=enabled\n")
    for unit in ("mine.slice", "-.slice", "vllm.service", *UNITS):
        assert tree.ask(("systemctl", "show", "-p", "AllowedCPUs", "--", unit)).out == "AllowedCPUs=0-1\n"
    assert tree.ask(("systemctl", "show", "-p", "Environment", "--", "mine.slice")).code == 127
    assert tree.ask(("systemctl", "show", "-p", "AllowedCPUs", "--", "other.service")).code == 127
    assert tree.ask(("irqbalance", "--version")).code == 127
    rows = {row.setting.id: row for row in planned(tree)}
    assert (rows["service:irqbalance/active"].status, rows["service:irqbalance/active"].seen.text) == (
        "drifted",
        "active",
    )
    assert rows["service:irqbalance/enabled"].seen.text == "enabled"
    assert rows["service:numad/active"].status == "ok"


def test_a_read_only_mount_is_known():
    tree = MemoryTree("captured", {"/proc/mounts": "none / ext4 rw 0 0\nnone /proc/sys proc ro 0 0\n"})
    tree.put("/proc/sys/vm/swappiness", "60")
    tree.put("/proc/irq/1/smp_affinity", "1")
    told = ToldTree(tree, Manifest())
    found = [told.stat(path) for path in ("/proc/sys/vm/swappiness", "/proc/irq/1/smp_affinity")]
    assert [one.read_only for one in found if one] == [True, False]
    assert told.stat("/proc/none") is None


def test_modes_travel(capture: Capture):
    tree = host_tree(nodes=1)
    tree.modes["/proc/sys/kernel/nmi_watchdog"] = 0o444
    found = capture(tree).stat("/proc/sys/kernel/nmi_watchdog")
    assert found is not None
    assert oct(found.mode) == "0o100444"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (json.dumps({"format": 99}), "format 99"),
        ("{", "none that numatune writes"),
        ("[]", "none that numatune writes"),
        ("[" * 100_000, "none that numatune writes"),
        (json.dumps({"format": 1}), "none that numatune writes"),
    ],
)
def test_a_manifest_that_cannot_be_read_is_refused(text: str, said: str, tmp_path: Path):
    (tmp_path / "sys").mkdir()
    (tmp_path / MANIFEST[1:]).write_text(text)
    with pytest.raises(HostError, match=said):
        open_tree(str(tmp_path))
