"""Memory policies by system call: for a launcher, and for authors of servers who place a buffer.

    import mmap
    from numatune import mempolicy

    cache = mmap.mmap(-1, 64 << 30)
    print(mempolicy.interleave(cache))      # interleave:0-1, or default with the reason
    ...                                     # only pages that are touched from now on follow it

`interleave`, `weights`, `bind` and `prefer` take a writable buffer (mmap, bytearray, NumPy array, shared memory) or an
(address, bytes) pair. They never raise for what a kernel or a container refuses: they return what is in force, with a
reason where it is not what was asked for. NUMATUNE_MEMPOLICY=off turns them off. A policy moves no page that has been
touched, unless `move=True`. A range with a policy of its own is a mapping of its own: give one policy to a whole pool,
not to each of ten thousand pieces (vm.max_map_count).

On shared memory of tmpfs the policy belongs to the file and holds for all who map it; on hugetlbfs for the caller only.

The calls below those (`set_task`, `of_task`, `set_range`, `of_address`, `set_home`, `nodes_of`) raise OSError with the
kernel's errno: EPERM under a container's seccomp profile (Docker's allows them with CAP_SYS_NICE), ENOSYS without
CONFIG_NUMA or on an architecture that is not in NUMBERS, EINVAL for a mode that this kernel does not know and for nodes
of which none is allowed.

Sources: the kernel's syscall tables, include/uapi/linux/mempolicy.h, admin-guide/mm/numa_memory_policy.rst.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys

from numatune.compat import TYPE_CHECKING, override

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypeAlias

    Range: TypeAlias = tuple[int, int]

MODES = ("default", "preferred", "bind", "interleave", "local", "preferred-many", "weighted-interleave")
"""By the kernel's number. preferred-many needs Linux 5.15, weighted-interleave 6.9."""

MOST_NODES = 1024
"""Bits of every mask that is handed over: MAX_NUMNODES of the largest kernels (CONFIG_NODES_SHIFT is at most 10)."""

_GENERIC = {"mbind": 235, "get_mempolicy": 236, "set_mempolicy": 237, "move_pages": 239}
NUMBERS = {
    "x86_64": {"mbind": 237, "set_mempolicy": 238, "get_mempolicy": 239, "move_pages": 279},
    "aarch64": _GENERIC,
    "riscv64": _GENERIC,
    "loongarch64": _GENERIC,
    "ppc64le": {"mbind": 259, "get_mempolicy": 260, "set_mempolicy": 261, "move_pages": 301},
    "s390x": {"mbind": 268, "get_mempolicy": 269, "set_mempolicy": 270, "move_pages": 310},
}
"""System call numbers by machine. The generic table has get before set."""

_HOME = 450
"""set_mempolicy_home_node (Linux 5.17): calls since 5.1 have one number everywhere."""

_MAX_NODE = MOST_NODES + 1
"""The kernel takes one off before it counts bits (get_nodes() in mm/mempolicy.c)."""

_WORD = 64
_FLAGS = 0xE000  # MPOL_F_STATIC_NODES, MPOL_F_RELATIVE_NODES, MPOL_F_NUMA_BALANCING
_F_ADDR, _F_MEMS_ALLOWED = 2, 4
_MF_MOVE, _MF_MOVE_ALL = 2, 4
_NODE_FOLDER = "/sys/devices/system/node"

_Mask = ctypes.c_ulong * (MOST_NODES // _WORD)


class InForce:
    """A policy as the kernel holds it. `reason`: why it is not what was asked for, "" when it is."""

    __slots__ = ("mode", "nodes", "reason")

    def __init__(self, mode: str, nodes: Iterable[int] = (), reason: str = "") -> None:
        self.mode = mode
        self.nodes = tuple(sorted(nodes))
        self.reason = reason

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, InForce) and (self.mode, self.nodes) == (other.mode, other.nodes)

    @override
    def __hash__(self) -> int:
        return hash((self.mode, self.nodes))

    @override
    def __repr__(self) -> str:
        policy = f"{self.mode}:{','.join(map(str, self.nodes))}" if self.nodes else self.mode
        return f"{policy} ({self.reason})" if self.reason else policy


def interleave(buffer: object, nodes: Iterable[int] | None = None, *, move: bool = False) -> InForce:
    """Spread the pages of a buffer evenly; default: over all nodes that have CPUs and memory and are allowed."""
    return _buffer(buffer, "interleave", nodes, move=move)


