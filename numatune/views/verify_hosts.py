"""A second opinion on several hosts: each its own section, and a line for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numatune.errors import NumatuneError
from numatune.settings.plan import Plan, differences
from numatune.views import error_json
from numatune.views.style import Style, plural
from numatune.views.verify_json import verified as as_json
from numatune.views.verify_text import verified as as_text

Told = Mapping[str, Plan | NumatuneError]
"""By address: what a host holds, or why it could not be asked."""


def text(told: Told, style: Style, *, again: str, verbose: bool = False) -> str:
    """For people. `again`: the words after ``numatune`` that tell what apply would do, to be said on the host.

    What keeps several hosts from being asked alike (a mistake in the profile) is said once, below all of them.
    """
    alike: dict[object, list[str]] = {}
    for host, said in told.items():
        alike.setdefault(host if isinstance(said, Plan) else (type(said), said.problems), []).append(host)
    parts = []
    for hosts in alike.values():
        parts += [style.paint(host, "bold", "cyan") for host in hosts]
        parts += [_section(told[hosts[0]], style, again, verbose=verbose), ""]
    return "\n".join([*parts, style.paint(_summary(told, style), "bold")])


def json(told: Told) -> dict[str, Any]:
    """For programs: each host with the document of ``verify --json``, or with its error."""
    summary = {"hosts": len(told), "not_asked": _not_asked(told), "differences": _differences(told)}
    return {"format": 1, "hosts": [_host(host, said) for host, said in told.items()], "summary": summary}


def _host(host: str, said: Plan | NumatuneError) -> dict[str, Any]:
    if isinstance(said, Plan):
        return {"host": host, "verified": as_json(said, ""), "error": None}
    return {"host": host, "verified": None, "error": error_json.known(said)}


def _section(said: Plan | NumatuneError, style: Style, again: str, *, verbose: bool) -> str:
    if isinstance(said, Plan):
        return as_text(said, style, again=again, verbose=verbose)
    lines = [style.spell(line) for line in f"Could not be asked: {said}".splitlines()]
    return "\n".join(style.paint(line, "red") for line in lines)


def _summary(told: Told, style: Style) -> str:
    failing, silent = _differences(told), _not_asked(told)
    parts = [plural(len(told), "host")]
    parts += [f"{plural(failing, 'setting')} not as wanted"] if failing else [] if silent else ["as wanted"]
    parts += [f"{silent} could not be asked"] if silent else []
    return style.separator.join(parts)


def _not_asked(told: Told) -> int:
    return sum(not isinstance(said, Plan) for said in told.values())


def _differences(told: Told) -> int:
    return sum(differences(said.rows) for said in told.values() if isinstance(said, Plan))
