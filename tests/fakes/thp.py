"""Bracketed choices, and what a write of those that start khugepaged does to vm.min_free_kbytes."""

from __future__ import annotations

import errno
from dataclasses import dataclass

from fakes.kernel import Behaviour, FakeKernel
from numatune.compat import override

THP = "/sys/kernel/mm/transparent_hugepage"
MIN_FREE = "/proc/sys/vm/min_free_kbytes"


@dataclass(frozen=True)
class Choices(Behaviour):
    """A file that shows ``always [madvise] never`` takes one of these words, exactly, with at most one newline."""

    @override
    def write(self, kernel: FakeKernel, path: str, text: str) -> int | None:
        offered = kernel.files[path].replace("[", "").replace("]", "").split()
        if "[" not in kernel.files[path] or not path.startswith("/sys/"):
            return None
        word = text.removesuffix("\n")
        if word not in offered:
            return errno.EINVAL
        kernel.files[path] = " ".join(f"[{one}]" if one == word else one for one in offered) + "\n"
        if path.startswith(f"{THP}/") and path.endswith("enabled") and "[never]" not in kernel.files[f"{THP}/enabled"]:
            self._raise_min_free(kernel)
        return 0

    recommended: int = 67584

    def _raise_min_free(self, kernel: FakeKernel) -> None:
        """Raise it to what khugepaged recommends, over a lower value of the user's.

        As a 6.18 does at any write of `enabled` and `shmem_enabled`, the global ones and those of a size.
        """
        if MIN_FREE in kernel.files and int(kernel.files[MIN_FREE]) < self.recommended:
            kernel.files[MIN_FREE] = f"{self.recommended}\n"


@dataclass(frozen=True)
class Flags(Behaviour):
    """What khugepaged and its neighbours accept: 0 or 1, at least one page, at most 511 entries; kstrtobool."""

    @override
    def write(self, kernel: FakeKernel, path: str, text: str) -> int | None:
        name = path.rpartition("/")[2]
        if kernel.files[path].strip() in {"true", "false"}:
            word = text.strip().lower()
            if word not in {"1", "0", "y", "n", "true", "false", "on", "off"}:
                return errno.EINVAL
            kernel.files[path] = "true\n" if word in {"1", "y", "true", "on"} else "false\n"
            return 0
        if not path.startswith(f"{THP}/"):
            return None
        if not text.strip().isdigit():
            return errno.EINVAL
        value = int(text)
        flag = name in {"use_zero_page", "shrink_underused", "defrag"} and value > 1
        none_scanned = name == "pages_to_scan" and value < 1
        too_many = name.startswith("max_ptes_") and value > 511
        return errno.EINVAL if flag or none_scanned or too_many else None
