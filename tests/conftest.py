"""Makes `fakes` importable and marks what a machine cannot run."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
