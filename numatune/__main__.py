"""``python -m numatune`` and the console script."""

from __future__ import annotations

import sys

from numatune.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
