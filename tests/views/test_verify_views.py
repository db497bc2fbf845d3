"""A second opinion as text and as JSON."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes.rows import change, owned_file, sysctl

from numatune.settings.plan import Change, HostInfo, Observation, Plan, ProfileInfo, Status
from numatune.views.style import PLAIN
from numatune.views.verify_json import verified as as_json
from numatune.views.verify_text import verified as as_text

HOST = HostInfo("/", "6.12.9", "x86_64", "0-1", "0-15", "boot", "print")


def said(*changes: Change) -> Plan:
    return Plan((ProfileInfo("mine", "2026.11", "0123456789abcdef"),), HOST, changes)


def row(key: str, held: str | None, status: Status, where: str = "sysctl -n x", **fields: object) -> Change:
    return replace(change(sysctl(key, "10", **fields), held, status), seen=Observation(held, where=where))


def text(*changes: Change, verbose: bool = False) -> list[str]:
    return as_text(said(*changes), PLAIN, again="plan mine", verbose=verbose).splitlines()


def test_only_what_counts_is_shown_with_who_was_asked():
    lines = text(row("a", "60", Status.DRIFTED), row("b", "10", Status.OK), row("c", "9", Status.UNCHANGEABLE))
    assert lines == [
        "Verified: mine 2026.11 (01234567)",
        "",
        "sysctl",
        "  ✗ a  60 (wanted 10)  drifted",
        "      asked: sysctl -n x",
        "",
        "1 of 3 settings not as wanted · 1 drifted · 1 ok · 1 unchangeable",
        "See what apply would do with: numatune plan mine",
    ]


def test_clean_is_short():
    assert text(row("a", "10", Status.OK)) == ["Verified: mine 2026.11 (01234567)", "", "As wanted · 1 ok"]


@pytest.mark.parametrize(
    ("status", "symbol"),
    [
        (Status.OK, "✓"),
        (Status.PENDING, "✓"),
        (Status.DRIFTED, "✗"),
        (Status.DENIED, "✗"),
        (Status.UNSUPPORTED, "✗"),
        (Status.CLAMPED, "✗"),
        (Status.REBOOT, "✗"),
        (Status.UNCHANGEABLE, "·"),
        (Status.NOT_APPLICABLE, "·"),
    ],
)
def test_every_status_has_its_symbol(status: Status, symbol: str):
    assert f"  {symbol} a" in "\n".join(text(row("a", "60", status), verbose=True))


def test_what_is_optional_never_fails():
    lines = text(row("a", "60", Status.DRIFTED, optional=True), row("b", "10", Status.OK, optional=True))
    assert lines[2:] == ["As wanted · 1 drifted but optional · 1 ok"]


def test_a_file_is_told_by_its_length():
    ours = replace(change(owned_file("/etc/x", "a\nb\n"), "a\n", Status.DRIFTED), seen=Observation("a\n"))
    assert "1 byte (wanted 3 bytes)" in "\n".join(text(ours))


def test_json_names_who_was_asked_or_nobody():
    made = as_json(said(row("a", "60", Status.DRIFTED), row("b", None, Status.NOT_APPLICABLE, where="")), "")
    assert [one["verified_by"] for one in made["settings"]] == ["sysctl -n x", None]
    assert (made["summary"]["differences"], made["worked_out_anew"]) == (1, "")


def test_what_is_held_is_shown_and_not_counted():
    held = replace(row("a", "60", Status.DRIFTED), held="held by alice until noon")
    assert text(held, row("b", "10", Status.OK)) == [
        "Verified: mine 2026.11 (01234567)",
        "",
        "sysctl",
        "  · a  60 (wanted 10)  on hold: held by alice until noon",
        "      asked: sysctl -n x",
        "",
        "As wanted · 1 ok · 1 on hold",
    ]
    made = as_json(said(held), "")
    assert (made["settings"][0]["held"], made["summary"]["differences"]) == ("held by alice until noon", 0)
