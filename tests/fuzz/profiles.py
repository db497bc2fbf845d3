"""Profiles: made by the schema, or shipped ones that somebody got wrong, alone and as bases of each other."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import yaml

from fuzz import like, odd
from fuzz.case import ASKED, Case
from fuzz.hosts import HOSTS

FOLDER = Path(__file__).parents[2] / "profiles"
OPTIONS = (
    "--allow-disruption",
    "--allow-debugfs",
    "--retry",
    "--only=sysctl",
    "--skip=irq,thp",
    "--persist",
    "--keep-released",
)
SMALL = 10
"""Characters that one mutation takes away, or puts in, at most."""


def case(seed: str) -> Case:
    """The case of a seed."""
    random = Random(seed)
    files = _files(random)
    options = random.sample(OPTIONS, random.choice((0, 0, 1, 2)))
    if random.randrange(5) == 0:
        name = random.choice(("a", "b", "min_free_kbytes", "inference_cpus", "inference_memory_max", "x"))
        options.append(f"--var={name}={odd.scalar(random)}")
    return Case(host=random.choice(HOSTS), files=files, options=tuple(options))


def _files(random: Random) -> dict[str, str | bytes]:
    """Mostly one profile; else a few that extend each other, or themselves."""
    names = [ASKED, *random.choice(((), (), (), ("b.yaml",), ("b.yaml", "c.yaml")))]
    files: dict[str, str | bytes] = {}
    for name in names:
        text = _profile(random, name, names)
        for _ in range(random.choice((0, 0, 0, 0, 1, 3))):
            text = random.choice(MUTATIONS)(random, text)
        files[name] = text.encode("utf-8", "surrogatepass") if random.randrange(20) else spoilt(random, text)
    return files


def _profile(random: Random, name: str, names: Sequence[str]) -> str:
    if random.randrange(3) == 0:
        text = random.choice(shipped())
        return text if random.randrange(3) else text.replace("\nextends: ", "\nextends: ./", 1)
    if random.randrange(2):
        data = {"name": name.removesuffix(".yaml"), **_changed(random, yaml.safe_load(random.choice(shipped())))}
    else:
        data = {"name": name.removesuffix(".yaml"), **like.section(random)}
    if random.randrange(3):
        data["vars"] = {"a": random.choice((1, "0-1", None, [1, 2], odd.scalar(random))), "b": "{{ vars.a }}"}
    if len(names) > 1 and random.randrange(4):
        others = [f"./{other}" for other in names if random.randrange(3)]
        data["extends"] = random.choice((others, "serving-host", [*others, "kernel-defaults"]))
    return like.text(random, data)


@functools.cache
def shipped() -> tuple[str, ...]:
    """The texts of the profiles that come with numatune."""
    return tuple(path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.yaml")))


def _changed(random: Random, data: dict[str, Any]) -> dict[str, Any]:
    """A few values of it exchanged, wherever they are."""
    for _ in range(random.randint(1, 4)):
        at: Any = data
        while isinstance(at, dict | list) and at:
            key = random.choice(sorted(at)) if isinstance(at, dict) else random.randrange(len(at))
            below = at[key]
            if not isinstance(below, dict | list) or random.randrange(4) == 0:
                at[key] = _instead(random, below)
                break
            at = below
    return data


def _instead(random: Random, old: Any) -> Any:
    return random.choice(
        (odd.scalar(random), odd.number(random), None, [], {}, [old], {"value": old}, {"a": old}, [odd.scalar(random)])
    )


def _deleted(random: Random, text: str) -> str:
    start = random.randrange(len(text) + 1)
    return text[:start] + text[start + random.randint(1, SMALL) :]


def _inserted(random: Random, text: str) -> str:
    start = random.randrange(len(text) + 1)
    what = random.choice(
        (
            "\t",
            "\0",
            "\r",
            "\n",
            " ",
            ":",
            "- ",
            "'",
            '"',
            "{",
            "}",
            "[",
            "]",
            "&a ",
            "*a",
            "!!x ",
            "|",
            ">",
            "#",
            "\u2028",
            "\x85",
        )
    )
    return text[:start] + what + text[start:]


def _line(random: Random, text: str) -> str:
    """A line twice, gone, further in, or with another value."""
    lines = text.splitlines(keepends=True) or [""]
    number = random.randrange(len(lines))
    line = lines[number]
    key = line.partition(":")[0]
    lines[number : number + 1] = random.choice(
        ([line, line], [], [f"  {line}"], [f"{key}: {odd.scalar(random)}\n"], [f"\t{line}"])
    )
    return "".join(lines)


def _cut(random: Random, text: str) -> str:
    return text[: random.randrange(len(text) + 1)]


def _dressed(random: Random, text: str) -> str:
    """What editors and other tools put around a text."""
    return random.choice(
        (
            f"\ufeff{text}",
            text.replace("\n", "\r\n"),
            text.replace("\n", "\r"),
            f"---\n{text}...\n",
            f"{text}\n---\nname: second\n",
            f"%YAML 1.1\n---\n{text}",
            f"%TAG ! tag:x\n---\n{text}",
            f"# {text}",
            text.replace(" ", "\u00a0"),
            text.replace("  ", "\t"),
            text.upper(),
        )
    )


def _piled(random: Random, text: str) -> str:
    """Structures that grow, or go deep, or lead back to themselves."""
    deep = random.choice((20, 40, 1000, 30_000))
    return text + random.choice(
        (
            "\nvars:\n  a: &a [x, x, x]\n"
            + "".join(f"  a{n}: &a{n} [*a{n - 1 if n else ''}, *a{n - 1 if n else ''}]\n" for n in range(40)),
            "\nvars: &x {a: *x}\n",
            "\nbase: &b {a: 1}\nthp: {<<: *b}\nsysctl: {<<: [*b, *b]}\n",
            "\nsysctl: " + "{a: " * deep + "1" + "}" * deep + "\n",
            "\nvars: {a: " + "[" * deep + "]" * deep + "}\n",
            "\nsysctl:\n" + "".join(f"  net.core.k{n}: {n}\n" for n in range(deep)),
            f"\nsummary: {'x' * deep * 10}\n",
            "\nvars: {"
            + ", ".join(f"v{n}: '{{{{ vars.v{n + 1} }}}}'" for n in range(40))
            + ", v40: 1}\nksm: {run: '{{ vars.v0 }}'}\n",
            "\nvars: {a: '{{ vars.b }}', b: '{{ vars.a }}'}\nksm: {run: '{{ vars.a }}'}\n",
            "\nvars: {a: '{{ [vars.a] }}'}\n",
            "\nextends: [./asked.yaml]\n",
            "\nextends: ./\n",
            "\nextends: [/dev/zero, ../../../etc/passwd, '']\n",
        )
    )


MUTATIONS: tuple[Callable[[Random, str], str], ...] = (
    _deleted,
    _inserted,
    _inserted,
    _line,
    _line,
    _cut,
    _dressed,
    _piled,
)


def spoilt(random: Random, text: str) -> bytes:
    """The same with bytes that are no text."""
    data = text.encode(random.choice(("utf-8", "utf-16", "utf-32", "latin-1")), "replace")
    for _ in range(random.choice((0, 1, 8))):
        place = random.randrange(len(data) + 1)
        data = data[:place] + bytes([random.randrange(256)]) + data[place + random.randint(0, 1) :]
    return data
