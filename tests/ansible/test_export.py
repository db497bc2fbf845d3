"""The exported playbook: lint finds nothing in it, a second play changes nothing, and it takes all of it back."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import debian
import playing
import pytest
from playing import Played

PROFILE = "name: p\nsysctl: {net.ipv4.tcp_retries1: 5, net.ipv4.tcp_retries2: '>= 3'}\n"
SERIES = debian.SERIES[-1]


@pytest.fixture(scope="module")
def controller(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[playing.Host]:
    with playing.host([root], tmp_path_factory.mktemp("exported")) as host:
        exported(host.folder)
        yield host


def exported(folder: Path) -> None:
    """Of this machine, whose kernel the guest has too."""
    (folder / "p.yaml").write_text(PROFILE, encoding="utf-8")
    words = (str(folder / "p.yaml"), "--format", "ansible", "--output", str(folder / "tune.yml"))
    subprocess.run([sys.executable, "-m", "numatune", "export", *words], check=True, capture_output=True)


def play(host: playing.Host, *words: str) -> Played:
    setting = ("ANSIBLE_STDOUT_CALLBACK=rows", "ANSIBLE_CALLBACK_PLUGINS=/mnt/checkout/tests/ansible/callbacks")
    command = (f"/opt/ansible-{SERIES}/bin/ansible-playbook", "-i", "localhost,", "-c", "local", "/mnt/play/tune.yml")
    return playing.played(host.guest.run("env", *setting, *command, *words))


def test_ansible_lint_finds_nothing_in_its_strictest_profile(controller: playing.Host) -> None:
    path = "PATH=/opt/lint/bin:/usr/bin:/bin"
    lint = ("ansible-lint", "--offline", "--profile", "production", "--strict", "tune.yml")
    controller.guest.run("env", "--chdir=/mnt/play", path, *lint)


def test_the_second_play_changes_nothing_and_the_last_one_takes_all_back(controller: playing.Host) -> None:
    value = ("cat", "/proc/sys/net/ipv4/tcp_retries1")
    before = controller.guest.run(*value)
    played = play(controller)
    assert "Write what differs, in order" in played.changed
    assert controller.guest.run(*value).strip() == "5"
    assert play(controller).changed == []
    assert play(controller, "-e", "numatune_state=absent").changed != []
    assert controller.guest.run(*value) == before
    assert play(controller, "-e", "numatune_state=absent").changed == []
    traces = "ls -d /usr/local/sbin/numatune* /var/lib/numatune-exported 2>/dev/null || :"
    assert controller.guest.run("sh", "-c", traces).strip() == ""
