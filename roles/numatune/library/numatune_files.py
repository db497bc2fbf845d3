#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Keep a set of small files on a host as they are wanted, with the systemd timers among them."""

from __future__ import annotations

DOCUMENTATION = r"""
module: numatune_files
short_description: Keep a set of small files and systemd timers as wanted
description:
  - One task for all files of a role. What an earlier task wrote and this one no longer names goes, and what was there
    before comes back.
  - A timer among them is enabled and started; before its file goes, it is stopped.
options:
  files:
    description:
      - The whole set, by folder, then by name; the values are the texts. Empty takes all of them away.
      - They belong to root and can be read by everybody.
      - A link in the place of one is somebody else's. The task fails before anything is changed; one that has become a
        link since, and is no longer named, is left as it is.
    type: dict
    default: {}
  made:
    description:
      - Files that what is in the set writes by itself. They go when they are not named any more; the call after the one
        that took a file of the set away looks for them once more.
      - One that was there before it was first named stays.
    type: list
    elements: str
    default: []
  timers:
    description: Names of the systemd timers among the files that are to run.
    type: list
    elements: str
    default: []
  manifest:
    description: File that remembers the set, and what the files took the place of.
    type: path
    required: true
  earlier_manifest:
    description: Where the manifest was before. What it remembers is taken over where there is no manifest yet.
    type: path
attributes:
  check_mode: {support: full, description: Says what it would write and remove.}
  diff_mode: {support: full, description: The text of each file before and after.}
author: [numatune developers (@numatune)]
"""

EXAMPLES = r"""
- name: Put a site's profile
  numatune_files:
    manifest: /opt/numatune/files.json
    files:
      /etc/numatune/profiles:
        site.yaml: "{{ lookup('ansible.builtin.file', 'site.yaml', rstrip=false) }}"

- name: Take everything back that the task above put there
  numatune_files:
    manifest: /opt/numatune/files.json
"""

RETURN = r"""
paths:
  description: Files that were written or removed.
  returned: always
  type: list
  elements: str
"""

import contextlib
import json
import os
import stat
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Optional

from ansible.module_utils.basic import AnsibleModule

MODE = 0o644
CRON = Path("/etc/cron.d")
UNITS = Path("/etc/systemd/system")
UNSHOWN = "(what was written there)\n"
SYSTEMD_RUNS = Path("/run/systemd/system")

# Text and permissions of a file; None: it is not there.
Whole = Optional[tuple[str, int]]

ARGUMENTS = {
    "files": {"type": "dict", "default": {}},
    "made": {"type": "list", "elements": "str", "default": []},
    "timers": {"type": "list", "elements": "str", "default": []},
    "manifest": {"type": "path", "required": True},
    "earlier_manifest": {"type": "path"},
}


def main() -> None:
    """Read the arguments and make it so."""
    os.umask(0o022)
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    try:
        keep(module)
    except OSError as error:  # a full disk, a read-only mount, a file where a folder is to be
        module.fail_json(msg=f"a file could not be kept as wanted: {error}")


def keep(module: AnsibleModule) -> None:
    """Compare, write, remove, start."""
    wanted = {
        Path(folder) / Path(name).name: (text, MODE)
        for folder, texts in module.params["files"].items()
        for name, text in texts.items()
    }
    refuse_links(module, wanted)
    earlier = module.params["earlier_manifest"]
    manifest = Manifest(Path(module.params["manifest"]), Path(earlier) if earlier else None)
    made = [Path(path) for path in module.params["made"]] if wanted else []
    going = set(manifest.made) - set(made) - set(wanted)
    to_be = without_links(module, {**manifest.originals, **dict.fromkeys(going), **wanted})
    differing = {path: whole for path, whole in to_be.items() if differs(path, whole)}
    diff = [difference(path, differing[path], shown=path not in going) for path in sorted(differing)]
    timers = Timers(module)
    if not module.check_mode:
        for path in [*to_be, manifest.path]:
            clear(path)
        manifest.remember(differing.keys() & wanted.keys(), made)
        timers.stop(path for path in differing if path not in wanted)
        for path, whole in differing.items():
            put(path, whole)
        timers.reload(differing)
    started = timers.start({path.name for path in differing})
    if not module.check_mode:
        manifest.forget(set(manifest.originals) - set(wanted), made)
    if any(path.parent == CRON for path in wanted) and not has_cron(module):
        module.warn(f"no cron on this host looks into {CRON}: install one, or use a timer")
    for path in made:
        if not path.parent.is_dir():
            module.warn(f"{path} cannot be written: there is no folder {path.parent}")
    module.exit_json(changed=bool(differing or started), paths=[str(path) for path in sorted(differing)], diff=diff)


