"""``numatune run`` on this machine: what the command gets, what is in force in it, and what happens where it cannot."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from numatune import mempolicy
from numatune.launch.starting import environment

ROOT = Path(__file__).parents[2]
CPUS = sorted(os.sched_getaffinity(0))
NODE = mempolicy.usable()[0] if Path("/sys/devices/system/node/has_cpu").exists() else 0
HEAVY = {"pydantic", "jinja2", "yaml", "rich", "pytest", "testinfra", "json", "argparse", "subprocess", "pathlib"}

numa = pytest.mark.skipif(not Path("/sys/devices/system/node").exists(), reason="this kernel has no NUMA")

Ran = subprocess.CompletedProcess[str]


def told(code: str) -> list[str]:
    """A command that prints something of itself."""
    return [sys.executable, "-I", "-c", code]


def numatune(
    *argv: str,
    env: Mapping[str, str] | None = None,
    first: Callable[[], object] | None = None,
    before: Sequence[str] = (),
    stdin: str = "",
) -> Ran:
    command = [sys.executable, *before, "-m", "numatune", *argv]
    given = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "NUMATUNE_STATE_DIR": "/nonexistent", **(env or {})}
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        errors="surrogateescape",
        check=False,
        env=given,
        preexec_fn=first,
        input=stdin,
        cwd="/",
    )


def run(*argv: str, env: Mapping[str, str] | None = None, first: Callable[[], object] | None = None) -> Ran:
    return numatune("run", *argv, env=env, first=first)


def deny(*names: str) -> Callable[[], None]:
    from launch import seccomp  # noqa: PLC0415  # in the child

    return lambda: seccomp.deny(*(names or seccomp.EVERY))


POLICY = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from numatune import mempolicy; print(mempolicy.of_task())"
AFFINITY = "import os; print(sorted(os.sched_getaffinity(0)))"


def test_arguments_and_input_arrive_untouched_and_no_shell_reads_them():
    words = ["", "a b", ";true", "$HOME", "*", "--", "-v", "--strict", "ü", "new\nline"]
    ran = numatune("run", "--", *told("import sys; print(sys.argv[1:], sys.stdin.read())"), *words, stdin="in put")
    assert ran.stdout == f"{words} in put\n"
    assert ran.returncode == 0


def test_the_dashes_may_be_left_out():
    ran = run("--quiet", *told("import sys; print(sys.argv[1:])"), "--print", "--", "run")
    assert ran.stdout == "['--print', '--', 'run']\n"


@pytest.mark.parametrize("code", [0, 1, 2, 3, 64, 125, 255])
def test_the_exit_code_is_the_commands(code: int):
    assert run("--", *told(f"raise SystemExit({code})")).returncode == code


def test_a_signal_is_the_commands():
    assert run("--", *told("import os; os.kill(os.getpid(), 9)")).returncode == -signal.SIGKILL


def test_no_parent_stays():
    code = """
import subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)
print(child.pid == int(child.stdout.read()))
"""
    inner = [sys.executable, "-m", "numatune", "run", "--quiet", "--", *told("import os; print(os.getpid())")]
    ran = subprocess.run([sys.executable, "-c", code, *inner], capture_output=True, text=True, check=True, cwd=ROOT)
    assert ran.stdout == "True\n"


def test_signals_that_python_ignores_are_not_ignored_in_the_command():
    ran = run("--", "grep", "SigIgn", "/proc/self/status")
    ignored = int(ran.stdout.split()[1], 16)
    assert not ignored >> (signal.SIGPIPE - 1) & 1
    assert not ignored >> (signal.SIGXFSZ - 1) & 1


@pytest.mark.parametrize("locale", [{}, {"LANG": "C"}, {"LC_ALL": "POSIX"}, {"LC_CTYPE": "C"}])
def test_the_environment_is_the_callers_byte_for_byte(locale: dict[str, str]):
    """Also in a C locale, where Python itself sets LC_CTYPE."""
    env = {**locale, "ODD": "a\udcff=b c", "EMPTY": "", "PYTHONDONTWRITEBYTECODE": "1"}
    ran = run("--quiet", "--", "cat", "/proc/self/environ", env=env)
    found = dict(entry.partition("=")[::2] for entry in ran.stdout.rstrip("\0").split("\0"))
    assert found.pop("NUMATUNE_PLACEMENT").startswith("1 ")
    kept = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "NUMATUNE_STATE_DIR": "/nonexistent"}
    assert found == {**kept, **env}


def test_this_process_has_what_it_reads_of_itself():
    assert environment()[b"PATH"] == os.environb[b"PATH"]


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        (["/nope/at/all"], 127, "No such file or directory"),
        (["no-such-command-anywhere"], 127, "No such file or directory"),
        (["/etc/passwd"], 126, "Permission denied"),
        (["/"], 126, "Permission denied"),
    ],
)
def test_what_cannot_be_executed(command: list[str], code: int, message: str):
    ran = run("--", *command)
    assert ran.returncode == code
    assert ran.stderr.splitlines()[-1] == f"numatune: {command[0]}: {message}"


def test_a_script_without_an_interpreter_line(tmp_path: Path):
    script = tmp_path / "script"
    script.write_text("echo no\n")
    script.chmod(0o755)
    ran = run("--", str(script))
    assert (ran.returncode, ran.stdout) == (126, "")
    assert "#! line" in ran.stderr
    script.write_text("#!/nope/python\n")
    assert "its interpreter or loader is not there" in run("--", str(script)).stderr


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "no command to run"),
        (["--"], "no command to run"),
        (["--bogus", "--", "true"], "--bogus: no option of run"),
        (["--cpus-per-rank=3", "--", "true"], "no option of run"),
        (["--cpu", "nodes", "--", "true"], "--cpu: 'nodes'; accepted: node, exclusive"),
        (["--reserve-cores", "x", "--", "true"], "--reserve-cores: 'x' is no number"),
        (["--rank", "one", "--", "true"], "--rank: 'one' is no number"),
        (["--rank"], "--rank: needs a value"),
        (["--nodes", "--", "true"], "--nodes: needs a word for each rank"),
        (["--cpus", "3-1", "4-7", "--", "true"], "the range '3-1' is reversed"),
        (["--root", "/", "--", "true"], "--root: goes with --print"),
        (["--print", "--allowed-cpus", "a"], "--allowed-cpus: 'a' is no part of a set"),
    ],
)
def test_wrong_options_start_nothing(argv: list[str], message: str):
    ran = run(*argv)
    assert (ran.returncode, ran.stdout) == (64, "")
    assert message in ran.stderr


def test_help_names_every_option():
    text = run("--help").stdout
    for option in ("--profile", "--rank", "--device", "--nodes", "--cpu ", "--memory ", "--strict", "--print"):
        assert option in text
    assert all(len(line) <= 120 for line in text.splitlines())


@pytest.mark.skipif(len(CPUS) < 2, reason="one CPU alone")
def test_it_stays_inside_the_affinity_that_it_inherits():
    last = CPUS[-1]
    ran = run("--", *told(AFFINITY), first=lambda: os.sched_setaffinity(0, [last]))
    assert ran.stdout == f"[{last}]\n"
    ran = run("--widen", "--", *told(AFFINITY), first=lambda: os.sched_setaffinity(0, [last]))
    assert ran.stdout == f"{CPUS}\n"


@pytest.mark.skipif(len(CPUS) < 2, reason="one CPU alone")
def test_cpus_by_rank():
    one, other = CPUS[:2]
    lists = ("--cpus", str(one), str(other))
    assert run(*lists, "--rank", "1", "--", *told(AFFINITY)).stdout == f"[{other}]\n"
    assert run(*lists, "--", *told(AFFINITY), env={"LOCAL_RANK": "0"}).stdout == f"[{one}]\n"
    assert run("--cpus", str(other), "--", *told(AFFINITY)).stdout == f"[{other}]\n"
    ran = run(*lists, "--rank", "1", "--", *told("import os; print(os.environ['NUMATUNE_PLACEMENT'])"))
    assert f"rank=1 node={NODE} cpus={other} memory=preferred:{NODE}" in ran.stdout


@numa
@pytest.mark.parametrize("mode", ["preferred", "bind", "preferred-many"])
def test_the_policy_is_in_force_after_exec(mode: str):
    ran = run("--memory", mode, "--memory-nodes", str(NODE), "--", *told(POLICY))
    if "EINVAL" in ran.stderr:
        pytest.skip(f"this kernel has no {mode}")
    assert ran.stdout == f"{mode}:{NODE}\n"


@numa
def test_local_and_none():
    assert run("--memory", "local", "--", *told(POLICY)).stdout == "local\n"
    assert run("--memory", "none", "--", *told(POLICY)).stdout == "default\n"


@numa
def test_every_page_and_thread_is_where_it_should_be():
    code = """
import os, re, threading
def work():
    data = bytearray(b"x") * (8 << 20)
    maps = [line for line in open("/proc/thread-self/numa_maps") if "anon=" in line]
    nodes = {node for line in maps for node in re.findall(r" N(\\d+)=", line)}
    found.append((sorted(os.sched_getaffinity(0)), sorted(nodes)))
