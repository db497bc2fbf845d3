"""One task for all settings against a task a setting, by the same ansible-playbook, each less an empty play.

Forty sysctls are as wanted already, so nobody changes anything. The role is played whole: installation, profile, drift
check and apply. What it would write lies in a scratch folder; /etc is an overlay in this mount namespace.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from measure import Cost, cost, median, row

CHECKOUT = Path(__file__).resolve().parents[2]
ROLE = CHECKOUT / "roles" / "numatune"
TURNS = 3


def compare(ansible: Path, folder: Path, held: Mapping[str, str], env: Mapping[str, str]) -> None:
    """Play all books in turns, without and with pipelining, and print what each costs beyond the empty one."""
    etc_is_scratch(folder)
    books = {name: written(folder, name, play) for name, play in plays(folder, held).items()}
    paths = {"ANSIBLE_ROLES_PATH": str(ROLE.parent), "ANSIBLE_LIBRARY": str(ROLE / "library")}
    for pipelining in ("false", "true"):
        told = {**env, **paths, "ANSIBLE_PIPELINING": pipelining}
        found = turns({name: command(ansible, book) for name, book in books.items()}, told)
        empty = found["empty"]
        print(f"\nplays, pipelining {pipelining}, less an empty one ({empty.cpu:.2f} s CPU, {empty.wall:.2f} s)")
        tasks = found["tasks"] - empty
        for name, title in (("apply", "numatune_profile, one task"), ("role", "the whole role")):
            mine = found[name] - empty
            row(f"{len(held)} sysctl tasks, CPU", tasks.cpu, title, mine.cpu)
            row(f"{len(held)} sysctl tasks, wall", tasks.wall, title, mine.wall)


def turns(commands: Mapping[str, Sequence[str]], env: Mapping[str, str]) -> dict[str, Cost]:
    """Median cost of each command. The first round does what there is to do and is not counted."""
    for words in commands.values():
        cost(words, env)
    rounds = [{name: cost(words, env) for name, words in commands.items()} for _ in range(TURNS)]
    return {name: median(each[name] for each in rounds) for name in commands}


def plays(folder: Path, held: Mapping[str, str]) -> dict[str, dict[str, object]]:
    """The books: nothing, a task a sysctl, one task for all, the role."""
    sysctl = {"sysctl_set": True, "reload": False, "sysctl_file": str(folder / "sysctl.conf")}
    tasks = [{"ansible.posix.sysctl": {"name": key, "value": value, **sysctl}} for key, value in held.items()]
    program = f"{Path(sys.executable).parent}/numatune"
    apply = {"numatune_profile": {"profiles": [str(folder / "forty.yaml")], "executable": program}}
    role = {
        "numatune_wheelhouse": str(wheelhouse(folder)),
        "numatune_python": str(Path(sys.executable).resolve()),
        "numatune_prefix": str(folder / "opt"),
        "numatune_link": str(folder / "numatune"),
        "numatune_profiles": ["forty"],
        "numatune_profile_files": [str(folder / "forty.yaml")],
        "numatune_persist": False,  # would switch units on
        "numatune_check": "cron",
    }
    apart = {"NUMATUNE_STATE_DIR": str(folder / "role-state")}  # as on a host of its own, which one of them tunes
    return {
        "empty": {"tasks": []},
        "tasks": {"tasks": tasks},
        "apply": {"tasks": [apply]},
        "role": {"roles": [{"role": "numatune", "vars": role}], "environment": apart},
    }


def written(folder: Path, name: str, play: Mapping[str, object]) -> Path:
    """A book of one play on this machine."""
    book = folder / f"{name}.json"
    book.write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, **play}]))
    return book


def command(ansible: Path, book: Path) -> list[str]:
    """Play a book on this machine, its modules by the bench's own Python."""
    python = f"ansible_python_interpreter={ansible.parent / 'python'}"
    return [str(ansible), "-i", "localhost,", "-c", "local", "-e", python, str(book)]


def wheelhouse(folder: Path) -> Path:
    """What the role installs: this checkout, for this Python."""
    version = f"PYTHON={sys.version_info.major}.{sys.version_info.minor}"
    words = ("make", "--no-print-directory", "-C", str(CHECKOUT), "wheelhouse")
    subprocess.run(
        [*words, version, f"ARCH={platform.machine()}", f"DIST={folder}/dist"],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={key: value for key, value in os.environ.items() if not key.startswith("MAKE")},
    )
    (archive,) = (folder / "dist").glob("*.tar")
    return archive


def etc_is_scratch(folder: Path) -> None:
    """Lay a folder of ours over /etc, in this mount namespace only."""
    for name in ("etc", "etc-work"):
        (folder / name).mkdir()
    layers = f"lowerdir=/etc,upperdir={folder}/etc,workdir={folder}/etc-work"
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", layers, "/etc"], check=True)  # noqa: S607  # the system's own
