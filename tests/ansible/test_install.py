"""Versions of numatune beside each other, where they come from, and the Python that they run on."""

from __future__ import annotations

import platform
import shutil
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import numatune

if TYPE_CHECKING:
    from playing import Host, Json, Played

PREFIX, LINK = "/opt/numatune", "/usr/local/bin/numatune"
WHEELHOUSE = "/mnt/wheelhouse"
FAKE_APT = """#!/bin/sh
echo "$@" >> /mnt/apt
[ "$1" = install ] && {commands}
exit 0
"""


def install(host: Host, *, code: int = 0, check: bool = False, **arguments: object) -> Played:
    """Play the module alone."""
    return host.play([{"name": "install", "check_mode": check, "numatune_install": arguments}], code=code)


def names(host: Host) -> set[str]:
    """The versions that are there."""
    return {path.name for path in host.guest.path(f"{PREFIX}/versions").iterdir()}


def current(host: Host) -> str:
    return host.guest.run("readlink", f"{PREFIX}/current").strip().removeprefix("versions/")


def rebuilt(host: Host, wheelhouse: Path, name: str) -> str:
    """A wheelhouse whose numatune is another file; its path in the guest."""
    folder = host.folder / name
    shutil.copytree(wheelhouse.with_suffix(""), folder)
    (wheel,) = folder.glob("numatune-*.whl")
    with zipfile.ZipFile(wheel, "a") as file:
        file.comment = name.encode()
    return f"/mnt/play/{name}"


def test_the_previous_version_stays_and_older_ones_go(host: Host, wheelhouse: Path) -> None:
    first = current(host)
    sources = [rebuilt(host, wheelhouse, name) for name in ("second", "third")]
    second = install(host, wheelhouse=sources[0]).of("install")
    assert (second["changed"], second["previous"], names(host)) == (True, first, {first, second["version"]})
    third = install(host, wheelhouse=sources[1]).of("install")
    assert (current(host), names(host)) == (third["version"], {second["version"], third["version"]})
    back = install(host, wheelhouse=sources[0]).of("install")
    assert (back["version"], current(host), back["changed"]) == (second["version"], second["version"], True)
    assert not install(host, wheelhouse=sources[0]).changed
    assert f"numatune {numatune.__version__} " in host.guest.run(LINK, "--version")


def test_a_failed_apply_tells_the_way_back_to_the_version_before(host: Host, wheelhouse: Path) -> None:
    first = current(host)
    (host.folder / "site.yaml").write_text("name: site\nsysctl: {vm.swapiness: 1}\n")
    files = {"profiles": ["site"], "profile_files": ["/mnt/play/site.yaml"]}
    failure = host.role(code=2, wheelhouse=rebuilt(host, wheelhouse, "second"), **files).failure
    assert current(host) != first
    back = f"ln -sfn versions/{first} {PREFIX}/current"
    assert failure.endswith(back)
    host.guest.run("sh", "-c", back)
    assert current(host) == first


def test_an_archive_is_the_same_as_its_folder(host: Host, wheelhouse: Path) -> None:
    shutil.copyfile(wheelhouse, host.folder / "set.tar")
    assert not install(host, wheelhouse="/mnt/play/set.tar").changed


@pytest.mark.parametrize("broken", ["bin/python3", "bin/numatune", ".numatune.json"])
def test_what_is_broken_or_unfinished_is_built_anew(host: Host, broken: str) -> None:
    name = current(host)
    host.guest.path(f"{PREFIX}/versions/{name}/{broken}").unlink()
    assert install(host, wheelhouse=WHEELHOUSE, check=True).changed
    assert install(host, wheelhouse=WHEELHOUSE).of("install")["version"] == name
    assert not install(host, wheelhouse=WHEELHOUSE).changed


def test_a_version_in_use_is_not_taken_apart_for_another_python_of_that_name(bare: Host, index: str) -> None:
    wanted: Json = {"version": numatune.__version__, "index_url": index}
    first = install(bare, **wanted).of("install")["version"]
    install(bare, python="python3.13", code=2, **{**wanted, "index_url": "file:///no/such/index"})
    assert f"numatune {numatune.__version__} " in bare.guest.run(LINK, "--version")
    second = install(bare, python="python3.13", **wanted).of("install")
    assert (second["previous"], current(bare)) == (first, second["version"])
    assert not install(bare, python="python3.13", **wanted).changed
    assert install(bare, **wanted).of("install")["version"] == first


def test_a_file_in_the_place_of_the_link_is_left_alone(bare: Host) -> None:
    bare.guest.path(LINK).write_text("somebody's\n")
    assert f"{LINK} is no symlink" in install(bare, wheelhouse=WHEELHOUSE, code=2).failure
    assert bare.guest.path(LINK).read_text() == "somebody's\n"
    install(bare, state="absent")
    assert bare.guest.path(LINK).read_text() == "somebody's\n"


