"""Every file below cases/ is one test: profile -> plan -> apply -> the plan is empty -> rollback -> the tree as before.

tells    one sentence: what it shows
host     arguments of fakes.trees.host_tree
tree     path -> text, laid over it; null takes away
modes    path -> permission bits, as "0444"
read_only  mounts that refuse every write
uid      who asks (0)
profile  text of the profile
options  allow_disruption, allow_unsafe, retry
rows     id -> keys of the plan's row that are compared; `reason` and `note` are a part of it, "" is nothing
counted  rows that make the exit code 2
applied  id -> status, held, effective, reason, errno, conflicts of an outcome; all that were written and are not ok
after    path -> text on the host after apply
writes   [path, text] of every write of apply, in order
error    parts of a ProfileError's lines, instead of all that
spared   ids that a rollback leaves as they are; irreversible: the same, because nothing can give them back
remains  files that a rollback brings near their original, and not back to it
"""

from __future__ import annotations

import errno
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import yaml
from fakes.cases import kernel_of
from fakes.kernel import FakeKernel  # noqa: TC002  # one import block reads better than two

from numatune import profile
from numatune.discover import discover
from numatune.engine.diff import Options, diff
from numatune.engine.execute import execute
from numatune.engine.fold import fold
from numatune.engine.observe import flat, observe
from numatune.engine.restore import restore
from numatune.errors import ProfileError
from numatune.settings.codecs import shown
from numatune.settings.journal import Record, RunKind, RunStart
from numatune.settings.model import Setting, SettingId
from numatune.settings.plan import Action, Change, Outcome, Remembered, Status, differences
from numatune.topology.resolve import with_overrides
from numatune.views.plan_json import row

FOLDER = Path(__file__).parent / "cases"
LEARNED = {Status.CLAMPED, Status.UNCHANGEABLE}
WORDS = (
    "after applied counted error host irreversible modes options profile read_only remains rows spared tells tree uid"
    " writes"
)

Case = dict[str, Any]


class Journal(list[Record]):
    def append(self, record: Record, *, sync: bool = False) -> None:  # noqa: ARG002
        super().append(record)


@pytest.mark.parametrize(
    "path", [pytest.param(path, id=f"{path.parent.name}-{path.stem}") for path in sorted(FOLDER.glob("*/*.yaml"))]
)
def test_case(path: Path, tmp_path: Path) -> None:
    case: Case = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert set(case) <= set(WORDS.split()), "a key that the runner does not know"
    asked = tmp_path / "case.yaml"
    asked.write_text(case["profile"], encoding="utf-8")
    kernel = kernel_of(case)
    if "error" in case:
        with pytest.raises(ProfileError) as raised:
            _settings(asked, kernel)
        for part in case["error"]:
            assert part in str(raised.value)
        return
    settings = _settings(asked, kernel)
    options = _options(case)
    changes = diff(settings, observe(settings, kernel), options)
    _check_rows(case, changes)
    _check_apply_and_back(case, kernel, settings, changes, options)


def _settings(asked: Path, kernel: FakeKernel) -> tuple[Setting, ...]:
    document = profile.load([str(asked)])
    topology = with_overrides(discover(kernel, document.reads), document.overrides)
    return flat(profile.resolve(document, topology).settings)


def _options(case: Case) -> Options:
    given = case.get("options", {})
    return Options(
        allow_disruption=given.get("allow_disruption", False),
        allow_unsafe=frozenset(given.get("allow_unsafe", ())),
        retry=given.get("retry", False),
    )


def _check_rows(case: Case, changes: tuple[Change, ...]) -> None:
    made = {change.setting.id: row(change) for change in changes if change.setting.want is not None}
    for sid, expected in case.get("rows", {}).items():
        assert sid in made, f"{sid} is none of {sorted(made)}"
        for key, value in expected.items():
            if key in {"reason", "note"} and value:
                assert value in made[sid][key], (sid, key)
            else:
                assert (sid, key, made[sid][key]) == (sid, key, value)
    if "counted" in case:
        assert differences(changes) == case["counted"]


def _check_apply_and_back(
    case: Case, kernel: FakeKernel, settings: tuple[Setting, ...], changes: tuple[Change, ...], options: Options
) -> None:
    before, journal = kernel.state(), Journal()
    outcomes = {
        outcome.id: outcome
        for outcome in execute(
            changes,
            kernel,
            journal,
            _start("apply"),
            replan=lambda: diff(settings, observe(settings, kernel), options),
        )
    }
    _check_outcomes(case, changes, outcomes)
    for path, text in case.get("after", {}).items():
        assert (path, (kernel.read(path).text or "").strip()) == (path, str(text).strip())
    if "writes" in case:
        assert [list(write) for write in kernel.log] == case["writes"]
    second = diff(settings, observe(settings, kernel), options, _remembered(settings, outcomes))
    assert [(one.setting.id, one.action) for one in second if one.action is not Action.NONE] == []
    _roll_back(case, kernel, journal)
    left = {path: (before.get(path), text) for path, text in kernel.state().items() if before.get(path) != text}
    gone = sorted(set(before) - set(kernel.state()))
    if not case.get("irreversible"):
        assert (sorted(left), gone) == (sorted(case.get("remains", ())), []), left


def _check_outcomes(case: Case, changes: tuple[Change, ...], outcomes: dict[SettingId, Outcome]) -> None:
    applied: Case = case.get("applied", {})
    by_id = {change.setting.id: change for change in changes}
    for sid, expected in applied.items():
        came = outcomes[SettingId(sid)]
        codec = by_id[SettingId(sid)].setting.codec
        part = expected.get("reason", "")
        told = {
            "status": came.status.value,
            "held": shown(codec, came.held),
            "errno": errno.errorcode.get(came.errno),
            "reason": part if part in came.reason else came.reason,
            "effective": shown(codec, came.effective),
            "conflicts": [asdict(conflict) for conflict in came.conflicts],
        }
        assert (sid, {key: told[key] for key in expected}) == (sid, expected)
    tried = {change.setting.id for change in changes if change.action is not Action.NONE}
    missed = {sid: came for sid, came in outcomes.items() if sid in tried and came.status is not Status.OK}
    assert {sid: came for sid, came in missed.items() if sid not in applied} == {}


def _roll_back(case: Case, kernel: FakeKernel, journal: Journal) -> None:
    ledger = fold(journal)
    seen = observe([owned.setting for owned in ledger.values()], kernel, name_conflicts=False)
    changes, spared = restore(ledger, seen, "boot")
    came = execute(changes, kernel, journal, _start("rollback"), spared=[one.id for one in spared])
    left = {one.id for one in spared} | {one.id for one in came if one.status is not Status.OK}
    assert left == {*case.get("spared", ()), *case.get("irreversible", ())}


def _start(kind: RunKind) -> RunStart:
    return RunStart(1, kind, "2026-11-29T00:00:00Z", "root", 1, "boot")


def _remembered(settings: tuple[Setting, ...], outcomes: dict[SettingId, Outcome]) -> dict[SettingId, Remembered]:
    return {
        setting.id: Remembered(came.status, setting.want, came.held, "boot")
        for setting in settings
        if setting.want is not None and (came := outcomes[setting.id]).status in LEARNED
    }
