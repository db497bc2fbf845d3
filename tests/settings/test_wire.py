"""Settings, plans and journal records survive the way to a file and back; nothing else comes out of a file."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fakes import forty
from fakes.journal import start
from hypothesis import given
from hypothesis import strategies as st

from numatune.engine.diff import Options, diff
from numatune.engine.observe import flat, observe
from numatune.errors import StateError
from numatune.settings.codecs import Int
from numatune.settings.journal import Ack, Intent, Ready, Repaired, RunEnd
from numatune.settings.model import FitsFree, Impact, NotBelow, Phase, Refuse, RoomFor, Setting, SettingId, Source, Zero
from numatune.settings.plan import Action, HostInfo, Plan, ProfileInfo
from numatune.settings.targets import Fact, KernelFile, Nothing
from numatune.settings.wire import dumps, from_data, to_data

ONE = Setting(
    id=SettingId("sysctl:vm.swappiness"),
    target=KernelFile(("/proc/sys/vm/swappiness",), absent="since Linux 2.6"),
    codec=Int(op="<="),
    want="10",
    phase=Phase.SYSCTL,
    section="sysctl",
    source=Source("a.yaml", 3),
    optional=False,
    impact=Impact.NEW_PROCESSES,
    impact_in_use=Impact.DISRUPTS,
    after=(SettingId("a"), SettingId("b")),
    guard=FitsFree("/proc/meminfo", 4096),
    undo="nearest",
    home="sysctl.d",
)
TEXTS = st.text() | st.none()


def back(value: Any) -> Any:
    return from_data(json.loads(dumps(value)), type(value))


@pytest.mark.parametrize("setting", [ONE, *flat(forty.settings())], ids=lambda setting: setting.id)
def test_a_setting_comes_back(setting: Setting):
    assert back(setting) == setting
    assert type(back(setting).phase) is Phase


@pytest.mark.parametrize(
    "guard",
    [
        Refuse("too much"),
        NotBelow("/x"),
        FitsFree("/m", 2, "/pool"),
        Zero("/x", "are left"),
        RoomFor("/x", 2, "/m"),
        None,
    ],
    ids=str,
)
def test_a_guard_comes_back(guard: Any):
    setting = Setting(
        id=SettingId("x"),
        target=Nothing("unsupported", "no"),
        codec=Int(),
        want=None,
        phase=Phase.CHECK,
        section="x",
        guard=guard,
    )
    assert back(setting) == setting


def test_a_plan_comes_back():
    kernel, settings = forty.kernel(), flat(forty.settings())
    changes = diff(settings, observe(settings, kernel), Options())
    host = HostInfo("/", "6.12.0", "x86_64", "0-1", "0-7", "boot", "f")
    plan = Plan((ProfileInfo("p", "1", "abc"),), host, changes)
    assert back(plan) == plan


@given(TEXTS, st.lists(st.text()).map(tuple), st.integers(0, 200), st.sampled_from(Action))
def test_records_come_back_whatever_is_in_them(text: str | None, writes: tuple[str, ...], number: int, action: Action):
    for record in (
        Intent(number, ONE, text, action, writes, "7"),
        Ack(number, number, text, final=bool(number % 2), identity="12"),
        Repaired("x", "now", text),
        RunEnd("incomplete", number, writes, number),
        start(number + 1, "rollback", undoes=(number,)),
        Ready(),
    ):
        line = dumps(record)
        assert "\n" not in line
        assert line.isascii()
        assert from_data(json.loads(line), type(record)) == record


def test_bytes_that_are_no_text_come_back():
    ack = Ack(0, 0, b"\xff\xfe".decode("utf-8", "surrogateescape"))
    assert back(ack) == ack


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        {"@": "Popen", "args": "true"},
        {"@": "Ack"},
        {"@": "Ack", "seq": 1, "errno": 0, "held": "x", "unheard": 1},
        {"@": "Setting", "phase": 3},
        {"@": "Ready"},
        [],
        {"@": ["Ack"]},
    ],
    ids=str,
)
def test_what_is_no_such_record_is_refused(data: Any):
    with pytest.raises(StateError):
        from_data(data, Ack)


def test_only_known_classes_go_on_the_wire():
    with pytest.raises(TypeError):
        to_data(object())


def test_defaults_are_left_out():
    assert to_data(Fact(("/proc/cmdline",))) == {"@": "Fact", "paths": ["/proc/cmdline"]}
    assert to_data(Ack(1, 0, None)) == {"@": "Ack", "seq": 1, "errno": 0, "held": None}
