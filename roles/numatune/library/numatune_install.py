#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Keep numatune on a host: each version in a virtual environment of its own, one symlink that names the current one."""

from __future__ import annotations

DOCUMENTATION = r"""
module: numatune_install
short_description: Install numatune beside its earlier versions, and switch to it at once
description:
  - Makes C(PREFIX/versions/NAME), a virtual environment, and then switches C(PREFIX/current) to it in one step. NAME is
    numatune's version, the Python's, and for a file eight digits of its hash, so that a rebuilt wheel is a new version.
  - The version that was current before stays, older ones go. Naming the earlier one again switches back.
  - What an earlier task put goes, a link of another name at once. What lies below another prefix is told, for a task
    with state V(absent) to take away once nothing needs it any more.
  - A version that an earlier task did not finish, or that no longer starts, is built anew. One that is in use and works
    is never taken apart; where another Python would have the same NAME, its folder ends in C(-b).
  - Files of the controller are hashed there and sent only where the host needs them.
options:
  state:
    description: V(absent) takes away all versions and the links.
    type: str
    choices: [present, absent]
    default: present
  version:
    description: The version on PyPI, or on O(index_url). A wheel and a wheelhouse tell theirs.
    type: str
  wheel:
    description: A wheel of numatune on the controller. What it depends on comes from PyPI or O(index_url).
    type: path
  wheelhouse:
    description: A folder or tar on the controller, as C(make wheelhouse) builds it. No index is asked.
    type: path
  index_url:
    description: Package index to use instead of what the host's pip is set up for.
    type: str
  python:
    description:
      - Path or name of the Python (3.11 or newer) that numatune runs on. A name such as V(python3.12) is installed
        where the host lacks it.
      - Not given, it is the host's C(python3) where that is new enough, else the newest that is there, else one that
        the distribution has.
    type: str
  python_packages:
    description: Packages that bring that Python, instead of those known for the distribution.
    type: list
    elements: str
    default: []
  prefix:
    description: Folder of the versions.
    type: path
    default: /opt/numatune
  link:
    description: The name that a shell finds; a symlink to the program of the current version.
    type: path
    default: /usr/local/bin/numatune
  digest:
    description: Set by the action plugin; the hash of the wheel or wheelhouse.
    type: str
    default: ""
  pythons:
    description: Set by the action plugin; the Pythons that the wheelhouse is for, empty when any will do.
    type: list
    elements: str
    default: []
  source:
    description: Set by the action plugin; where the wheel or wheelhouse lies on the host.
    type: path
attributes:
  check_mode: {support: full, description: Says what it would install.}
  diff_mode: {support: full, description: The version before and after.}
author: [numatune developers (@numatune)]
"""

EXAMPLES = r"""
- name: Install numatune where there is no network
  numatune_install:
    wheelhouse: wheelhouse/numatune-0.1.0-cp313-x86_64.tar

- name: Install it from PyPI, on a Python of its own
  numatune_install:
    version: 0.1.0
    python: python3.12
"""

RETURN = r"""
version:
  description: Name of the version's folder.
  returned: with state present
  type: str
previous:
  description: The version that stays beside it; empty when there is none.
  returned: with state present
  type: str
python:
  description: The Python that it runs on.
  returned: with state present, unless check mode would install one
  type: str
back:
  description: A command that switches back to the version from which this task has switched; empty when it has not.
  returned: with state present
  type: str
moved_from:
  description: Another prefix below which an earlier task has put numatune, still there; empty when there is none.
  returned: with state present
  type: str
packages:
  description: Packages that were installed for it.
  returned: with state present
  type: list
  elements: str
"""

import contextlib
import fcntl
import json
import os
import platform
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

