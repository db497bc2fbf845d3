"""`make wheelhouse` for hosts of another kind than the machine that makes it."""

from __future__ import annotations

import tarfile
from pathlib import Path

import debian
from lab.base import CHECKOUT


def test_a_set_for_arm64_is_made_anywhere(tmp_path: Path, root: Path) -> None:
    del root  # skipped where there is none
    words = ("PYTHON=3.12", "ARCH=aarch64", f"DIST={tmp_path}")
    with debian.locked():
        debian.call("make", "--no-print-directory", "-C", str(CHECKOUT), "wheelhouse", *words)
    (archive,) = tmp_path.glob("numatune-*-cp312-aarch64.tar")
    with tarfile.open(archive) as packed:
        wheels = [Path(name).name for name in packed.getnames() if name.endswith(".whl")]
    compiled = [name for name in wheels if not name.endswith("-none-any.whl")]
    assert any(name.startswith("pydantic_core-") for name in compiled)
    assert [name for name in compiled if not name.endswith("_aarch64.whl")] == []
