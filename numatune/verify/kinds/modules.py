"""Modules of the kernel, by the file that lsmod reads and the list that modinfo reads."""

from __future__ import annotations

from dataclasses import replace

from numatune.settings.model import Setting
from numatune.settings.plan import Status
from numatune.settings.targets import Module
from numatune.verify.asking import Asking
from numatune.verify.verdict import Verdict, drifted, fine, unread, verdict


def module(setting: Setting, target: Module, ask: Asking) -> Verdict:
    """Judge whether /proc/modules lists it, or it is built in: in modules.builtin, or with a folder all the same."""
    answer = ask.once("/proc/modules")
    loaded = any(line.split(" ", 1)[0] == target.name for line in (answer.text or "").splitlines())
    builtin = not loaded and (_builtin(target.name, ask) or ask.exists(f"/sys/module/{target.name}"))
    if answer.text is None and not builtin:
        return unread(setting, answer, "this kernel loads no modules")
    answer = replace(answer, text="loaded" if loaded or builtin else "absent")
    if answer.text == setting.want:
        return fine(setting, answer)
    if builtin:
        return verdict(setting, Status.UNCHANGEABLE, answer, "it is built into this kernel")
    return drifted(setting, answer)


def _builtin(name: str, ask: Asking) -> bool:
    release = (ask.once("/proc/sys/kernel/osrelease").text or "").strip()
    listed = ask.once(f"/lib/modules/{release}/modules.builtin").text or ""
    files = (line.rpartition("/")[2].partition(".")[0] for line in listed.splitlines())
    return name in {file.replace("-", "_") for file in files}
