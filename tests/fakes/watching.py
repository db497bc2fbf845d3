"""What a look at a host asks for, and hosts that answer otherwise at one of those paths."""

from __future__ import annotations

from fakes.kernel import FakeKernel
from numatune.host.protocol import Ran, Read, Stat

OTHERS = ("0\n", "1\n", "", "7-8\n", "populated 0\n", "4242\n", "x y [z]\n", "MemTotal: 1 kB\nMemFree: 1 kB\n")


class Asked:
    """A host that remembers which paths it was asked for."""

    def __init__(self, kernel: FakeKernel) -> None:
        self._kernel = kernel
        self.paths: dict[str, None] = {}
        self.root, self.live = kernel.root, True

    def read(self, path: str) -> Read:
        self.paths[path] = None
        return self._kernel.read(path)

    def names(self, folder: str) -> tuple[str, ...]:
        self.paths[folder] = None
        return self._kernel.names(folder)

    def real(self, path: str) -> str | None:
        self.paths[path] = None
        return self._kernel.real(path)

    def stat(self, path: str) -> Stat | None:
        self.paths[path] = None
        return self._kernel.stat(path)

    def ask(self, argv: tuple[str, ...]) -> Ran:
        return self._kernel.ask(argv)


def changed(kernel: FakeKernel, path: str, text: str | None) -> None:
    """Somebody writes another text, or takes the file or folder away, or puts a file where there was none."""
    if text is None:
        kernel.remove(path)
    elif not kernel.is_folder(path):
        kernel.put(path, text)
    else:
        kernel.put(f"{path}/new", text)
