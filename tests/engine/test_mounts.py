"""Whom a new policy of /dev/shm does not reach: containers and units that have one of their own, each once, by name."""

from __future__ import annotations

import pytest
from fakes.kernel import FakeKernel
from fakes.trees import host_tree

from numatune.engine.observe import look
from numatune.settings.codecs import MemPolicy
from numatune.settings.model import Phase, Setting, SettingId
from numatune.settings.targets import MountOption

SHM = "/dev/shm"  # noqa: S108  # a mount point
ID = "0123456789abcdef" * 4


def line(device: str) -> str:
    return f"25 24 {device} / {SHM} rw - tmpfs shm rw,size=8192k\n"


def process(pid: int, cgroup: str, device: str | None, namespace: str = "") -> dict[str, str]:
    """One process; its mount namespace is its own, or that of another."""
    tree = {f"/proc/{pid}/comm": "vllm\n", f"/proc/{pid}/cgroup": f"0::{cgroup}\n"}
    tree[f"/proc/{pid}/ns/mnt"] = f"-> /proc/{namespace}/ns/mnt" if namespace else ""
    return tree | ({f"/proc/{pid}/mountinfo": line(device)} if device else {})


def seen(*processes: dict[str, str], want: str = "interleave:0-1", path: str = SHM):
    tree = host_tree(nodes=2) | {"/proc/self/ns/mnt": "", "/proc/self/mountinfo": line("0:23")}
    for one in processes:
        tree |= one
    setting = Setting(
        id=SettingId(f"shm:{path}/policy"),
        target=MountOption(path, "mpol"),
        codec=MemPolicy(),
        want=want,
        phase=Phase.TIERS,
        section="shm",
    )
    return look(setting, FakeKernel(tree))


@pytest.mark.parametrize(
    ("cgroup", "name"),
    [
        (f"/system.slice/docker-{ID}.scope", "container 0123456789ab (docker)"),
        (f"/docker/{ID}", "container 0123456789ab"),
        (f"/machine.slice/libpod-{ID}.scope/container", "container 0123456789ab (libpod)"),
        (f"/kubepods.slice/kubepods-pod1.slice/cri-containerd-{ID}.scope", "container 0123456789ab (cri-containerd)"),
        ("/system.slice/vllm.service", "vllm.service"),
        ("/user.slice/user-0.slice/session-1.scope", "session-1.scope"),
        ("/", "200 vllm"),
    ],
)
def test_who_has_one_of_his_own_is_named(cgroup: str, name: str):
    assert seen(process(200, cgroup, "0:99")).not_reached == (name,)


def test_who_sees_the_same_one_is_not():
    same_namespace = process(100, "/a.service", "0:99", namespace="self")
    same_mount = process(300, "/b.service", "0:23")
    without_any = process(400, "/c.service", None)
    assert seen(same_namespace, same_mount, without_any).not_reached == ()


def test_each_is_named_once_and_many_are_counted():
    pod = [process(200 + n, f"/docker-{ID}.scope", "0:99") for n in range(3)]
    assert seen(*pod).not_reached == ("container 0123456789ab (docker)",)
    many = seen(*(process(200 + n, f"/{n}.service", "0:99") for n in range(20))).not_reached
    assert (len(many), many[-1]) == (13, "8 more")


def test_nobody_is_asked_where_nothing_would_change():
    assert seen(process(200, "/a.service", "0:99"), want="default").not_reached == ()
