"""The command line: one short module per command group; the only place that prints or exits.

A command module has `add(commands, common)`, which registers its parsers with ``parents=[common]`` and
``set_defaults(run=run)``, and `run(args) -> int`, whose value is the exit code. It is imported only when its command is
asked for, and imports what it needs inside `run`. Its line in commands.py makes it known.
"""
