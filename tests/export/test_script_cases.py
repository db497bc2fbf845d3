"""The exported script judges a host as the engine does: every case of the knobs, its tree laid out as plain files."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from fakes.cases import kernel_of
from fakes.script_tree import inside, lay

from numatune import profile
from numatune.discover import discover
from numatune.engine.diff import Options, diff
from numatune.engine.observe import flat, observe
from numatune.engine.order import order
from numatune.export.place import Place
from numatune.export.tuning import script
from numatune.export.tuning.model import Tuning
from numatune.settings.codecs import Cmdline
from numatune.settings.model import SettingId
from numatune.settings.plan import Action, Change, HostInfo, Observation, Status, differences
from numatune.settings.targets import Fact, Trait, UnitProperty, UnitState
from numatune.topology.resolve import with_overrides

if TYPE_CHECKING:
    from fakes.kernel import FakeKernel

FOLDER = Path(__file__).parents[1] / "knobs/cases"
ROW = re.compile(r"  ([~!=]) (\S+): (?:([a-z]+): )?")
NO_FILE_CAN_SAY = {
    "modules/a_module_that_is_not_on_disk_is_unsupported": "which modules there are, modprobe says",
    "shm/a_right_host_is_ok": "a kernel prints the shortest list, 0-1 and not 0,1",
    "irq/a_right_host_is_ok": "as above, 0-3 and not 0-1,2,3",
}
UNITS = (UnitProperty, UnitState)

Verdict = tuple[str, bool]
"""A status, and whether a write is due."""


def cases() -> list[Any]:
    found = []
    for path in sorted(FOLDER.glob("*/*.yaml")):
        case = yaml.safe_load(path.read_text(encoding="utf-8"))
        name = f"{path.parent.name}/{path.stem}"
        if not (case.keys() & {"error", "uid", "read_only"}) and name not in NO_FILE_CAN_SAY:
            found.append(pytest.param(case, id=name.replace("/", "-")))
    return found


@pytest.mark.parametrize("case", cases())
def test_the_script_says_what_the_plan_says(case: dict[str, Any], tmp_path: Path) -> None:
    asked = tmp_path / "case.yaml"
    asked.write_text(case["profile"], encoding="utf-8")
    kernel = kernel_of(case)
    document = profile.load([str(asked)])
    topology = with_overrides(discover(kernel, document.reads), document.overrides)
    settings = flat(profile.resolve(document, topology).settings)
    given = case.get("options", {})
    disruption, unsafe = given.get("allow_disruption", False), frozenset(given.get("allow_unsafe", ()))
    changes = diff(settings, observe(settings, kernel), Options(allow_disruption=disruption, allow_unsafe=unsafe))
    ordered = order([Change(setting, Observation(None), Status.OK) for setting in settings])
    tuning = Tuning(
        settings=tuple(change.setting for change in ordered),
        host=host(kernel),
        profiles=(),
        place=Place(program=(script.PATH,)),
        allow_disruption=disruption,
        allow_unsafe=unsafe,
    )
    units = {change.setting.id for change in changes if isinstance(change.setting.target, UNITS)}
    rows = [change for change in changes if change.setting.want is not None]
    compared = [change for change in rows if is_compared(change, units)]
    text = script.text(tuning)
    said, code = told(inside(text, lay(kernel, tmp_path / "host", text)), tmp_path)
    expected = {change.setting.id: verdict(change) for change in compared}
    assert {sid: said.get(sid) for sid in expected} == expected
    if len(compared) == len([change for change in rows if change.status is not Status.NOT_APPLICABLE]):
        assert (code == 2) is (differences(changes) > 0)


def host(kernel: FakeKernel) -> HostInfo:
    nodes, cpus = (kernel.read(f"/sys/devices/system/{what}/online").text or "" for what in ("node", "cpu"))
    return HostInfo("/", "6.12.0", "x86_64", nodes.strip(), cpus.strip(), "", "")


def is_compared(change: Change, units: set[SettingId]) -> bool:
    """All but what the script leaves out, and what systemd knows: there is none below a folder."""
    setting = change.setting
    if isinstance(setting.target, Trait) or change.status is Status.NOT_APPLICABLE:
        return False
    if isinstance(setting.target, Fact) and not isinstance(setting.codec, Cmdline):
        return False
    return setting.id not in units and setting.needs not in units


def verdict(change: Change) -> Verdict:
    as_wanted = change.status in (Status.OK, Status.PENDING)
    return "ok" if as_wanted else change.status.value, change.action is not Action.NONE


def told(text: str, folder: Path) -> tuple[dict[str, Verdict], int]:
    """What its plan says of each row, and its exit code."""
    file = folder / "tune.sh"
    file.write_text(text, encoding="utf-8")
    ran = subprocess.run(["sh", str(file), "plan", "-v"], capture_output=True, text=True, check=False)  # noqa: S607
    assert (ran.stderr, ran.returncode in (0, 2)) == ("", True)
    verdicts = {"~": ("drifted", True), "=": ("ok", False)}
    found = [match for line in ran.stdout.splitlines() if (match := ROW.match(line))]
    return {match[2]: verdicts.get(match[1], (match[3], False)) for match in found}, ran.returncode
