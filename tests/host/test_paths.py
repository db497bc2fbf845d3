from __future__ import annotations

import pytest

from numatune.host.paths import MAX_LINKS, natural, parts, resolve


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", ()),
        ("/proc/sys//vm/./swappiness", ("proc", "sys", "vm", "swappiness")),
        ("/..hidden/a..b", ("..hidden", "a..b")),
        ("proc", None),
        ("", None),
        ("/proc/../etc/shadow", None),
        ("/proc/a\0b", None),
    ],
)
def test_parts(path: str, expected: object):
    assert parts(path) == expected


def test_names_sort_by_the_numbers_in_them():
    assert sorted(["node10", "node2", "online", "cpu", "node2b", "10", "9"], key=natural) == [
        "9",
        "10",
        "cpu",
        "node2",
        "node2b",
        "node10",
        "online",
    ]


@pytest.mark.parametrize(
    ("path", "links", "expected"),
    [
        ("/a/b", {}, "/a/b"),
        ("/a/b", {"/a": "c"}, "/c/b"),
        ("/a/b", {"/a": "/x/y", "/x/y/b": "../z"}, "/x/z"),
        ("/a/b", {"/a/b": "../../out"}, None),
        ("/a", {"/a": "/"}, "/"),
        ("/a", {"/a": "b", "/b": "a"}, None),
        ("/a/b", {"/a/b": "c/../d", "/a/c": "/far/away"}, "/far/d"),
        ("/a", {"/a": "x\0y"}, None),
        ("/a/../b", {}, None),
    ],
)
def test_links_resolve_inside_the_root_or_nowhere(path: str, links: dict[str, str], expected: object):
    assert resolve(path, links.get) == expected


def test_as_many_links_as_linux_follows():
    links = {f"/{place}": f"{place + 1}" for place in range(MAX_LINKS)}
    assert resolve("/0", links.get) == f"/{MAX_LINKS}"
    links[f"/{MAX_LINKS}"] = f"{MAX_LINKS + 1}"
    assert resolve("/0", links.get) is None
