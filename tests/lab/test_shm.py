"""Shared memory of a whole host, and who has his own; weights that the kernel works out of what firmware says."""

from __future__ import annotations

import json

import pytest

from lab.machine import Machine
from lab.reports import PAGES, STATE, changed, failed, moved, rows, statuses
from lab.shapes import TIERED
from lab.warm import machine

pytestmark = [pytest.mark.lab, pytest.mark.matrix]

SHARED = "name: shared\nshm: {/dev/shm: {policy: interleave}}\n"
CONTAINER = f"docker-{'0123456789abcdef' * 4}"
MIB = 256  # pages
AUTO = "name: auto\nweighted_interleave: {auto: true}\n"
WEIGHTS = "/sys/kernel/mm/mempolicy/weighted_interleave"


def write(name: str, mebibytes: int) -> str:
    return f"dd status=none if=/dev/zero of=/dev/shm/{name} bs=1M count={mebibytes}"


def test_a_policy_of_dev_shm_reaches_new_files_and_names_whom_it_does_not_reach(nps2: Machine) -> None:
    nps2.ssh.put({"/root/shared.yaml": SHARED})
    inside = "mount -t tmpfs tmpfs /dev/shm; exec sleep 1000"
    told = nps2.batch(
        {
            "unit": "systemd-run --quiet --unit=apart --property=TemporaryFileSystem=/dev/shm sleep 1000",
            "container": f"systemd-run --quiet --scope --unit={CONTAINER} unshare --mount sh -c '{inside}' "
            "</dev/null >/dev/null 2>&1 & sleep 3",
            "before": f"{STATE} memory groups files others",
            "old": f"{write('old', 4)}; {PAGES} file /dev/shm/old",
            "plan": "numatune plan /root/shared.yaml --json",
            "apply": "numatune apply /root/shared.yaml --yes --json",
            "new": f"{write('new', 16)}; {PAGES} file /dev/shm/new",
            "not reached": "nsenter --mount --target $(systemctl show --value --property=MainPID apart) "
            "grep ' /dev/shm ' /proc/self/mounts",
            "old pages": f"{PAGES} file /dev/shm/old",
            "verify": "numatune verify --json",
            "rollback": "numatune rollback --all --yes --json",
            "later": f"rm /dev/shm/*; {write('later', 4)}; {PAGES} file /dev/shm/later; rm /dev/shm/*",
            "after": f"{STATE} memory groups files others",
        }
    )
    assert failed(told, plan=2) == {}
    row = rows(told["plan"])["shm:/dev/shm/policy"]
    assert {"apart.service", "container 0123456789ab (docker)"} <= set(row["not_reached"])
    old = json.loads(told["old"].out)
    assert len(old) == 1
    assert json.loads(told["old pages"].out) == old
    assert json.loads(told["new"].out) == dict.fromkeys("0123", 4 * MIB)
    assert "mpol" not in told["not reached"].out.splitlines()[-1]
    assert [set(statuses(told[name]).values()) for name in ("apply", "verify")] == [{"ok"}, {"ok"}]
    assert len(json.loads(told["later"].out)) == 1
    (left,) = (line for line in moved(told["before"], told["after"]) if line.startswith("+"))
    assert left.startswith("+mount /dev/shm = ")
    assert "mpol=local" in left  # a remount takes no policy off again


def test_weights_follow_the_bandwidths_of_the_firmware_again() -> None:
    """204,800 MiB/s for each node with CPUs, 25,600 for the slow one; a weight written by hand has switched it off."""
    with machine(TIERED, "newest") as guest:
        guest.ssh.put({"/root/auto.yaml": AUTO})
        told = guest.batch(
            {
                "by hand": f"echo 7 > {WEIGHTS}/node2",
                "before": f"{STATE} memory groups files",
                "apply": "numatune apply /root/auto.yaml --yes --json",
                "weights": f"cat {WEIGHTS}/node0 {WEIGHTS}/node1 {WEIGHTS}/node2",
                "taken": f"numactl --weighted-interleave=0-2 {PAGES} take 31",
                "verify": "numatune verify --json",
                "rollback": "numatune rollback --all --yes --json",
                "after": f"{STATE} memory groups files",
            }
        )
    assert failed(told) == {}
    assert changed(told["apply"]) == {"weighted_interleave:auto"}
    weights = [int(line) for line in told["weights"].out.split()]
    assert (weights[0], weights[0] // weights[2]) == (weights[1], 15)  # of 32 in all, as whole numbers
    pages = json.loads(told["taken"].out)
    rounds = 31 * MIB / sum(weights)
    assert all(abs(pages[str(node)] - rounds * weight) <= weight for node, weight in enumerate(weights))
    assert statuses(told["verify"])["weighted_interleave:auto"] == "ok"
    assert moved(told["before"], told["after"]) == []
