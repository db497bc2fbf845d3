"""On this machine's own kernel: right is `ok`, wrong is reported, whatever the engine's reader says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from numatune.cpus import CpuSet
from numatune.engine.observe import observe
from numatune.host.local import LocalHost
from numatune.host.protocol import Read
from numatune.settings import wire
from numatune.settings.codecs import AnyCodec, Choice, Count, CpuList, Int, Words
from numatune.settings.model import Phase, Setting, SettingId
from numatune.settings.plan import Status
from numatune.settings.targets import Cgroup, HugepagePool, IrqAffinity, KernelFile, Target
from numatune.verify.isolated import checks_for
from numatune.verify.verdict import Verdict

SWAPPINESS = "/proc/sys/vm/swappiness"
DEFRAG = "/sys/kernel/mm/transparent_hugepage/defrag"
CPUSET_V1 = "/sys/fs/cgroup/cpuset"

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="writes to the kernel: needs root")


def setting(name: str, target: Target, codec: AnyCodec, want: str, **more: object) -> Setting:
    known = {"phase": Phase.SYSCTL, "section": "x", **more}
    return Setting(id=SettingId(name), target=target, codec=codec, want=want, **known)  # type: ignore[arg-type]


def swappiness(want: int) -> Setting:
    return setting("sysctl:vm.swappiness", KernelFile((SWAPPINESS,)), Int(), str(want))


def only(*settings: Setting) -> Verdict:
    return checks_for(settings)[-1]


@pytest.fixture
def write() -> Iterator[Callable[[str, str], None]]:
    """Writes a kernel file; what was there comes back afterwards."""
    before: list[tuple[str, str]] = []

    def now(path: str, text: str) -> None:
        held = Path(path).read_text()
        before.append((path, held[held.index("[") + 1 : held.index("]")] if "[" in held else held))
        Path(path).write_text(text)

    yield now
    for path, text in reversed(before):
        Path(path).write_text(text)


@pytest.mark.live
@as_root
def test_a_sysctl_that_somebody_changed(write: Callable[[str, str], None]):
    held = int(Path(SWAPPINESS).read_text())
    assert only(swappiness(held)).status is Status.OK
    write(SWAPPINESS, str(held + 1))
    said = only(swappiness(held))
    assert (said.status, said.found) == (Status.DRIFTED, str(held + 1))


@pytest.mark.live
def test_a_reader_that_lies_does_not_deceive_it(monkeypatch: pytest.MonkeyPatch):
    """Told by the engine's own door that all is well, the engine sees no drift; the second opinion does."""
    wrong = swappiness(int(Path(SWAPPINESS).read_text()) + 1)
    monkeypatch.setattr(
        LocalHost, "read", lambda _, path: Read(f"{wrong.want}\n") if path == SWAPPINESS else Read(None, 2)
    )
    assert observe([wrong], LocalHost())[wrong.id].text == f"{wrong.want}\n"
    assert only(wrong).status is Status.DRIFTED


@pytest.mark.live
@as_root
@pytest.mark.skipif(not Path(DEFRAG).exists(), reason="this kernel has no transparent hugepages")
def test_thp(write: Callable[[str, str], None]):
    defrag = setting("thp:defrag", KernelFile((DEFRAG,)), Choice(), "defer+madvise")
    write(DEFRAG, "defer+madvise")
    assert only(defrag).status is Status.OK
    write(DEFRAG, "never")
    assert only(defrag).status is Status.DRIFTED


def movable() -> tuple[str, int, int] | None:
    """(PCI address, MSI index, number) of an interrupt that root may move."""
    for path in sorted(Path("/sys/bus/pci/devices").glob("*/msi_irqs/*")):
        number = int(path.name)
        if Path(f"/proc/irq/{number}/smp_affinity").stat().st_mode & 0o200:
            return path.parts[-3], int(Path(f"/sys/kernel/irq/{number}/hwirq").read_text()) & 0x7FF, number
    return None


@pytest.mark.live
@as_root
@pytest.mark.skipif(movable() is None, reason="no interrupt here can be moved")
def test_a_movable_interrupt(write: Callable[[str, str], None]):
    device, index, number = movable() or ("", 0, 0)
    affinity = f"/proc/irq/{number}/smp_affinity_list"
    online = CpuSet.parse(Path("/sys/devices/system/cpu/online").read_text())
    vector = setting("irq:x", IrqAffinity(device, index), CpuList(), str(online.first))
    write(affinity, str(online.first))
    said = only(vector)
    assert said.status in {Status.OK, Status.PENDING}  # an idle one moves when it next fires
    assert said.source.startswith("/proc/interrupts") or "msi_irqs" in said.source
    if len(online) > 1:
        write(affinity, str(online))
        said = only(vector)
        assert (said.status, CpuSet.parse(said.found or "")) == (Status.DRIFTED, online)


