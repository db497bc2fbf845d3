"""The page on the language shows profiles that work, and names everything that there is."""

from __future__ import annotations

import re
from pathlib import Path

from fakes.kernel import FakeKernel
from fakes.trees import host_tree

from numatune import profile
from numatune.discover import discover
from numatune.knobs import SECTIONS
from numatune.profile import facts
from numatune.profile.resolving import OWN_KEYS
from numatune.profile.sandbox import Environment
from numatune.profile.when import CONDITIONS

PAGE = (Path(__file__).parent.parent.parent / "docs" / "profiles.md").read_text(encoding="utf-8")


def test_its_example_is_worked_out(tmp_path: Path) -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    path = tmp_path / "example.yaml"
    path.write_text(example, encoding="utf-8")
    kernel = FakeKernel(host_tree(nodes=2, cpus_per_node=16, nics=1))
    document = profile.load([str(path)])
    made = profile.resolve(document, discover(kernel, document.reads))
    sections = {setting.section for setting in made.settings}
    assert sections == set(SECTIONS) - {"hugepages"}


def test_it_names_everything() -> None:
    words = set(re.findall(r"[\w-]+", PAGE))
    views = (facts.NodesView, facts.NodeView, facts.CpusView, facts.MemoryView, facts.DevicesView, facts.DeviceView)
    assert {name for view in views for name in view.public} <= words
    assert set(Environment().filters) - {"count", "d"} <= words
    assert set(CONDITIONS) <= words
    assert set(OWN_KEYS) <= words
    assert set(SECTIONS) <= words
