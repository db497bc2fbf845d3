"""Weighted interleave: weights by hand or by bandwidth; merging of equal pages."""

from __future__ import annotations

import errno

from fakes.kernel import Behaviour, FakeKernel
from fakes.tree_kernel import version
from fakes.tree_memory import KSM, WEIGHTS, reduced
from numatune.compat import override

_AUTO = {f"{WEIGHTS}/auto", f"{WEIGHTS}/__auto_type"}


class Weights(Behaviour):
    """A weight is 1 to 255, and its write switches auto off; auto needs HMAT's bandwidths and works all of them out."""

    @override
    def write(self, kernel: FakeKernel, path: str, text: str) -> int | None:
        if not path.startswith(f"{WEIGHTS}/"):
            return None
        return self._auto(kernel, path, text.strip()) if path in _AUTO else self._weight(kernel, path, text.strip())

    def _weight(self, kernel: FakeKernel, path: str, word: str) -> int:
        resets = word == "0" and version(kernel.files["/proc/sys/kernel/osrelease"]) < (6, 16)
        if not word.isdecimal() or not (resets or 1 <= int(word) <= 255):
            return errno.EINVAL
        kernel.files[path] = f"{max(1, int(word))}\n"
        for auto in _AUTO & kernel.files.keys():
            kernel.files[auto] = "false\n"
        return 0

    def _auto(self, kernel: FakeKernel, path: str, word: str) -> int:
        if word not in {"0", "1"}:
            return errno.EINVAL
        if word == "1":
            bandwidths = {}
            for node in kernel.names(WEIGHTS):
                told = f"/sys/devices/system/node/{node}/access1/initiators/read_bandwidth"
                if node.startswith("node") and told in kernel.files:
                    bandwidths[int(node.removeprefix("node"))] = int(kernel.files[told])
            if not bandwidths:
                return errno.ENODEV
            for node_id, weight in reduced(bandwidths).items():
                kernel.files[f"{WEIGHTS}/node{node_id}"] = f"{weight}\n"
        kernel.files[path] = "true\n" if word == "1" else "false\n"
        return 0


class Ksm(Behaviour):
    """What cannot change while pages are merged, what the advisor chooses, and run 2, which takes all apart."""

    @override
    def write(self, kernel: FakeKernel, path: str, text: str) -> int | None:
        name = path.removeprefix(f"{KSM}/")
        if name in {path, "advisor_mode"}:
            return None
        least, most = {"run": (0, 2), "max_page_sharing": (2, 1 << 31)}.get(name, (0, 1 << 32))
        if name in {"merge_across_nodes", "use_zero_pages", "smart_scan"}:
            most = 1
        if not text.strip().isdecimal() or not least <= int(text) <= most:
            return errno.EINVAL
        advised = "[scan-time]" in kernel.files.get(f"{KSM}/advisor_mode", "")
        if name == "pages_to_scan" and advised:
            return errno.EINVAL
        if name in {"merge_across_nodes", "max_page_sharing"} and int(kernel.files[f"{KSM}/pages_shared"]):
            return errno.EBUSY
        if name == "run" and int(text) == 2:
            kernel.files |= {f"{KSM}/pages_shared": "0\n", f"{KSM}/pages_sharing": "0\n"}
        return None

    @override
    def snapshot(self, kernel: FakeKernel, state: dict[str, str]) -> None:
        """What is merged is ksmd's work, and nobody's to give back."""
        for name in ("pages_shared", "pages_sharing"):
            state.pop(f"{KSM}/{name}", None)
