"""What makes a set survive a reboot: whether it is asked for, the program that a boot calls, what the host has."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.api.memory import Memory
    from numatune.api.planning import Request
    from numatune.export.place import Place
    from numatune.host.protocol import Reader
    from numatune.settings.applied import AppliedSet
    from numatune.settings.model import Setting

_NAME = "numatune"
_STATE = "NUMATUNE_STATE_DIR"
_IN_MEMORY = frozenset({"tmpfs", "ramfs", "rootfs"})
_MOUNTS = ("/proc/1/mounts", "/proc/self/mounts", "/proc/mounts")
_INIT_SYSCTL = ("/etc/init.d/procps", "/etc/init.d/sysctl", "/etc/init.d/systemd-sysctl")
_INIT_TMPFILES = ("/etc/init.d/opentmpfiles-setup", "/etc/init.d/systemd-tmpfiles-setup", "/etc/init.d/tmpfiles.setup")
_DISPATCHER = "/etc/networkd-dispatcher"
_LINK_IS_UP = ("carrier.d", "degraded.d", "routable.d")
"""Of its folders those that a link reaches when it comes up, whatever is configured on it."""


def program(request: Request, stored: tuple[str, ...], reader: Reader) -> tuple[str, ...]:
    """By which a boot is to call numatune; () when nothing is to survive one.

    stored  what the last apply chose

    The path by which numatune was called, no link in it resolved: an upgrade switches a link. The one that is stored
    stays while it is there and nothing was said of --persist, or while it leads to the same program. Raises UsageError
    below another root, TrustError for a program that others than root could change.
    """
    if not (bool(stored) if request.persist is None else request.persist):
        return ()
    called = _called()
    if not reader.live:
        return called
    if reader.root != "/":
        from numatune.errors import UsageError

        hint = "install numatune on that host and apply there"
        raise UsageError("--persist", f"the host below {reader.root} does not boot this numatune", hint=hint)
    stays = _is_there(stored) if request.persist is None else _same(stored, called)
    chosen = stored if stays else called
    for path in (chosen[0],) if stays else (chosen[0], *_behind()):
        _check(path)
    return chosen


def rows(
    settings: Sequence[Setting], request: Request, argv: tuple[str, ...], memory: Memory, reader: Reader
) -> tuple[tuple[Setting, ...], tuple[str, ...]]:
    """What makes them survive, and what a person should know of it; of a part of a set, for the whole of it."""
    from numatune.engine import applied
    from numatune.export import persist

    if not argv:
        return (), ()
    partly = memory.applied is not None and (request.add or request.only or request.skip)
    whole = applied.laid_over(memory.applied.rows, settings) if partly and memory.applied else settings
    found = place(reader, argv)
    return persist.settings(whole, found), persist.notes(whole, found)


def of(stored: AppliedSet) -> tuple[Setting, ...]:
    """What the last apply wrote so that its set survives: a boot reads those texts, whatever has changed since."""
    from numatune.settings.applied import PERSIST

    return tuple(setting for setting in stored.settings if setting.section == PERSIST)


def place(reader: Reader, argv: tuple[str, ...]) -> Place:
    """What of this host the files that persist hang on."""
    from numatune.discover.machine import machine
    from numatune.export.place import Place

    systemd = machine(reader).systemd
    moved = os.environ.get(_STATE)
    return Place(
        program=argv,
        environment=((_STATE, os.path.abspath(moved)),) if moved else (),  # noqa: PTH100  # pathlib costs a start-up
        systemd=systemd,
        sysctl_d=systemd or any(reader.stat(path) for path in _INIT_SYSCTL),
        tmpfiles_d=systemd or any(reader.stat(path) for path in _INIT_TMPFILES),
        forgets=forgets(reader),
        hooks=tuple(_hooks(reader)) if systemd else (),
    )


def forgets(reader: Reader) -> str:
    """Why what is written to /etc, or to the state folder, is gone after a reboot; "" where it stays."""
    from numatune.engine import paths

    if reader.stat("/etc/NIXOS") is not None:
        return "NixOS makes /etc anew from its configuration: put what numatune should set there"
    texts = (reader.read(path).text for path in _MOUNTS)
    mounts = [line.split(" ") for line in (next(filter(None, texts), "")).splitlines()]
    for folder in ("/etc/systemd/system", paths.state(reader.root)):
        if why := _in_memory(folder, [mount for mount in mounts if len(mount) > 3]):  # noqa: PLR2004  # fstab(5)
            return f"{folder} is {why}, so it is gone after a reboot: build the files into the image"
    return ""


def _in_memory(folder: str, mounts: Sequence[Sequence[str]]) -> str:
    """Whether a folder lies in memory; an overlay lies where its upper layer does."""
    mount = _below(folder, mounts)
    if mount is None:
        return ""
    kind, options = mount[2], mount[3].split(",")
    if kind in _IN_MEMORY:
        return f"in memory ({kind} on {mount[1]})"
    upper = next((option.partition("=")[2] for option in options if option.startswith("upperdir=")), "")
    if kind != "overlay":
        return ""
    if not upper:
        return "" if "ro" in options else f"on an overlay without a layer of its own ({mount[1]})"
    holder = _below(upper, [one for one in mounts if one[1] != mount[1]])
    kept_in_memory = holder is not None and holder[2] in _IN_MEMORY
    return f"on an overlay whose changes are in memory ({mount[1]}, {upper})" if kept_in_memory else ""


def _below(folder: str, mounts: Sequence[Sequence[str]]) -> Sequence[str] | None:
    """The mount that a folder is on: the one with the longest path, of several there the last."""
    above = [mount for mount in mounts if f"{folder}/".startswith(mount[1].rstrip("/") + "/")]
    return max(reversed(above), key=lambda mount: len(mount[1]), default=None)


def _hooks(reader: Reader) -> Iterator[tuple[str, str]]:
    """Folders of hooks, of services that run here: one that waits for a first hook (Debian's condition) calls none."""
    manager = "/etc/NetworkManager/dispatcher.d"
    if reader.stat(manager) is not None and _runs("NetworkManager.service", reader):
        yield manager, "NetworkManager"
    if reader.stat(_DISPATCHER) is not None and _runs("networkd-dispatcher.service", reader):
        for name in _LINK_IS_UP:
            yield f"{_DISPATCHER}/{name}", "networkd-dispatcher"


def _runs(unit: str, reader: Reader) -> bool:
    from numatune.engine.kinds import systemctl

    told = systemctl.show(unit, ("ActiveState",), reader)
    return not isinstance(told, int) and told.get("ActiveState") in {"active", "activating"}


def _called() -> tuple[str, ...]:
    """The argv of this numatune: a command of that name by its path, else the interpreter with its module."""
    path = os.path.abspath(sys.argv[0])  # noqa: PTH100  # pathlib costs a start-up
    if os.path.basename(path) == _NAME and os.access(path, os.X_OK):  # noqa: PTH119  # as above
        return (path,)
    return (sys.executable, "-P", "-m", _NAME)


def _behind() -> tuple[str, ...]:
    """What a command of that name is only the door to: the interpreter, and the code that it finds."""
    import numatune

    return (sys.executable, numatune.__file__)


def _is_there(argv: tuple[str, ...]) -> bool:
    return bool(argv) and os.access(argv[0], os.X_OK)


def _same(stored: tuple[str, ...], called: tuple[str, ...]) -> bool:
    """Whether both lead to one program."""
    return _is_there(stored) and stored[1:] == called[1:] and os.path.samefile(stored[0], called[0])  # noqa: PTH121  # as above


def _check(path: str) -> None:
    """Raises TrustError: every boot would run as root what somebody else can change."""
    from numatune.engine import trust
    from numatune.errors import TrustError

    try:
        trust.check(path)
    except TrustError as error:
        problem = error.problems[0]
        found = f"every boot would run {path} as root, and {problem.where} {problem.found}"
        hint = f"{problem.hint}, or install numatune where only root can write" if problem.hint else ""
        raise TrustError("--persist", found, accepted=problem.accepted, hint=hint) from error
