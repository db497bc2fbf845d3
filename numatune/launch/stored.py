"""The policy of the applied set: a file that apply writes for `run`, else what the applied set itself holds of it."""

from __future__ import annotations

import os

from numatune.engine import paths, trust
from numatune.host.local import LocalHost
from numatune.launch.policy import Policy
from numatune.launch.quick import FILE
from numatune.launch.wording import SETTING, parse


def policy() -> Policy | None:
    """What is applied on this host; None when nothing of a launch is. Raises LaunchError, TrustError, StateError.

    A state folder that was moved has no file.
    """
    if not os.environ.get("NUMATUNE_STATE_DIR") and os.path.lexists(FILE):
        trust.check(FILE)
        found = LocalHost().read(FILE)
        if found.text is not None:
            return parse(found.text, FILE)
    path = paths.applied(paths.state())
    if not os.path.lexists(path):
        return None
    from numatune.engine import applied  # noqa: PLC0415  # JSON and all that a set is made of

    kept = applied.load(path)
    wanted = next((one.want for one in kept.settings if one.id == SETTING), None) if kept else None
    return parse(wanted, path) if wanted else None