def weights(buffer: object, nodes: Iterable[int] | None = None, *, move: bool = False) -> InForce:
    """Spread the pages by the nodes' weights in /sys/kernel/mm/mempolicy; evenly before Linux 6.9."""
    return _buffer(buffer, "weighted-interleave", nodes, move=move)


def bind(buffer: object, nodes: Iterable[int], *, move: bool = False) -> InForce:
    """Keep the pages on these nodes; beyond what is free there the kernel reclaims and then kills."""
    return _buffer(buffer, "bind", nodes, move=move)


def prefer(buffer: object, node: int, *, move: bool = False) -> InForce:
    """Put the pages on this node, and on others once it is full."""
    return _buffer(buffer, "preferred", [node], move=move)


def spread(buffer: object) -> dict[int | None, int]:
    """Pages of a buffer by node; None: not touched yet, or not here."""
    start, length = _range(buffer)
    page, counts, chunk = _page(), dict[int | None, int](), 1 << 14
    pages = range(start, start + length, page)
    for first in range(0, len(pages), chunk):
        for status in nodes_of(pages[first : first + chunk]):
            node = status if status >= 0 else None
            counts[node] = counts.get(node, 0) + 1
    return counts


def address_of(buffer: object) -> int:
    """Where a writable buffer begins."""
    return _place(buffer)[0]


def usable() -> tuple[int, ...]:
    """Nodes with CPUs and memory that this process may take memory from, by id."""
    from numatune.cpus import CpuSet  # noqa: PLC0415  # a launcher that knows its nodes does without

    found = []
    for name in ("has_cpu", "has_memory"):
        try:
            with open(f"{_NODE_FOLDER}/{name}", encoding="ascii") as file:  # noqa: PTH123  # pathlib costs a start-up
                found.append(CpuSet.parse(file.read()))
        except OSError:
            return (0,)
    return tuple(found[0] & found[1] & CpuSet(allowed()))


def _buffer(buffer: object, mode: str, nodes: Iterable[int] | None, *, move: bool) -> InForce:
    """Try, and tell what holds afterwards."""
    start, length = _range(buffer)
    if os.environ.get("NUMATUNE_MEMPOLICY") == "off":
        return _now(start, "NUMATUNE_MEMPOLICY=off")
    if length <= 0:
        return InForce("default", (), "it has no whole page")
    try:
        targets = tuple(nodes) if nodes is not None else usable()
        if mode in ("interleave", "weighted-interleave") and len(targets) == 1:
            return _now(start, f"node {targets[0]} is the only one: nothing to interleave")
        return _set(start, length, mode, targets, move=move)
    except OSError as error:
        return _now(start, explain(error))


def _set(start: int, length: int, mode: str, nodes: Sequence[int], *, move: bool) -> InForce:
    try:
        set_range(start, length, mode, nodes, move=move)
    except OSError as error:
        if error.errno != errno.EINVAL or mode != "weighted-interleave":
            raise
        set_range(start, length, "interleave", nodes, move=move)
        return _now(start, "this kernel has no weighted interleave (Linux 6.9)")
    held = of_address(start)
    if held != InForce(mode, nodes):
        held.reason = f"nodes {','.join(map(str, nodes))} were asked for"
    return held


def _now(start: int, reason: str) -> InForce:
    try:
        held = of_address(start)
    except OSError:
        held = InForce("default")
    held.reason = reason
    return held


def explain(error: OSError) -> str:
    """What an errno of these calls means, and what helps."""
    name = errno.errorcode.get(error.errno or 0, str(error.errno))
    match error.errno:
        case errno.EPERM:
            return f"{name}: seccomp or a security module refuses it; containers need --cap-add SYS_NICE"
        case errno.ENOSYS:
            return f"{name}: this kernel has no memory policies (CONFIG_NUMA), or seccomp hides them"
        case errno.EINVAL:
            return (
                f"{name}: none of the nodes has memory that this cpuset allows, or the kernel is too old for the mode"
            )
        case _:
            return f"{name}: {os.strerror(error.errno or 0)}"


def set_task(mode: str, nodes: Iterable[int] = ()) -> None:
    """set_mempolicy(2): of this thread; threads and programs that it starts inherit it, over exec too."""
    mask = _mask(nodes)
    _call("set_mempolicy", MODES.index(mode), mask, _MAX_NODE if mask else 0)


