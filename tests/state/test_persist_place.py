"""What `--persist` finds of a host: who calls hooks, what forgets, and by which program a boot calls numatune."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.commands import Typed, lend, typed
from fakes.kernel import FakeKernel
from fakes.systemd import Systemd
from fakes.trees import host_tree

import numatune
from numatune.api.persisting import forgets, place
from numatune.host.local import LocalHost
from numatune.settings.persisted import BOOT, SYSCTL_D, UNITS

ARGV = ("/usr/local/bin/numatune",)
PROFILE = "name: p\nsysctl: {vm.swappiness: 10}\n"
UNIT = "[Service]\n[Install]\nWantedBy=multi-user.target\n"


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeKernel:
    made = FakeKernel(host_tree())
    lend(made, tmp_path, monkeypatch)
    (tmp_path / "p.yaml").write_text(PROFILE, encoding="utf-8")
    return made


@pytest.mark.parametrize(
    ("mounts", "told"),
    [
        ("/dev/vda / ext4 rw 0 0", ""),
        ("", ""),
        ("overlay / overlay rw,lowerdir=/l,upperdir=/disk/u,workdir=/disk/w 0 0\n/dev/vdb /disk ext4 rw 0 0", ""),
        ("overlay / overlay rw,lowerdir=/l,upperdir=/var/lib/docker/u 0 0", ""),
        ("tmpfs / tmpfs rw 0 0", "/etc/systemd/system is in memory (tmpfs on /)"),
        ("rootfs / rootfs rw 0 0", "is in memory (rootfs on /)"),
        ("/dev/vda / ext4 rw 0 0\ntmpfs /etc tmpfs rw 0 0", "in memory (tmpfs on /etc)"),
        ("/dev/vda / ext4 rw 0 0\ntmpfs /var tmpfs rw 0 0", "/var/lib/numatune is in memory (tmpfs on /var)"),
        ("tmpfs / tmpfs rw 0 0\n/dev/vda / ext4 rw 0 0", ""),
        (
            "overlay / overlay rw,lowerdir=/l,upperdir=/run/o/upper,workdir=/run/o/w 0 0\ntmpfs /run tmpfs rw 0 0",
            "on an overlay whose changes are in memory (/, /run/o/upper)",
        ),
    ],
    ids=[
        "a disk",
        "unknown",
        "an overlay over a disk",
        "an overlay whose layers are elsewhere",
        "a root in memory",
        "an initramfs",
        "etc in memory",
        "the state in memory",
        "a later mount hides an earlier one",
        "an overlay over memory",
    ],
)
def test_a_root_that_forgets_is_known(
    mounts: str, told: str, kernel: FakeKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NUMATUNE_STATE_DIR")
    kernel.put("/proc/1/mounts", f"{mounts}\n")
    found = forgets(kernel)
    assert told in found
    assert bool(found) == bool(told)


def test_a_root_that_forgets_is_a_row_that_counts(kernel: FakeKernel) -> None:
    kernel.put("/proc/1/mounts", "overlay / overlay rw,upperdir=/run/u 0 0\ntmpfs /run tmpfs rw 0 0\n")
    said = typed("apply", "p.yaml", "--persist", "--yes")
    assert said.code == 2
    assert "on an overlay whose changes are in memory" in " ".join(said.out.split())
    assert SYSCTL_D not in kernel.files
    assert typed("drift").code == 0, "the apply has told it"


def test_a_read_only_etc_is_denied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = FakeKernel(host_tree() | {"/etc/hostname": "x\n"}, read_only=["/etc"])
    lend(kernel, tmp_path, monkeypatch)
    (tmp_path / "p.yaml").write_text(PROFILE, encoding="utf-8")
    rows = {row["id"]: row["status"] for row in typed("plan", "p.yaml", "--persist", "--json").json["settings"]}
    assert rows["persist:sysctl.d"] == rows[f"persist:{BOOT}"] == "denied"


def test_nixos_makes_its_own(kernel: FakeKernel) -> None:
    kernel.put("/etc/NIXOS", "\n")
    assert "NixOS" in forgets(kernel)


@pytest.mark.parametrize(
    ("service", "folder", "hooks"),
    [
        ("NetworkManager", "/etc/NetworkManager/dispatcher.d/", ["/etc/NetworkManager/dispatcher.d"]),
        (
            "networkd-dispatcher",
            "/etc/networkd-dispatcher/",
            [f"/etc/networkd-dispatcher/{name}.d" for name in ("carrier", "degraded", "routable")],
        ),
    ],
)
def test_a_hook_needs_its_folder_and_a_service_that_calls_it(
    service: str, folder: str, hooks: list[str], kernel: FakeKernel
) -> None:
    assert place(kernel, ARGV).hooks == ()
    kernel.put(folder, "")
    kernel.put(f"/usr/lib/systemd/system/{service}.service", UNIT)
    assert place(kernel, ARGV).hooks == (), "installed, but nobody starts it"
    Systemd().start_unit(kernel, f"{service}.service")
    assert [where for where, _ in place(kernel, ARGV).hooks] == hooks
    kernel.remove(folder.rstrip("/"))
    assert place(kernel, ARGV).hooks == ()


def test_without_systemd_it_depends_on_what_the_init_scripts_read(kernel: FakeKernel) -> None:
    kernel.put("/proc/1/comm", "init\n")
    found = place(kernel, ARGV)
    assert (found.systemd, found.sysctl_d, found.tmpfiles_d) == (False, False, False)
    kernel.put("/etc/init.d/procps", "#!/bin/sh\n")
    assert place(kernel, ARGV).sysctl_d


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Puts a program called numatune below a folder, and has it be what was called."""

    def make(folder: str) -> str:
        path = tmp_path / folder / "numatune"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n", encoding="utf-8")
        path.chmod(0o755)
        monkeypatch.setattr(sys, "argv", [str(path)])
        return str(path)

    return make


