"""Where that lies which survives a reboot: names that sort last, so that they have the last word of their kind."""

from __future__ import annotations

SYSCTL_D = "/etc/sysctl.d/zz-numatune.conf"
"""systemd-sysctl reads the files of all its folders in the order of their names (sysctl.d(5)), Debian's link
99-sysctl.conf to /etc/sysctl.conf among them."""

TMPFILES_D = "/etc/tmpfiles.d/zz-numatune.conf"
"""In the order of names likewise (tmpfiles.d(5))."""

UDEV_RULES = "/etc/udev/rules.d/99-zz-numatune.rules"
"""After 99-systemd.rules, which tags network devices for systemd."""

NET_QUEUES = "net_queues"
RESET_BY_LINKS = ("irq", NET_QUEUES)
"""Sections that a driver, a link or ``ethtool -L`` takes away again: what the unit for that puts back."""

UNITS = "/etc/systemd/system"
BOOT, IRQ, REPAIR = "numatune-boot.service", "numatune-irq.service", "numatune-repair.service"
TIMER = "numatune-repair.timer"
HOOK = "90-numatune"
