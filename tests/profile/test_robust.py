"""Whatever is written in a profile, it is worked out or refused with places: no other exception, no half result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.kernel import FakeKernel
from fakes.trees import host_tree
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from numatune import profile
from numatune.discover import discover
from numatune.errors import Problem, ProfileError
from numatune.knobs import SECTIONS
from numatune.profile.schema import schema
from numatune.settings.model import Setting
from numatune.settings.wire import dumps
from numatune.topology.model import Section

KERNEL = FakeKernel(host_tree(nodes=2, cpus_per_node=2, nics=1, accelerators=1))
TOPOLOGY = discover(KERNEL, frozenset(Section))
SCHEMA = schema()


def _words(found: Any) -> set[str]:
    """Every key and word that the language knows."""
    if isinstance(found, list):
        return {word for item in found for word in _words(item)}
    if not isinstance(found, dict):
        return set()
    own = {*found.get("properties", {}), *(word for word in found.get("enum", ()) if isinstance(word, str))}
    return own | {word for item in found.values() for word in _words(item)}


WORDS = sorted(_words(SCHEMA) | {"2M", "64kB", "inference.slice", "irqbalance", "local", "nic", "0000:41:00.0"})
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 1 << 65),
    st.floats(allow_nan=False, allow_infinity=False, width=16),
    st.sampled_from(WORDS),
    st.sampled_from(
        ["", "0-3", "3-1", ">= 5", "<= x", "a\nb", "180G", "-1", "010", "{{ cpus.online }}", "{{ nodes.cpu }}"]
    ),
    st.sampled_from(
        ["{{ none }}", "{{ 1 / 0 }}", "{{ vars.a }}", "{{ x", "{% if %}", "{{ [1] }}", "{{ nodes[9] }}", "{{ 2.0 }}"]
    ),
    st.text(max_size=8),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=6), inner, max_size=4)
    ),
    max_leaves=8,
)
PROFILES = st.dictionaries(st.sampled_from([*SECTIONS, *SECTIONS, *SCHEMA["properties"]]), VALUES, max_size=4)


OWN_KEYS = {
    "sysctl": ("vm.swappiness", "vm/dirty_bytes", "vm.nr_hugepages", "kernel.watchdog_cpumask", "net.a.b"),
    "hugepages": ("2M", "1G", "2048kB", "3M"),
    "cpusets": ("inference.slice", "a.slice", "a-b.slice", "x/y", "kubepods.slice"),
    "services": ("irqbalance", "numad", "tuned.service", "sshd"),
    "vars": ("a", "b"),
    "devices": ("0000:00:03.0", "eth0"),
    "sizes": ("64kB", "2M", "x"),
    "by_node": ("0", "1", "x"),
}
"""Keys of mappings that take any: by the key that leads there."""


@st.composite
def like(draw: st.DrawFn, *path: str | int, key: str = "") -> Any:
    """Something that the schema at `path` takes, with a wrong value now and then."""
    found: Any = SCHEMA
    for part in path:
        found = found[part]
    if draw(st.integers(0, 40)) == 0:
        return draw(SCALARS)
    if "$ref" in found:
        return draw(like("$defs", found["$ref"].removeprefix("#/$defs/"), key=key))
    if "anyOf" in found:
        return draw(like(*path, "anyOf", draw(st.integers(0, len(found["anyOf"]) - 1)), key=key))
    kinds = found.get("type", "string")
    kind = draw(st.sampled_from(kinds)) if isinstance(kinds, list) else kinds
    simple = {
        "boolean": st.booleans(),
        "null": st.none(),
        "integer": st.integers(found.get("minimum", 0), min(found.get("maximum", 1 << 40), 1 << 40)),
    }
    if "enum" in found:
        return draw(st.sampled_from(found["enum"]))
    if kind == "array":
        return draw(st.lists(like(*path, "items", key=key) if "items" in found else SCALARS, max_size=3))
    return draw(_object(found, path, key)) if kind == "object" else draw(simple.get(kind, SCALARS))


@st.composite
def _object(draw: st.DrawFn, found: dict[str, Any], path: tuple[str | int, ...], key: str) -> dict[str, Any]:
    named = found.get("properties", {})
    known = [*named, *OWN_KEYS.get(key, ())]
    chosen = draw(st.lists(st.sampled_from(known), max_size=4, unique=True)) if known else []
    rest = like(*path, "additionalProperties", key="rest") if found.get("additionalProperties") else SCALARS
    return {each: draw(like(*path, "properties", each, key=each) if each in named else rest) for each in chosen}


SECTION = st.sampled_from(SECTIONS).flatmap(
    lambda name: like("properties", name, key=name).map(lambda section: {name: section})
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("profiles")


def worked_out(path: Path) -> tuple[tuple[Problem, ...], tuple[Setting, ...]]:
    try:
        return (), profile.resolve(profile.load([str(path)]), TOPOLOGY).settings
    except ProfileError as error:
        return error.problems, ()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(PROFILES | SECTION, PROFILES | SECTION)
def test_any_profile_is_worked_out_or_refused(folder: Path, base: dict[str, Any], top: dict[str, Any]) -> None:
    (folder / "base.yaml").write_text(json.dumps({"name": "base", **base}), encoding="utf-8")
    (folder / "top.yaml").write_text(json.dumps({"name": "top", **top, "extends": "./base.yaml"}), encoding="utf-8")
    problems, made = worked_out(folder / "top.yaml")
    for found in problems:
        assert found.where.startswith(str(folder))
        assert found.found
        assert str(found).isprintable() or "\n" in str(found)
    for setting in made:
        assert dumps(setting)
        assert setting.source is not None
        assert setting.source.file.startswith(str(folder))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("sysctl: 5", "sysctl: 5; accepted: a mapping"),
        ("sysctl: [a]", "sysctl: a list; accepted: a mapping"),
        ("thp: always", "thp: 'always'; accepted: a mapping"),
        ("irq: [1]", "irq: a list; accepted: a mapping"),
        ("when: 5", "when: no condition"),
        ("vars: 5", "vars: no mapping"),
        ("vars: {a: {b: 1}}", "vars.a: a mapping; accepted: a scalar or a list"),
        ("extends: {a: b}", "extends: something that is no name"),
        ("extends: 5", "extends: something that is no name"),
        ("extends: [5]", "extends: something that is no name"),
        ("disruption: [a]", "disruption: no word"),
        ("devices: 5", "devices: no mapping"),
        ("sysctl: {vm.swappiness: []}", "sysctl.vm.swappiness: a list"),
        ("sysctl: {vm.swappiness: {value: {a: 1}}}", "sysctl.vm.swappiness"),
        ("sysctl: {vm.swappiness: {value: 1, why: [a]}}", "sysctl.vm.swappiness.why: a list; accepted: text"),
        ("sysctl: {vm.swappiness: {value: 1, optional: maybe}}", "optional: 'maybe'; accepted: true or false"),
        ('sysctl: {kernel.hostname: "a\\nb"}', "in one line of printable text"),
    ],
)
def test_a_wrong_kind_of_value_is_told(tmp_path: Path, text: str, part: str) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(f"name: p\n{text}\n", encoding="utf-8")
    with pytest.raises(ProfileError) as raised:
        profile.resolve(profile.load([str(path)]), TOPOLOGY)
    assert part in str(raised.value)


@pytest.mark.parametrize("name", ["[a]", "{a: b}", "null", "''", "'a b'", "'-x'", "../x", "'" + "x" * 65 + "'"])
def test_a_name_is_a_word(tmp_path: Path, name: str) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(f"name: {name}\n", encoding="utf-8")
    with pytest.raises(ProfileError, match=r"p\.yaml:1: name: "):
        profile.resolve(profile.load([str(path)]), TOPOLOGY)


@pytest.mark.parametrize(
    "line",
    [
        'when: {kernel: ">=NUMBER"}',
        'when: {kernel: ">=6.NUMBER"}',
        'when: {distribution: "debian >=NUMBER"}',
        'when: {cpus: ">=NUMBER"}',
        'requires: ">=NUMBER"',
    ],
)
def test_a_version_of_thousands_of_digits_is_told(line: str, tmp_path: Path) -> None:
    """More than Python makes a number of."""
    path = tmp_path / "case.yaml"
    path.write_text(f"name: case\n{line.replace('NUMBER', '9' * 5000)}\nsysctl: {{vm.swappiness: 1}}\n")
    with pytest.raises(ProfileError) as raised:
        profile.resolve(profile.load([str(path)]), TOPOLOGY)
    (problem,) = raised.value.problems
    assert problem.where.startswith(f"{path}:2")
    assert "accepted" in str(problem)
