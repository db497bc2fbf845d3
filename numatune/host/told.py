"""What a capture tells beside its files: which paths it asked for, what could not be read, what commands answered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from numatune.errors import HostError
from numatune.host.protocol import Ran, Read, Reader, Stat

MANIFEST = "/numatune-capture.json"
"""Where it lies, beside sys/ and proc/."""

FORMAT = 1
"""Names may be added. A capture with a higher number is refused by name."""

_SHOW = ("systemctl", "show")
_MOUNT_WORDS = 4  # device, point, type, options


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """See the module.

    globs        paths that were looked for; `*` stays within one part. What one of them names and the tree has not,
                 the host had not; of all else the capture tells nothing
    unreadable   real path -> errno of reading it; the tree holds an empty file there
    answers      commands, with their exit code, standard output and standard error
    """

    globs: tuple[str, ...] = ()
    unreadable: Mapping[str, int] = field(default_factory=dict)
    answers: tuple[tuple[tuple[str, ...], Ran], ...] = ()
    version: str = ""

    def text(self) -> str:
        """As JSON."""
        answers = [{"argv": argv, **asdict(ran)} for argv, ran in self.answers]
        held = {
            "format": FORMAT,
            "numatune": self.version,
            "globs": self.globs,
            "unreadable": self.unreadable,
            "answers": answers,
        }
        return json.dumps(held, indent=1, sort_keys=True) + "\n"


def manifest_of(reader: Reader) -> Manifest | None:
    """The manifest in a tree; None for a tree that something else captured. Raises HostError."""
    text = reader.read(MANIFEST).text
    return None if text is None else parsed(text, reader.root)


def parsed(text: str, root: str) -> Manifest:
    """A manifest from its text. `root`: where the tree is, for people. Raises HostError."""
    try:
        held: Any = json.loads(text)
        if held["format"] > FORMAT:
            hint = "use the numatune that made it, or a newer one"
            raise HostError(root, f"captured in format {held['format']}", accepted=f"up to {FORMAT}", hint=hint)
        return Manifest(
            globs=tuple(str(glob) for glob in held["globs"]),
            unreadable={str(path): int(code) for path, code in held["unreadable"].items()},
            answers=tuple(
                (tuple(map(str, one["argv"])), Ran(int(one["code"]), str(one["out"]), str(one["err"])))
                for one in held["answers"]
            ),
            version=str(held["numatune"]),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise HostError(root, f"{MANIFEST[1:]} is none that numatune writes: {error!r}") from error


class ToldTree:
    """A captured tree with its manifest. Raises HostError, when made, for a manifest that cannot be read."""

    def __init__(self, tree: Reader, manifest: Manifest) -> None:
        self._tree = tree
        self._manifest = manifest
        self._answers = dict(manifest.answers)
        self._mounts = _mounts(tree.read("/proc/mounts").text or "")

    @property
    def root(self) -> str:
        """Where the tree is."""
        return self._tree.root

    @property
    def live(self) -> bool:
        """It is what a kernel said once."""
        return False

    def read(self, path: str) -> Read:
        """The whole file, or the errno that the capture met."""
        if self._manifest.unreadable:
            refused = self._manifest.unreadable.get(self._tree.real(path) or "")
            if refused:
                return Read(None, refused)
        return self._tree.read(path)

    def names(self, folder: str) -> tuple[str, ...]:
        """Names in a folder, sorted, numbers by value."""
        return self._tree.names(folder)

    def real(self, path: str) -> str | None:
        """The path without links."""
        return self._tree.real(path)

    def stat(self, path: str) -> Stat | None:
        """Mode as captured; `read_only` as the captured mounts tell."""
        found = self._tree.stat(path)
        if found is None or not any(self._mounts.values()):
            return found
        where = self._tree.real(path) or path
        around = max((point for point in self._mounts if f"{where}/".startswith(point)), key=len, default="")
        return replace(found, read_only=self._mounts.get(around, False))

    def ask(self, argv: tuple[str, ...]) -> Ran:
        """What the host answered; of ``systemctl show`` also fewer properties than were asked then."""
        if argv in self._answers:
            return self._answers[argv]
        if argv[:2] == _SHOW:
            unit, wanted = argv[-1], frozenset(argv[3:-2:2])
            for asked, ran in self._manifest.answers:
                if asked[:2] == _SHOW and asked[-1] == unit and wanted <= frozenset(asked[3:-2:2]):
                    lines = ran.out.splitlines(keepends=True)
                    return replace(ran, out="".join(line for line in lines if line.partition("=")[0] in wanted))
        return self._tree.ask(argv)


def _mounts(text: str) -> dict[str, bool]:
    """Mount points, each with a slash behind, and whether they are read-only. The last mount on a point counts."""
    lines = [line.split() for line in text.splitlines()]
    return {f"{words[1].rstrip('/')}/": "ro" in words[3].split(",") for words in lines if len(words) >= _MOUNT_WORDS}
