"""The role played on a Debian of its own, by both series of ansible-core, with the numatune of this checkout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import debian
import pytest

if TYPE_CHECKING:
    from playing import Host

OLDER, NEWEST = debian.SERIES
both = pytest.mark.parametrize("series", [OLDER, NEWEST])
each = pytest.mark.parametrize("series", [pytest.param(OLDER, marks=pytest.mark.matrix), NEWEST])
WHEELHOUSE = "/mnt/wheelhouse"


def held(host: Host, name: str) -> str:
    """A sysctl of the guest's own network."""
    return host.guest.run("cat", f"/proc/sys/net/ipv4/{name}").strip()


@each
def test_check_mode_says_that_numatune_would_be_installed_and_changes_nothing(bare: Host, series: str) -> None:
    wanted = {"wheelhouse": WHEELHOUSE, "profiles": ["site"], "profile_files": [bare.profile("site", tcp_retries1=7)]}
    played = bare.role("--check", "--diff", series=series, **wanted)
    assert "would be" in played.of("Make the host")["msg"]
    assert played.of("Install numatune")["diff"]["before"] == "numatune (absent)\n"
    assert (bare.written(), held(bare, "tcp_retries1")) == ([], "3")


@both
def test_the_second_time_nothing_changes(bare: Host, series: str) -> None:
    files = [bare.profile("site", tcp_retries1=7)]
    wanted = {"wheelhouse": WHEELHOUSE, "profiles": ["site"], "profile_files": files, "check": "cron"}
    first = bare.role(series=series, **wanted)
    assert len(first.changed) == 3
    assert first.of("Make the host")["verified"] is True
    assert held(bare, "tcp_retries1") == "7"
    assert "--delay-up-to 5m" in bare.guest.path("/etc/cron.d/numatune-check").read_text()
    second = bare.role(series=series, **wanted)
    assert (second.changed, second.counts["changed"]) == ([], 0)
    assert second.of("Make the host")["verified"] is None
    third = bare.role("--check", "--diff", series=series, **wanted)
    assert third.changed == []


@each
def test_check_mode_shows_the_plan_of_a_profile_that_is_not_there_yet(host: Host, series: str) -> None:
    base, site = host.profile("base", tcp_fin_timeout=61), host.profile("site", tcp_retries1=7)
    text = (host.folder / "site.yaml").read_text()
    (host.folder / "site.yaml").write_text(text.replace("sysctl:", "extends: base\nsysctl:"))
    before = host.written()
    wanted = {"wheelhouse": WHEELHOUSE, "profiles": ["site"], "profile_files": [base, site]}
    played = host.role("--check", "--diff", series=series, **wanted)
    assert played.of("Make the host")["diff"] == {
        "before": "sysctl:net.ipv4.tcp_fin_timeout: 60\nsysctl:net.ipv4.tcp_retries1: 3\n",
        "after": "sysctl:net.ipv4.tcp_fin_timeout: 61\nsysctl:net.ipv4.tcp_retries1: 7\n",
    }
    assert (host.written(), held(host, "tcp_retries1")) == (before, "3")


def test_what_a_profile_no_longer_wants_is_given_back(host: Host) -> None:
    wanted = {"wheelhouse": WHEELHOUSE, "profiles": ["site"]}
    files = [host.profile("site", tcp_retries1=7, tcp_fin_timeout=61)]
    host.role(profile_files=files, **wanted)
    host.profile("site", tcp_fin_timeout=61)
    played = host.role("--diff", profile_files=files, **wanted)
    assert played.of("Make the host")["diff"] == {
        "before": "sysctl:net.ipv4.tcp_retries1: 7\n",
        "after": "sysctl:net.ipv4.tcp_retries1: 3\n",
    }
    assert held(host, "tcp_retries1") == "3"


@each
def test_absent_leaves_the_host_as_it_was(bare: Host, series: str) -> None:
    wanted = {"wheelhouse": WHEELHOUSE, "profiles": ["site"], "check": "cron", "check_log": "/var/log/numatune.log"}
    site = bare.profile("site", tcp_retries1=7)
    with (bare.folder / "site.yaml").open("a", encoding="utf-8") as profile:
        profile.write("launch: {cpu: node}\n")  # a file beside the role's, in a folder that the role has made
    bare.role(profile_files=[site], series=series, **wanted)
    assert bare.guest.path("/etc/numatune/launch").exists()
    bare.guest.path("/var/log/numatune.log").write_text("what a check wrote\n")
    foreseen = bare.role("--check", state="absent", series=series)
    assert held(bare, "tcp_retries1") == "7"
    played = bare.role(state="absent", series=series)
    assert played.changed == foreseen.changed
    assert (bare.written(), held(bare, "tcp_retries1")) == ([], "3")
    assert bare.role(state="absent", series=series).changed == []


