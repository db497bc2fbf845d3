"""This machine as the host of real commands; a test that uses it puts everything back, also when it fails."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from fakes import snapshot
from fakes.process import Ended, numatune
from fakes.snapshot import Snapshot

GROUP = f"numatune-live-{os.getpid()}"


@dataclass
class Machine:
    """This machine with a state folder of its own. `before`: what its kernel held when the test began."""

    folder: Path
    before: Snapshot = field(default_factory=snapshot.taken)

    @property
    def state(self) -> Path:
        return self.folder / "state"

    def numatune(self, *words: str) -> Ended:
        return numatune(*words, state=self.state, cwd=self.folder)

    def profile(self, text: str, name: str = "wide") -> str:
        """Path of a profile with this text below its name."""
        path = self.folder / f"{name}.yaml"
        path.write_text(f"name: {name}\n{text}", encoding="utf-8")
        path.chmod(0o644)
        return str(path)

    def moved(self) -> Snapshot:
        """What is not as it was."""
        return snapshot.differences(self.before, snapshot.taken(), [GROUP])

    def runs(self) -> list[str]:
        """Names of the journals, oldest first."""
        return sorted(path.name for path in (self.state / "runs").glob("*.jsonl"))

    def put_back(self) -> None:
        remove_group(snapshot.GROUPS / GROUP)
        snapshot.put_back(self.before)


def make_group(cpus: str, mems: str) -> Path:
    """A v1 cpuset of ours."""
    group = snapshot.GROUPS / GROUP
    group.mkdir()
    (group / "cpuset.mems").write_text(mems)
    (group / "cpuset.cpus").write_text(cpus)
    return group


def remove_group(group: Path) -> None:
    """Take a v1 cpuset away with what is in it; its tasks go to the root."""
    if not group.is_dir():
        return
    for inner in group.iterdir():
        if inner.is_dir():
            remove_group(inner)
    for pid in (group / "cgroup.procs").read_text().split():
        (snapshot.GROUPS / "cgroup.procs").write_text(pid)
    group.rmdir()