found = []
threads = [threading.Thread(target=work) for _ in range(3)]
for one in threads: one.start()
for one in threads: one.join()
print(found)
"""
    ran = run("--cpus", str(CPUS[-1]), "--memory", "bind", "--memory-nodes", str(NODE), "--", *told(code))
    assert ran.stdout == f"{[([CPUS[-1]], [str(NODE)])] * 3}\n"


@numa
def test_seccomp_that_denies_policies_leaves_the_cpus_bound():
    ran = run("--cpus", str(CPUS[-1]), "--", *told(AFFINITY), first=deny("set_mempolicy"))
    assert ran.stdout == f"[{CPUS[-1]}]\n"
    assert ran.returncode == 0
    lines = ran.stderr.splitlines()
    assert len(lines) == 2
    assert "memory preferred" in lines[0]
    assert "EPERM" in lines[0]
    assert "--cap-add SYS_NICE" in lines[0]
    assert lines[1] == "numatune: CPUs are bound, memory is not"


@numa
def test_docker_without_sys_nice_denies_all_of_them():
    ran = run("--cpus", str(CPUS[-1]), "--", *told(AFFINITY), first=deny())
    assert ran.stdout == f"[{CPUS[-1]}]\n"
    assert "--cap-add SYS_NICE" in ran.stderr


@numa
def test_a_ladder_without_cpu_only_ends_unbound():
    ran = run("--cpus", str(CPUS[-1]), "--fallback", "local,none", "--", *told(AFFINITY), first=deny("set_mempolicy"))
    assert ran.stdout == f"{CPUS}\n"
    assert ran.stderr.splitlines()[-1] == "numatune: starts unbound"


@numa
def test_strict_does_not_start_what_cannot_be_bound():
    ran = run("--strict", "--", *told("print('started')"), first=deny("set_mempolicy"))
    assert (ran.returncode, ran.stdout) == (125, "")
    assert "EPERM" in ran.stderr
    assert run("--strict", "--", *told("print('started')")).stdout == "started\n"


@numa
def test_a_mode_that_is_refused_gives_way_to_the_next():
    absent = max(int(path.name[4:]) for path in Path("/sys/devices/system/node").glob("node[0-9]*")) + 900
    ran = run("--memory-nodes", str(absent), "--explain", "--", *told(POLICY))
    assert ran.stdout == f"preferred:{NODE}\n"  # never EINVAL: what is not there is not asked for
    assert "no memory there" in ran.stderr


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--profile", "/nope.yaml"], "/nope.yaml"),
        (["--rank", "3"], "needs the number of ranks on this host"),
        (["--device", "GPU-none"], "no device GPU-none"),
        (["--nodes", "999"], "no node 999 here"),
    ],
)
def test_it_fails_open(argv: list[str], message: str):
    ran = run(*argv, "--", *told(AFFINITY))
    assert (ran.returncode, ran.stdout) == (0, f"{CPUS}\n")
    (line,) = ran.stderr.splitlines()
    assert message in line
    assert line.endswith("starts unbound")
    for word in (["--strict"], ["--on-unknown", "fail"]):
        ran = run(*argv, *word, "--", *told(AFFINITY))
        assert (ran.returncode, ran.stdout) == (125, "")
        assert message in ran.stderr


def test_disagreeing_launchers_start_it_unbound():
    env = {"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "2"}
    ran = run("--", *told(AFFINITY), env=env)
    assert ran.stdout == f"{CPUS}\n"
    assert "LOCAL_RANK=0 of 2 and MPI_LOCALRANKID=1 of 2 disagree" in ran.stderr


def test_quiet_is_quiet():
    ran = run("--quiet", "--profile", "/nope.yaml", "--", *told("print(1)"))
    assert (ran.stdout, ran.stderr) == ("1\n", "")


def test_a_group_that_is_not_there_is_a_line():
    ran = run("--cgroup", "no/such/group", "--", *told("print(1)"))
    assert ran.stdout == "1\n"
    assert "cgroup no/such/group cannot be joined: ENOENT" in ran.stderr
    assert run("--cgroup", "../up", "--strict", "--", "true").returncode == 125


def test_transparent_hugepages_of_the_process():
    code = "import ctypes; print(ctypes.CDLL(None).prctl(42, 0, 0, 0, 0))"
    assert run("--", *told(code)).stdout == "0\n"
    assert run("--thp", "never", "--", *told(code)).stdout == "1\n"
    ran = run("--thp", "madvise", "--", *told(code))
    assert ran.stdout == "3\n" or "madvise needs Linux 6.18" in ran.stderr


def test_variables_are_set_where_the_caller_has_not():
    code = "import os; print(os.environ['N'], os.environ['M'])"
    ran = run("--env", "N=cpus", "--env", "M=1", "--", *told(code), env={"M": "7"})
    assert ran.stdout == f"{len(CPUS)} 7\n"


@pytest.mark.parametrize("isolated", [["-I"], []])
def test_little_is_imported(isolated: list[str]):
    ran = numatune("run", "--explain", "--", "true", before=[*isolated, "-X", "importtime"])
    names = {line.rpartition("|")[2].strip() for line in ran.stderr.splitlines() if line.startswith("import time:")}
    assert "numatune.launch.placement" in names
    assert not names & HEAVY


def test_print_starts_nothing(tmp_path: Path):
    ran = run("--print", "--json", "--", "touch", str(tmp_path / "started"))
    (rank,) = json.loads(ran.stdout)["ranks"]
    assert rank["cpus"]
    assert not list(tmp_path.iterdir())
