"""Weighted interleave: weights by hand or by bandwidth."""

from __future__ import annotations

import errno

from fakes.kernel import Behaviour, FakeKernel
from fakes.tree_kernel import version
from fakes.tree_memory import WEIGHTS, reduced
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
