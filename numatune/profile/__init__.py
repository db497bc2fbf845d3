"""The profile language: strict YAML, extends, expressions over the host, conditions, and every mistake with its line.

`load` reads the profiles of some names with everything that they extend, as a Document that knows no host; `resolve`
works a Document out on one host, as Settings, or as a ProfileError with all problems at once.
"""

from __future__ import annotations

from numatune.profile.document import Document, restore
from numatune.profile.load import load
from numatune.profile.resolve import Resolved, resolve

__all__ = ["Document", "Resolved", "load", "resolve", "restore"]
