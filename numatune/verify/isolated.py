"""Runs the checks so that nobody else's code runs with them.

The child is this Python, isolated (-I: no PYTHON* variables, no folder of the caller's or the user's on the path), with
pytest under a configuration of our own: no conftest.py, no pytest.ini of a folder, no plug-ins but testinfra's, no
variable of the caller's environment but those named here. Its working folder is private and gone afterwards.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from numatune.errors import HostError, NumatuneError
from numatune.settings import wire
from numatune.settings.model import Setting
from numatune.verify.remote import CONFIG_FILE, HOSTSPEC, Remote, configuration
from numatune.verify.verdict import SETTINGS_FILE, VERDICTS_FILE, Verdict

_ROOM = Path(__file__).parent
_JUNIT = "junit.xml"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin"
"""Where sysctl and systemctl are looked for: never in a folder that the caller's PATH adds. The last is NixOS's."""
_KEPT = ("LD_LIBRARY_PATH",)
"""A Python that was built with its library elsewhere does not start without it."""
_SECONDS, _SECONDS_EACH, _SECONDS_EACH_REMOTE = 300, 2, 15
_ALL_HELD, _SOME_FAILED = 0, 1
"""pytest's exit codes when every check came to its end."""


def checks_for(
    settings: Sequence[Setting], *, junit: Path | None = None, remote: Remote | None = None
) -> tuple[Verdict, ...]:
    """One verdict for each setting that wants something, in their order, companions after what they belong to.

    `junit`: a file to write pytest's JUnit XML to. `remote`: the host to ask, None for this one. Raises HostError when
    the checks take too long, NumatuneError when that file cannot be written, RuntimeError with pytest's words when a
    check breaks.
    """
    wanted = {setting.id: setting for one in settings for setting in (one, *one.companions) if setting.want is not None}
    if not wanted and junit is None:
        return ()
    with _private_folder() as name:
        folder = Path(name)
        _put(folder / SETTINGS_FILE, json.dumps(wire.to_data(list(wanted.values()))))
        if remote is not None:
            _put(folder / CONFIG_FILE, configuration(remote))
        each = _SECONDS_EACH if remote is None else _SECONDS_EACH_REMOTE
        code, said = _run(command(folder, remote), folder, _SECONDS + each * len(wanted))
        verdicts = _verdicts(folder / VERDICTS_FILE)
        if code not in {_ALL_HELD, _SOME_FAILED} or verdicts.keys() != wanted.keys():
            raise RuntimeError(f"the checks broke (pytest ended with {code}):\n{said}")
        if junit is not None:
            _copy(folder / _JUNIT, junit)
    return tuple(verdicts[name] for name in wanted)


def command(folder: Path, remote: Remote | None = None) -> tuple[str, ...]:
    """The child's argv."""
    there = () if remote is None else (f"--hosts={HOSTSPEC}", f"--ssh-config={folder / CONFIG_FILE}")
    return (
        *(sys.executable, "-I", "-B", "-m", "pytest"),
        *("-c", str(_ROOM / "checks.ini"), "--rootdir", str(_ROOM), "--confcutdir", str(_ROOM), "--noconftest"),
        *("-p", "testinfra.plugin", "-p", "no:cacheprovider", "--import-mode=importlib", "--assert=plain"),
        *(*there, "-q", "--tb=short", "--color=no", f"--junit-xml={folder / _JUNIT}", str(_ROOM / "checks.py")),
    )


def environment(folder: Path) -> dict[str, str]:
    """The child's whole environment. C locale: what commands say is read."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    made = {"PATH": _PATH, "LC_ALL": "C", "HOME": str(folder), "TMPDIR": str(folder)}
    return {**kept, **made, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def _run(argv: Sequence[str], folder: Path, seconds: int) -> tuple[int, str]:
    """Exit code and output. Whatever ends this function ends the child and all that it started."""
    with subprocess.Popen(  # noqa: S603  # an argv of our own
        argv,
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    ) as child:
        try:
            said, _ = child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired as error:
            hint = "does systemctl answer?"
            raise HostError("verify", f"the checks did not end within {seconds} s", hint=hint) from error
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
    return child.returncode, said


def _private_folder() -> tempfile.TemporaryDirectory[str]:
    try:
        return tempfile.TemporaryDirectory(prefix="numatune-verify-")  # mode 0700
    except OSError as error:
        raise HostError(
            "verify", f"no folder for the checks: {error.strerror}", hint="TMPDIR names another place"
        ) from error


def _put(path: Path, text: str) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)


def _verdicts(path: Path) -> dict[str, Verdict]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {verdict.id: verdict for verdict in map(Verdict.from_line, lines)}


def _copy(made: Path, to: Path) -> None:
    try:
        shutil.copyfile(made, to)
    except OSError as error:
        raise NumatuneError(str(to), f"the JUnit file cannot be written: {error.strerror}") from error