@pytest.fixture
def spared(host: Host) -> Host:
    """A host on which somebody has changed what numatune had set."""
    files = [host.profile("site", tcp_retries1=7, tcp_fin_timeout=61)]
    host.role(wheelhouse=WHEELHOUSE, profiles=["site"], profile_files=files)
    host.guest.run("sh", "-c", "echo 9 > /proc/sys/net/ipv4/tcp_retries1")
    return host


def test_absent_stops_where_something_could_not_be_given_back(spared: Host) -> None:
    played = spared.role(state="absent", code=2)
    assert "sysctl:net.ipv4.tcp_retries1" in played.failure
    assert spared.guest.path("/usr/local/bin/numatune").is_symlink()
    assert (held(spared, "tcp_retries1"), held(spared, "tcp_fin_timeout")) == ("9", "60")


def test_absent_keeps_the_state_where_something_could_not_be_given_back(spared: Host) -> None:
    played = spared.role(state="absent", unreached="warn")
    assert any("tcp_retries1" in warning for warning in played.warnings)
    assert not spared.guest.path("/opt/numatune").exists()
    assert not spared.guest.path("/usr/local/bin/numatune").is_symlink()
    assert list(spared.guest.path("/var/lib/numatune/runs").iterdir())
    again = spared.role(state="absent", unreached="warn")
    assert again.changed == spared.role("--check", state="absent").changed == []
    assert any("install it first" in warning for warning in again.warnings)
    assert list(spared.guest.path("/var/lib/numatune/runs").iterdir())


def test_what_cannot_be_reached_fails_or_warns(host: Host) -> None:
    wanted = {"wheelhouse": WHEELHOUSE, "profiles": ["site"], "profile_files": [host.profile("site", no_such_knob=1)]}
    played = host.role(code=2, **wanted)
    assert "net.ipv4.no_such_knob" in played.failure
    (failed,) = [row.result for row in played.rows if row.status == "failed"]
    assert [row["status"] for row in failed["rows"]] == ["unsupported"]
    warned = host.role(unreached="warn", **wanted)
    assert warned.of("Make the host")["unreached"] == ["sysctl:net.ipv4.no_such_knob"]
    assert any("no_such_knob" in warning for warning in warned.warnings)


@pytest.mark.parametrize("words", [[], ["--check"]])
def test_a_mistake_in_a_profile_is_told_with_its_line(host: Host, words: list[str]) -> None:
    (host.folder / "site.yaml").write_text("name: site\nsysctl:\n  vm.swapiness: 1\n")
    files = ["/mnt/play/site.yaml"]
    played = host.role(*words, code=2, wheelhouse=WHEELHOUSE, profiles=["site"], profile_files=files)
    assert "site.yaml:3" in played.failure


def test_two_profile_files_of_one_name_are_refused(bare: Host) -> None:
    (bare.folder / "other").mkdir()
    (bare.folder / "other" / "site.yaml").write_text("name: site\n")
    files = [bare.profile("site", tcp_retries1=7), "/mnt/play/other/site.yaml"]
    played = bare.role(code=2, wheelhouse=WHEELHOUSE, profiles=["site"], profile_files=files)
    assert "/mnt/play/other/site.yaml" in played.failure
    assert not bare.guest.path("/etc/numatune").exists()


def test_a_file_in_the_way_is_named(bare: Host) -> None:
    bare.guest.path("/etc/numatune").write_text("in the way\n")
    wanted = {"wheelhouse": WHEELHOUSE, "profile_files": [bare.profile("site", tcp_retries1=7)]}
    assert "/etc/numatune" in bare.role(code=2, **wanted).failure
    assert bare.guest.path("/etc/numatune").read_text() == "in the way\n"


def test_a_profile_that_the_role_no_longer_puts_goes_and_one_that_was_there_comes_back(host: Host) -> None:
    theirs = host.guest.path("/etc/numatune/profiles/theirs.yaml")
    theirs.write_text("name: theirs\n")
    theirs.chmod(0o600)
    wanted = {"wheelhouse": WHEELHOUSE}
    host.role(profile_files=[host.profile("theirs", tcp_retries1=3)], **wanted)
    assert not host.guest.path("/etc/numatune/profiles/site.yaml").exists()
    assert "tcp_retries1" in theirs.read_text()
    host.role(**wanted)
    assert (theirs.read_text(), theirs.stat().st_mode & 0o777) == ("name: theirs\n", 0o600)


