"""Debian packages from the mirror that this machine's apt uses; its address is asked for each time and kept nowhere."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from lab.base import LabError, call

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


def mirror() -> str:
    """Where this machine's apt has Debian from."""
    rows = call("apt-get", "indextargets", "--format", "$(LABEL)|$(REPO_URI)", "Created-By: Packages").splitlines()
    for row in rows:
        label, _, uri = row.partition("|")
        if label == "Debian":
            return uri
    raise LabError("this machine's apt knows no Debian archive (apt-get indextargets); on Debian, apt-get update first")


def proxy() -> tuple[str, ...]:
    """The option that lets mmdebstrap use the proxy of this machine's apt, if it has one."""
    found = call("apt-config", "dump", "--format", "%v%n", "Acquire::http::Proxy").strip()
    return (f'--aptopt=Acquire::http::Proxy "{found}"',) if found else ()


def fetch(suite: str, package: str, wanted: str, target: Path) -> None:
    """Download what a package of another suite depends on, at any depth, where its name is wanted (an expression).

    apt keeps its lists of this suite apart from the machine's own.
    """
    with tempfile.TemporaryDirectory() as folder:
        for path in ("state/lists/partial", "cache/archives/partial"):
            Path(folder, path).mkdir(parents=True)
        sources, status = Path(folder, "sources.list"), Path(folder, "status")
        sources.write_text(f"deb [signed-by={KEYRING}] {mirror()} {suite} main\n", encoding="utf-8")
        status.touch()
        settings = {
            "Dir::Etc::SourceList": sources,
            "Dir::Etc::SourceParts": "-",
            "Dir::State": f"{folder}/state",
            "Dir::State::status": status,
            "Dir::Cache": f"{folder}/cache",
            "APT::Sandbox::User": "root",  # the folder is root's alone
            "Acquire::Languages": "none",
        }
        options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
        call("apt-get", *options, "-qq", "update")
        kinds = ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")
        rows = call("apt-cache", *options, "depends", "--recurse", *(f"--no-{kind}" for kind in kinds), package)
        names = sorted({row for row in rows.splitlines() if re.fullmatch(wanted, row)})
        if not names:
            raise LabError(f"the mirror's {suite} has no {package}")
        target.mkdir(parents=True)
        call("apt-get", *options, "-qq", "download", *names, cwd=target)
