"""What starts irqbalance, and what its administrator told it: from its unit, drop-ins and environment files.

Names differ: Debian reads /etc/default/irqbalance, Red Hat and SUSE /etc/sysconfig/irqbalance; the unit hands on
$IRQBALANCE_ARGS or, in older ones, $OPTIONS. So the unit is asked, not a table of distributions.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping

from numatune.cpus import CpuSet
from numatune.host.protocol import Reader
from numatune.topology.irqbalance import DROP_IN, ENVIRONMENT, UNIT
from numatune.topology.model import Irqbalance

_FOLDERS = (
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
)
"""A file in an earlier one takes the place of its namesakes in the later ones (systemd.unit(5))."""

_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)\}?")
_CONTINUED = re.compile(r"\\\n[ \t]*")


def irqbalance(reader: Reader) -> Irqbalance:
    """All that the unit's files tell; the empty one where there is no unit."""
    unit = next((path for folder in _FOLDERS if reader.read(path := f"{folder}/{UNIT}").text), "")
    if not unit:
        return Irqbalance()
    start, environment = _service([unit, *_drop_ins(reader)], reader)
    variables = _VARIABLE.findall(start)
    variable = variables[-1] if variables else ""
    arguments = environment.get(variable, "")
    return Irqbalance(
        unit=unit, variable=variable, arguments=arguments, policy=_policy(arguments), banned=_banned(environment)
    )


def _drop_ins(reader: Reader) -> list[str]:
    """Files that add to the unit, in the order in which they count, without ours."""
    found: dict[str, str] = {}
    for folder in reversed(_FOLDERS):
        found |= {name: f"{folder}/{UNIT}.d/{name}" for name in reader.names(f"{folder}/{UNIT}.d")}
    return [found[name] for name in sorted(found) if name.endswith(".conf") and found[name] != DROP_IN]


def _service(files: list[str], reader: Reader) -> tuple[str, Mapping[str, str]]:
    """The command line, and the environment that it is started with. An empty assignment takes earlier ones back."""
    start, assigned, read_files = "", dict[str, str](), list[str]()
    for name, value in (pair for path in files for pair in _directives(reader.read(path).text or "")):
        match name:
            case "ExecStart":
                start = value
            case "Environment":
                assigned = assigned | dict(word.partition("=")[::2] for word in _words(value)) if value else {}
            case "EnvironmentFile":
                read_files = [*read_files, value.removeprefix("-")] if value else []
            case _:
                pass
    for path in read_files:
        if path != ENVIRONMENT:
            assigned |= dict(_assignments(reader.read(path).text or ""))
    return start, assigned


def _directives(text: str) -> Iterator[tuple[str, str]]:
    """Names and values of the section [Service]."""
    section = ""
    for line in _CONTINUED.sub(" ", text).splitlines():
        stripped = line.strip()
        if stripped.startswith("["):
            section = stripped
        elif section == "[Service]" and stripped[:1] not in ("", "#", ";"):
            name, _, value = stripped.partition("=")
            yield name.strip(), value.strip()


def _assignments(text: str) -> Iterator[tuple[str, str]]:
    """Variables of an environment file (systemd.exec(5)): quotes and backslashes go, blanks inside a value stay."""
    for line in text.replace("\\\n", "").splitlines():
        name, equals, value = line.strip().partition("=")
        if equals and name[:1] not in ("#", ";"):
            yield name.strip(), _unquoted(value.strip())


def _unquoted(value: str) -> str:
    out, quote, characters = "", "", iter(value)
    for character in characters:
        if character == "\\" and quote != "'":
            out += next(characters, "")
        elif character == quote or (not quote and character in "\"'"):
            quote = "" if quote else character
        else:
            out += character
    return out


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # an open quote
        return text.split()


def _policy(arguments: str) -> str:
    """The policy script among the arguments: the last one counts (irqbalance(1))."""
    found, words = "", iter(_words(arguments))
    for word in words:
        if word in ("-l", "--policyscript"):
            found = next(words, "")
        elif word.startswith("--policyscript="):
            found = word.partition("=")[2]
        elif word.startswith("-l"):
            found = word[2:]
    return found


def _banned(environment: Mapping[str, str]) -> CpuSet | None:
    """The list counts before the mask, and an empty list bans nothing. A text that is neither tells nothing."""
    try:
        if (listed := environment.get("IRQBALANCE_BANNED_CPULIST")) is not None:
            return CpuSet.parse(listed)
        if mask := environment.get("IRQBALANCE_BANNED_CPUS"):
            return CpuSet.from_bits(int(mask.replace(",", ""), 16))
    except ValueError:
        return None
    return None