@pytest.fixture
def index(bare: Host, wheelhouse: Path) -> str:
    """A package index in files."""
    for wheel in wheelhouse.with_suffix("").glob("*.whl"):
        folder = bare.folder / "simple" / wheel.name.partition("-")[0].replace("_", "-")
        folder.mkdir(parents=True)
        shutil.copyfile(wheel, folder / wheel.name)
        (folder / "index.html").write_text(f'<a href="{wheel.name}">{wheel.name}</a>')
    return "file:///mnt/play/simple"


def test_a_version_comes_from_an_index(bare: Host, index: str) -> None:
    wanted: Json = {"version": numatune.__version__, "index_url": index}
    installed = install(bare, **wanted).of("install")
    assert installed["version"] == f"{numatune.__version__}-py3.13"
    assert f"numatune {numatune.__version__} " in bare.guest.run(LINK, "--version")
    assert not install(bare, **wanted).changed
    refused = install(bare, version="999", index_url=index, code=2)
    assert "No matching distribution found for numatune==999" in refused.failure
    assert current(bare) == installed["version"]


def test_a_wheel_takes_what_it_needs_from_an_index(bare: Host, wheelhouse: Path, index: str) -> None:
    (wheel,) = wheelhouse.with_suffix("").glob("numatune-*.whl")
    wanted: Json = {"wheel": f"{WHEELHOUSE}/{wheel.name}", "index_url": index}
    assert install(bare, **wanted).changed
    assert not install(bare, **wanted).changed
    assert f"numatune {numatune.__version__} " in bare.guest.run(LINK, "--version")


def test_the_password_of_an_index_is_shown_nowhere(bare: Host) -> None:
    url = "file://user:hunter2@/no/such/index"
    played = install(bare, version="1", index_url=url, code=2)
    assert "hunter2" not in str(played)


def test_a_wheelhouse_for_another_python_is_told_apart(bare: Host, wheelhouse: Path) -> None:
    folder = bare.folder / "other"
    folder.mkdir()
    for wheel in wheelhouse.with_suffix("").glob("*.whl"):
        (folder / wheel.name.replace("-cp313-cp313-", "-cp312-cp312-")).write_bytes(wheel.read_bytes())
    without_network = FAKE_APT.format(commands="exit 100")
    bare.guest.path("/usr/bin/apt-get").write_text(without_network)
    failure = install(bare, wheelhouse="/mnt/play/other", code=2).failure
    assert "no Python 3.12 with venv and ensurepip on this host" in failure
    assert "python3.12 python3.12-venv could not be installed" in failure


def test_a_wheelhouse_for_another_machine_is_told_apart(bare: Host, wheelhouse: Path) -> None:
    folder = bare.folder / "other"
    folder.mkdir()
    for wheel in wheelhouse.with_suffix("").glob("*.whl"):
        (folder / wheel.name.replace(platform.machine(), "s390x")).write_bytes(wheel.read_bytes())
    failure = install(bare, wheelhouse="/mnt/play/other", code=2).failure
    assert f"this host is {platform.machine()}, and the wheelhouse has" in failure
    assert not bare.guest.path(f"{PREFIX}/current").is_symlink()


def test_a_python_that_is_too_old_is_not_taken(bare: Host) -> None:
    old = bare.guest.path("/usr/local/bin/python3.9")
    old.write_text("#!/bin/sh\necho 3.9\necho venv\n")
    old.chmod(0o755)
    assert (
        "no /usr/local/bin/python3.9"
        in install(bare, wheelhouse=WHEELHOUSE, python="/usr/local/bin/python3.9", code=2).failure
    )


def test_a_python_that_is_named_is_installed(bare: Host) -> None:
    apt = FAKE_APT.format(commands="ln -s python3.13 /usr/bin/python3.12")
    bare.guest.path("/usr/bin/apt-get").write_text(apt)
    installed = install(bare, wheelhouse=WHEELHOUSE, python="python3.12").of("install")
    assert installed["packages"] == ["python3.12", "python3.12-venv"]
    assert bare.guest.path("/mnt/apt").read_text().splitlines()[0] == "--quiet update"
    assert not install(bare, wheelhouse=WHEELHOUSE, python="python3.12").changed


def test_the_venv_package_comes_where_debian_left_it_out(bare: Host) -> None:
    ensurepip = "/usr/lib/python3.13/ensurepip"
    bare.guest.run("mv", ensurepip, "/mnt/ensurepip")
    bare.guest.path("/usr/bin/apt-get").write_text(FAKE_APT.format(commands=f"cp -r /mnt/ensurepip {ensurepip}"))
    installed = install(bare, wheelhouse=WHEELHOUSE).of("install")
    assert installed["packages"] == ["python3.13", "python3.13-venv"]


def test_check_mode_installs_no_package_either(bare: Host) -> None:
    bare.guest.path("/usr/bin/apt-get").write_text(FAKE_APT.format(commands="true"))
    before = bare.written()
    assert install(bare, wheelhouse=WHEELHOUSE, python="python3.12", check=True).changed
    assert bare.written() == before


def test_nothing_to_install_is_told(bare: Host) -> None:
    assert "give version, wheel or wheelhouse" in install(bare, code=2).failure
    assert "/mnt/play" in install(bare, wheelhouse="/mnt/play", code=2).failure
