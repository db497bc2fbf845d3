"""Files that are ours alone: by digest and mode."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from numatune.settings.model import Setting
from numatune.settings.targets import OwnedFile
from numatune.verify.asking import Answer, Asking
from numatune.verify.verdict import Verdict, drifted, fine, unread


def owned_file(setting: Setting, target: OwnedFile, ask: Asking) -> Verdict:
    """Judge whether the file holds every byte that it should, with the mode that it should have."""
    source = f"sha256sum {target.path}"
    if ask.sha256(target.path) == hashlib.sha256((setting.want or "").encode()).hexdigest():
        mode = ask.mode(target.path)
        if mode == target.mode:
            return fine(setting, Answer(setting.want, source))
        message = f"as wanted, but with mode {mode:04o}: chmod {target.mode:04o} {target.path} puts it right"
        return drifted(setting, Answer(setting.want, f"stat {target.path}"), message)
    answer = replace(ask.file(target.path), source=source)
    if answer.text is not None:
        return drifted(setting, answer, f"{target.path} holds something else")
    if answer.trouble == "absent":
        return drifted(setting, answer, f"{target.path} is not there")
    return unread(setting, answer)