def refuse_links(module: AnsibleModule, paths: Iterable[Path]) -> None:
    """End the task where a link is in the place of a file: a unit that is masked, a profile that lies elsewhere."""
    links = [f"{path} is a link to {path.readlink()}" for path in sorted(paths) if path.is_symlink()]
    if links:
        module.fail_json(msg=f"{'; '.join(links)}: remove the link, or do not have the role put that file")


def without_links(module: AnsibleModule, to_be: Mapping[Path, Whole]) -> dict[Path, Whole]:
    """All but what has become a link since it was written."""
    for path in sorted(path for path in to_be if path.is_symlink()):
        module.warn(f"{path} is left as it is: somebody has made it a link to {path.readlink()}")
    return {path: whole for path, whole in to_be.items() if not path.is_symlink()}


class Manifest:
    """What the files of the set took the place of, and which folders were made for them."""

    def __init__(self, path: Path, earlier: Path | None) -> None:
        self.path, self.earlier = path, earlier
        told = held(path) or (held(earlier) if earlier else None)
        known = json.loads(told[0]) if told else {"originals": {}, "folders": [], "made": []}
        self.folders = [Path(folder) for folder in known["folders"]]
        self.made = [Path(path) for path in known["made"]]
        self.originals: dict[Path, Whole] = {
            Path(path): (whole[0], whole[1]) if whole else None for path, whole in known["originals"].items()
        }

    def remember(self, paths: Iterable[Path], made: list[Path]) -> None:
        """Note, before it is done, what these take the place of, and what will be written by itself."""
        self.made = sorted({*self.made, *(path for path in made if not path.exists() and not path.is_symlink())})
        for path in sorted(paths):
            self.originals.setdefault(path, held(path))
            missing = [folder for folder in path.parents if not folder.is_dir()]
            self.folders += [folder for folder in missing if folder not in self.folders]
        self.write()

    def forget(self, paths: Collection[Path], made: list[Path]) -> None:
        """Let go of what was given back, and of folders of ours that are empty now. `made`: what is still written.

        The next call looks once more at what was written by a file that goes, which a check that runs now may write
        again, and at a folder that is not empty when the last file goes: what numatune gives back in between may be in
        it.
        """
        self.made = [path for path in self.made if path in made or paths]
        for path in paths:
            del self.originals[path]
        for folder in sorted(self.folders, key=lambda folder: len(folder.parts), reverse=True):
            with contextlib.suppress(OSError):
                folder.rmdir()
        left = [folder for folder in self.folders if folder.is_dir()]
        self.folders = left if self.originals or paths else []
        self.write()

    def write(self) -> None:
        """Keep the note; an empty set needs none."""
        known = {
            "folders": [str(folder) for folder in self.folders],
            "made": [str(path) for path in self.made],
            "originals": {str(path): whole for path, whole in self.originals.items()},
        }
        whole = (json.dumps(known, indent=1) + "\n", MODE) if self.originals or self.folders or self.made else None
        if held(self.path) != whole:
            put(self.path, whole)
        if self.earlier:
            put(self.earlier, None)


