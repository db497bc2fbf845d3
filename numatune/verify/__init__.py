"""A second opinion: the wanted state as testinfra checks, in a process of their own.

Shares no reader with the engine. Where a value can be asked for at two places, this room asks at the other one:
``sysctl -n``, /proc/interrupts, /proc/zoneinfo, a node's meminfo, /proc/PID/status of a task, ``systemctl show``.

    isolated.py   the door: settings in, verdicts out; runs pytest so that nobody else's code is run
    checks.py     the pytest module, run in the child only
    judge.py      one setting and a host to one verdict; kinds/ has one module per class of target
    asking.py     how a host is asked, through testinfra
"""
