"""The JUnit XML of several hosts as one file: a suite for each, in which every check names its host."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

from numatune.errors import NumatuneError


def put(to: Path, hosts: Mapping[str, Path | str]) -> None:
    """Write the file. A host's value is the file that pytest wrote of it, or why it could not be asked.

    Raises NumatuneError when it cannot be written.
    """
    whole = ET.Element("testsuites", name="numatune verify")
    for host, told in hosts.items():
        whole.extend(_read(host, told) if isinstance(told, Path) else [_unasked(host, told)])
    try:
        ET.ElementTree(whole).write(to, encoding="utf-8", xml_declaration=True)
    except OSError as error:
        raise NumatuneError(str(to), f"the JUnit file cannot be written: {error.strerror}") from error


def _read(host: str, path: Path) -> list[ET.Element]:
    suites = list(ET.parse(path).getroot().iter("testsuite"))  # noqa: S314  # made by our own child a moment ago
    for suite in suites:
        suite.set("name", f"numatune verify {host}")
        suite.set("hostname", host)
    return suites


def _unasked(host: str, why: str) -> ET.Element:
    """A suite with one check that could not begin."""
    counts = {"tests": "1", "errors": "1", "failures": "0", "skipped": "0"}
    suite = ET.Element("testsuite", {"name": f"numatune verify {host}", "hostname": host, **counts})
    case = ET.SubElement(suite, "testcase", classname="checks", name="the host answers")
    ET.SubElement(case, "error", message=why)
    return suite