def managed() -> tuple[str, int] | None:
    """(PCI address, MSI index) of an interrupt that nobody may move; kernels since 6.12 say so by its mode."""
    for path in sorted(Path("/sys/bus/pci/devices").glob("*/msi_irqs/*")):
        if not Path(f"/proc/irq/{path.name}/smp_affinity").stat().st_mode & 0o222:
            return path.parts[-3], int(Path(f"/sys/kernel/irq/{path.name}/hwirq").read_text()) & 0x7FF
    return None


@pytest.mark.skipif(managed() is None, reason="no interrupt here says that the kernel manages it")
def test_a_managed_interrupt():
    device, index = managed() or ("", 0)
    said = only(setting("irq:x", IrqAffinity(device, index), CpuList(), "4095"))
    assert said.status is Status.UNCHANGEABLE


def pool() -> Path | None:
    """The first node's pool of the default size."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    size = next((line.split()[1] for line in lines if line.startswith("Hugepagesize:")), None)
    folders = sorted(Path("/sys/devices/system/node").glob(f"node*/hugepages/hugepages-{size}kB"))
    return folders[0] / "nr_hugepages" if folders else None


@pytest.mark.live
@as_root
@pytest.mark.skipif(pool() is None, reason="this kernel has no hugepages on a node")
def test_hugepages(write: Callable[[str, str], None]):
    file = pool() or Path()
    node, kb = (
        int(file.parts[-4].removeprefix("node")),
        int(file.parts[-2].removeprefix("hugepages-").removesuffix("kB")),
    )
    surplus = int((file.parent / "surplus_hugepages").read_text())
    held = int(file.read_text()) - surplus
    pages = setting("hugepages:x", HugepagePool(node, kb), Count(), str(held))
    assert only(pages).status is Status.OK
    write(str(file), str(held + 1))
    said = only(pages)
    assert (said.status, said.found) == (Status.DRIFTED, str(held + 1))
    assert said.source.endswith("meminfo HugePages_Total")


@pytest.fixture
def group() -> Iterator[Path]:
    """A v1 cpuset with CPU and node, and a sleeping process in it."""
    folder = Path(CPUSET_V1, f"numatune-verify-{os.getpid()}")
    folder.mkdir()
    sleeper = None
    try:
        for name in ("cpuset.cpus", "cpuset.mems"):
            first = CpuSet.parse(Path(CPUSET_V1, name).read_text()).first
            (folder / name).write_text(str(first))
        sleeper = subprocess.Popen(["sleep", "600"])  # noqa: S607  # any sleep will do
        (folder / "cgroup.procs").write_text(str(sleeper.pid))
        yield folder
    finally:
        if sleeper:
            sleeper.kill()
            sleeper.wait()
        folder.rmdir()


@pytest.mark.live
@as_root
@pytest.mark.skipif(not os.access(f"{CPUSET_V1}/cpuset.cpus", os.W_OK), reason="no v1 cpusets to write to here")
def test_a_v1_cpuset_and_the_task_in_it(group: Path):
    there = setting("cpuset:x/cgroup", Cgroup(str(group)), Words(), "here")
    cpus = KernelFile((f"{group}/cpuset.cpus",), f"{group}/cpuset.effective_cpus")
    held = (group / "cpuset.cpus").read_text().strip()
    right = setting("cpuset:x/cpus", cpus, CpuList(), held)
    folder, said = checks_for([there, right])
    assert (folder.status, said.status) == (Status.OK, Status.OK)
    assert "/status" in said.source  # a task was asked
    wrong = replace(right, want=str(CpuSet.parse(held) | CpuSet([4095])))
    assert only(wrong).status is Status.DRIFTED
    gone = setting("cpuset:x/cgroup", Cgroup(f"{group}-gone"), Words(), "here")
    assert only(gone).status is Status.DRIFTED


AS_NOBODY = """
import json, sys
from numatune.settings import wire
from numatune.settings.model import Setting
from numatune.verify.isolated import checks_for
settings = [wire.from_data(data, Setting) for data in json.loads(sys.argv[1])]
print(*[verdict.status.value for verdict in checks_for(settings)])
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become nobody")
def test_who_is_not_root_is_told_what_cannot_be_read():
    closed = setting("sysctl:x", KernelFile(("/proc/sys/vm/stat_refresh",)), Int(), "0")  # 0600 in every kernel
    asked = json.dumps(wire.to_data([swappiness(77777), closed]))
    nobody = {"user": 65534, "group": 65534, "extra_groups": (), "cwd": "/", "env": {"PATH": "/usr/bin:/bin"}}
    try:
        done = subprocess.run(
            [sys.executable, "-c", AS_NOBODY, asked], capture_output=True, text=True, check=False, **nobody
        )  # type: ignore[call-overload]
    except PermissionError:
        pytest.skip("this Python is root's alone")
    if "No module named 'numatune'" in done.stderr:
        pytest.skip("this checkout is root's alone")
    assert done.stdout == "drifted denied\n", done.stderr
