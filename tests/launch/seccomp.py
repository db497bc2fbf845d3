"""A container's seccomp profile in small: named system calls fail with an errno, in this process and its children."""

from __future__ import annotations

import ctypes
import errno
import os
import struct

from numatune import mempolicy

_NO_NEW_PRIVS, _SECCOMP, _FILTER = 38, 22, 2
_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7, "riscv64": 0xC00000F3}
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
EVERY = ("mbind", "set_mempolicy", "get_mempolicy", "move_pages")


def deny(*names: str, code: int = errno.EPERM) -> None:
    """Refuse these calls from now on, over exec too. Docker without CAP_SYS_NICE: all of EVERY, EPERM."""
    machine = os.uname().machine
    numbers = [mempolicy.NUMBERS[machine][name] for name in names]
    program = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, _ARCH[machine]), (_RETURN, 0, 0, _ALLOW), (_LOAD, 0, 0, 0)]
    for left, number in zip(range(len(numbers) - 1, -1, -1), numbers, strict=True):
        program.append((_EQUAL, left + 1, 0, number))
    program += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _ERRNO | code)]
    packed = b"".join(struct.pack("=HBBI", *line) for line in program)
    instructions = ctypes.create_string_buffer(packed, len(packed))
    head = struct.pack("@HP", len(program), ctypes.addressof(instructions))
    libc = ctypes.CDLL(None, use_errno=True)
    for call in ((_NO_NEW_PRIVS, 1, 0, 0, 0), (_SECCOMP, _FILTER, ctypes.create_string_buffer(head, len(head)), 0, 0)):
        if libc.prctl(*call):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
