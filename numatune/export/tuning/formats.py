"""Every format there is."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from numatune.export.tuning import ansible, plain, script, systemd
from numatune.export.tuning.model import Exported, Tuning

FORMATS: Mapping[str, Callable[[Tuning], Exported]] = {
    "sysctl.d": plain.sysctl_d,
    "tmpfiles.d": plain.tmpfiles_d,
    "systemd": systemd.export,
    "script": script.export,
    "ansible": ansible.export,
}
