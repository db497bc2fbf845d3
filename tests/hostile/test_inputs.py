"""Profiles that somebody wrote to break things: one clear message a mistake, exit 1, no trace, little memory."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.process import NUMATUNE, Ended, process

from numatune.errors import Problem

Profile = Callable[..., str]

MEMORY = 512 << 20
"""Bytes of address space: nothing here needs them, every bomb that went off would."""


def nested(opened: bytes, closed: bytes, count: int) -> bytes:
    return opened * count + b"1" + closed * count


def value(text: str) -> bytes:
    return b'name: x\nsysctl: {vm.swappiness: "{{ %s }}"}\n' % text.encode()


ALIASES = b"name: x\nvars:\n  a: &a [x, x, x, x, x, x, x, x, x]\n" + b"".join(
    b"  %c: &%c [%s]\n" % (name + 1, name + 1, b", ".join([b"*%c" % name] * 9)) for name in range(97, 110)
)

HOSTILE = {
    "five MB of keys": (
        b"name: x\nsysctl:\n" + b"".join(b"  net.core.k%d: 1\n" % n for n in range(300_000)),
        "256 KiB",
    ),
    "five MB of one text": (b"name: x\nsummary: '" + b"a" * 5_000_000 + b"'\n", "256 KiB"),
    "deep maps": (b"name: x\nsysctl: " + nested(b"{a: ", b"}", 20_000), "levels"),
    "deep lists": (b"name: x\nvars: {a: " + nested(b"[", b"]", 50_000) + b"}", "depth"),
    "deep blocks": (b"name: x\nsysctl:\n" + b"".join(b" " * n + b"a:\n" for n in range(1, 600)), "levels"),
    "aliases of aliases": (ALIASES, "aliases"),
    "an alias of itself": (b"name: x\nvars: &a {b: *a}\n", "names nothing above"),
    "a number of ten thousand digits": (b"name: x\nsysctl: {vm.swappiness: " + b"9" * 10_000 + b"}\n", "19 digits"),
    "a long text made": (value("'a' * 10000000000"), ":2: sysctl.vm.swappiness: "),
    "a long list made": (value("range(10000000000) | list | length"), ":2: sysctl.vm.swappiness: "),
    "a large power": (value("10 ** 10 ** 10"), ":2: sysctl.vm.swappiness: "),
    "a wide text": (value("'a' | center(10000000000)"), ":2: sysctl.vm.swappiness: "),
    "a wide number": (value("'{:10000000000}'.format(1)"), ":2: sysctl.vm.swappiness: "),
    "a loop": (
        b"name: x\nsysctl: {vm.swappiness: '{% for i in range(9) %}{% endfor %}'}\n",
        "statement",
    ),
    "a macro that calls itself": (
        b"name: x\nsysctl: {vm.swappiness: '{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}'}\n",
        "statement",
    ),
    "deep brackets": (value(nested(b"(", b")", 5_000).decode()), "characters"),
    "a class": (value("''.__class__.__mro__[1].__subclasses__()"), "__class__"),
    "a module": (value("lipsum.__globals__['os'].popen('id').read()"), "undefined"),
    "an object's globals": (value("cpus.first.__globals__"), "__globals__"),
    "another file": (b"name: x\nsysctl: {vm.swappiness: \"{% include '/etc/passwd' %}\"}\n", "statement"),
    "a tag": (b"name: x\nsysctl: !!python/object/apply:os.system ['id']\n", "tag"),
    "a raw NUL": (b"name: x\nsysctl: {vm.swappiness: \x001}\n", "control character"),
    "no UTF-8": (b"name: x\nsysctl: {vm.swappiness: \xff\xfe}\n", "UTF-8"),
    "UTF-16": ("name: x\n".encode("utf-16"), "UTF-8"),
    "nothing": (b"", "empty"),
    "two documents": (b"name: x\n---\nname: y\n", "second document"),
    "a key that leads up": (b"name: x\nsysctl: {'vm/../../../etc/passwd': 1}\n", "no sysctl key"),
    "a key with NUL": (b'name: x\nsysctl: {"vm.swap\\0piness": 1}\n', "printable"),
    "a key with a newline": (b'name: x\nsysctl: {"vm.swappiness\\n": 1}\n', "printable"),
    "a value with NUL": (b'name: x\nsysctl: {kernel.core_pattern: "a\\0b"}\n', "control character"),
    "a value with a newline": (b'name: x\nsysctl: {kernel.domainname: "a\\nb"}\n', "sysctl.kernel.domainname"),
    "a group that leads up": (b"name: x\ncpusets: {'../../etc': {cpus: 0, mems: 0}}\n", "no control group"),
    "a group with a dot": (b"name: x\ncpusets: {'a/./b': {cpus: 0, mems: 0}}\n", "no control group"),
    "a unit that leads up": (b"name: x\nservices: {'../../x': stopped}\n", "no name of a unit"),
    "a unit that is an option": (b"name: x\nservices: {'--now': stopped}\n", "no name of a unit"),
    "a unit that is a command": (b"name: x\nservices: {'x; reboot': stopped}\n", "no name of a unit"),
    "a size that leads up": (b"name: x\nthp: {sizes: {'../x': madvise}}\n", "thp.sizes"),
    "two parameters in one": (b'name: x\nkernel_cmdline: {require: ["a\\nb"]}\n', "no kernel parameter"),
    "CPUs without end": (b"name: x\nsysctl: {kernel.watchdog_cpumask: 0-999999999999}\n", "65535"),
    "itself as its base": (b"name: x\nextends: ./asked.yaml\n", "circle"),
    "a device as its base": (b"name: x\nextends: /dev/zero\n", "no profile"),
    "a base that is missing": (b"name: x\nextends: ./nowhere.yaml\n", "no profile"),
}


DRIVER = f"""
import contextlib, io, json, resource, sys
from numatune.cli.main import main
resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY}))
answers = []
for words in json.load(sys.stdin):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    answers.append((code, out.getvalue(), err.getvalue()))
json.dump(answers, sys.stdout)
"""


def limited(commands: list[list[str]], folder: Path) -> list[Ended]:
    """Commands in one process that may have so much memory."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", DRIVER],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "NUMATUNE_STATE_DIR": str(folder / "state")},
        input=json.dumps(commands),
        capture_output=True,
        check=True,
        encoding="utf-8",
        timeout=300,
    )
    return [Ended(*answer) for answer in json.loads(done.stdout)]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, Ended]]:
    """What a plan of each hostile profile says, with its path; and of a good one, as the control."""
    folder = tmp_path_factory.mktemp("hostile")
    paths = {}
    for number, (name, (text, _)) in enumerate(HOSTILE.items()):
        path = folder / f"{number}" / "asked.yaml"
        path.parent.mkdir()
        path.write_bytes(text)
        paths[name] = str(path)
    commands = [["plan", path] for path in (*paths.values(), "llm-inference")]
    said = limited(commands, folder)
    return {name: (path, ended) for (name, path), ended in zip([*paths.items(), ("", "")], said, strict=True)}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_profile_ends_in_messages(name: str, answers: dict[str, tuple[str, Ended]]):
    path, done = answers[name]
    assert (done.code, done.out) == (1, "")
    assert HOSTILE[name][1] in done.err
    assert all(line.startswith("numatune: ") and len(line) < 700 for line in done.lines)
    assert f"{path}:" in done.err


def test_the_limit_of_memory_is_enough_for_a_plan(answers: dict[str, tuple[str, Ended]]):
    assert answers[""][1].code in {0, 2}


def test_every_mistake_is_told_at_once_each_with_its_line(profile: Profile, tmp_path: Path):
    path = profile(
        "name: x\n"
        "sysctl:\n"
        "  vm.swappines: 1\n"
        "  vm.zone_reclaim_mode: 100\n"
        "thp: {enabled: sometimes}\n"
        "irqq: {}\n"
        "hugepages: {3M: {per_node: 1}}\n"
        "services: {irqbalance: off}\n"
    )
    done = process([*NUMATUNE, "plan", path], cwd=tmp_path, env={"NUMATUNE_STATE_DIR": str(tmp_path / "state")})
    assert done.code == 1
    told = {line.removeprefix(f"numatune: {path}:").partition(":")[0] for line in done.lines}
    assert told == {"3", "4", "5", "6", "7", "8"}
    assert "swappiness" in done.err, "did you mean"


def test_a_message_shows_no_whole_file():
    told = str(Problem("a:1", "9" * 10_000 + " is a number of many digits", "decimal numbers"))
    assert len(told) < 500
    assert told.endswith("is a number of many digits; accepted: decimal numbers")
