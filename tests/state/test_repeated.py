"""The report that an apply keeps is only given again where another apply would find nothing to do, and say the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes.commands import Typed, lend, typed
from fakes.kernel import FakeKernel
from fakes.trees import host_tree
from fakes.usual import USUAL
from fakes.watching import OTHERS, Asked, changed

import numatune
from numatune import api, profile
from numatune.api import persisting
from numatune.api.planning import Request

BASE = "name: base\nsysctl: {vm.page-cluster: 0}\n"
WIDE = """\
name: wide
extends: ./base.yaml
sysctl:
  vm.swappiness: 10
  vm.min_free_kbytes: ">= 70000"
  kernel.no_such_thing: 1
thp: {enabled: always, defrag: defer+madvise}
hugepages: {2M: {per_node: 8}}
cpusets: {a: {cpus: 0-3, mems: 0}}
expect: {nodes: {all: 2}}
"""
PAGES = {"/proc/sys/vm/page-cluster": "3\n"}
WORDS = ("apply", "wide.yaml", "--yes", "--json")
REQUEST = Request(profiles=("wide.yaml",))
LASTING = Request(profiles=("wide.yaml",), persist=True)


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeKernel:
    """A host as the profile wants it, after an apply that found nothing to do."""
    made = FakeKernel({**host_tree(nodes=2, cpus_per_node=4, nics=1, systemd=False), **PAGES}, behaviours=USUAL)
    lend(made, tmp_path, monkeypatch)
    (tmp_path / "base.yaml").write_text(BASE)
    (tmp_path / "wide.yaml").write_text(WIDE)
    assert typed(*WORDS).json["summary"]["changes"] > 0
    assert api.repeated(made, REQUEST) is None
    assert typed(*WORDS).json["summary"]["changes"] == 0
    return made


def looked(kernel: FakeKernel, monkeypatch: pytest.MonkeyPatch, *words: str) -> Typed:
    """What apply says when it looks, whatever is on record."""
    with monkeypatch.context() as patch:
        patch.setattr(api, "repeated", lambda *_: None)
        patch.setattr(api, "open_host", lambda *_, **__: kernel)
        return typed(*words)


def test_it_is_the_report_of_a_look(kernel: FakeKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    assert api.repeated(kernel, REQUEST)
    before = kernel.state()
    short = typed(*WORDS)
    assert (short.code, short.out) == (2, looked(kernel, monkeypatch, *WORDS).out)
    assert typed(*WORDS, "--differences-ok").code == 0
    assert kernel.state() == before


def test_whatever_the_host_answers_otherwise(kernel: FakeKernel) -> None:
    """At every path that a plan reads."""
    asked = Asked(kernel)
    assert not api.plan(asked, REQUEST).to_do  # type: ignore[arg-type]
    told = api.repeated(kernel, REQUEST)
    assert told
    tried = held = 0
    for path in asked.paths:
        for other in (None, *OTHERS):
            one = kernel.copy()
            changed(one, path, other)
            tried += 1
            if api.repeated(one, REQUEST):
                held += 1
                rows = api.plan(one, REQUEST).rows
                assert [(row.setting.id, row.status.value, row.action.value) for row in rows] == [
                    (row["id"], row["status"], row["action"]) for row in told["settings"]
                ], (path, other)
    assert tried > 400
    assert 0 < held < tried // 4


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("wide.yaml", WIDE.replace("10", "20")),
        ("wide.yaml", f"{WIDE}# a word more\n"),
        ("base.yaml", BASE.replace("0", "1")),
        ("base.yaml", None),
    ],
)
def test_a_file_of_the_profile_that_has_changed(
    name: str, text: str | None, kernel: FakeKernel, tmp_path: Path
) -> None:
    old = (tmp_path / name).read_text()
    (tmp_path / name).unlink()
    if text is not None:
        (tmp_path / name).write_text(text)
    assert api.repeated(kernel, REQUEST) is None
    (tmp_path / name).write_text(old)
    assert api.repeated(kernel, REQUEST)


def test_a_file_that_others_can_write_is_refused_as_ever(kernel: FakeKernel, tmp_path: Path) -> None:
    (tmp_path / "base.yaml").chmod(0o666)
    assert api.repeated(kernel, REQUEST) is None
    assert "base.yaml" in typed(*WORDS).out


def test_where_another_profile_would_go_before_the_shipped_one_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("name: mine\nextends: kernel-defaults\n")
    looked = profile.load([str(tmp_path / "mine.yaml")], etc=str(tmp_path / "etc")).looked
    mine, (other, shipped) = (
        looked.pop(str(tmp_path / "mine.yaml")),
        sorted(looked, key=lambda path: bool(looked[path])),
    )
    assert mine
    assert other == f"{tmp_path}/etc/kernel-defaults.yaml"
    assert looked[other] is None
    assert Path(shipped).read_text() == looked[shipped]


def test_a_file_where_there_was_none(kernel: FakeKernel, tmp_path: Path) -> None:
    record = tmp_path / "state" / "repeated.json"
    data = json.loads(record.read_text())
    data["told"]["files"].append([f"{tmp_path}/etc/base.yaml", None])
    record.write_text(json.dumps(data))
    assert api.repeated(kernel, REQUEST)
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "base.yaml").write_text(BASE)
    assert api.repeated(kernel, REQUEST) is None


@pytest.mark.parametrize(
    "request_",
    [
        Request(profiles=("base.yaml",)),
        Request(profiles=("wide.yaml", "base.yaml")),
        Request(profiles=("wide.yaml",), only=("sysctl",)),
        Request(profiles=("wide.yaml",), variables={"a": "1"}),
        Request(profiles=("wide.yaml",), allow_unsafe=frozenset({"sysctl:vm.swappiness"})),
        Request(profiles=("wide.yaml",), retry=True),
        Request(profiles=("wide.yaml",), persist=True),
    ],
)
def test_another_request(request_: Request, kernel: FakeKernel) -> None:
    assert api.repeated(kernel, request_) is None


@pytest.mark.parametrize(
    "words",
    [
        ("hold", "sysctl:vm.swappiness", "--for", "1h"),
        ("rollback", "--yes"),
        ("apply", "base.yaml", "--yes"),
    ],
)
def test_what_numatune_has_done_since(words: tuple[str, ...], kernel: FakeKernel) -> None:
    assert typed(*words).code == 0
    assert api.repeated(kernel, REQUEST) is None


def test_from_another_folder_a_path_means_another_file(
    kernel: FakeKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert api.repeated(kernel, REQUEST) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 2}'])
def test_a_record_that_is_none_is_no_error(text: str, kernel: FakeKernel, tmp_path: Path) -> None:
    (tmp_path / "state" / "repeated.json").write_text(text)
    assert api.repeated(kernel, REQUEST) is None
    assert typed(*WORDS).code == 2
    assert api.repeated(kernel, REQUEST)


def test_while_another_run_holds_the_lock_apply_waits_as_ever(kernel: FakeKernel, tmp_path: Path) -> None:
    from numatune.engine import lock  # noqa: PLC0415  # this test alone

    with lock.held(str(tmp_path / "lock"), "apply"):
        assert api.repeated(kernel, REQUEST) is None
        assert typed(*WORDS, "--wait", "0").code == 75


@pytest.fixture
def installed(kernel: FakeKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A numatune by which boots are to call it, which an apply with --persist has stored."""
    place = tmp_path / "bin"
    place.mkdir(mode=0o755)
    for name in ("numatune", "other"):
        (place / name).write_text("#!/bin/sh\n")
        (place / name).chmod(0o755)
    monkeypatch.setattr(persisting, "_behind", lambda: ())
    monkeypatch.setattr(persisting, "_called", lambda: (str(place / "numatune"),))
    for _ in range(2):
        typed(*WORDS, "--persist")
    assert api.repeated(kernel, LASTING)
    return place / "numatune"


