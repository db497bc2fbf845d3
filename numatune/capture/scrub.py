"""What names a host, a card or a user, as a token instead: the same name gives the same token all over one capture."""

from __future__ import annotations

import hashlib
import hmac
import re

_NAMES = re.compile(
    r"""
    (?P<mac>     (?<![0-9A-Fa-f:]) (?:[0-9A-Fa-f]{2}:){5,19}[0-9A-Fa-f]{2} (?![0-9A-Fa-f:]) )  # MAC, GUID of InfiniBand
  | (?P<uuid>    [0-9A-Fa-f]{8} (?:[-_][0-9A-Fa-f]{4}){3} [-_][0-9A-Fa-f]{12} )  # pods have one right behind "pod"
  | (?P<id>      (?<![0-9A-Fa-f]) [0-9A-Fa-f]{32,} (?![0-9A-Fa-f]) )  # containers, machines
  | (?P<prefix>  (?<![A-Za-z0-9]) (?:en|wl|ww|ib|roce|iw|op)x )
    (?P<address> (?:[0-9a-f]{12}|[0-9a-f]{16}) (?![0-9a-f]) )
    """,
    re.VERBOSE,
)
"""The last: udev names an interface by its MAC where firmware tells no place for it (systemd.net-naming-scheme(7))."""


class Scrub:
    """Replaces with a keyed hash. `key`: what nobody who holds the capture knows, and the same for one boot."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def __call__(self, text: str) -> str:
        """The text without such names."""
        return _NAMES.sub(self._replaced, text)

    def token(self, text: str, length: int = 12) -> str:
        """Hexadecimal digits that stand for the text; up to 64."""
        return hmac.new(self._key, text.lower().encode("utf-8", "surrogateescape"), hashlib.sha256).hexdigest()[:length]

    def _replaced(self, found: re.Match[str]) -> str:
        return f"{found['prefix']}{self.token(found['address'])}" if found["prefix"] else self.token(found[0])