def of_task() -> InForce:
    """get_mempolicy(2): of this thread."""
    return _get(0, 0)


def of_address(address: int) -> InForce:
    """get_mempolicy(2): of the mapping at an address; the thread's own where it has none is "default"."""
    return _get(address, _F_ADDR)


def allowed() -> tuple[int, ...]:
    """get_mempolicy(2): nodes that this thread's cpuset lets it take memory from."""
    mask = _Mask()
    _call("get_mempolicy", None, mask, _MAX_NODE, 0, _F_MEMS_ALLOWED)
    return _members(mask)


def set_range(address: int, length: int, mode: str, nodes: Iterable[int] = (), *, move: bool = False) -> None:
    """mbind(2): of the pages from a page-aligned address on.

    move  also those that are there; what other processes map too only with CAP_SYS_NICE
    """
    mask = _mask(nodes)
    words = (address, length, MODES.index(mode), mask, _MAX_NODE if mask else 0)
    if move:
        try:
            _call("mbind", *words, _MF_MOVE | _MF_MOVE_ALL)
        except OSError as error:
            if error.errno != errno.EPERM:
                raise
        else:
            return
    _call("mbind", *words, _MF_MOVE if move else 0)


def set_home(address: int, length: int, node: int) -> None:
    """set_mempolicy_home_node(2), Linux 5.17: which node of a bind or preferred-many range is taken first."""
    _raw(_HOME, address, length, node, 0)


def nodes_of(addresses: Sequence[int], pid: int = 0) -> list[int]:
    """move_pages(2) as a question: the node of each page, or -errno (-ENOENT: not touched)."""
    count = len(addresses)
    status = (ctypes.c_int * count)()
    _call("move_pages", pid, count, (ctypes.c_void_p * count)(*addresses), None, status, 0)
    return list(status)


def _get(address: int, flags: int) -> InForce:
    mode, mask = ctypes.c_int(), _Mask()
    _call("get_mempolicy", ctypes.byref(mode), mask, _MAX_NODE, address, flags)
    return InForce(MODES[mode.value & ~_FLAGS], _members(mask))


def _mask(nodes: Iterable[int]) -> ctypes.Array[ctypes.c_ulong] | None:
    mask = _Mask()
    some = False
    for node in nodes:
        if not 0 <= node < MOST_NODES:
            raise OSError(errno.EINVAL, f"{node} is no node; accepted: 0 to {MOST_NODES - 1}")
        mask[node // _WORD] |= 1 << node % _WORD
        some = True
    return mask if some else None


def _members(mask: ctypes.Array[ctypes.c_ulong]) -> tuple[int, ...]:
    return tuple(word * _WORD + bit for word, bits in enumerate(mask) for bit in range(_WORD) if bits >> bit & 1)


def _call(name: str, *arguments: object) -> int:
    machine = os.uname().machine
    if machine not in NUMBERS or ctypes.sizeof(ctypes.c_long) * 8 != _WORD:
        raise OSError(errno.ENOSYS, f"{name}: its number on {machine} is not known; known: {', '.join(NUMBERS)}")
    return _raw(NUMBERS[machine][name], *arguments)


def _raw(number: int, *arguments: object) -> int:
    """Plain integers as whole registers: ctypes would hand them over as 32 bits. Raises OSError."""
    words = [ctypes.c_ulong(each) if isinstance(each, int) else each for each in arguments]
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    result: int = call(ctypes.c_long(number), *words)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def _page() -> int:
    return os.sysconf("SC_PAGE_SIZE")


def _range(buffer: object) -> Range:
    """(address, bytes) of the whole pages inside; the last page of an mmap is its own, however little is used of it."""
    page = _page()
    start, length = buffer if isinstance(buffer, tuple) else _place(buffer)
    end = start + length
    mmap = sys.modules.get("mmap")  # not there: nobody has one
    base = None if isinstance(buffer, tuple) else memoryview(buffer).obj  # type: ignore[arg-type]  # a writable buffer
    if mmap and isinstance(base, mmap.mmap) and end == sum(_place(base)):
        end += -end % page
    first = start + -start % page
    return first, end // page * page - first


def _place(buffer: object) -> Range:
    view = (ctypes.c_char * 0).from_buffer(buffer)  # type: ignore[arg-type]  # as above
    return ctypes.addressof(view), memoryview(buffer).nbytes  # type: ignore[arg-type]  # as above
