"""Loading: where names lead, what is checked, what is kept for later."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from numatune import profile
from numatune.errors import ProfileError, StateError, TrustError
from numatune.profile import lookup
from numatune.profile.listing import listing
from numatune.topology.model import Section

SHIPPED = sorted(path.stem for path in Path(lookup.shipped_folder()).glob("*.yaml"))


def put(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


def test_names_are_looked_up_in_etc_then_among_the_shipped(tmp_path: Path) -> None:
    put(tmp_path, "mine.yaml", "name: mine\nsummary: of this host\nversion: 7\n")
    put(tmp_path, "serving-host.yaml", "name: serving-host\n")
    assert lookup.find("mine", etc=str(tmp_path)).origin == "etc"
    assert lookup.find("serving-host", etc=str(tmp_path)).origin == "etc"
    assert lookup.find("llm-inference", etc=str(tmp_path)).origin == "shipped"
    found = {(each.name, each.origin): each for each in listing(etc=str(tmp_path))}
    assert found["mine", "etc"].summary == "of this host"
    assert found["mine", "etc"].version == "7"
    assert found["serving-host", "shipped"].hidden
    assert not found["serving-host", "etc"].hidden
    assert {name for name, origin in found if origin == "shipped"} == set(SHIPPED)


def test_a_profile_that_cannot_be_read_is_listed_with_the_reason(tmp_path: Path) -> None:
    put(tmp_path, "broken.yaml", "name: [\n")
    (tmp_path / "bytes.yaml").write_bytes(b"name: \xff\n")
    (tmp_path / "marked.yaml").write_bytes(b"\xef\xbb\xbfname: marked\nsummary: with a byte order mark\n")
    found = {each.name: each.summary for each in listing(etc=str(tmp_path)) if each.origin == "etc"}
    assert found["broken"].startswith("cannot be read: ")
    assert found["bytes"].startswith("cannot be read: ")
    assert found["marked"] == "with a byte order mark"


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("llm-infernce", ("no profile llm-infernce", ", ".join(SHIPPED), "did you mean llm-inference?")),
        ("nothing", ("no profile nothing", "a path holds a / or ends in .yaml")),
        ("./nothing.yaml", ("no profile nothing.yaml",)),
        ("./serving-host.yaml", ("no profile serving-host.yaml", "serving-host is named without a path")),
    ],
)
def test_an_unknown_name_is_told_with_the_known_ones(name: str, parts: tuple[str, ...]) -> None:
    with pytest.raises(ProfileError) as raised:
        profile.load([name])
    assert all(part in str(raised.value) for part in parts)


def test_a_file_beside_is_pointed_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    put(tmp_path, "mine.yaml", "name: mine\n")
    with pytest.raises(ProfileError, match=r"did you mean \./mine\.yaml\?"):
        profile.load(["mine"])


def test_every_file_outside_the_package_is_checked_before_it_is_read(tmp_path: Path) -> None:
    base = put(tmp_path, "base.yaml", "name: base\n")
    top = put(tmp_path, "top.yaml", "name: top\nextends: [./base.yaml, serving-host]\n")
    seen: list[str] = []
    profile.load([top], check=seen.append)
    assert seen == [top, base]

    def refuse(path: str) -> None:
        if path == base:
            raise TrustError(path, "others can write it")

    with pytest.raises(TrustError):
        profile.load([top], check=refuse)


def test_one_profile_has_one_hash_wherever_it_lies(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    paths = [put(folder, "a.yaml", "name: a\nextends: serving-host\n") for folder in (tmp_path, tmp_path / "below")]
    assert len({profile.load([path]).profiles()[0].hash for path in paths}) == 1


def test_the_hash_tells_every_change_apart(tmp_path: Path) -> None:
    def made(text: str = "name: base\n", **variables: str) -> str:
        put(tmp_path, "base.yaml", text)
        top = put(tmp_path, "top.yaml", "name: top\nversion: 3\nvars: {a: 1}\nextends: ./base.yaml\n")
        (info,) = profile.load([top], variables=variables).profiles()
        assert (info.name, info.version) == ("top", "3")
        return info.hash

    assert made() == made()
    assert len({made(), made("name: base\n# changed\n"), made(a="2"), made(a="3")}) == 4


def test_only_what_is_needed_of_a_host_is_asked_for(tmp_path: Path) -> None:
    def reads(text: str) -> frozenset[Section]:
        return profile.load([put(tmp_path, "p.yaml", f"name: p\n{text}\n")]).reads

    always = {Section.MACHINE, Section.CPUS}
    assert reads("") == always
    assert reads("thp: {enabled: always}") == always
    assert reads("thp: {enabled: '{{ vars.x }}'}\nvars: {x: always}") == always
    assert reads("sysctl: {vm.swappiness: 1}") == always | {Section.NODES}
    assert reads("when: {device: nic}") == always | {Section.DEVICES}
    assert reads("when: {cgroup: v2, cpu_nodes: 2}") == always | {Section.CGROUPS, Section.NODES}
    assert reads("thp: {enabled: {value: always, when: {device: nic}}}") == always | {Section.DEVICES}
    assert reads("vars: {x: '{{ nodes.cpu }}'}") == always | {Section.NODES}
    assert Section.DEVICES in reads("vars: {x: '{{ devices.nodes(\"nic\") }}'}")


def test_stored_profiles_are_the_same_profiles(tmp_path: Path) -> None:
    base = put(tmp_path, "base.yaml", "name: base\nvars: {a: 1}\nsysctl: {vm.swappiness: 1}\n")
    top = put(tmp_path, "top.yaml", f"name: top\nextends: [{base}, llm-inference]\n")
    document = profile.load([top, "serving-host"], variables={"a": "2"})
    stored = document.stored()
    Path(top).unlink()
    Path(base).unlink()
    again = profile.restore(stored)
    assert again == document
    assert again.stored() == stored
    assert again.profiles() == document.profiles()


@pytest.mark.parametrize("stored", [(), (("", "{"),), (("", '{"stored": 9}'),), (("", '{"stored": 1}'),)])
def test_what_was_not_stored_by_us_is_refused(stored: tuple[tuple[str, str], ...]) -> None:
    with pytest.raises(StateError):
        profile.restore(stored)


@pytest.mark.parametrize(
    ("text", "overrides"),
    [
        ("", {}),
        ("devices: null", {}),
        ('devices: {"0000:41:00.0": 1}', {"0000:41:00.0": 1}),
        ('devices: {"0000:C1:00.0": {node: 2, why: board manual}}', {"0000:c1:00.0": 2}),
        ('devices: {"0000:41:00.0": null, "0000:42:00.0": {node: null}}', {}),
    ],
)
def test_the_operators_word_on_devices(tmp_path: Path, text: str, overrides: dict[str, int]) -> None:
    assert profile.load([put(tmp_path, "p.yaml", f"name: p\n{text}\n")]).overrides == overrides


def test_a_ladder_of_profiles_is_walked_once_and_has_an_end(tmp_path: Path) -> None:
    put(tmp_path, "a0.yaml", "name: a\n")
    put(tmp_path, "b0.yaml", "name: b\n")
    for step in range(1, 40):
        for side in "ab":
            below = f"[./a{step - 1}.yaml, ./b{step - 1}.yaml]"
            put(tmp_path, f"{side}{step}.yaml", f"name: {side}\nextends: {below}\n")
    (layer,) = profile.load([str(tmp_path / "a31.yaml")]).layers
    assert len(layer.chain) == len(set(layer.chain)) == 63
    with pytest.raises(ProfileError, match="a chain of more than 32 profiles"):
        profile.load([str(tmp_path / "a39.yaml")])


def test_who_does_not_work_a_profile_out_asks_whether_it_is_sound(tmp_path: Path) -> None:
    assert profile.load([put(tmp_path, "p.yaml", "name: p\n")]).sound().overrides == {}
    for text, part in (("x: 010", "p.yaml:2: x: 010"), ("devices: {eth0: 1}", "p.yaml:2: devices.eth0")):
        with pytest.raises(ProfileError, match=re.escape(part)):
            profile.load([put(tmp_path, "p.yaml", f"name: p\n{text}\n")]).sound()


def test_bytes_that_are_no_text_are_told_with_their_line(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_bytes(b"name: p\nsummary: \xff\n")
    with pytest.raises(ProfileError, match=r"p\.yaml:2: a byte that is no UTF-8"):
        profile.load([str(tmp_path / "p.yaml")])


@pytest.mark.parametrize(
    ("wanted", "right"),
    [(">=0.1", True), ("0.1", False), (">=0.0.9, <9", True), (">9", False), ("==0.1.0", True), ("<=0.0", False)],
)
def test_requires(tmp_path: Path, wanted: str, right: bool) -> None:  # noqa: FBT001  # a table
    path = put(tmp_path, "p.yaml", f'name: p\nrequires: "{wanted}"\n')
    if right:
        profile.load([path])
    else:
        with pytest.raises(ProfileError, match="requires"):
            profile.load([path])
