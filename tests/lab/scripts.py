"""Pieces of the scripts that run in guests."""

from __future__ import annotations

PATIENCE = 120  # tries of half a second: the real processors may be everybody's


def until(check: str) -> str:
    """A script that waits until another one succeeds; it ends with 1 when that does not come."""
    return f"for try in $(seq {PATIENCE}); do if {check}; then exit 0; fi; sleep 0.5; done; exit 1"
