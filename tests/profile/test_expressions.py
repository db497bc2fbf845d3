"""Expressions compute with a host's facts, and reach nothing else."""

from __future__ import annotations

import contextlib
import operator

import pytest
from fakes.kernel import FakeKernel
from fakes.trees import host_tree
from hypothesis import given
from hypothesis import strategies as st

from numatune.cpus import CpuSet
from numatune.discover import discover
from numatune.profile.expressions import Expressions, Value
from numatune.profile.facts import views
from numatune.profile.failed import Failed

NAMES = views(discover(FakeKernel(host_tree(nodes=2, cpus_per_node=4, accelerators=2, nics=1))))
SETS = st.builds(CpuSet, st.sets(st.integers(0, 200), max_size=12))


def of(text: str, **names: object) -> Value:
    return Expressions({**NAMES, **names}).value(text)


@pytest.mark.parametrize(
    "text",
    [
        "{{ ''.__class__ }}",
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ ''['__class__'] }}",
        "{{ [].__class__.__base__ }}",
        "{{ (1).__class__ }}",
        "{{ nodes.__class__ }}",
        "{{ nodes['__class__'] }}",
        "{{ nodes.__init__.__globals__ }}",
        "{{ nodes.first_cores.__func__ }}",
        "{{ nodes.first_cores.__globals__ }}",
        "{{ nodes[0].topology }}",
        "{{ nodes.each }}",
        "{{ memory.topology }}",
        "{{ cpus.online.bits }}",
        "{{ cpus.online.from_bits(5) }}",
        "{{ cpus.online.__class__ }}",
        "{{ cpus.online['bits'] }}",
        "{{ devices.topology }}",
        "{{ self }}",
        "{{ self.__init__ }}",
        "{{ self._TemplateReference__context }}",
        "{{ cycler.__init__.__globals__.os }}",
        "{{ lipsum.__globals__ }}",
        "{{ range(10) }}",
        "{{ dict(a=1) }}",
        "{{ namespace(a=1) }}",
        "{{ joiner }}",
        "{{ 'x' | attr('__class__') }}",
        "{{ ['x'] | map(attribute='__class__') | list }}",
        "{{ ['x'] | map('attr', '__class__') | list }}",
        "{{ ['x'] | selectattr('__class__') | list }}",
        "{{ ['x'] | sort(attribute='__class__') }}",
        "{{ [nodes] | map(attribute='each') | list }}",
        "{{ 'x' | pprint }}",
        "{{ {} | xmlattr }}",
        "{{ 'a'.upper() }}",
        "{{ [1].append(2) }}",
        "{{ {'a': 1}.items() }}",
        "{{ '{0.__class__}'.format(1) }}",
        "{{ '%s' % 1 }}",
        "{{ 'a' | format(1) }}",
        "{{ cpus.first.__self__ }}",
        "{{ cpus.first }}",
        "{{ nodes }}",
        "{{ missing }}",
        "{{ missing.more }}",
        "{{ missing() }}",
        "{{ missing + 1 }}",
        "{{ -missing }}",
        "{{ [missing] }}",
        "{% for x in [1] %}{{ x }}{% endfor %}",
        "{% set x = 1 %}",
        "{% macro a() %}{% endmacro %}",
        "{% include '/etc/passwd' %}",
        "{% import 'os' as os %}",
        "{% extends 'x' %}",
        "{% call nodes() %}{% endcall %}",
    ],
)
def test_nothing_but_facts_is_reached(text: str) -> None:
    with pytest.raises(Failed):
        of(text)


@pytest.mark.parametrize(
    "text",
    [
        "{{ 'a' * 10**9 }}",
        "{{ [1] * 10**9 }}",
        "{{ 2 ** 10 ** 10 }}",
        "{{ 9 ** 9 ** 9 ** 9 }}",
        "{{ (2 ** 40) ** 60 }}",
        "{{ 10 ** 18 * 10 ** 18 }}",
        "{{ 1e308 * 1e308 }}",
        "{{ 'a' | center(10 ** 9) }}",
        "{{ '{:>1000000000}'.format(1) }}",
        "{{ '%01000000000d' % 1 }}",
        "{{ 'x' | indent(10 ** 9) }}",
        "{{ 'aaaa' | replace('a', 'a' * 10 ** 9) }}",
        "{{ cpus.first(10 ** 30) - 'x' }}",
        "{{ '0-99999999' | set }}",
        "{{ [9999999] | set }}",
        "{{ " + "9" * 5000 + " }}",
        "{{ '" + "9" * 1500 + "' | int }}",
        "{{ " + "(" * 900 + "1" + ")" * 900 + " }}",
        "{{ " + "-" * 1900 + "1 }}",
        "{{ " + "not " * 450 + "1 }}",
        "{{ " + "[" * 900 + "]" * 900 + " }}",
        "x" * 3000 + "{{ 1 }}",
        "{{ 5 | round(-100000000) }}",
        "{{ 5.5 | round(100000000, 'ceil') }}",
        "{{ '0-65535' | set | list }}",
        "{{ '0-8000' | set | list | map('union', '0-8000:1/2') | list }}",
        "{{ '0-8000' | set | list | map('set') | map('list') | list }}",
    ],
)
def test_bombs_do_not_go_off(text: str) -> None:
    with pytest.raises(Failed):
        of(text)


def test_a_long_sum_is_worked_out_or_refused_but_never_breaks() -> None:
    for terms in (10, 50, 100):
        assert of("{{ " + " + ".join(["1"] * terms) + " }}") == terms
    with pytest.raises(Failed, match=r"nested|deep"):
        of("{{ " + " + ".join(["1"] * 490) + " }}")


