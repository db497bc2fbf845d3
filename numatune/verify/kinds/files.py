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
    """Judge what only the boot loader can change."""
    _, answer = ask.first(target.paths)
    if answer.text is None:
        return unread(setting, answer)
    status = Status.OK if holds(setting, answer.text) else Status.REBOOT
    return verdict(setting, status, replace(answer, text=_parameter(setting, answer.text)))


def _parameter(setting: Setting, line: str) -> str:
    """Of a kernel command line the words for the parameter in question, all of any other file."""
    if not isinstance(setting.codec, Cmdline):
        return line
    name = _name((setting.want or "").strip())
    return " ".join(word for word in line.split() if _name(word) == name)


def _name(word: str) -> str:
    """A parameter's name; - and _ are one in it."""
    return word.partition("=")[0].replace("-", "_")
