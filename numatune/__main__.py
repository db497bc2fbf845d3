"""``python -m numatune``, and what the program `numatune` (start.sh) calls."""

from __future__ import annotations

import sys

from numatune.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
