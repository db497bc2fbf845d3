"""What only NVIDIA's library tells: the node of a device of which the kernel has none, the device of a MIG UUID.

Asked last, on a live host, and in a process of its own with a limit: a driver that hangs must hang no server's start.
That process is no child of the command that starts: nobody would wait for it.

The node is nvmlDeviceGetMemoryAffinity's, in the scope of a node, when it is one. nvmlDeviceGetNumaNodeId is never
asked: where it answers at all, it tells the node of the GPU's own memory (vllm pull request 39361).
"""

from __future__ import annotations

import ctypes
import os
import select
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from numatune.topology.resolve import canonical

SECONDS = 5
"""How long an answer may take."""

_LIBRARY = "libnvidia-ml.so.1"
_WORDS, _WORD = 16, 64
_SCOPE_NODE = 0
_LARGEST = 1 << 16


class _PciInfo(ctypes.Structure):
    """nvmlPciInfo_t, version 3."""

    _fields_ = (
        ("legacy", ctypes.c_char * 16),
        ("domain", ctypes.c_uint),
        ("bus", ctypes.c_uint),
        ("device", ctypes.c_uint),
        ("id", ctypes.c_uint),
        ("subsystem", ctypes.c_uint),
        ("bus_id", ctypes.c_char * 32),
    )


def ask(questions: Sequence[str], seconds: float = SECONDS) -> Mapping[str, str]:
    """Of each PCI address its node, of each ``MIG-...`` the address of its device; what nobody tells is not there."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        _grandchild(write, questions)
    os.close(write)
    os.waitpid(child, 0)
    answer = _answer(read, seconds)
    os.close(read)
    asked = set(questions)
    pairs = (line.split(" ") for line in answer.splitlines()[1:] if line.count(" ") == 1)
    return {key: value for key, value in pairs if key in asked}


def _grandchild(write: int, questions: Sequence[str]) -> None:
    """Start the process that asks, tell its number first, and leave it to init."""
    try:
        if not os.fork():
            os.write(write, f"{os.getpid()}\n".encode())
            null = os.open(os.devnull, os.O_RDWR)
            for fd, to in ((null, 0), (write, 1), (null, 2)):
                os.dup2(fd, to)
            command = [sys.executable, "-I", "-m", "numatune.launch.nvml", *questions]
            os.execv(command[0], command)  # noqa: S606  # no shell
    finally:
        os._exit(0)


def _answer(read: int, seconds: float) -> str:
    """All that the process says until it ends; one that is late is killed and not waited for."""
    said, end = b"", time.monotonic() + seconds
    while len(said) < _LARGEST:
        if not select.select([read], [], [], max(0, end - time.monotonic()))[0]:
            pid = said.partition(b"\n")[0]
            if pid.isdigit():
                with suppress(OSError):
                    os.kill(int(pid), 9)
            return ""
        chunk = os.read(read, _LARGEST)
        if not chunk:
            break
        said += chunk
    return said.decode("ascii", "replace")


def main(questions: Sequence[str]) -> int:
    """In the process of its own: one line for each question that has an answer."""
    try:
        library = ctypes.CDLL(_LIBRARY)
        if library.nvmlInit_v2():
            return 1
    except (OSError, AttributeError):
        return 1
    for question, told in _told(library, questions):
        sys.stdout.write(f"{question} {told}\n")
    return 0


def _told(library: ctypes.CDLL, questions: Sequence[str]) -> Iterator[tuple[str, str]]:
    for question in questions:
        try:
            told = _device_of(library, question) if question.startswith("MIG-") else _node_of(library, question)
        except AttributeError:  # a function that an older driver has not
            continue
        if told:
            yield question, told


def _node_of(library: ctypes.CDLL, address: str) -> str:
    """The one node that has the memory nearest to a device, "" when it is none or several."""
    handle, nodes = ctypes.c_void_p(), (ctypes.c_ulong * _WORDS)()
    if library.nvmlDeviceGetHandleByPciBusId_v2(address.encode(), ctypes.byref(handle)):
        return ""
    if library.nvmlDeviceGetMemoryAffinity(handle, _WORDS, nodes, _SCOPE_NODE):
        return ""
    found = [word * _WORD + bit for word, bits in enumerate(nodes) for bit in range(_WORD) if bits >> bit & 1]
    return str(found[0]) if len(found) == 1 else ""


def _device_of(library: ctypes.CDLL, uuid: str) -> str:
    """The address of the device that a MIG instance is a part of."""
    handle, parent, info = ctypes.c_void_p(), ctypes.c_void_p(), _PciInfo()
    if library.nvmlDeviceGetHandleByUUID(uuid.encode(), ctypes.byref(handle)):
        return ""
    if library.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(handle, ctypes.byref(parent)):
        return ""
    if library.nvmlDeviceGetPciInfo_v3(parent, ctypes.byref(info)):
        return ""
    return canonical(info.bus_id.decode("ascii", "replace"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