def test_another_prefix_and_another_link_take_the_place_of_the_first(bare: Host) -> None:
    files = {"profiles": ["site"], "profile_files": [bare.profile("site", tcp_retries1=7)]}
    wanted = {"wheelhouse": WHEELHOUSE, "check": "cron", **files}
    bare.role(**wanted)
    place = {"prefix": "/srv/numatune", "link": "/usr/local/bin/tune"}
    assert any("/usr/local/bin/numatune" in told for told in bare.role(**place, **wanted).warnings)
    assert not bare.guest.path("/opt/numatune").exists()
    assert not bare.guest.path("/usr/local/bin/numatune").is_symlink()
    assert "root /srv/numatune/current" in bare.guest.path("/etc/cron.d/numatune-check").read_text()
    assert bare.role(**place, **wanted).changed == []
    bare.role(state="absent", **place)
    assert (bare.written(), held(bare, "tcp_retries1")) == ([], "3")


def test_what_persists_is_shown_written_and_taken_away(bare: Host) -> None:
    file = "/etc/sysctl.d/zz-numatune.conf"
    wanted = {"wheelhouse": WHEELHOUSE, "profiles": ["site"], "profile_files": [bare.profile("site", tcp_retries1=7)]}
    bare.role(**wanted)
    assert not bare.guest.path(file).exists()
    # Without systemd nothing applies the set at boot, and the apply says so.
    kept = {**wanted, "persist": True, "unreached": "warn"}
    foreseen = bare.role("--check", "--diff", **kept)
    assert "persist:sysctl.d:\n  # Written by numatune" in foreseen.of("Make the host")["diff"]["after"]
    assert not bare.guest.path(file).exists()
    assert bare.role(**kept).of("Make the host")["unreached"] == ["persist:boot"]
    assert "net.ipv4.tcp_retries1 = 7" in bare.guest.path(file).read_text()
    assert bare.role(**kept).changed == []
    bare.role(state="absent")
    assert bare.written() == []


def test_an_apply_is_confirmed_when_the_host_still_answers(host: Host) -> None:
    wanted = {"wheelhouse": WHEELHOUSE, "profiles": ["site"], "confirm_within": "90s"}
    files = [host.profile("site", tcp_retries1=7)]
    played = host.role(profile_files=files, **wanted)
    assert "Keep what was applied" in played.rows[-1].task
    assert not host.guest.path("/var/lib/numatune/confirm.json").exists()
    assert held(host, "tcp_retries1") == "7"
    assert host.role(profile_files=files, **wanted).changed == []


def test_a_host_that_waits_for_a_reboot_is_rebooted_when_asked_also_after_the_apply(host: Host) -> None:
    (host.folder / "site.yaml").write_text("name: site\nkernel_cmdline: {require: [numatune.nothing=1]}\n")
    wanted = {"wheelhouse": WHEELHOUSE, "profiles": ["site"], "profile_files": ["/mnt/play/site.yaml"]}
    assert host.role(**wanted).of("Make the host")["reboot_required"] is True
    assert host.role(**wanted).changed == []
    # Ansible refuses this to a play on its own host, and so tells that it was asked.
    assert "would reboot the control node" in host.role(reboot=True, code=2, **wanted).failure


def test_cron_runs_the_check_and_the_line_goes_with_it(host: Host) -> None:
    wanted = {"wheelhouse": WHEELHOUSE, "check_cron": "7 * * * *", "check_action": "repair", "check_syslog": False}
    textfile = "/var/lib/node_exporter/100%.prom"
    told = {"check_textfile": textfile, "check_notify": "/usr/bin/page me", "check_delay": ""}
    played = host.role(check="cron", **told, **wanted)
    assert f"{textfile} cannot be written: there is no folder /var/lib/node_exporter" in played.warnings
    line = host.guest.path("/etc/cron.d/numatune-check").read_text().splitlines()[-1]
    program = "/opt/numatune/current/bin/numatune"
    words = r"--textfile /var/lib/node_exporter/100\%.prom --notify '/usr/bin/page me'"
    assert line == f"7 * * * * root {program} check --repair {words}"
    host.role(check="none", **wanted)
    assert not host.guest.path("/etc/cron.d/numatune-check").exists()


def test_a_timer_needs_systemd_and_says_so(host: Host) -> None:
    played = host.role(check="timer", code=2, wheelhouse=WHEELHOUSE)
    assert "systemd does not run here" in played.failure


def test_a_wrong_variable_is_found_before_the_host_is_touched(bare: Host) -> None:
    played = bare.role(code=2, wheelhouse=WHEELHOUSE, unreached="ignore")
    assert "unreached" in played.failure
    assert bare.written() == []
