"""Keys lead below /proc/sys and nowhere else; the catalogue is consistent; guards follow the host's memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numatune.cpus import CpuSet
from numatune.knobs.sysctl import canonical, path_of
from numatune.knobs.sysctl_catalogue import CATALOGUE, NAMES, UNKNOWN, misspelt
from numatune.knobs.sysctl_guards import default_hugepage, guard
from numatune.knobs.sysctl_values import typed
from numatune.settings.codecs import CpuList, Int, Words
from numatune.settings.model import FitsFree, Refuse
from numatune.topology.model import Cpus, Machine, Node, Section, Topology

GIB = 1 << 30
PART = st.from_regex(r"[a-z0-9_][a-z0-9_:.@+-]{0,8}", fullmatch=True)


def topology(
    *, nodes: tuple[int | None, ...] = (), total: int | None = None, cmdline: str = "", page: int = 4096
) -> Topology:
    return Topology(
        sections=frozenset(Section),
        machine=Machine(memory_bytes=total, cmdline=cmdline, page_size=page),
        cpus=Cpus(online=CpuSet([0, 1]), offline=CpuSet([2])),
        nodes=tuple(
            Node(id=4 * place, cpus=CpuSet([place]), kind="cpu+mem", memory_bytes=size)
            for place, size in enumerate(nodes)
        ),
    )


@given(st.lists(PART, min_size=2, max_size=5))
def test_both_spellings_are_one_key_and_one_file(parts: list[str]) -> None:
    slashes = "/".join(parts)
    if "." in parts[0]:  # then a dot comes first and separates
        return
    dots = slashes.translate(str.maketrans("./", "/."))
    assert canonical(slashes) == canonical(dots) == dots
    assert canonical(canonical(slashes)) == canonical(slashes)
    assert path_of(canonical(slashes)) == f"/proc/sys/{slashes}"


@given(st.text(alphabet="./abc-* \n\0\x7fé[]?", max_size=12))
def test_no_key_leaves_proc_sys(written: str) -> None:
    try:
        path = path_of(canonical(written))
    except ValueError:
        return
    parts = path.split("/")
    assert parts[:3] == ["", "proc", "sys"]
    assert not {"", ".", ".."} & set(parts[3:])
    assert path.isprintable()
    assert " " not in path


@pytest.mark.parametrize("key", sorted(CATALOGUE))
def test_the_catalogue_is_consistent(key: str) -> None:
    known = CATALOGUE[key]
    assert canonical(key) == key
    assert not misspelt(key)
    if known.partner:
        other = CATALOGUE[known.partner]
        assert other.partner == key
        assert known.zero_by_partner is not other.zero_by_partner
    if known.min is not None and known.max is not None:
        assert known.min <= known.max
    assert known.type != "int" or known.action or None not in (known.min, known.max)
    assert known.type != "choice" or known.choices
    assert not (known.note_if or known.note_unless) or known.note


@pytest.mark.parametrize("key", sorted(NAMES))
def test_no_known_name_is_taken_for_another(key: str) -> None:
    assert misspelt(key) == ""


@pytest.mark.parametrize(
    ("key", "close"),
    [
        ("vm.swapiness", "vm.swappiness"),
        ("vm.zone_reclaim_mod", "vm.zone_reclaim_mode"),
        ("vm.min_free_kbyte", "vm.min_free_kbytes"),
        ("kernel.numa_balance", "kernel.numa_balancing"),
        ("vm.completely_new_knob", ""),
        ("kernel.sched_something", ""),
        ("net.core.rmem_maxx", ""),
    ],
)
def test_misspelt_names(key: str, close: str) -> None:
    assert misspelt(key) == close


@pytest.mark.parametrize(
    ("value", "want", "codec"),
    [
        (1, "1", Int()),
        ("1", "1", Int()),
        (">= 5", "5", Int(">=")),
        ("<=5", "5", Int("<=")),
        ("-1", "-1", Int()),
        ("a  b", "a b", Words()),
        ([1, "a"], "1 a", Words()),
        (CpuSet([0, 1]), "0-1", CpuList()),
        ("", "", Words()),
        ("|/usr/lib/core %P", "|/usr/lib/core %P", Words()),
    ],
)
def test_a_key_that_is_not_in_the_catalogue_is_typed_by_its_value(value: object, want: str, codec: object) -> None:
    assert typed(value, UNKNOWN) == (want, codec)


@pytest.mark.parametrize(
    "value", [True, 1.5, None, {"a": 1}, "a\nb", "a\0b", "a\tb", ">= x", "> 5", "x" * 1001, [True], [[1]]]
)
def test_what_no_sysctl_holds_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="; accepted: "):
        typed(value, UNKNOWN)


@pytest.mark.parametrize(
    ("nodes", "total", "most_kb"),
    [
        ((16 * GIB, 16 * GIB), 32 * GIB, GIB >> 10),
        ((64 * GIB, 48 * GIB), 112 * GIB, 48 * GIB // 20 >> 10),
        ((2 * GIB,), 2 * GIB, 2 * GIB // 5 >> 10),
        ((), 100 * GIB, 5 * GIB >> 10),
        ((), None, 262144),
        ((64 * GIB, None), 128 * GIB, 262144),
    ],
)
def test_the_limit_of_min_free_kbytes(nodes: tuple[int | None, ...], total: int | None, most_kb: int) -> None:
    host = topology(nodes=nodes, total=total)
    known = CATALOGUE["vm.min_free_kbytes"]
    assert guard("vm.min_free_kbytes", str(most_kb), known, host) is None
    refused = guard("vm.min_free_kbytes", str(most_kb + 1024), known, host)
    assert isinstance(refused, Refuse)
    assert "MiB" in refused.figure


@pytest.mark.parametrize(
    ("cmdline", "page", "size"),
    [
        ("quiet", 4096, 2 << 20),
        ("", 65536, 512 << 20),
        ("default_hugepagesz=1G hugepagesz=1G", 4096, GIB),
        ("default_hugepagesz=2M default_hugepagesz=1G", 4096, GIB),
        ("xdefault_hugepagesz=1G", 4096, 2 << 20),
    ],
)
def test_the_default_size_of_a_hugepage(cmdline: str, page: int, size: int) -> None:
    host = topology(cmdline=cmdline, page=page)
    assert default_hugepage(host) == size
    known = CATALOGUE["vm.nr_hugepages"]
    assert guard("vm.nr_hugepages", "5", known, host) == FitsFree(
        "/proc/meminfo", size, f"/sys/kernel/mm/hugepages/hugepages-{size >> 10}kB"
    )


def test_cpus_that_are_offline_are_there_and_others_are_not() -> None:
    known = CATALOGUE["kernel.watchdog_cpumask"]
    assert guard("kernel.watchdog_cpumask", "0-2", known, topology()) is None
    assert guard("kernel.watchdog_cpumask", "", known, topology()) is None
    refused = guard("kernel.watchdog_cpumask", "0-3", known, topology())
    assert refused == Refuse("CPUs 3 are not on this host; online are 0-1")
