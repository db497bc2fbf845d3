"""Memory-policy system calls on this machine's kernel, each read back; in children, so that nothing stays behind."""

from __future__ import annotations

import errno
import mmap
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from numatune import mempolicy
from numatune.mempolicy import InForce

ROOT = Path(__file__).parents[2]
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
NODE = mempolicy.usable()[0] if Path("/sys/devices/system/node/has_cpu").exists() else 0

numa = pytest.mark.skipif(not Path("/sys/devices/system/node").exists(), reason="this kernel has no NUMA")
no_numactl = pytest.mark.skipif(shutil.which("numactl") is None, reason="numactl is not installed")


def python(code: str, *before: str, **environment: str) -> str:
    command = [*before, sys.executable, "-c", f"from numatune import mempolicy\n{code}"]
    path = f"{ROOT}:{ROOT / 'tests'}"
    ran = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": path, **environment}
    )
    return ran.stdout.strip()


@pytest.mark.parametrize("machine", HEADERS)
def test_numbers_are_those_of_the_kernels_headers(machine: str):
    if not HEADERS[machine].is_file():
        pytest.skip(f"no {HEADERS[machine]} (linux-libc-dev)")
    text = HEADERS[machine].read_text()
    for name, number in {**mempolicy.NUMBERS[machine], "set_mempolicy_home_node": 450}.items():
        found = re.search(rf"#define __NR_{name}\s+(\d+)$", text, re.MULTILINE)
        assert found
        assert int(found[1]) == number


def test_no_two_calls_of_a_machine_have_one_number():
    for numbers in mempolicy.NUMBERS.values():
        assert len({*numbers.values(), 450}) == len(numbers) + 1
        assert numbers.keys() == mempolicy.NUMBERS["x86_64"].keys()


@numa
@pytest.mark.parametrize("mode", mempolicy.MODES)
def test_a_threads_policy_is_read_back_and_kept_over_exec(mode: str):
    nodes = "" if mode in {"default", "local"} else f"[{NODE}]"
    told = python(
        f"""
import os, sys
try:
    mempolicy.set_task("{mode}", {nodes or "()"})
except OSError as error:
    print("refused", error.errno)
    raise SystemExit
print(repr(mempolicy.of_task()), flush=True)
os.execv(sys.executable, [sys.executable, "-c", "from numatune import mempolicy; print(repr(mempolicy.of_task()))"])
"""
    ).splitlines()
    if told[0].startswith("refused"):
        assert mode in {"preferred-many", "weighted-interleave"}  # older kernels do not know them
        assert told == ["refused 22"]
    else:
        assert told == [repr(InForce(mode, (NODE,) if nodes else ()))] * 2


@numa
@no_numactl
def test_numactl_and_this_module_read_the_same():
    show = "import os; os.execvp('numactl', ['numactl', '--show'])"
    policy = dict(line.split(": ", 1) for line in python(f"mempolicy.set_task('bind', [{NODE}])\n{show}").splitlines())
    assert policy["policy"] == "bind"
    assert policy["membind"].split() == [str(NODE)]
    assert python("print(mempolicy.of_task())", "numactl", f"--interleave={NODE}") == f"interleave:{NODE}"
    assert python("print(mempolicy.of_task())", "numactl", f"--preferred={NODE}") == f"preferred:{NODE}"


@numa
def test_a_buffers_pages_are_where_its_policy_says():
    buffer = mmap.mmap(-1, 300 * mmap.PAGESIZE + 1)
    assert mempolicy.spread(buffer) == {None: 301}
    assert mempolicy.bind(buffer, [NODE]) == InForce("bind", [NODE])
    buffer[:] = b"x" * len(buffer)
    assert mempolicy.spread(buffer) == {NODE: 301}
    assert mempolicy.prefer(buffer, NODE).reason == ""


@numa
def test_buffers_of_all_kinds():
    array = bytearray(10 * mmap.PAGESIZE)
    assert mempolicy.bind(array, [NODE]) == InForce("bind", [NODE])
    assert sum(mempolicy.spread(array).values()) in {9, 10}  # the whole pages inside
    whole = mmap.mmap(-1, 4 * mmap.PAGESIZE)
    assert mempolicy.bind(memoryview(whole)[mmap.PAGESIZE :], [NODE]) == InForce("bind", [NODE])
    assert sum(mempolicy.spread(memoryview(whole)[mmap.PAGESIZE : 3 * mmap.PAGESIZE - 5]).values()) == 1
    assert sum(mempolicy.spread((mempolicy._place(whole)[0], len(whole))).values()) == 4  # noqa: SLF001  # an address
    assert mempolicy.bind(bytearray(10), [NODE]).reason == "it has no whole page"
    with pytest.raises(TypeError):
        mempolicy.bind(b"constant", [NODE])


