"""Which kernel a host runs, as far as what it can do hangs on it."""

from __future__ import annotations

import re

_VERSION = re.compile(r"(\d{1,9})\.(\d{1,9})")


def at_least(release: str, major: int, minor: int) -> bool:
    """Whether a release (``6.12.43-amd64``) is that version or a later one; one that nobody knows is taken for new."""
    found = _VERSION.match(release)
    return found is None or (int(found[1]), int(found[2])) >= (major, minor)
