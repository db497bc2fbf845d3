"""The parser and the one error boundary."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.commands import typed

from numatune.cli import main as cli
from numatune.cli.commands import COMMANDS
from numatune.cli.help import folded
from numatune.cli.parser import parse
from numatune.errors import LockedError, Problem, ProfileError, UsageError


def run(*argv: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "numatune", *argv]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})


def raising(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    def parse_and_fail(_: object) -> None:
        raise error

    monkeypatch.setattr(cli, "parse", parse_and_fail)


@pytest.mark.parametrize(
    "argv",
    [
        ["--json", "--root", "x", "-v", "plan", "p"],
        ["plan", "p", "--json", "--root", "x", "-v"],
        ["--json", "plan", "--root=x", "p", "--verbose"],
        ["--root", "x", "--verbose", "plan", "--json", "p"],
    ],
)
def test_common_options_stand_before_or_after_the_command(argv: list[str]) -> None:
    args = parse(argv)
    assert (args.json, args.root, args.verbose, args.no_color, args.profiles) == (True, "x", True, False, ["p"])


def test_the_value_of_an_option_is_not_taken_for_the_command() -> None:
    assert parse(["--root", "apply", "plan", "p"]).root == "apply"


@pytest.mark.parametrize(
    ("argv", "part"),
    [
        (["pln"], "did you mean plan?"),
        (["plan", "--jsn", "p"], "--jsn"),
        (["plan", "--verb", "p"], "--verb"),
        ([], "no command"),
        (["--root"], "--root"),
        (["--nonsense"], "--nonsense"),
        (["plan", "p", "--nonsense"], "(numatune plan --help)"),
        (["place", "llm-inference"], "(did you mean --profile llm-inference?)"),
        (["topology", "--all", "./mine.yaml"], "(did you mean --profile ./mine.yaml?)"),
        (["place", "8"], "(numatune place --help)"),
        (["place", "--nonsense=/x"], "(numatune place --help)"),
        (["check", "llm-inference"], "(did you mean numatune drift llm-inference?)"),
        (["check", "--profile", "llm-inference"], "(did you mean numatune drift llm-inference?)"),
        (["reapply", "llm-inference"], "(did you mean numatune apply llm-inference?)"),
        (["rollback", "llm-inference"], "(numatune rollback --help)"),
    ],
)
def test_a_wrong_command_line_is_64_and_says_what_is_wrong(argv: list[str], part: str) -> None:
    with pytest.raises(UsageError, match=re.escape(part)):
        parse(argv)


def test_64_reaches_the_shell_with_one_line_on_stderr() -> None:
    ran = run("plan", "--nonsense", "p")
    assert (ran.returncode, ran.stdout) == (64, "")
    assert ran.stderr == "numatune: unrecognized arguments: --nonsense (numatune plan --help)\n"


@pytest.mark.parametrize(
    ("line", "pieces"),
    [
        ("short", ["short"]),
        ("  a command      tells of one or another", ["  a command      tells of one or", "                 another"]),
        ("  prose that is too long to fit in a line", ["  prose that is too long to fit in a", "  line"]),
        ("https://" + "x" * 40, ["https://" + "x" * 40]),
    ],
)
def test_a_long_line_of_help_folds_below_its_last_column(line: str, pieces: list[str]) -> None:
    assert folded(line, 38) == pieces


def test_help_lists_every_command_and_fits_a_terminal() -> None:
    ran = run("--help")
    assert ran.returncode == 0
    for name in COMMANDS:
        assert re.search(rf"^  {name} +\w", ran.stdout, re.MULTILINE)
    assert max(map(len, ran.stdout.splitlines())) <= 80


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples(name: str) -> None:
    ran = run(name, "--help", COLUMNS="80")
    assert ran.returncode == 0, ran.stderr
    assert max(map(len, ran.stdout.splitlines())) <= 80
    assert f"numatune {name}" in ran.stdout
    assert "Examples" in ran.stdout


def test_a_known_error_is_one_message_and_its_own_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    problems = (Problem("a.yaml:3", "no key swapiness", "swappiness", "a typing error?"), Problem("a.yaml:9", "bad"))
    raising(ProfileError(problems), monkeypatch)
    assert cli.main(["plan"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "numatune: a.yaml:3: no key swapiness; accepted: swappiness (a typing error?)",
        "numatune: a.yaml:9: bad",
    ]


def test_a_known_error_is_an_object_with_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    raising(LockedError("", "pid 7 holds the lock", hint="--wait"), monkeypatch)
    assert cli.main(["apply", "--json"]) == 75
    problem = {"where": "", "found": "pid 7 holds the lock", "accepted": "", "hint": "--wait"}
    assert json.loads(capsys.readouterr().out) == {"error": {"code": 75, "kind": "LockedError", "problems": [problem]}}


def test_json_after_two_dashes_belongs_to_somebody_else(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    raising(LockedError("", "held"), monkeypatch)
    cli.main(["plan", "--", "true", "--json"])
    assert capsys.readouterr() == ("", "numatune: held\n")


def test_the_unexpected_is_3_and_its_trace_goes_to_a_private_log(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    raising(ZeroDivisionError("nobody thought of this"), monkeypatch)
    assert cli.main(["plan"]) == 3
    (log,) = tmp_path.iterdir()
    err = capsys.readouterr().err
    assert str(log) in err
    assert "Traceback" not in err
    assert "ZeroDivisionError: nobody thought of this" in log.read_text()
    assert log.stat().st_mode & 0o077 == 0


def test_interrupted_is_130(monkeypatch: pytest.MonkeyPatch) -> None:
    raising(KeyboardInterrupt(), monkeypatch)
    assert cli.main(["plan"]) == 130


def test_an_error_moves_no_cursor(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    raising(UsageError("", "evil\033[2J"), monkeypatch)
    cli.main(["plan"])
    assert capsys.readouterr().err == "numatune: evil?[2J\n"


def test_a_reader_that_went_away_is_no_error() -> None:
    command = [sys.executable, "-m", "numatune", "plan", "--schema"]
    ran = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert ran.stdout
    assert ran.stderr
    ran.stdout.close()
    assert ran.wait(timeout=60) == 0
    assert ran.stderr.read() == ""
    ran.stderr.close()


def test_no_locale_makes_a_result_unprintable() -> None:
    ran = run("--help", PYTHONIOENCODING="ascii", PYTHONUTF8="0", LC_ALL="C")
    assert ran.returncode == 0
    ran = run("plan", "--help", PYTHONIOENCODING="ascii", PYTHONUTF8="0", LC_ALL="C")
    assert ran.returncode == 0, ran.stderr


def test_the_schema_of_a_plan_can_be_printed() -> None:
    ran = run("plan", "--schema")
    assert ran.returncode == 0
    assert json.loads(ran.stdout)["title"] == "numatune plan"


def test_a_plan_without_a_profile_is_a_wrong_command_line() -> None:
    ran = run("plan")
    assert ran.returncode == 64
    assert "no profile" in ran.stderr


@pytest.mark.parametrize("wait", ["nan", "-1", "soon"])
def test_a_wait_that_would_never_end_is_no_wait(wait: str) -> None:
    for command in (("apply", "x.yaml", "--yes"), ("rollback", "--yes"), ("drift", "--repair"), ("confirm",)):
        done = typed(*command, f"--wait={wait}")
        assert done.code == 64
        assert "is no time to wait" in done.err


@pytest.mark.parametrize(
    "argv", [["check"], ["history"], ["rollback", "--check"], ["rollback"], ["apply", "llm-inference"]]
)
def test_what_a_captured_tree_does_not_tell_is_refused_and_nothing_written_to_it(
    argv: list[str], tmp_path: Path
) -> None:
    told = typed("--root", str(tmp_path), *argv)
    assert (told.code, told.out) == (64, "")
    assert f"--root: {tmp_path} is a captured tree, which" in told.err
    assert list(tmp_path.iterdir()) == []
