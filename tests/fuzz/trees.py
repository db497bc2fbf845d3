"""Hosts on which files are empty, cut short, huge, no text, gone, folders, or links, and say what cannot be."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from random import Random

from fakes.trees import host_tree

from fuzz import odd
from fuzz.case import Case, Held
from fuzz.changed import NAMES, captured_paths
from fuzz.hosts import HOSTS

SHIPPED = tuple(sorted(path.stem for path in (Path(__file__).parents[2] / "profiles").glob("*.yaml")))
CHANGES = (1, 1, 2, 3, 5, 20)
_NUMBERED = ("cpu", "node", "policy", "state", "index", "memory_tier", "hugepages-", "rx-", "tx-", "virtio", "access")


def case(seed: str) -> Case:
    """The case of a seed."""
    random = Random(seed)
    shipped = random.choice(SHIPPED)
    if NAMES and random.randrange(6) == 0:
        name = random.choice(NAMES)
        return Case(captured=name, tree=changed(random, captured_paths(name)), shipped=shipped)
    number = random.randrange(len(HOSTS))
    tree = changed(random, generated(number))
    return Case(host=HOSTS[number], tree=tree, shipped=shipped)


@functools.cache
def generated(number: int) -> tuple[str, ...]:
    """The paths of one of the hosts."""
    return tuple(sorted(host_tree(**HOSTS[number])))


def changed(random: Random, paths: tuple[str, ...]) -> Mapping[str, Held]:
    """What a few of these paths, or all of one name, hold instead."""
    made: dict[str, Held] = {}
    for _ in range(random.choice(CHANGES)):
        path = random.choice(paths).rstrip("/")
        match random.randrange(8):
            case 0:  # in every folder that has it
                name = f"/{path.rpartition('/')[2]}"
                held = _held(random, path)
                made |= {one: held for one in paths if one.endswith(name)}
            case 1:
                made[_folder(random, path)] = _held(random, path)
            case 2:
                made |= _beside(random, path)
            case 3:
                made |= _contradiction(random)
            case _:
                made[path] = _held(random, path)
    return made


def _held(random: Random, path: str) -> Held:
    match random.randrange(10):
        case 0 | 1:
            return None
        case 2:
            return random.choice(odd.BYTES)
        case 3:
            return f"-> {random.choice((*odd.TARGETS, path, path.rpartition('/')[0], path.rpartition('/')[2]))}"
        case 4:
            return f"{odd.number(random)}\n"
        case _:
            return random.choice(odd.KERNEL_TEXTS)


def _folder(random: Random, path: str) -> str:
    pieces = path.split("/")
    return "/".join(pieces[: random.randint(2, len(pieces))])


def _beside(random: Random, path: str) -> dict[str, Held]:
    """A folder where a file is, or a neighbour with an odd number or name."""
    if random.randrange(3) == 0:
        return {f"{path}/": "", f"{path}/{random.choice(('0', 'x', 'online'))}": "0\n"}
    number = random.choice((-1, 0, 7, 255, 1023, 65535, 65536, 1 << 31, 1 << 64, "x", "07", "\u0663", "9" * 200))
    above = _folder(random, path)
    name = f"{random.choice(_NUMBERED)}{number}"
    return {f"{above}/{name}": random.choice(odd.KERNEL_TEXTS), f"{above}/{name}x/": ""}


def _contradiction(random: Random) -> dict[str, Held]:
    """Lists of a machine that do not fit each other, or all of it offline."""
    cpu, node = "/sys/devices/system/cpu", "/sys/devices/system/node"
    return random.choice(
        (
            {f"{cpu}/online": "\n", f"{cpu}/offline": "0-7\n"},
            {f"{cpu}/online": "0-4095\n", f"{cpu}/possible": "0-7\n"},
            {f"{cpu}/online": "1000-1001\n", f"{cpu}/present": "0-1\n"},
            {f"{cpu}/possible": "0\n"},
            {f"{node}/online": "-1\n", f"{node}/possible": "-1\n"},
            {f"{node}/online": "5,9,65535\n", f"{node}/has_memory": "1\n", f"{node}/has_cpu": "\n"},
            {f"{node}/node0/cpulist": "\n", f"{node}/node3/cpulist": "\n"},
            {f"{node}/node0/cpulist": "0-65535\n", f"{node}/node1/cpulist": "0-65535\n"},
            {f"{node}/node0/distance": f"{' '.join(['10'] * random.choice((0, 1, 3, 500)))}\n"},
            {f"{node}/node0/distance": "-10 0\n", f"{node}/node1/distance": "99999999999999999999 1\n"},
            {f"{node}/node0/meminfo": "Node 0 MemTotal: 0 kB\n", "/proc/meminfo": "MemTotal: 1 kB\n"},
            {"/proc/meminfo": f"MemTotal: {'9' * 30} kB\nMemFree: -1 kB\n"},
            {"/proc/interrupts": "CPU0 CPU1\n 24: 0 0 PCI-MSIX-0000:41:00.0\n x: 1\n 9" + "9" * 40 + ": 0 0 a b c d\n"},
            {
                "/proc/mounts": "tmpfs\ncgroup2 /x cgroup2\n"
                "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0 0 0\n\\040 \\777 tmpfs mpol=x 0 0\n"
            },
            {
                "/proc/cmdline": f"isolcpus={odd.number(random)} nohz_full=3-1 "
                "default_hugepagesz=0K default_hugepagesz=9999999G\n"
            },
            {
                "/proc/sys/kernel/osrelease": random.choice(
                    ("6\n", "99999999999.1\n", "x.y.z\n", "6.12.0" * 500, "-1.-2\n")
                )
            },
            {"/sys/kernel/irq/24/hwirq": f"{odd.number(random)}\n", "/proc/irq/24/smp_affinity_list": "0-9999999\n"},
        )
    )
