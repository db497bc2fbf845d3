"""Another host for the checks, over an ssh connection that is open already.

The checks run without the user's configuration, keys and agent. They need none of them: whoever opened the connection
had them. Without it they reach nothing: there is no other way to the host in this configuration.
"""

from __future__ import annotations

from dataclasses import dataclass

CONFIG_FILE = "ssh_config"
"""In the folder that the two processes share."""

HOSTSPEC = "ssh://there?controlpersist=0"
"""For testinfra: its ssh backend, without a connection of its own."""


@dataclass(frozen=True, slots=True)
class Remote:
    """`name`: the host's, for people; `socket`: path of the open connection (ssh's ControlPath)."""

    name: str
    socket: str


def configuration(remote: Remote) -> str:
    """The ssh_config of the checks."""
    return "\n".join(
        (
            "Host there",
            f'  ControlPath "{remote.socket.replace("%", "%%")}"',
            "  ControlMaster no",
            "  ProxyCommand false",
            "  BatchMode yes",
            "  StrictHostKeyChecking yes",
            "  SendEnv LC_ALL",
            "",
        )
    )
