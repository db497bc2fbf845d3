"""Plays in a guest, and what came of them as data."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import debian
from lab.base import CHECKOUT

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Row:
    """A task's result on a host. `status`: ok, failed, ignored, unreachable."""

    task: str
    host: str
    status: str
    result: Json


@dataclass(frozen=True, slots=True)
class Played:
    """What a playbook did: its results in order, and the counts at the end, for the one host of most tests."""

    rows: tuple[Row, ...]
    counts: Json

    def of(self, task: str) -> Json:
        """The result of a task, named by how its name begins."""
        (found,) = [row.result for row in self.rows if row.task.startswith(task)]
        return found

    @property
    def changed(self) -> list[str]:
        """Names of the tasks that changed something."""
        return [row.task for row in self.rows if row.result.get("changed")]

    @property
    def warnings(self) -> list[str]:
        """All that was warned of."""
        return [warning for row in self.rows for warning in row.result.get("warnings", [])]

    @property
    def failure(self) -> str:
        """Why it failed."""
        (found,) = [row.result["msg"] for row in self.rows if row.status == "failed"]
        return str(found)


@dataclass(frozen=True, slots=True)
class Host:
    """A guest and the folder that its plays are read from."""

    guest: debian.Guest
    folder: Path

    def play(self, tasks: Sequence[Json] | None, *words: str, series: str = debian.SERIES[-1], code: int = 0) -> Played:
        """Play tasks, or the role where there are none, on the guest itself."""
        play: Json = {"hosts": "all", "gather_facts": False}
        play |= {"roles": ["numatune"]} if tasks is None else {"tasks": list(tasks)}
        (self.folder / "play.json").write_text(json.dumps([play]))
        command = (
            f"/opt/ansible-{series}/bin/ansible-playbook",
            "-i",
            "localhost,",
            "-c",
            "local",
            "/mnt/play/play.json",
        )
        setting = ("ANSIBLE_STDOUT_CALLBACK=rows", "ANSIBLE_CALLBACK_PLUGINS=/mnt/checkout/tests/ansible/callbacks")
        said = self.guest.run("env", *setting, *command, *words, code=code)
        return played(said)

    def role(self, *words: str, series: str = debian.SERIES[-1], code: int = 0, **variables: object) -> Played:
        """Play the role with these variables, less their prefix."""
        told = {
            "numatune_check": "none",
            "numatune_persist": False,
            **{f"numatune_{name}": value for name, value in variables.items()},
        }
        (self.folder / "variables.json").write_text(json.dumps(told))
        return self.play(None, "-e", "@/mnt/play/variables.json", *words, series=series, code=code)

    def written(self) -> list[str]:
        """Paths of all that is in the guest's own layer, written or removed; less Ansible's own scratch."""
        upper = self.guest.layer / "upper"
        paths = [path for path in upper.rglob("*") if path.is_symlink() or not path.is_dir()]
        empty = [path for path in upper.rglob("*") if path.is_dir() and not self._is_below(path.relative_to(upper))]
        found = sorted(f"/{path.relative_to(upper)}" for path in [*paths, *empty])
        return [path for path in found if not path.startswith("/root/.ansible")]

    def _is_below(self, folder: Path) -> bool:
        """Whether a folder is one of the layers below."""
        return any((lower / folder).is_dir() for lower in self.guest.lower)

    def profile(self, name: str, **sysctls: object) -> str:
        """A profile on the controller, for numatune_profile_files; its path."""
        rows = "".join(f"  net.ipv4.{key}: {json.dumps(value)}\n" for key, value in sysctls.items())
        (self.folder / f"{name}.yaml").write_text(f"name: {name}\nsysctl:\n{rows}" if rows else f"name: {name}\n")
        return f"/mnt/play/{name}.yaml"


def played(said: str) -> Played:
    """What the callback `rows` printed."""
    rows = [Row(**json.loads(line)) for line in said.splitlines() if line.startswith("{")]
    return Played(tuple(row for row in rows if row.status != "stats"), rows[-1].result.get("localhost", {}))


@contextlib.contextmanager
def host(lower: Sequence[Path], folder: Path, wheelhouse: Path | None = None) -> Iterator[Host]:
    """A guest over these layers, the first on top, that writes into `folder`."""
    (folder / "play").mkdir()
    binds = {"/mnt/checkout": CHECKOUT, "/mnt/play": folder / "play"}
    binds |= {"/mnt/wheelhouse": wheelhouse.with_suffix("")} if wheelhouse else {}
    guest = debian.Guest(lower, folder / "layer", binds)
    try:
        yield Host(guest, folder / "play")
    finally:
        guest.close()
