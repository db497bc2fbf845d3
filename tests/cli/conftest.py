from __future__ import annotations

from pathlib import Path

import pytest
from fakes.commands import lend
from fakes.kernel import FakeKernel
from fakes.trees import host_tree

PROFILES = {
    "three.yaml": """\
name: three
version: "1"
sysctl:
  vm.swappiness: {value: 10, why: keep the page cache small}
  vm.stat_interval: 10
thp: {defrag: never}
""",
    "other.yaml": "name: other\nsysctl: {vm.stat_interval: 20}\n",
    "absent.yaml": "name: absent\nsysctl: {vm.swappiness: 10, kernel.no_such_thing: {value: 1, optional: false}}\n",
}


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeKernel:
    """The host of all commands; profiles lie in the working directory."""
    made = FakeKernel(host_tree(nodes=2, cpus_per_node=4, nics=1))
    lend(made, tmp_path, monkeypatch)
    for name, text in PROFILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return made