@numa
def test_one_mapping_however_often_it_is_given_a_policy():
    buffer = mmap.mmap(-1, 64 * mmap.PAGESIZE)
    for _ in range(3):
        mempolicy.bind(buffer, [NODE])
    start = mempolicy._place(buffer)[0]  # noqa: SLF001  # as above
    maps = [line for line in Path("/proc/self/numa_maps").read_text().splitlines() if line.startswith(f"{start:x} ")]
    assert len(maps) == 1
    assert f"bind:{NODE}" in maps[0]


@numa
def test_nodes_that_are_not_there_are_told():
    buffer = mmap.mmap(-1, mmap.PAGESIZE)
    absent = max(int(path.name[4:]) for path in Path("/sys/devices/system/node").glob("node[0-9]*")) + 900
    held = mempolicy.bind(buffer, [absent])
    assert held == InForce("default")
    assert held.reason.startswith("EINVAL")
    assert mempolicy.bind(buffer, [NODE, absent]).reason == f"nodes {NODE},{absent} were asked for"
    with pytest.raises(OSError, match="2000 is no node"):
        mempolicy.set_task("bind", [2000])


@numa
def test_the_last_node_of_the_mask_reaches_the_kernel():
    """maxnode 1025: node 1023 is EINVAL because it is not there, not silently cut off to an empty mask's EINVAL."""
    buffer = mmap.mmap(-1, mmap.PAGESIZE)
    mempolicy.set_range(*mempolicy._range(buffer), "bind", [NODE, 1023])  # noqa: SLF001  # raises if it is refused
    assert mempolicy.of_address(mempolicy._place(buffer)[0]) == InForce("bind", [NODE])  # noqa: SLF001  # as above


@numa
def test_a_home_node_needs_a_policy_that_has_one():
    buffer = mmap.mmap(-1, mmap.PAGESIZE)
    start, length = mempolicy._range(buffer)  # noqa: SLF001  # as above
    with pytest.raises(OSError, match=r".") as refused:
        mempolicy.set_home(start, length, NODE)
    if refused.value.errno == 38:
        pytest.skip("no set_mempolicy_home_node before Linux 5.17")
    assert refused.value.errno in {2, 95}
    mempolicy.bind(buffer, [NODE])
    mempolicy.set_home(start, length, NODE)


@numa
def test_off_switch_and_seccomp_fall_back_with_a_reason():
    code = "import mmap; b = mmap.mmap(-1, 1 << 20)\n"
    off = python(f"{code}print(mempolicy.bind(b, [{NODE}]))", NUMATUNE_MEMPOLICY="off")
    assert off == "default (NUMATUNE_MEMPOLICY=off)"
    denied = python(
        f"from launch import seccomp; seccomp.deny(*seccomp.EVERY)\n{code}print(mempolicy.bind(b, [{NODE}]))"
    )
    assert denied == ("default (EPERM: seccomp or a security module refuses it; containers need --cap-add SYS_NICE)")


def test_an_unknown_machine_is_named(monkeypatch: pytest.MonkeyPatch):
    uname = os.uname()
    monkeypatch.setattr(os, "uname", lambda: os.uname_result((*uname[:4], "m68k")))
    with pytest.raises(OSError, match="its number on m68k is not known"):
        mempolicy.of_task()


def test_it_costs_little_to_import():
    modules = python("import sys; print(' '.join(sys.modules))").split()
    assert not {"re", "dataclasses", "typing", "json", "pathlib", "numatune.cpus"} & set(modules) - set(sys_of_site())


def sys_of_site() -> list[str]:
    ran = subprocess.run(
        [sys.executable, "-c", "import sys; print(' '.join(sys.modules))"], capture_output=True, text=True, check=True
    )
    return ran.stdout.split()


def test_pages_of_others_move_too_where_that_is_allowed(monkeypatch: pytest.MonkeyPatch):
    allowed, flags = {0, 2, 2 | 4}, list[object]()

    def call(name: str, *words: object) -> int:
        flags.append(words[-1])
        if words[-1] not in allowed:
            raise OSError(errno.EPERM, name)
        return 0

    monkeypatch.setattr(mempolicy, "_call", call)
    mempolicy.set_range(0, 4096, "bind", [0], move=True)
    allowed.remove(2 | 4)  # without CAP_SYS_NICE
    mempolicy.set_range(0, 4096, "bind", [0], move=True)
    mempolicy.set_range(0, 4096, "bind", [0])
    allowed.clear()
    with pytest.raises(OSError, match="mbind"):
        mempolicy.set_range(0, 4096, "bind", [0], move=True)
    assert flags == [2 | 4, 2 | 4, 2, 0, 2 | 4, 2]