class Timers:
    """The timers of systemd."""

    def __init__(self, module: AnsibleModule) -> None:
        self.module = module
        self.names: list[str] = module.params["timers"]
        self.program = module.get_bin_path("systemctl") if SYSTEMD_RUNS.is_dir() else None
        if self.names and not self.program:
            module.fail_json(msg=f"systemd does not run here, so {', '.join(self.names)} cannot: use cron")

    def asked(self, *words: str) -> bool:
        """Whether systemctl agrees."""
        code, _, _ = self.module.run_command([self.program, "--quiet", *words])
        return bool(code == 0)

    def call(self, *words: str) -> None:
        """Run systemctl. Anything but success ends the task."""
        code, out, err = self.module.run_command([self.program, *words])
        if code:
            self.module.fail_json(msg=f"systemctl {' '.join(words)}: {(err or out).strip()}")

    def stop(self, paths: Iterable[Path]) -> None:
        """Disable and stop the timers whose files are to go, then what they start: it would go on without its files."""
        units = sorted((path for path in paths if path.parent == UNITS), key=lambda path: path.suffix, reverse=True)
        for path in units if self.program else ():
            if path.suffix == ".timer" and path.exists():
                self.call("disable", "--now", path.name)
            elif path.suffix == ".service" and self.asked("is-active", path.name):
                self.call("stop", path.name)

    def reload(self, files: Mapping[Path, Whole]) -> None:
        """Let systemd read its files again where some of them changed; one that is gone has not failed either."""
        units = {path.name: whole for path, whole in files.items() if path.parent == UNITS}
        if self.program and units:
            self.call("daemon-reload")
            for name in [name for name, whole in units.items() if whole is None]:
                self.asked("reset-failed", name)

    def start(self, changed: set[str]) -> list[str]:
        """Enable and start what does not run, and start again what has changed. Names of those."""
        todo = [name for name in self.names if name in changed or not self.runs(name)]
        for name in [] if self.module.check_mode else todo:
            self.call("enable", name)
            self.call("restart", name)
        return todo

    def runs(self, name: str) -> bool:
        """Whether a timer is active, now and after a boot."""
        return self.asked("is-enabled", name) and self.asked("is-active", name)


def has_cron(module: AnsibleModule) -> bool:
    """Whether a cron is installed, under the names that it has."""
    return any(module.get_bin_path(name) for name in ("cron", "crond"))


def differs(path: Path, whole: Whole) -> bool:
    """Whether a file is to be written or removed. What only goes is not read: a log may be long."""
    return path.exists() if whole is None else held(path) != whole


def difference(path: Path, after: Whole, *, shown: bool) -> Mapping[str, Any]:
    """A file's part of Ansible's diff. `shown` False: its text is no configuration."""
    before = held(path) if shown else (UNSHOWN, 0)
    texts = {"before": before[0] if before else "", "after": after[0] if after else ""}
    return {"before_header": str(path), "after_header": str(path), **texts}


def held(path: Path) -> Whole:
    """What a file holds. A link is not followed."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", newline="", opener=unfollowed) as file:
            return file.read(), stat.S_IMODE(os.fstat(file.fileno()).st_mode)
    except FileNotFoundError:
        return None


def unfollowed(path: str, flags: int) -> int:
    """Open it, but no link. Raises OSError."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC)


def put(path: Path, whole: Whole) -> None:
    """Write a file in one step, with the folders on the way; None removes it."""
    if whole is None:
        path.unlink(missing_ok=True)
        return
    text, mode = whole
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{part_of(path)}{os.getpid()}")
    with part.open("w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        file.write(text)
        os.fchmod(file.fileno(), mode)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def clear(path: Path) -> None:
    """Remove what a task that was killed has left beside a file."""
    for part in path.parent.iterdir() if path.parent.is_dir() else ():
        if part.name.startswith(part_of(path)) and part.name[len(part_of(path)) :].isdecimal():
            part.unlink()


def part_of(path: Path) -> str:
    """How the name begins under which a file is written, less the process: hidden, so that no cron reads it."""
    return f".{path.name}.numatune-"


if __name__ == "__main__":
    main()
