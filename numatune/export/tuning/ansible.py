"""A playbook of ansible.builtin modules only: it puts the exported files on hosts, and the script writes in order.

The order, the guard rails and the read-back are the script's: a task for each value could keep none of them, and would
ask a host of a thousand interrupts a thousand times.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Sequence

from numatune.export import persist
from numatune.export.tuning import script, systemd
from numatune.export.tuning.model import Exported, File, Left, Tuning
from numatune.export.tuning.remarks import comments, remarks
from numatune.settings.targets import UnitState

PATH = "numatune.yml"


def export(tuning: Tuning) -> Exported:
    """One file: a play for hosts that are like this one."""
    installed = systemd.export(tuning)
    states = [one.target for one in persist.settings(tuning.wanted, tuning.place) if isinstance(one.target, UnitState)]
    enabled = [one.unit for one in states if one.aspect == "enabled"]
    started = {one.unit for one in states if one.aspect == "active"}
    present = [*_folders(installed.files), *map(_copy, installed.files), *_units(enabled, started), *_applied()]
    callers = [one for one in installed.files if systemd.calls(one)]
    rest = [one for one in installed.files if one not in callers]
    # What calls the script goes first, or it would apply all of it again in between.
    absent = [*(_disabled(unit) for unit in enabled)]
    absent += [_removed(callers, "Remove what calls the script on events")] if callers else []
    absent += [*_rolled_back(), _removed(rest, "Remove what was installed")]
    absent += [_reloaded()] if enabled else []
    tasks = [*_block("Tune, and keep it so over reboots", "present", present)]
    tasks += ["", *_block("Take all of it back", "absent", absent)]
    head = _head(tuning, installed.left, installed.order)
    text = "\n".join([*head, textwrap.indent("\n".join(tasks), " " * 4), ""])
    return Exported(
        files=(File(PATH, text),),
        carries=installed.carries,
        left=installed.left,
        order=installed.order,
        then=("ansible-playbook -i INVENTORY numatune.yml", "the way back: the same with -e numatune_state=absent"),
    )


def _head(tuning: Tuning, left: Sequence[Left], order: Sequence[str]) -> list[str]:
    names = ", ".join(profile.name for profile in tuning.profiles)
    return [
        "---",
        "# yamllint disable rule:line-length",
        tuning.place.ours,
        *comments(remarks(left, order)).splitlines(),
        f"- name: {json.dumps(f'Tune as {names} says')}",
        "  hosts: \"{{ numatune_hosts | default('all') }}\"",
        "  become: true",
        "  gather_facts: false",
        "  vars:",
        "    numatune_state: present # absent: everything back as it was",
        "  tasks:",
    ]


def _block(name: str, state: str, tasks: Iterable[list[str]]) -> list[str]:
    inner = "\n\n".join("\n".join(task) for task in tasks)
    return [
        f"- name: {name}",
        f"  when: numatune_state == '{state}'",
        "  block:",
        *textwrap.indent(inner, " " * 4).splitlines(),
    ]


def _folders(files: Iterable[File]) -> list[list[str]]:
    """Drop-ins lie in folders of their own."""
    folders = sorted({path for one in files if (path := one.path.rpartition("/")[0]).endswith(".d")})
    made = [one for one in folders if one.startswith("/etc/systemd/system/")]
    return [_task(f"Make {path}", "file", path=path, state="directory", owner="root", mode='"0755"') for path in made]


def _copy(file: File) -> list[str]:
    content = textwrap.indent(file.text, " " * 6, lambda _: True).splitlines()
    content = [line.rstrip() if not line.strip() else line for line in content]
    mode = f'"0{file.mode:o}"'
    about = _task(f"Install {file.path}", "copy", dest=file.path, owner="root", group="root", mode=mode)
    return [*about, "    content: !unsafe |", *content]


def _units(enabled: Sequence[str], started: Iterable[str]) -> list[list[str]]:
    running = set(started)
    return [
        _task(
            f"Have {unit} start at boot",
            "systemd_service",
            name=unit,
            enabled="true",
            daemon_reload="true",
            **({"state": "started"} if unit in running else {}),
        )
        for unit in enabled
    ]


def _applied() -> list[list[str]]:
    apply = [
        *_task("Write what differs, in order", "command", cmd=f"{script.PATH} apply", removes=script.PATH),
        "  register: numatune_applied",
        "  changed_when: \"'changed: 0,' not in numatune_applied.stdout\"",
        "  failed_when: numatune_applied.rc not in [0, 2] # 2: differences remain, the next task tells which",
    ]
    told = [
        *_task("Tell what differs all the same", "debug", msg='"{{ numatune_applied.stdout_lines }}"'),
        "  when: numatune_applied.rc | default(0) == 2",
    ]
    return [apply, told]


def _rolled_back() -> list[list[str]]:
    back = [
        *_task("Give back what was there before", "command", cmd=f"{script.PATH} rollback", removes=script.PATH),
        "  register: numatune_back",
        "  changed_when: \"'given back' in numatune_back.stdout\"",
        "  failed_when: numatune_back.rc not in [0, 2]",
    ]
    return [back]


def _disabled(unit: str) -> list[str]:
    return [
        *_task(f"Have {unit} start no more", "systemd_service", name=unit, enabled="false", state="stopped"),
        "  register: numatune_unit",
        "  failed_when: numatune_unit is failed and 'Could not find' not in numatune_unit.msg",
    ]


def _removed(files: Iterable[File], title: str) -> list[str]:
    return [
        *_task(title, "file", path='"{{ item }}"', state="absent"),
        "  loop:",
        *(f"    - {file.path}" for file in files),
    ]


def _reloaded() -> list[str]:
    return _task("Have systemd forget the units", "systemd_service", daemon_reload="true")


def _task(title: str, module: str, **words: str) -> list[str]:
    return [
        f"- name: {title}",
        f"  ansible.builtin.{module}:",
        *(f"    {name}: {value}" for name, value in words.items()),
    ]
