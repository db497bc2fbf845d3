"""Files of which each write zeroes the other."""

from __future__ import annotations

import errno

from fakes.kernel import Behaviour, FakeKernel
from numatune.compat import override

_VM = "/proc/sys/vm"
_ZERO_IS_INVALID = {f"{_VM}/dirty_bytes", f"{_VM}/dirty_background_bytes"}
_PAIRS = {
    f"{_VM}/dirty_bytes": f"{_VM}/dirty_ratio",
    f"{_VM}/dirty_background_bytes": f"{_VM}/dirty_background_ratio",
    f"{_VM}/overcommit_kbytes": f"{_VM}/overcommit_ratio",
}
PARTNER = {**_PAIRS, **{right: left for left, right in _PAIRS.items()}}


class Pairs(Behaviour):
    """dirty_bytes and dirty_ratio, their background pair, overcommit_kbytes and overcommit_ratio."""

    @override
    def write(self, kernel: FakeKernel, path: str, text: str) -> int | None:
        if path not in PARTNER:
            return None
        if not text.strip().isdigit() or (path in _ZERO_IS_INVALID and int(text) == 0):
            return errno.EINVAL
        kernel.files[path] = f"{int(text)}\n"
        kernel.files[PARTNER[path]] = "0\n"
        return 0
