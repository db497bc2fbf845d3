# SPDX-License-Identifier: Apache-2.0
"""The controller's half of numatune_install: hashes a wheel or wheelhouse, and sends it where the host needs it."""

from __future__ import annotations

import hashlib
import re
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

WHEEL = re.compile(r"(?P<name>[^-]+)-(?P<version>[^-]+)(-\d[^-]*)?-(?P<python>[^-]+)-(?P<abi>[^-]+)-[^-]+\.whl")
SOURCES = ("wheel", "wheelhouse")


class ActionModule(ActionBase):  # type: ignore[misc]  # Ansible has no types
    """One task: ask the host, send it what it lacks, ask again."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Result of the module."""
        super().run(tmp, task_vars)
        arguments = {key: value for key, value in self._task.args.items() if value not in (None, "")}
        path = self._source(arguments)
        if path:
            try:
                arguments.update(described(path))
            except (OSError, ValueError, tarfile.TarError) as error:
                raise AnsibleActionFail(f"{path}: {error}") from error
        elif arguments.get("state", "present") == "present" and not arguments.get("version"):
            raise AnsibleActionFail("nothing to install: give version, wheel or wheelhouse")
        first: dict[str, Any] = self._execute_module("numatune_install", arguments, task_vars=task_vars)
        if not (first.pop("needs_source", False) and path):
            return first
        arguments["source"] = self._sent(path)
        second: dict[str, Any] = self._execute_module("numatune_install", arguments, task_vars=task_vars)
        second["packages"] = first["packages"] + second.get("packages", [])
        return second

    def _source(self, arguments: dict[str, Any]) -> Path | None:
        """Path on the controller of what is to be installed; None: an index has it, or nothing is."""
        named = [arguments[option] for option in SOURCES if arguments.get(option)]
        if not named or arguments.get("state") == "absent":
            return None
        return Path(self._find_needle("files", named[0]))

    def _sent(self, path: Path) -> str:
        """Where the file lies on the host; a folder goes there as one archive."""
        shell = self._connection._shell  # noqa: SLF001  # as Ansible's own copy does
        folder = shell.tmpdir or self._make_tmp_path()
        target: str = shell.join_path(folder, path.name if path.is_file() else "wheelhouse.tar")
        if path.is_file():
            self._transfer_file(str(path), target)
        else:
            with tempfile.NamedTemporaryFile(suffix=".tar") as packed:
                with tarfile.open(fileobj=packed, mode="w") as tar:
                    for wheel in sorted(path.glob("*.whl")):
                        tar.add(wheel, arcname=wheel.name)
                packed.flush()
                self._transfer_file(packed.name, target)
        self._fixup_perms2((folder, target))
        return target


def described(path: Path) -> dict[str, Any]:
    """Version, hash and Pythons of a wheel, or of the wheels in a folder or a tar. Raises ValueError."""
    hashes = dict(wheels(path))
    names = [match for name in hashes if (match := WHEEL.fullmatch(name))]
    versions = sorted({match["version"] for match in names if match["name"] == "numatune"})
    if len(versions) != 1:
        raise ValueError(f"holds {' and '.join(versions) or 'no version'} of numatune, one is wanted")
    whole = hashlib.sha256("".join(f"{name} {digest}\n" for name, digest in sorted(hashes.items())).encode())
    return {"version": versions[0], "digest": whole.hexdigest(), "pythons": pythons(names)}


def pythons(names: Iterable[re.Match[str]]) -> list[str]:
    """The Pythons that all of the wheels are for, as 3.13; empty: any."""
    bound: dict[str, set[str]] = {}
    for match in names:
        if match["abi"].startswith("cp"):
            version = re.sub(r"cp(\d)(\d+)", r"\1.\2", match["abi"])
            bound.setdefault(match["name"], set()).add(version)
    return sorted(set.intersection(*bound.values())) if bound else []


def wheels(path: Path) -> Iterator[tuple[str, str]]:
    """Name and SHA-256 of each wheel, whether it lies in a folder, in a tar, or alone."""
    if path.is_dir() or path.suffix == ".whl":
        for wheel in sorted(path.glob("*.whl")) if path.is_dir() else [path]:
            with wheel.open("rb") as file:
                yield wheel.name, hashlib.file_digest(file, "sha256").hexdigest()
        return
    with tarfile.open(path) as tar:
        for member in tar:
            data = tar.extractfile(member)
            if data and member.name.endswith(".whl"):
                yield Path(member.name).name, hashlib.sha256(data.read()).hexdigest()
