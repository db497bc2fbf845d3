"""The door to a machine's state. A captured tree is a Reader only, so applying to one is a type error.

Paths are absolute below the machine's root (``/proc/sys/vm/swappiness``), whatever that root is here. None of the
methods raises OSError: an errno is data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Read:
    """Text of a file, cut at the first NUL (a tar of sysfs pads with NULs), or None and the errno."""

    text: str | None
    errno: int = 0


@dataclass(frozen=True, slots=True)
class Stat:
    """`mode`: st_mode with its type bits, as captured. `inode` 0 where the tree does not know it."""

    mode: int
    inode: int = 0
    uid: int = 0
    read_only: bool = False  # on a mount that refuses every write


@dataclass(frozen=True, slots=True)
class Ran:
    """A finished command. 127: not there (or not captured); 124: ran past its limit."""

    code: int
    out: str = ""
    err: str = ""


class Reader(Protocol):
    """Reads a live host, a captured tree, or a fake kernel."""

    @property
    def root(self) -> str:
        """Where this tree is: "/" or the path of a folder or archive, for people."""

    @property
    def live(self) -> bool:
        """Whether this is a running kernel, as opposed to what one said once."""

    def read(self, path: str) -> Read:
        """The whole file."""

    def names(self, folder: str) -> tuple[str, ...]:
        """Names in a folder, sorted, numbers by value; () when it is no folder or not there."""

    def real(self, path: str) -> str | None:
        """The path with every link resolved, below the root; None when nothing is there or a link leads out."""

    def stat(self, path: str) -> Stat | None:
        """Of what the path leads to; None when nothing is there."""

    def ask(self, argv: tuple[str, ...]) -> Ran:
        """Run a command that changes nothing (``systemctl show``) and wait at most 10 s for its answer."""


class Host(Reader, Protocol):
    """Also writes. Every method returns 0 or the errno."""

    def write(self, path: str, text: str) -> int:
        """One os.write of the whole text to an existing kernel file. A short write is EIO."""

    def make(self, folder: str) -> int:
        """Make one folder, mode 0755; EEXIST when it is there."""

    def drop(self, path: str) -> int:
        """Remove an empty folder (a cgroup) or unlink a file."""

    def replace(self, path: str, text: str, mode: int) -> int:
        """Put a whole file in place: temporary file beside it, fsync, rename. Makes missing folders (0755)."""

    def mount(self, folder: str, kind: str, options: str) -> int:
        """Mount a new file system on a folder. EPERM unless the folder is root's and no link leads to it."""

    def unmount(self, folder: str) -> int:
        """Take away what is mounted there. EBUSY while it is used."""

    def reconfigure(self, folder: str, option: str, value: str) -> int:
        """Set one option of the file system that a folder is of. ENOSYS where the kernel is too old for that."""

    def run(self, argv: tuple[str, ...]) -> Ran:
        """Run a command that may change the host (``systemctl set-property``), 90 s at most."""
