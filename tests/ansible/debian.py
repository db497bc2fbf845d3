"""Where the role is played: a Debian root with the two newest series of ansible-core.

These want a newer Python than Debian 12 has. The root is built by mmdebstrap from this machine's own apt sources, kept
under .build and never written to: a Guest puts an overlay over it, and has a network, so net.* sysctls, of its own.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fakes.process import mounted
from lab.base import CHECKOUT, digest, digest_files
from lab.image import mirror, proxy

CACHE = CHECKOUT / ".build" / "ansible"
SUITE, PYTHON = "trixie", "3.13"
PACKAGES = ("python3", "python3-venv", "procps")
SERIES = ("2.20", "2.21")
# What is in each virtual environment below /opt.
VENVS = {
    **{f"ansible-{series}": (f"ansible-core=={series}.*",) for series in SERIES},
    "lint": ("ansible-lint==26.10.*",),
}
ENVIRONMENT = {
    "HOME": "/root",
    "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
    "LC_ALL": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
    "ANSIBLE_ROLES_PATH": "/mnt/checkout/roles",
    "ANSIBLE_LIBRARY": "/mnt/checkout/roles/numatune/library",
    "ANSIBLE_ACTION_PLUGINS": "/mnt/checkout/roles/numatune/action_plugins",
    "ANSIBLE_PYTHON_INTERPRETER": "/usr/bin/python3",
    "ANSIBLE_LOCALHOST_WARNING": "0",
    "ANSIBLE_RETRY_FILES_ENABLED": "0",
}
UNSHARE = ("unshare", "--mount", "--net", "--propagation", "private")
OVERLAY = 'cd "$1"; mkdir up work top; mount -t overlay overlay -o "lowerdir=/,upperdir=$1/up,workdir=$1/work" top'
COMMANDS = ("mmdebstrap", "unshare", "nsenter", "mount")


def missing() -> str:
    """Why there can be no root here; empty where there can."""
    if os.geteuid() != 0:
        return "playing the role needs root: it mounts and installs"
    if absent := [name for name in COMMANDS if shutil.which(name) is None]:
        return f"not installed: {', '.join(absent)}"
    with tempfile.TemporaryDirectory() as folder:  # where pytest's are
        done = subprocess.run([*mounted(OVERLAY, folder), "true"], capture_output=True, text=True, check=False)
    return f"no overlay can be mounted here: {done.stderr.strip()}" if done.returncode else ""


def root() -> Path:
    """The root, built if it is not there."""
    with locked():
        made = CACHE / f"root-{digest(SUITE, *PACKAGES, *(str(venv) for venv in VENVS.items()), platform.machine())}"
        if not made.exists():
            for old in CACHE.glob("root-*"):
                shutil.rmtree(old)
            part = CACHE / "root-part"
            build(part)
            part.rename(made)
    return made


def wheelhouse(copy: Path) -> Path:
    """What `make wheelhouse` makes of this checkout for the root's Python, anew when the code changes; as a copy."""
    sources = [path for room in ("numatune", "profiles") for path in sorted((CHECKOUT / room).rglob("*"))]
    files = [path for path in sources if path.is_file() and path.suffix != ".pyc"]
    with locked():
        folder = CACHE / f"dist-{digest(digest_files([CHECKOUT / 'pyproject.toml', CHECKOUT / 'Makefile', *files]))}"
        if not list(folder.glob("*.tar")):
            for old in CACHE.glob("dist-*"):
                shutil.rmtree(old)
            words = (f"PYTHON={PYTHON}", f"ARCH={platform.machine()}", f"DIST={folder}")
            call("make", "--no-print-directory", "-C", str(CHECKOUT), "wheelhouse", *words)
        shutil.copytree(folder, copy, dirs_exist_ok=True)
    (archive,) = copy.glob("*.tar")
    return archive


@contextlib.contextmanager
def locked() -> Iterator[None]:
    """One process at a time builds."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build(folder: Path) -> None:
    """Debian, and the virtual environments from wheels that this machine's pip collects."""
    slim = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "man", "locale")]
    options = ("--quiet", "--variant=minbase", f"--include={','.join(PACKAGES)}", *slim, *proxy())
    call("mmdebstrap", *options, SUITE, str(folder), mirror())
    wheels = folder / "wheels"
    wheels.mkdir()
    tags = [f"--platform=manylinux{glibc}_{platform.machine()}" for glibc in ("2014", "_2_17", "_2_28", "_2_34")]
    for name, wanted in VENVS.items():
        options = ("--only-binary=:all:", "--implementation=cp", f"--python-version={PYTHON}", *tags)
        call(sys.executable, "-m", "pip", "--quiet", "download", f"--dest={wheels}", *options, *wanted)
        call("chroot", str(folder), "python3", "-m", "venv", f"/opt/{name}")
        pip = ("chroot", str(folder), f"/opt/{name}/bin/python", "-m", "pip", "--quiet", "install")
        call(*pip, "--no-index", "--find-links=/wheels", *wanted)
    shutil.rmtree(wheels)


def call(*argv: str) -> str:
    """What a command prints; an AssertionError with its complaint when it fails."""
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(argv)} exited {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout


class Guest:
    """A Debian of its own over the given layers, the first on top; what is written goes to `layer`/upper."""

    def __init__(self, lower: Sequence[Path], layer: Path, binds: Mapping[str, Path]) -> None:
        self.lower, self.layer = tuple(lower), layer
        script = str(Path(__file__).with_name("inside.py"))
        bound = [f"{source}:{target}" for target, source in binds.items()]
        self._process = subprocess.Popen(
            (*UNSHARE, sys.executable, script, ":".join(map(str, lower)), str(layer), *bound),
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n", "the guest did not come up"

    def path(self, name: str) -> Path:
        """A file of the guest, as this machine sees it."""
        return Path(f"/proc/{self._process.pid}/root") / name.lstrip("/")

    def run(self, *argv: str, code: int = 0) -> str:
        """What a command prints; it has to end with `code`."""
        pid = str(self._process.pid)
        enter = ("nsenter", "--target", pid, "--mount", "--net", "--root", "--wd")
        clean = ("env", "-i", *(f"{key}={value}" for key, value in ENVIRONMENT.items()))
        done = subprocess.run([*enter, *clean, *argv], capture_output=True, text=True, check=False)
        assert done.returncode == code, f"{argv} exited {done.returncode}:\n{done.stdout}{done.stderr}"
        return done.stdout

    def close(self) -> None:
        """End it; its mounts go with it."""
        self._process.kill()
        self._process.wait()
