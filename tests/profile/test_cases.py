"""Every file below cases/ is one test of the profile language.

tells      one sentence: what it shows
profile    text of case.yaml, or
files      path -> text; etc/ stands for /etc/numatune/profiles
names      what is asked for (./case.yaml)
variables  --var
host       arguments of fakes.trees.host_tree; `without`: paths that are taken away
wants      id -> want, why, optional, note, source (its end), reason (a part, of what does not apply),
           unsupported (the reason)
only       there are no settings but those of `wants`
notes      exactly these
error      parts of the ProfileError's lines, instead of all that; lines: how many there are
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from fakes.kernel import FakeKernel
from fakes.trees import host_tree

from numatune import profile
from numatune.discover import discover
from numatune.errors import ProfileError
from numatune.settings.model import Setting
from numatune.settings.targets import Nothing
from numatune.topology.resolve import with_overrides

FOLDER = Path(__file__).parent / "cases"
WORDS = "error files host lines names notes only profile tells variables wants without".split()  # noqa: SIM905  # a table


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")), ids=lambda path: path.stem)
def test_case(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert set(case) <= set(WORDS), "a key that the runner does not know"
    monkeypatch.chdir(tmp_path)
    for name, text in case.get("files", {"case.yaml": case.get("profile", "")}).items():
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    if "error" in case:
        with pytest.raises(ProfileError) as raised:
            _resolved(case)
        for part in case["error"]:
            assert part in str(raised.value)
        assert len(raised.value.problems) == case.get("lines", len(raised.value.problems))
        return
    resolved = _resolved(case)
    made = {setting.id: setting for setting in resolved.settings}
    for sid, expected in case["wants"].items():
        assert sid in made
        _check(made[sid], expected)
    if case.get("only"):
        assert set(made) == set(case["wants"])
    assert list(resolved.notes) == case.get("notes", list(resolved.notes))


def _resolved(case: dict[str, Any]) -> profile.Resolved:
    tree = host_tree(**case.get("host", {}))
    for gone in case.get("without", ()):
        for path in [path for path in tree if path.startswith(gone)]:
            del tree[path]
    kernel = FakeKernel(tree)
    names = case.get("names", ["./case.yaml"])
    document = profile.load(names, variables=case.get("variables", {}), etc="etc")
    topology = with_overrides(discover(kernel, document.reads), document.overrides)
    resolved = profile.resolve(document, topology)
    assert profile.resolve(profile.restore(document.stored()), topology) == resolved, "stored and read again"
    return resolved


def _check(setting: Setting, expected: dict[str, Any]) -> None:
    for key, value in expected.items():
        match key:
            case "reason":
                assert isinstance(setting.target, Nothing)
                assert setting.target.status == "not-applicable"
                assert value in setting.target.reason
            case "unsupported":
                assert setting.target == Nothing("unsupported", value)
            case "source":
                assert str(setting.source).endswith(value)
            case "note":
                assert value in setting.note if value else not setting.note
            case _:
                assert (key, getattr(setting, key)) == (key, value)
                assert not isinstance(setting.target, Nothing)