def test_a_program_that_boots_no_longer_find(
    installed: Path, kernel: FakeKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed.unlink()
    monkeypatch.setattr(persisting, "_called", lambda: (str(installed.with_name("other")),))
    assert api.repeated(kernel, LASTING) is None
    typed(*WORDS, "--persist")
    assert f'"{installed.with_name("other")}"' in (installed.parents[1] / "state" / "applied.json").read_text()


def test_a_program_that_others_can_write(installed: Path, kernel: FakeKernel) -> None:
    installed.chmod(0o777)
    assert api.repeated(kernel, LASTING) is None
    assert "every boot would run" in typed(*WORDS, "--persist").out


def test_from_a_folder_that_is_gone(kernel: FakeKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMATUNE_PROFILES_DIR", str(tmp_path))
    words = ("apply", str(tmp_path / "wide.yaml"), "--yes", "--json")
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for _ in range(2):
        assert typed(*words).code == 2
    assert api.repeated(kernel, Request(profiles=(str(tmp_path / "wide.yaml"),)))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", ["applied.json", "runs/000001.jsonl"])
def test_state_that_others_can_write_is_refused_as_ever(name: str, kernel: FakeKernel, tmp_path: Path) -> None:
    (tmp_path / "state" / name).chmod(0o666)
    assert api.repeated(kernel, REQUEST) is None
    assert typed(*WORDS).code == 1


def test_a_journal_that_was_written_over(kernel: FakeKernel, tmp_path: Path) -> None:
    (tmp_path / "state" / "runs" / "000001.jsonl").write_text("rubbish\n")
    assert api.repeated(kernel, REQUEST) is None
    assert typed(*WORDS).code == 1


def test_another_build_of_the_same_version(kernel: FakeKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "__init__.py").touch()
    monkeypatch.setattr(numatune, "__file__", str(tmp_path / "__init__.py"))
    assert api.repeated(kernel, REQUEST) is None


def test_another_state_folder_by_name(kernel: FakeKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that persist name it."""
    monkeypatch.setenv("NUMATUNE_STATE_DIR", f"{tmp_path}/./state")
    assert api.repeated(kernel, REQUEST) is None


def test_another_root_is_another_host(kernel: FakeKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeKernel, "root", "/host")
    assert api.repeated(kernel, REQUEST) is None


def test_a_section_that_is_none_is_told_before_a_profile_that_is_none() -> None:
    assert (
        typed("apply", "nope.yaml", "--only", "bogus", "--yes").code
        == typed("plan", "nope.yaml", "--only", "bogus").code
    )
