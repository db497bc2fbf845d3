"""A set in the words of a host where numatune does not run."""

from __future__ import annotations

from dataclasses import replace

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numatune.api.planning import Request
    from numatune.export.place import Place
    from numatune.export.tuning.model import Exported
    from numatune.host.protocol import Reader
    from numatune.settings.model import Setting

OURS = "# Made by numatune export"


def export(reader: Reader, request: Request, target: str) -> Exported:
    """What `apply --persist` would install on this host, in a format of export/tuning/formats.py. Changes nothing.

    Raises ProfileError with everything that is wrong, UsageError for a section that no profile can have.
    """
    from numatune.api import planning
    from numatune.engine import applied
    from numatune.export.tuning.formats import FORMATS
    from numatune.export.tuning.model import Tuning

    planning.check_sections(request)
    wanted = planning.want(reader, request)
    resolved = wanted.resolved
    settings = applied.chosen(resolved.settings, request.only, request.skip)
    host = planning.host_info(reader, wanted.topology)
    names = ", ".join(profile.name for profile in resolved.profiles)
    ours = f"{OURS}: {names}, for nodes {host.nodes}, CPUs {host.cpus} ({host.fingerprint})."
    tuning = Tuning(
        settings=_ordered(settings),
        host=host,
        profiles=resolved.profiles,
        place=_place(reader, target, ours),
        allow_disruption=request.allow_disruption or resolved.allow_disruption,
        allow_unsafe=request.allow_unsafe,
    )
    return FORMATS[target](tuning)


def _ordered(settings: Sequence[Setting]) -> tuple[Setting, ...]:
    """In the order of writing, watched companions included, whatever the host holds now."""
    from numatune.engine.observe import flat
    from numatune.engine.order import order
    from numatune.settings.plan import Change, Observation, Status

    rows = order([Change(setting, Observation(None), Status.OK) for setting in flat(settings)])
    return tuple(row.setting for row in rows)


def write_export(made: Exported, path: str) -> tuple[str, ...]:
    """Write its one file to `path`, or its files below that folder as they lie on a host. Returns what was written.

    Raises HostError where that cannot be written.
    """
    import os

    single = len(made.files) == 1 and not os.path.isdir(path)  # noqa: PTH112  # pathlib costs a start-up
    written = []
    for file in made.files:
        where = path if single else os.path.join(path, file.path.lstrip("/"))  # noqa: PTH118  # as above
        _write(where, file.text, file.mode)
        written.append(where)
    return tuple(written)


def _write(path: str, text: str, mode: int) -> None:
    import os

    from numatune.errors import HostError

    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)  # noqa: PTH103, PTH120  # pathlib costs a start-up
        with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123  # as above
            file.write(text)
        os.chmod(path, mode)  # noqa: PTH101  # as above
    except OSError as error:
        raise HostError(path, f"cannot be written: {error.strerror}") from error


def _place(reader: Reader, target: str, ours: str) -> Place:
    """This host's place, with the script where numatune would be. Who asks for systemd's files has systemd."""
    from numatune.api import persisting
    from numatune.export.tuning import script

    found = persisting.place(reader, (script.PATH,))
    told = found.systemd or target != "ansible" or not reader.live
    return replace(
        found, environment=(), forgets="", checks=False, ours=ours, systemd=told, sysctl_d=told, tmpfiles_d=told
    )
