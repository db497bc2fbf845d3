"""The profile that the README shows is one."""

from __future__ import annotations

import re
from pathlib import Path

from fakes.kernel import FakeKernel
from fakes.trees import host_tree

from numatune import profile
from numatune.discover import discover
from numatune.topology.resolve import with_overrides

README = Path(__file__).resolve().parents[2] / "README.md"


def test_the_profile_of_the_readme_means_what_it_says(tmp_path: Path) -> None:
    shown = re.search(r"```yaml\n(.*?)```", README.read_text(), re.DOTALL)
    assert shown
    path = tmp_path / "mine.yaml"
    path.write_text(shown[1])
    document = profile.load([str(path)])
    kernel = FakeKernel(host_tree(nodes=2, cpus_per_node=8, nics=[{"address": "0000:41:00.0", "node": -1}]))
    topology = with_overrides(discover(kernel, document.reads), document.overrides)
    wanted = {setting.id: setting.want for setting in profile.resolve(document, topology).settings}
    assert wanted["sysctl:vm.swappiness"] == "10"
    assert wanted["cpuset:inference.slice/cpus"] == "2-7,10-15"
    assert wanted["hugepages:node1/2M"] == "512"
    assert [device.resolved_node for device in topology.devices if device.address == "0000:41:00.0"] == [1]