def runs(kernel: FakeKernel) -> str:
    """What the boot unit calls."""
    (line,) = [x for x in kernel.files[f"{UNITS}/{BOOT}"].splitlines() if x.startswith("ExecStart=")]
    return line.removeprefix("ExecStart=").removesuffix(" reapply --boot")


def persist(*words: str) -> Typed:
    return typed("apply", "p.yaml", "--yes", "--json", *words)


def test_a_link_to_the_program_is_kept_as_it_is_called(
    kernel: FakeKernel, install: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An upgrade switches the link: what is written names no version."""
    install("versions/1")
    link = tmp_path / "current"
    link.symlink_to("versions/1")
    monkeypatch.setattr(sys, "argv", [str(link / "numatune")])
    persist("--persist")
    assert runs(kernel) == f"{link}/numatune"
    called = install("versions/1")
    assert persist("--persist").json["run"] is None
    assert runs(kernel) == f"{link}/numatune", "it is the same program"
    other = install("versions/2")
    assert persist().json["run"] is None, "nothing was said of --persist"
    persist("--persist")
    assert runs(kernel) == other
    Path(other).unlink()
    monkeypatch.setattr(sys, "argv", [called])
    persist()
    assert runs(kernel) == called, "what was called before is gone"


def test_a_program_that_others_can_write_is_refused(kernel: FakeKernel, install: Callable[[str], str]) -> None:
    path = Path(install("theirs"))
    path.parent.chmod(0o777)
    said = typed("apply", "p.yaml", "--yes", "--persist")
    assert said.code == 1
    assert said.err.startswith(
        f"numatune: --persist: every boot would run {path} as root, and {path.parent}, on the way"
    )
    assert "can be written by others (mode 0777)" in said.err
    assert "or install numatune where only root can write" in said.err
    assert kernel.log == []


@pytest.mark.parametrize("part", ["interpreter", "code"])
def test_what_is_behind_a_command_is_refused_too(
    part: str, kernel: FakeKernel, install: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root's own script, with an interpreter or a package below the home of somebody else."""
    install("command")
    theirs = tmp_path / "theirs"
    theirs.write_text("", encoding="utf-8")
    theirs.chmod(0o666)
    monkeypatch.setattr(*{"interpreter": (sys, "executable"), "code": (numatune, "__file__")}[part], str(theirs))
    said = typed("apply", "p.yaml", "--yes", "--persist")
    assert said.code == 1
    assert said.err.startswith(f"numatune: --persist: every boot would run {theirs} as root")
    assert kernel.log == []


def test_called_as_a_module_it_is_the_interpreter(kernel: FakeKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/lib/python3/dist-packages/numatune/__main__.py"])
    persist("--persist")
    assert runs(kernel) == f"{sys.executable} -P -m numatune"


def test_a_state_folder_elsewhere_is_told_to_the_units(kernel: FakeKernel, tmp_path: Path) -> None:
    persist("--persist")
    assert f"Environment=NUMATUNE_STATE_DIR={tmp_path}/state\n" in kernel.files[f"{UNITS}/{BOOT}"]


def test_a_host_below_another_root_does_not_boot_this_numatune(
    kernel: FakeKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(kernel), "root", "/host")
    said = typed("--root", "/host", "--root-is-live", "plan", "p.yaml", "--persist")
    assert said.code == 64
    assert said.err.startswith("numatune: --persist: the host below /host does not boot this numatune (install")


def test_this_machine_can_be_asked() -> None:
    assert isinstance(place(LocalHost(), ARGV).hooks, tuple)


def test_a_captured_host_can_be_planned_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = host_tree() | {"/etc/hostname": "x\n"}
    lend(FakeKernel(tree, live=False), tmp_path, monkeypatch)
    (tmp_path / "p.yaml").write_text(PROFILE, encoding="utf-8")
    rows = {row["id"]: row["action"] for row in typed("plan", "p.yaml", "--persist", "--json").json["settings"]}
    assert (rows["persist:sysctl.d"], rows[f"persist:{BOOT}"]) == ("create", "create")
