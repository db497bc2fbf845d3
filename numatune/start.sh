#!/bin/sh
''':' # The program `numatune`, first as a shell reads it: Python isolated from the caller's PYTHONHOME and PYTHONPATH.
here=$0; [ -L "$here" ] && here=$(readlink -f -- "$here"); here=${here%/*}
[ -x "$here/python3" ] && exec "$here/python3" -I -- "$0" "$@"
exec python3 -E -- "$0" "$@" # no environment of its own: that Python's packages, the user's among them
'''
import sys

from numatune.__main__ import main

sys.exit(main())
