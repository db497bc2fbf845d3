"""What is in a guest: packages, files of its own, and what does not run there."""

from __future__ import annotations

PACKAGES = (
    *("systemd-sysv", "udev", "dbus", "kmod", "busybox-static", "zstd", "lz4", "xz-utils"),
    *("openssh-server", "iproute2", "procps", "numactl", "irqbalance"),
    *("cron", "sudo", "ethtool", "hwloc-nox", "networkd-dispatcher", "python3-venv"),
    *("python3", "python3-yaml", "python3-jinja2", "python3-pydantic", "python3-rich"),
    *("python3-pytest", "python3-testinfra"),
)
# Units that only cost time in a guest, or that wake up and move things while a test looks.
MASKED = (
    *("systemd-networkd-wait-online.service", "getty@tty1.service", "serial-getty@ttyS0.service"),
    *("apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer", "fstrim.timer"),
    *("systemd-tmpfiles-clean.timer", "e2scrub_reap.service", "systemd-pstore.service"),
    *("modprobe@drm.service", "modprobe@fuse.service", "modprobe@configfs.service", "kmod-static-nodes.service"),
    *("sys-fs-fuse-connections.mount", "sys-kernel-config.mount", "sys-kernel-tracing.mount", "dev-mqueue.mount"),
    *("proc-sys-fs-binfmt_misc.automount", "systemd-binfmt.service", "systemd-udev-load-credentials.service"),
    *("systemd-logind.service", "systemd-random-seed.service", "systemd-networkd-persistent-storage.service"),
)
# Every boot and every `systemctl enable` runs all generators, a second each under emulation.
GENERATORS_KEPT = ("systemd-fstab-generator",)
FILES = {
    "etc/hostname": "lab\n",
    "etc/machine-id": "",  # no first boot: presets would switch units on
    "etc/systemd/journald.conf.d/lab.conf": "[Journal]\nStorage=volatile\n",
    "etc/fstab": "/dev/vda / ext4 defaults 0 1\n",
    # The way in, at the address that QEMU's user network gives its first guest. The other NICs get none: a second
    # default route would take the answers of the first.
    "etc/systemd/network/10-way-in.network": (
        "[Match]\nDriver=virtio_net\nPath=pci-0000:00:*\n"
        "[Network]\nAddress=10.0.2.15/24\nGateway=10.0.2.2\nLinkLocalAddressing=no\n"
    ),
    "etc/systemd/network/20-up.network": (
        "[Match]\nDriver=vmxnet3 virtio_net\n[Link]\nActivationPolicy=always-up\n[Network]\nLinkLocalAddressing=no\n"
    ),
    # Every connection comes from one address; none of them may be held up for the failures of another.
    "etc/ssh/sshd_config.d/lab.conf": "PermitRootLogin prohibit-password\nUseDNS no\n",
    "etc/systemd/system/ssh.service.d/lab.conf": "[Service]\nExecStartPre=\n",
    # Of the devices that were there before udev only these matter; there are hundreds, terminals most of all.
    "etc/systemd/system/systemd-udev-trigger.service.d/lab.conf": (
        "[Service]\nExecStart=\nExecStart=-udevadm trigger --action=add --subsystem-match=pci --subsystem-match=net "
        "--subsystem-match=block --subsystem-match=virtio --subsystem-match=nvme\n"
    ),
}
# The checkout's code is put into /opt/numatune; a site file makes it importable as an installed package is.
INSTALLED = {
    "/usr/lib/python3/dist-packages/numatune-lab.pth": "/opt/numatune\n",
    "/usr/local/bin/numatune": (
        "#!/usr/bin/python3\nimport sys\n\nfrom numatune.__main__ import main\n\nsys.exit(main())\n"
    ),
}
