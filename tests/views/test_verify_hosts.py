"""A second opinion on several hosts, for people and for programs."""

from __future__ import annotations

from fakes.rows import change, sysctl

from numatune.errors import HostError, Problem, ProfileError
from numatune.settings.plan import Action, HostInfo, Plan, ProfileInfo, Status
from numatune.views import verify_hosts
from numatune.views.style import PLAIN

INFO = ProfileInfo("mine", "2026.11", "0123456789abcdef")


def said(host: str, held: str) -> Plan:
    status = Status.OK if held == "10" else Status.DRIFTED
    row = change(sysctl("a", "10"), held, status, Action.NONE)
    return Plan((INFO,), HostInfo(host, "6.12.9", "x86_64", "0-1", "0-15", "boot", "print"), (row,))


LOST = HostError("ssh://c", "No route to host\x1b[2J", hint="try: ssh c")


def test_each_host_has_its_section_and_the_last_line_is_for_all() -> None:
    told = {"ssh://a": said("ssh://a", "10"), "ssh://b": said("ssh://b", "60"), "ssh://c": LOST}
    assert verify_hosts.text(told, PLAIN, again="plan mine").splitlines() == [
        "ssh://a",
        "Verified: mine 2026.11 (01234567)",
        "",
        "As wanted · 1 ok",
        "",
        "ssh://b",
        "Verified: mine 2026.11 (01234567)",
        "",
        "sysctl",
        "  ✗ a  60 (wanted 10)  drifted",
        "",
        "1 of 1 setting not as wanted · 1 drifted",
        "See what apply would do with: numatune plan mine",
        "",
        "ssh://c",
        "Could not be asked: ssh://c: No route to host?[2J (try: ssh c)",
        "",
        "3 hosts · 1 setting not as wanted · 1 could not be asked",
    ]


def wrong(line: int) -> ProfileError:
    return ProfileError((Problem(f"mine.yaml:{line}: sysctl", "no sysctl vm.swapiness is known"),))


def test_what_is_wrong_with_the_profile_at_several_hosts_is_said_once() -> None:
    told = {"ssh://a": wrong(3), "ssh://b": said("ssh://b", "10"), "ssh://c": wrong(3), "ssh://d": wrong(4)}
    assert verify_hosts.text(told, PLAIN, again="").splitlines() == [
        "ssh://a",
        "ssh://c",
        "Could not be asked: mine.yaml:3: sysctl: no sysctl vm.swapiness is known",
        "",
        "ssh://b",
        "Verified: mine 2026.11 (01234567)",
        "",
        "As wanted · 1 ok",
        "",
        "ssh://d",
        "Could not be asked: mine.yaml:4: sysctl: no sysctl vm.swapiness is known",
        "",
        "4 hosts · 3 could not be asked",
    ]
    assert [host["error"]["kind"] for host in verify_hosts.json(told)["hosts"] if host["error"]] == ["ProfileError"] * 3


def test_the_last_line_says_no_more_than_is_known() -> None:
    assert verify_hosts.text({"ssh://a": said("ssh://a", "10")}, PLAIN, again="").endswith("\n1 host · as wanted")
    assert verify_hosts.text({"ssh://c": LOST}, PLAIN, again="").endswith("\n1 host · 1 could not be asked")


def test_json_has_a_document_or_an_error_for_each_host() -> None:
    made = verify_hosts.json({"ssh://b": said("ssh://b", "60"), "ssh://c": LOST})
    assert made["summary"] == {"hosts": 2, "not_asked": 1, "differences": 1}
    b, c = made["hosts"]
    assert (b["host"], b["error"], b["verified"]["host"]["root"]) == ("ssh://b", None, "ssh://b")
    assert b["verified"]["settings"][0]["status"] == "drifted"
    assert (c["verified"], c["error"]["kind"], c["error"]["code"]) == (None, "HostError", 1)
