"""The machine that a command looks at or changes."""

from __future__ import annotations

import os

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.host.protocol import Host, Reader


def open_reader(root: str = "/", *, live: bool = False) -> Reader:
    """This host, a captured tree (folder or archive), or with `live` a folder that is a live host's tree.

    Raises HostError when there is no such tree.
    """
    if root != "/" and not live:
        from numatune.host.captured import open_tree

        return open_tree(root)
    return _local(root)


def need_own(root: str = "/", *, live: bool = False) -> None:
    """For what numatune itself keeps of a host, which no capture holds. Raises UsageError for a captured tree."""
    _refuse_captured(root, "which does not hold what numatune has done there", live=live)


def open_host(root: str = "/", *, live: bool = False) -> Host:
    """The same for a change. Raises UsageError for a captured tree, PrivilegeError without root."""
    from numatune.errors import PrivilegeError

    _refuse_captured(root, "which can only be read", live=live)
    if os.geteuid() != 0:
        raise PrivilegeError("", "changing this host needs root", hint="use sudo")
    return _local(root)


def _refuse_captured(root: str, why: str, *, live: bool) -> None:
    from numatune.errors import UsageError

    if root != "/" and not live:
        hint = "--root-is-live says that the folder is the tree of a live host"
        raise UsageError("--root", f"{root} is a captured tree, {why}", hint=hint)


def _local(root: str) -> Host:
    from numatune.errors import HostError
    from numatune.host.local import LocalHost

    if not os.path.isdir(root):  # noqa: PTH112  # pathlib costs a start-up
        raise HostError(root, "is no folder", accepted="a folder that is the tree of a live host")
    return LocalHost(root)