OLDEST = (3, 11)
# The host's own comes first: it gets security updates without anybody's doing.
CANDIDATES = ("python3", "python3.13", "python3.12", "python3.11", "python3.14")
MARKER = ".numatune.json"
NOTED = Path("/var/lib/numatune/installed.json")
PROBE = "import sys; print('%d.%d' % sys.version_info[:2]); import ensurepip, venv; print('venv')"
MANAGERS = {
    "apt-get": ("install", "--yes", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=120"),
    "dnf": ("install", "--assumeyes"),
    "zypper": ("--non-interactive", "install"),
}

ARGUMENTS = {
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "version": {"type": "str"},
    "wheel": {"type": "path"},
    "wheelhouse": {"type": "path"},
    "index_url": {"type": "str", "no_log": True},
    "python": {"type": "str"},
    "python_packages": {"type": "list", "elements": "str", "default": []},
    "prefix": {"type": "path", "default": "/opt/numatune"},
    "link": {"type": "path", "default": "/usr/local/bin/numatune"},
    "digest": {"type": "str", "default": ""},
    "pythons": {"type": "list", "elements": "str", "default": []},
    "source": {"type": "path"},
}


class FailedError(Exception):
    """What cannot be done, in words."""


def main() -> None:
    """Read the arguments and make it so."""
    os.umask(0o022)  # whoever logs in may look at a plan
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True, mutually_exclusive=[("wheel", "wheelhouse")])
    installation = Installation(module)
    try:
        with installation.alone():
            done = installation.take_away() if module.params["state"] == "absent" else installation.put()
            module.exit_json(**done)
    except FailedError as failed:
        module.fail_json(msg=str(failed))
    except (OSError, tarfile.TarError) as error:  # a full disk, a prefix on a read-only mount, a broken archive
        module.fail_json(msg=f"numatune could not be put below {module.params['prefix']}: {error}")


