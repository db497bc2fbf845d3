"""A guest as an archive, and over ssh: a plan offline is the plan on the host; verify needs nothing installed there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.process import Ended, numatune
from fakes.sshd import client

from lab.image import key_pair
from lab.machine import Machine

pytestmark = pytest.mark.lab

HOST_KEY = "/etc/ssh/ssh_host_ed25519_key.pub"
OTHER_BY_DESIGN = ("root", "boot_id")  # of a plan's host: the archive is a file, and holds a hash of the second


class Controller:
    """This machine, with the key and the known host of an administrator, and numatune."""

    def __init__(self, guest: Machine, folder: Path) -> None:
        self.url = f"ssh://root@127.0.0.1:{guest.ssh.port}"
        self.folder = folder
        known = folder / "known"
        known.write_text(f"[127.0.0.1]:{guest.ssh.port} {guest.ssh.get(HOST_KEY)}", encoding="utf-8")
        program = client(folder, key_pair(), known, "ServerAliveInterval 30")
        self._env = {"PATH": f"{program.parent}:/usr/local/bin:/usr/bin:/bin"}

    def numatune(self, *words: str) -> Ended:
        return numatune(*words, state=self.folder / "state", cwd=self.folder, env=self._env)


def rows(told: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """By id."""
    return {row["id"]: row for row in told["settings"]}


def test_a_plan_of_the_archive_is_the_plan_on_the_host(nps2: Machine, tmp_path: Path) -> None:
    """irqbalance is stopped: it would move interrupts between one look and the next."""
    controller = Controller(nps2, tmp_path)
    there = json.loads(nps2.run("systemctl stop irqbalance; numatune plan llm-inference --json --differences-ok").out)
    taken = controller.numatune("capture", "--host", controller.url, "guest.tar.xz", "--json")
    assert (taken.code, taken.json["unreadable"]) == (0, {})
    here = controller.numatune("--root", "guest.tar.xz", "plan", "llm-inference", "--json", "--differences-ok").json
    assert rows(here) == rows(there)
    assert list(rows(here)) == list(rows(there))
    assert len(rows(here)) > 15
    assert (here["summary"], here["profiles"]) == (there["summary"], there["profiles"])
    assert {**here["host"], **dict.fromkeys(OTHER_BY_DESIGN)} == {**there["host"], **dict.fromkeys(OTHER_BY_DESIGN)}


@pytest.mark.matrix
def test_verify_asks_the_host_before_and_after_an_apply(single: Machine, tmp_path: Path) -> None:
    controller = Controller(single, tmp_path)
    words = ("verify", "llm-inference", "--hosts", controller.url, "--json")
    before = controller.numatune(*words)
    (host,) = before.json["hosts"]
    assert (before.code, host["host"], host["error"]) == (2, controller.url, None)
    row = rows(host["verified"])["sysctl:vm.swappiness"]
    assert (row["status"], row["current"], row["verified_by"]) == ("drifted", "60", "sysctl -n vm.swappiness")

    told = single.batch(
        {
            "apply": "numatune apply llm-inference --yes",
            "verify": "numatune verify llm-inference --json",
        }
    )
    assert [answer.code for answer in told.values()] == [0, 0]
    try:
        after = controller.numatune(*words)
    finally:
        single.run("numatune rollback --all --yes")
    (host,) = after.json["hosts"]
    assert (after.code, host["verified"]["summary"]["differences"]) == (0, 0)
    said, itself = rows(host["verified"]), rows(json.loads(told["verify"].out))
    assert said.keys() == itself.keys()
    for name, row in said.items():
        assert (name, row["status"], row["current"]) == (name, itself[name]["status"], itself[name]["current"])
