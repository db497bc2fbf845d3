"""The profile language: strict YAML, extends, expressions over the host, conditions, and every mistake with its line.

    load(names) -> Document        text, merged; knows no host
    resolve(document, topology)    -> Resolved: the Settings for one host, or a ProfileError with all problems
"""

from __future__ import annotations

from numatune.profile.document import Document, load, restore
from numatune.profile.resolve import Resolved, resolve

__all__ = ["Document", "Resolved", "load", "resolve", "restore"]
