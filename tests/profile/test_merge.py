"""Laying one mapping over another."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from numatune.profile.merge import overlay
from numatune.profile.tree import Branch, Entry, Leaf, Node, Row
from numatune.settings.model import Source

AT = Source("f.yaml", 1)
KEYS = st.sampled_from(["a", "b", "c"])
LEAVES = st.builds(lambda value: Leaf(value, AT, str(value)), st.one_of(st.none(), st.integers(0, 3)))
ROWS = st.builds(lambda items: Row(tuple(items), AT), st.lists(LEAVES, max_size=2))


def branch(entries: dict[str, Node]) -> Branch:
    return Branch({key: Entry(AT, node) for key, node in entries.items()}, AT)


def mappings(inside: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    return st.builds(branch, st.dictionaries(KEYS, inside))


TREES = st.builds(branch, st.dictionaries(KEYS, st.recursive(LEAVES | ROWS, mappings, max_leaves=6)))


def plain(node: Node) -> object:
    match node:
        case Leaf():
            return node.value
        case Row():
            return [plain(item) for item in node.items]
        case Branch():
            return {key: plain(entry.node) for key, entry in node.entries.items()}


@given(TREES)
def test_nothing_over_something_is_something(tree: Branch) -> None:
    assert plain(overlay(tree, branch({}))) == plain(tree)
    assert plain(overlay(branch({}), tree)) == plain(tree)


@given(TREES)
def test_twice_the_same_is_the_same(tree: Branch) -> None:
    assert plain(overlay(tree, tree)) == plain(tree)


@given(TREES, TREES)
def test_every_leaf_of_the_later_one_is_there(base: Branch, over: Branch) -> None:
    merged = overlay(base, over)
    assert isinstance(merged, Branch)
    assert merged.entries.keys() == base.entries.keys() | over.entries.keys()
    for key, entry in over.entries.items():
        if not isinstance(entry.node, Branch):
            assert plain(merged.entries[key].node) == plain(entry.node)
    for key, entry in base.entries.items():
        if key not in over.entries:
            assert merged.entries[key] == entry


@given(TREES, TREES)
def test_what_takes_whose_place_is_told(base: Branch, over: Branch) -> None:
    told: list[tuple[str, ...]] = []
    overlay(base, over, lambda path, _old, _new: told.append(path))
    for path in told:
        old, new = plain(base), plain(over)
        for key in path:
            assert isinstance(old, dict)
            assert isinstance(new, dict)
            old, new = old[key], new[key]
        assert not isinstance(new, dict)
