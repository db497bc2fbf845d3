"""What the second opinion says of one setting, and the few ways in which every kind of target comes to it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from numatune.settings.codecs import Bounded, meets, shown
from numatune.settings.model import Setting, SettingId
from numatune.settings.plan import Status
from numatune.verify.asking import Answer, Asking

SETTINGS_FILE, VERDICTS_FILE = "settings.json", "verdicts.jsonl"
"""In the folder that the two processes share."""

WRITE_BITS = 0o222


@dataclass(frozen=True, slots=True)
class Verdict:
    """`found`: verbatim, None when nothing could be read; `wanted`: as people read it.

    source   what was asked: ``sysctl -n vm.swappiness``; ``/proc/interrupts, /proc/irq/57/smp_affinity``
    message  what `wanted` and `found` do not tell
    """

    id: SettingId
    status: Status
    wanted: str | None
    found: str | None
    source: str
    message: str = ""

    def as_line(self) -> str:
        """One line of JSON, without the newline."""
        return json.dumps(asdict(self), ensure_ascii=True)

    @classmethod
    def from_line(cls, line: str) -> Verdict:
        """The verdict that `as_line` spelled. Raises ValueError, TypeError or KeyError on anything else."""
        data = json.loads(line)
        return cls(**{**data, "status": Status(data["status"])})


def verdict(setting: Setting, status: Status, answer: Answer, message: str = "") -> Verdict:
    """The verdict on `setting` after `answer`."""
    return Verdict(setting.id, status, _asked(setting), answer.text, answer.source, message)


def fine(setting: Setting, answer: Answer) -> Verdict:
    """As wanted."""
    return verdict(setting, Status.OK, answer)


def drifted(setting: Setting, answer: Answer, message: str = "") -> Verdict:
    """Not as wanted, and root could change it."""
    return verdict(setting, Status.DRIFTED, answer, message)


def holds(setting: Setting, text: str) -> bool:
    """Whether `text` is as wanted, by the setting's own codec. A setting that wants nothing holds nothing."""
    return setting.want is not None and meets(setting.codec, setting.want, text)


def unread(setting: Setting, answer: Answer, absent: str = "") -> Verdict:
    """There is no text to judge; `absent` says why that may be."""
    message = f"{answer.source}: {answer.detail}"
    if answer.trouble == "denied":
        return verdict(setting, Status.DENIED, answer, message)
    return verdict(setting, Status.UNSUPPORTED, answer, f"{message}; {absent}" if absent else message)


def differs(setting: Setting, answer: Answer, path: str, ask: Asking) -> Verdict:
    """The kernel file at `path` is not as wanted: drifted, or denied where not even root could change it."""
    if ask.refuses_writes(path):
        return verdict(setting, Status.DENIED, answer, "it is on a read-only mount")
    if not ask.mode(path) & WRITE_BITS:
        return verdict(setting, Status.DENIED, answer, "its mode lets nobody write it")
    return drifted(setting, answer)


def told(setting: Setting, said: Verdict) -> str:
    """What a check that fails says: ``drifted: wanted 10, sysctl -n vm.swappiness says 60``."""
    found = shown(setting.codec, said.found)
    heard = f"wanted {said.wanted or 'nothing'}, {said.source.rpartition(', ')[2]} says {found or 'nothing'}"
    return f"{said.status}: {'; '.join(filter(None, (heard if said.found is not None else '', said.message)))}"


def _asked(setting: Setting) -> str | None:
    """What is wanted, with its operator: ``>= 2097152``."""
    text = shown(setting.codec, setting.want)
    if isinstance(setting.codec, Bounded) and setting.codec.op != "=" and text is not None:
        return f"{setting.codec.op} {text}"
    return text
