"""Loading: a name leads to a file, a file to those that it extends; each is read once, every problem is kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from numatune import __version__
from numatune.errors import Problem, ProfileError
from numatune.profile import lookup
from numatune.profile.document import Document, File, Layer, text_of
from numatune.profile.keys import canonical_keys
from numatune.profile.reader import read
from numatune.profile.tree import Branch, Leaf, Row, problem

_MAX_CHAIN = 32
_REQUIRES = re.compile(r"\s*(>=|>|<=|<|==)\s*(\d{1,9}(?:\.\d{1,9}){0,3})\s*\Z", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z", re.ASCII)


def load(
    names: Sequence[str],
    *,
    variables: Mapping[str, str] | None = None,
    check: Callable[[str], None] | None = None,
    etc: str = lookup.ETC,
) -> Document:
    """The profiles of these names with everything that they extend.

    Raises ProfileError when a file cannot be found or read; what is wrong inside a file is found by `resolve`, together
    with everything else.

    variables  --var: text as YAML would spell it, over the profiles' own `vars`
    check      called with the path of every file outside the package before it is read; raises to refuse it. What is
               shipped is as trusted as the code beside it.
    """
    loader = _Loader(check, etc)
    layers: list[Layer] = []
    for name in names:
        if label := loader.named(name):
            chain = tuple(loader.chain(label))
            layers.append(Layer(text_of(loader.files[label].tree, "name") or name, chain))
    if loader.fatal:
        raise ProfileError((*loader.fatal, *loader.problems))
    return Document(loader.files, tuple(layers), dict(variables or {}), tuple(loader.problems), loader.looked)


class _Loader:
    """Reads each file once, follows `extends`, keeps every problem."""

    def __init__(self, check: Callable[[str], None] | None, etc: str) -> None:
        self.files: dict[str, File] = {}
        self.fatal: list[Problem] = []
        self.problems: list[Problem] = []
        self.looked: dict[str, str | None] = {}
        self._check = check
        self._etc = etc

    def named(self, name: str) -> str | None:
        """Read the file that a name of the command line leads to; its label, or None when it could not be read."""
        try:
            return self._load(self._found(name), ())
        except ProfileError as error:
            self.fatal += error.problems
            return None

    def _found(self, name: str, beside: lookup.Found | None = None, where: str = "") -> lookup.Found:
        found = lookup.find(name, beside=beside, where=where, etc=self._etc)
        if not lookup.is_path(name):
            for other in lookup.candidates(name, etc=self._etc):
                if other.path == found.path:
                    break
                self.looked.setdefault(other.path, None)
        return found

    def _load(self, found: lookup.Found, above: tuple[str, ...]) -> str | None:
        """Read a file and what it extends."""
        if found.label in self.files:
            return found.label
        try:
            if self._check and found.origin != "shipped":
                self._check(found.path)
            text = self.looked[found.path] = lookup.text(found)
            tree, problems = read(text, found.label)
        except ProfileError as error:
            self.fatal += error.problems
            return None
        if outdated := _outdated(tree):
            self.fatal.append(outdated)
            return None
        tree, doubled = canonical_keys(tree)
        self.problems += (*problems, *doubled, *_named(tree))
        below = [self._below(ref, found, (*above, found.label)) for ref in self._references(tree)]
        self.files[found.label] = File(found.label, text, tree, tuple(label for label in below if label))
        return found.label

    def chain(self, label: str) -> Iterable[str]:
        """Labels from the bottom to `label`, each once."""
        order: dict[str, None] = {}

        def visit(each: str) -> None:
            if each not in order:
                for base in self.files[each].extends:
                    visit(base)
                order[each] = None

        visit(label)
        return order

    def _below(self, ref: Leaf, beside: lookup.Found, above: tuple[str, ...]) -> str | None:
        where = problem(ref.source, ("extends",), "").where
        try:
            found = self._found(str(ref.value), beside, where)
        except ProfileError as error:
            self.fatal += error.problems
            return None
        if found.label in above:
            circle = " → ".join((*above[above.index(found.label) :], found.label))
            self.fatal.append(Problem(where, f"a circle: {circle}", "profiles that do not lead back to themselves"))
            return None
        if len(above) >= _MAX_CHAIN:
            self.fatal.append(Problem(where, f"a chain of more than {_MAX_CHAIN} profiles"))
            return None
        return self._load(found, above)

    def _references(self, tree: Branch) -> tuple[Leaf, ...]:
        entry = tree.entries.get("extends")
        if entry is None or (isinstance(entry.node, Leaf) and entry.node.value is None):
            return ()
        nodes = entry.node.items if isinstance(entry.node, Row) else (entry.node,)
        texts = tuple(node for node in nodes if isinstance(node, Leaf) and isinstance(node.value, str))
        if len(texts) != len(nodes):
            accepted = "a profile's name, a path, or a list of them"
            self.problems.append(problem(entry.source, ("extends",), "something that is no name", accepted))
        return texts


def _named(tree: Branch) -> list[Problem]:
    name = tree.entries.get("name")
    if name is None:
        return [problem(tree.source, ("name",), "the profile has no name", "name: a word", "the only key it must have")]
    if not _NAME.match(text_of(tree, "name")):
        found = repr(text_of(tree, "name")) if isinstance(name.node, Leaf) else "no text"
        return [problem(name.source, ("name",), found, "up to 64 letters, digits, dots, dashes and underscores")]
    return []


def _outdated(tree: Branch) -> Problem | None:
    """What is wrong with `requires`: checked before everything else, so that a newer profile's keys need no excuse."""
    entry = tree.entries.get("requires")
    if entry is None:
        return None
    wanted = text_of(tree, "requires")
    accepted = 'a version like ">=0.1", or several with commas'
    for part in wanted.split(","):
        match = _REQUIRES.match(part)
        if not match:
            return problem(entry.source, ("requires",), repr(wanted), accepted)
        if not _satisfied(match[1], match[2]):
            found = f"needs numatune {wanted}, this is {__version__}"
            hint = "upgrade numatune" if match[1].startswith(">") else ""
            return problem(entry.source, ("requires",), found, hint=hint)
    return None


def _satisfied(operator: str, wanted: str) -> bool:
    want, have = ([int(part) for part in text.split(".")] for text in (wanted, __version__))
    width = max(len(want), len(have))
    want, have = (numbers + [0] * (width - len(numbers)) for numbers in (want, have))
    return {
        ">=": have >= want,
        ">": have > want,
        "<=": have <= want,
        "<": have < want,
        "==": have == want,
    }[operator]
