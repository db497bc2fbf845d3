"""Units of systemd: the one that has the last word at boot, the one that puts interrupts back, and the repair timer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from numatune.export.place import Place
from numatune.settings.persisted import BOOT, RESET_BY_LINKS

BEFORE = (
    *("containerd.service", "docker.service", "podman.service", "crio.service", "kubelet.service"),
    *("k3s.service", "k3s-agent.service", "rke2-server.service", "rke2-agent.service"),
    *("slurmd.service", "libvirtd.service", "nomad.service"),
    "systemd-user-sessions.service",
)
"""What starts people's work: it finds the host as it should be. The last one lets people log in."""

AFTER = (
    *("local-fs.target", "systemd-modules-load.service", "systemd-sysctl.service", "systemd-tmpfiles-setup.service"),
    *("tuned.service", "saptune.service", "sapconf.service", "sysfsutils.service", "cpufrequtils.service"),
    *("irqbalance.service", "numad.service", "ksmtuned.service", "google-set-multiqueue.service"),
)
"""What sets the same things at boot: it comes first. Units that a host lacks are no trouble in an ordering."""

_NOT_BEFORE = frozenset({"-.slice", "init.scope", "system.slice", "user.slice", *AFTER})
_HOSTS_OWN = (
    *("systemd-", "dbus", "polkit", "user-", "user@", "session-"),
    *("NetworkManager", "network", "wpa_supplicant", "iwd", "connman", "firewalld", "nftables", "ufw", "iptables"),
    *("openvswitch", "ovs", "wicked", "dhcpcd", "openibd", "ifup@"),
    *("cloud-init", "google-", "rsyslog", "syslog"),
    *("auditd", "apparmor", "haveged", "rngd", "multipathd", "lvm2-"),
)
"""Groups that the boot unit is in itself, or that it comes after, or that the host's own work is in.

tuned comes after the network, and what brings the network up after all of these; the last row says
Before=sysinit.target or local-fs-pre.target. Before one of them would be a circle, which systemd breaks by not starting
something, and that was seen to be the boot unit.
"""

START_LIMIT = 120
"""Seconds that a boot waits at most. systemd's own limit is for each command of a unit, not for all."""

STOP_LIMIT = 5
"""Seconds, of these, for a command that is told to end: a kill loses nothing."""

SETTLE = 2
"""Seconds in which further events join the one that came first: a NIC that is bound again raises several."""

DEVICES_LIMIT = 45
"""Seconds to wait for udev to be done with the devices that it knows of, names of interfaces included.

A host is worked out anew when its devices are not those of the last apply, and half of them would be that. The boot
unit alone waits, by ``udevadm settle``: systemd-udev-settle.service would make all of early boot wait.
"""

_REPAIRING = ("check", "--repair", "--syslog", "--differences-ok")

_UNLESS = "ConditionKernelCommandLine=!numatune=off"
"""The way out for a host that does not come up as applied: one word for the boot loader."""

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@+=:,./-")


def boot(place: Place, groups: Iterable[str] = ()) -> str:
    """numatune-boot.service. `groups`: slices and services that the set confines; what is in them starts after it.

    Wanted, never required: a host whose tuning fails comes up all the same. It does not remain after its exit, so that
    nothing of it is left when its file is taken away; a second start within a boot finds nothing to do.
    """
    ours = sorted({unit for unit in groups if unit not in _NOT_BEFORE and not unit.startswith(_HOSTS_OWN)})
    return _unit(
        place,
        Unit=[
            "Description=numatune: make this host as its applied profile says",
            f"After={' '.join(AFTER)}",
            f"Before={' '.join((*BEFORE, *ours))}",
            _UNLESS,
        ],
        Service=[
            "Type=oneshot",
            *_environment(place),
            f"ExecStartPre=-/bin/udevadm settle --timeout={DEVICES_LIMIT}",
            f"ExecStart={_exec(place, 'reapply', '--boot')}",
            f"TimeoutStartSec={START_LIMIT - DEVICES_LIMIT - STOP_LIMIT}",
            f"TimeoutStopSec={STOP_LIMIT}",
        ],
        Install=["WantedBy=multi-user.target"],
    )


def irq(place: Place) -> str:
    """numatune-irq.service: however many ask for it, it runs once, and never misses one that asks while it runs.

    The work is the unit's stopping, not its starting. While it waits it is active, and to start it again is to do
    nothing: the work is still to come. While it works it is stopping, and to start it again is queued by systemd until
    it has stopped, so that there is another round. A oneshot would drop that start, because its own is still going on.
    """
    return _unit(
        place,
        Unit=[
            "Description=numatune: put interrupts back where the applied profile has them",
            f"After={BOOT}",
            _UNLESS,
            "StartLimitIntervalSec=0",
        ],
        Service=[
            "Type=exec",
            *_environment(place),
            f"ExecStart=/bin/sleep {SETTLE}",
            f"ExecStop=-/bin/udevadm settle --timeout={DEVICES_LIMIT}",
            f"ExecStop={_exec(place, 'reapply', '--only', ','.join(RESET_BY_LINKS), '--differences-ok')}",
            f"TimeoutStopSec={START_LIMIT}",
        ],
    )


def repair(place: Place) -> str:
    """numatune-repair.service. Interrupts first and without a limit: who resets them is the kernel, with every link."""
    return _unit(
        place,
        Unit=["Description=numatune: put back what has moved since the last apply", f"After={BOOT}", _UNLESS],
        Service=[
            "Type=oneshot",
            *_environment(place),
            f"ExecStart={_exec(place, 'reapply', '--only', ','.join(RESET_BY_LINKS), '--differences-ok')}",
            f"ExecStart={_exec(place, *_REPAIRING if place.checks else ('reapply', '--differences-ok'))}",
            "TimeoutStartSec=10min",
        ],
    )


def timer(place: Place) -> str:
    """numatune-repair.timer."""
    return _unit(
        place,
        Unit=["Description=numatune: look every ten minutes for what has moved"],
        Timer=["OnBootSec=2min", "OnUnitInactiveSec=10min", "AccuracySec=30s"],
        Install=["WantedBy=timers.target"],
    )


def _unit(place: Place, **sections: Sequence[str]) -> str:
    parts = ["\n".join([f"[{name}]", *lines]) for name, lines in sections.items()]
    return f"{place.ours}\n" + "\n\n".join(parts) + "\n"


def _environment(place: Place) -> list[str]:
    return [f"Environment={_word(f'{name}={text}')}" for name, text in place.environment]


def _exec(place: Place, *words: str) -> str:
    return " ".join(_word(word).replace("$", "$$") for word in (*place.program, *words))


def _word(word: str) -> str:
    """As systemd.syntax(7) reads it: quoted where it must be; specifiers start with a percent sign."""
    escaped = word.replace("%", "%%")
    if set(word) <= _PLAIN:
        return escaped
    return '"' + escaped.replace("\\", "\\\\").replace('"', '\\"') + '"'