class Installation:
    """The versions below a prefix."""

    def __init__(self, module: AnsibleModule) -> None:
        self.module = module
        self.params = module.params
        self.prefix = Path(module.params["prefix"])
        self.versions = self.prefix / "versions"
        self.current = self.prefix / "current"
        self.link = Path(module.params["link"])
        self.places = Places(NOTED)
        self.asked = module.params["python"] or ""
        self.packages: list[str] = []

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Two plays on one host take turns."""
        if self.module.check_mode or not (self.params["state"] == "present" or self.prefix.is_dir()):
            yield
            return
        self.prefix.mkdir(parents=True, exist_ok=True)
        folder = os.open(self.prefix, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)

    def put(self) -> dict[str, Any]:
        """Have the version that is asked for, and make it the current one."""
        before = self.current_name()
        name = self.found()
        build = name is None
        if name is None:
            if self.module.check_mode:
                return self.told(before, self.params["version"], changed=True)
            python, version = self.interpreter()
            if self.params["digest"] and not self.params["source"]:
                return {"changed": bool(self.packages), "needs_source": True, "packages": self.packages}
            name = self.name(version)
            self.build(name, python)
        if not self.module.check_mode:
            self.places.add(self.prefix, self.link)
        switched = self.point(self.current, Path("versions") / name)
        linked = self.point(self.link, self.current / "bin/numatune")
        renamed = self.unlink(self.places.links(self.prefix) - {self.link})
        self.say_renamed(renamed, self.link)
        if not self.module.check_mode:
            self.places.keep(self.prefix, self.link)
            if switched:
                self.prune({name, before})
        return self.told(before, name, changed=bool(build or switched or linked or renamed))

    def told(self, before: str, name: str, *, changed: bool) -> dict[str, Any]:
        """What the task says."""
        others = [other for other in self.names() if other != name]
        return {
            "changed": changed,
            "version": name,
            "previous": others[-1] if others else "",
            "back": f"ln -sfn versions/{before} {self.current}" if before not in ("", name) else "",
            "moved_from": self.moved_from(),
            "python": self.marker(name).get("python", ""),
            "packages": self.packages,
            "diff": {"before": f"numatune {before or '(absent)'}\n", "after": f"numatune {name}\n"},
        }

    def names(self) -> list[str]:
        """Names of the versions that are there, oldest first."""
        folders = [path for path in self.versions.iterdir() if path.is_dir()] if self.versions.is_dir() else []
        return [path.name for path in sorted(folders, key=lambda path: path.stat().st_mtime)]

    def moved_from(self) -> str:
        """The last other prefix at which numatune still is; empty when there is none."""
        others = [prefix for prefix, _ in self.places.noted if prefix != self.prefix]
        return next((str(prefix) for prefix in others if (prefix / "versions").is_dir()), "")

    def current_name(self) -> str:
        """Name of the current version; empty when there is none."""
        return self.current.resolve().name if self.current.is_symlink() else ""

    def name(self, python: str) -> str:
        """Name of the folder of what is asked for; another where a version in use has it and works."""
        digest = self.params["digest"]
        name = f"{self.params['version']}-py{python}" + (f"-{digest[:8]}" if digest else "")
        in_use = name == self.current_name() and self.marker(name) and self.starts(name)
        return f"{name}-b" if in_use else name

    def marker(self, name: str) -> dict[str, str]:
        """What was noted at the end of a version's installation; empty: it was not finished."""
        try:
            noted: dict[str, str] = json.loads((self.versions / name / MARKER).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return noted

    def found(self) -> str | None:
        """Name of a finished version that is as asked for and starts, the current one first; None: there is none."""
        current = self.current_name()
        wanted = {"version": self.params["version"], "digest": self.params["digest"], "asked": self.asked}
        for name in sorted(self.names(), key=lambda name: name != current):
            if wanted.items() <= self.marker(name).items() and self.starts(name):
                return name
        return None

    def starts(self, name: str) -> bool:
        """Whether the program of a version runs and is of the version that is asked for."""
        program = self.versions / name / "bin/numatune"
        if not os.access(program, os.X_OK):
            return False
        try:
            code, out, _ = self.module.run_command([str(program), "--version"], handle_exceptions=False)
        except OSError:  # the Python that it was built for has gone
            return False
        return code == 0 and self.params["version"] in out.split()

    def build(self, name: str, python: str) -> None:
        """Make a version's virtual environment where it will stay: its programs name their folder."""
        folder = self.versions / name
        install = self.pip(folder)
        if folder.exists():
            shutil.rmtree(folder)
        self.versions.mkdir(exist_ok=True)
        self.run([python, "-I", "-m", "venv", str(folder)], "no virtual environment could be made")
        self.run(install, "pip could not install numatune", self.index())
        if not self.starts(name):
            raise FailedError(f"{folder}/bin/numatune does not start, or is not {self.params['version']}")
        noted = {key: self.params[key] for key in ("version", "digest")}
        noted |= {"asked": self.asked, "python": os.path.realpath(python)}
        part = folder / f"{MARKER}.part"
        part.write_text(json.dumps(noted), encoding="utf-8")
        os.sync()  # a version counts once all of it is on the disk
        part.replace(folder / MARKER)

    def pip(self, folder: Path) -> list[str]:
        """The command that installs into a version's folder."""
        argv = [str(folder / "bin/python"), "-I", "-m", "pip", "install", "--no-input", "--no-cache-dir"]
        argv += ["--disable-pip-version-check", "--quiet"]
        source = self.params["source"]
        if self.params["wheel"]:
            return [*argv, source]
        wanted = f"numatune=={self.params['version']}"
        if self.params["wheelhouse"]:
            return [*argv, "--no-index", "--find-links", str(self.unpacked(source)), wanted]
        return [*argv, wanted]

    def index(self) -> dict[str, str]:
        """An index's address may hold a password, so it is no argument."""
        return {"PIP_INDEX_URL": self.params["index_url"]} if self.params["index_url"] else {}

    def unpacked(self, archive: str) -> Path:
        """A folder with the wheels of a wheelhouse, wherever they lie in the archive."""
        folder = Path(self.module.tmpdir) / "wheelhouse"
        folder.mkdir()
        with tarfile.open(archive) as tar:
            for member in tar:
                data = tar.extractfile(member)
                if data and member.name.endswith(".whl"):
                    with (folder / Path(member.name).name).open("wb") as file:
                        shutil.copyfileobj(data, file)
        bound = [wheel.stem for wheel in folder.glob("*.whl") if not wheel.stem.endswith("-any")]
        machine = platform.machine()
        if bound and not any(name.endswith(f"_{machine}") for name in bound):
            raise FailedError(f"this host is {machine}, and the wheelhouse has {min(bound)}: name one for {machine}")
        return folder

    def run(self, argv: list[str], failed: str, environment: dict[str, str] | None = None) -> None:
        """Run a command that has to end well."""
        code, out, err = self.module.run_command(argv, environ_update=environment or {})
        if code:
            raise FailedError(f"{failed}: {(err or out).strip()}")

    def point(self, path: Path, target: Path) -> bool:
        """Make a symlink, or switch it in one step. Whether that changed anything."""
        if path.is_symlink() and path.readlink() == target:
            return False
        if path.exists() and not path.is_symlink():
            raise FailedError(f"{path} is no symlink and is left alone: move it away, or name another link")
        if not self.module.check_mode:
            path.parent.mkdir(parents=True, exist_ok=True)
            self.clear(path, target)
            part = path.with_name(f"{path.name}.{os.getpid()}")
            part.symlink_to(target)
            part.replace(path)
        return True

    def clear(self, path: Path, target: Path) -> None:
        """Remove what a task that was killed has left beside a symlink to such a target."""
        for part in path.parent.iterdir() if path.parent.is_dir() else ():
            named = part.name.startswith(f"{path.name}.") and part.suffix[1:].isdecimal()
            if named and part.is_symlink() and part.readlink().parent == target.parent:
                part.unlink()

    def unlink(self, links: set[Path]) -> list[Path]:
        """Remove those that lead to the program of the current version. Which those were."""
        ours = [
            link for link in sorted(links) if link.is_symlink() and link.readlink() == self.current / "bin/numatune"
        ]
        for link in [] if self.module.check_mode else ours:
            link.unlink()
        return ours

    def say_renamed(self, links: list[Path], now: Path) -> None:
        """Units and wrappers of others may name them."""
        for link in links:
            self.module.warn(f"{link} is taken away: what calls numatune by it has to call {now} now")

    def prune(self, keep: set[str]) -> None:
        """Remove all versions but these."""
        for name in set(self.names()) - keep:
            shutil.rmtree(self.versions / name)

    def take_away(self) -> dict[str, Any]:
        """Remove all versions and links, and the prefix when it holds nothing else."""
        before = self.current_name()
        if not self.prefix.is_dir() and (elsewhere := self.moved_from()):
            raise FailedError(f"numatune is below {elsewhere}, not below {self.prefix}: name that prefix")
        links = {self.link, *self.places.links(self.prefix)}
        renamed = self.unlink(links)
        for link in [link for prefix, link in self.places.noted if prefix != self.prefix][:1]:
            self.say_renamed(renamed, link)
        there = bool(renamed) or self.current.is_symlink() or self.versions.is_dir()
        if not self.module.check_mode:
            for link in links:
                self.clear(link, self.current / "bin/numatune")
            self.clear(self.current, Path("versions/any"))
            self.current.unlink(missing_ok=True)
            shutil.rmtree(self.versions, ignore_errors=True)
            self.places.keep(self.prefix, None)
            with contextlib.suppress(OSError):
                self.prefix.rmdir()
        return {"changed": there, "diff": {"before": f"numatune {before}\n" if there else "", "after": ""}}

    def interpreter(self) -> tuple[str, str]:
        """Path and version of a Python that will do; installs one where the host has none."""
        found = self.usable()
        tried = []
        for packages in [] if found else self.packages_to_try():
            tried.append(" ".join(packages))
            if self.install(packages):
                self.packages = packages
                found = self.usable()
            if found:
                break
        if found:
            return found
        wanted = self.asked or f"Python {' or '.join(self.params['pythons']) or '3.11 or newer'}"
        installing = f", and {' or '.join(tried)} could not be installed" if tried else ""
        raise FailedError(
            f"no {wanted} with venv and ensurepip on this host ({platform.machine()}){installing}: "
            "name one that is there with numatune_python, or the packages that bring it with numatune_python_packages"
        )

    def usable(self) -> tuple[str, str] | None:
        """The first Python that is new enough and can make a virtual environment with pip; None: there is none."""
        return next(((path, version) for path, version, complete in self.probed() if complete), None)

    def probed(self) -> Iterator[tuple[str, str, bool]]:
        """Path, version, and whether it has venv and ensurepip, of each Python that is new enough."""
        for candidate in [self.asked] if self.asked else CANDIDATES:
            path = candidate if "/" in candidate else self.module.get_bin_path(candidate)
            if not path or not os.access(path, os.X_OK):
                continue
            _, out, _ = self.module.run_command([path, "-I", "-c", PROBE])
            version, *complete = out.split() or ["0.0"]
            if tuple(map(int, version.split("."))) >= OLDEST and version in (self.params["pythons"] or [version]):
                yield path, version, bool(complete)

    def packages_to_try(self) -> list[list[str]]:
        """Lists of packages, the best first, that may bring what is missing."""
        if self.params["python_packages"]:
            return [self.params["python_packages"]]
        if "/" in self.asked:
            return []
        if self.module.get_bin_path("apt-get"):
            bare = [f"python{version}" for _, version, _ in self.probed()]  # Debian ships venv apart
            return [[name, f"{name}-venv"] for name in bare[:1] or self.named("3.13", "3.12", "3.11")]
        if self.module.get_bin_path("dnf"):
            return [[name] for name in self.named("3.12", "3.11", "3.13")]
        return [[name.replace(".", "")] for name in self.named("3.13", "3.12", "3.11")]

    def named(self, *versions: str) -> list[str]:
        """Names of Pythons: the one asked for, or those of these versions that the wheelhouse is for."""
        wanted = self.params["pythons"]
        return [self.asked] if self.asked else [f"python{one}" for one in versions if one in (wanted or versions)]

    def install(self, packages: list[str]) -> bool:
        """Install packages by the distribution's own program. Whether that went well."""
        for manager, words in MANAGERS.items():
            path = self.module.get_bin_path(manager)
            if path:
                quiet = {"DEBIAN_FRONTEND": "noninteractive"}
                if manager == "apt-get":
                    self.module.run_command([path, "--quiet", "update"], environ_update=quiet)
                code, _, _ = self.module.run_command([path, *words, *packages], environ_update=quiet)
                return bool(code == 0)
        return False


class Places:
    """Prefixes and links that tasks have put numatune to, the last ones first, as a file of the host notes them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.noted = [(Path(prefix), Path(link)) for prefix, link in json.loads(path.read_text(encoding="utf-8"))]
        except (OSError, ValueError):  # nothing was put, or somebody has edited it
            self.noted = []

    def links(self, prefix: Path) -> set[Path]:
        """All links of a prefix."""
        return {link for noted, link in self.noted if noted == prefix}

    def add(self, prefix: Path, link: Path) -> None:
        """Note one before it is there."""
        place = (prefix, link)
        self.write([place, *(noted for noted in self.noted if noted != place)])

    def keep(self, prefix: Path, link: Path | None) -> None:
        """Of a prefix keep this link alone; None: that prefix has gone."""
        self.write([place for place in self.noted if place[0] != prefix or place[1] == link])

    def write(self, noted: list[tuple[Path, Path]]) -> None:
        """In one step; nothing to note needs no file."""
        if noted == self.noted:
            return
        self.noted = noted
        if not noted:
            self.path.unlink(missing_ok=True)
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_name(f"{self.path.name}.part")
        with part.open("w", encoding="utf-8") as file:
            json.dump([[str(prefix), str(link)] for prefix, link in noted], file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(self.path)


if __name__ == "__main__":
    main()
