"""Kernel files and checked facts."""

from __future__ import annotations

from dataclasses import replace

from numatune.settings.codecs import Cmdline
from numatune.settings.model import Setting
from numatune.settings.plan import Status
from numatune.settings.targets import Fact, KernelFile
from numatune.verify.asking import Asking
from numatune.verify.kinds import cgroups, watermarks
from numatune.verify.verdict import Verdict, differs, fine, holds, unread, verdict


def kernel_file(setting: Setting, target: KernelFile, ask: Asking) -> Verdict:
    """Judge the file, and where there is one the other place that must agree with it."""
    path, answer = ask.first(target.paths)
    if answer.text is None:
        return unread(setting, answer, target.absent)
    if not holds(setting, answer.text):
        return differs(setting, answer, path, ask)
    if path == watermarks.MIN_FREE_KBYTES:
        return watermarks.kept(setting, answer, ask)
    if path.rpartition("/")[2] in cgroups.SETS:
        return cgroups.in_force(setting, path, target.effective, answer, ask)
    return fine(setting, answer)


def fact(setting: Setting, target: Fact, ask: Asking) -> Verdict:
    """Judge what only the boot loader can change, or nobody."""
    _, answer = ask.first(target.paths)
    if answer.text is None:
        return unread(setting, answer, target.absent)
    held = holds(setting, answer.text)
    if isinstance(setting.codec, Cmdline):
        answer = replace(answer, text=setting.codec.about(setting.want or "", answer.text))
        return verdict(setting, Status.OK if held else Status.REBOOT, answer)
    return fine(setting, answer) if held else verdict(setting, Status.UNMET, answer, target.cause)