def test_text_that_doubles_is_cut_off() -> None:
    doubled = "{{ " + " ~ ".join(["x"] * 40) + " }}"
    with pytest.raises(Failed, match="too much in one value"):
        of(doubled, x="y" * 1000)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{{ 1 + 2 * 3 }}", 7),
        ("{{ 7 // 2 }}", 3),
        ("{{ 7 % 4 }}", 3),
        ("{{ 2 ** 10 }}", 1024),
        ("{{ 1 / 4 }}", 0.25),
        ("{{ -3 }}", -3),
        ("{{ 2 * GiB // MiB }}", 2048),
        ("{{ [3, 1] | min }}", 1),
        ("{{ [3, 1] | max }}", 3),
        ("{{ [3, 1] | sum }}", 4),
        ("{{ 'a' ~ 1 }}", "a1"),
        ("{{ 'a' + 'b' }}", "ab"),
        ("{{ [1] + [2] }}", (1, 2)),
        ("{{ none }}", None),
        ("a {{ none }} b", None),
        ("{{ true }}", True),
        ("{{ 1 < 2 and 3 in [3] }}", True),
        ("{{ 0 in cpus.online }}", True),
        ("{{ nodes.cpu | length }}", 2),
        ("{{ nodes.cpu | list }}", (0, 1)),
        ("{{ nodes.cpu | first }}", 0),
        ("{{ nodes.cpu | join('+') }}", "0+1"),
        ("{{ [0, 1] | map('string') | join(',') }}", "0,1"),
        ("{{ 'A' | lower }}", "a"),
        ("{{ missing | default(3) }}", 3),
        ("{{ 3 if missing is defined else 4 }}", 4),
        ("{{ '12' | int }}", 12),
        ("{{ 2.6 | round | int }}", 3),
        ("{{ 1 }}{{ 2 }}", "12"),
        ("{{ 2.0 }} x", "2 x"),
        ("{{ true }} x", "true x"),
        ("{{ [1, 2] }} x", "1,2 x"),
        ("{# nothing #}x", "x"),
        ("{% raw %}{{ x }}{% endraw %}", "{{ x }}"),
        ("{{ nodes[1].first_cores(2) | string }}", "4-5"),
        ("{{ nodes[1].kind }}", "cpu+mem"),
        ("{{ nodes[0].id }}", 0),
        ("{{ devices['eth0'].node }}", 0),
        ("{{ devices['eth0'].kind }}", "nic"),
        ("{{ devices.count('accelerator') }}", 2),
    ],
)
def test_what_expressions_yield(text: str, value: object) -> None:
    made = of(text)
    assert made == value
    assert type(made) is type(value)


@given(SETS, SETS)
def test_sets_are_combined_as_sets(left: CpuSet, right: CpuSet) -> None:
    for text, means in (
        ("{{ a - b }}", operator.sub),
        ("{{ a + b }}", operator.or_),
        ("{{ a | union(b) }}", operator.or_),
        ("{{ a | intersect(b) }}", operator.and_),
        ("{{ a | difference(b) }}", operator.sub),
    ):
        assert of(text, a=left, b=right) == means(left, right)
        assert of(text, a=left, b=str(right)) == means(left, right)


@pytest.mark.parametrize(
    ("text", "found", "accepted", "hint"),
    [
        ("{{ cpu.online }}", "'cpu' is undefined", "GiB, KiB, MiB, cpus, devices, memory, nodes", "did you mean cpus?"),
        ("{{ cpus.onlin }}", "cpus has no onlin", "count, first, isolated", "did you mean online?"),
        ("{{ nodes.cpu | intersec('0') }}", "no filter intersec", "abs, count", "did you mean intersect?"),
        ("{{ nodes.cpu | nodes }}", "no filter nodes", "abs, count", "sets: a - b"),
        ("{{ nodes.cpu & cpus.online }}", "unexpected char '&'", "", "sets: a - b"),
        ("{{ [3] | map('set') | list }}", "map('set')", "abs, first, float", ""),
        ("{{ cpus.first() }}", "first( ) with 0 values", "first(count)", ""),
        ("{{ nodes.first_cores(1, 2) }}", "first_cores( ) with 2 values", "first_cores(count)", ""),
        ("{{ nodes[0].first_cores(number=2) }}", "first_cores( ) with 1 values", "first_cores(count)", ""),
        ("{{ cpus.online | int }}", "a set where a number belongs", "", ""),
        ("{{ [nodes.cpu] | sum }}", "unsupported operand type(s) for +: a number and a set", "", ""),
        ("{{ 'a' < 1 }}", "'<' not supported between instances of a text and a number", "", ""),
        ("{{ 60", "unexpected end of template, expected }}", "", ""),
        ("{{ 1 2 }}", "expected token }}, got 'integer'", "", ""),
        ("{{ cpus.online - 0-3 }}", "0-3 without quotes is 0 and then 3 taken away", "a list like '0-3'", ""),
        ("{{ (cpus.online - 2-3) | length }}", "2-3 without quotes", "a list like '2-3'", ""),
    ],
)
def test_what_is_not_there_is_told_with_what_is(text: str, found: str, accepted: str, hint: str) -> None:
    with pytest.raises(Failed) as raised:
        of(text)
    assert raised.value.found.startswith(found)
    assert raised.value.accepted.startswith(accepted)
    assert raised.value.hint.startswith(hint)


def test_a_minus_is_a_minus_between_numbers_or_blanks() -> None:
    assert of("{{ 10-3 }}") == 7
    assert of("{{ nodes.all - 0 - 1 }}") == CpuSet()


@given(st.text(alphabet="{}% #()[]|.,+-*/~'\"_abcdefnodescpus0123456789 ", max_size=60))
def test_any_text_has_a_value_or_fails_as_an_expression_does(text: str) -> None:
    with contextlib.suppress(Failed):
        of("{{" + text)
