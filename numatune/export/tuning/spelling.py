"""How the exported script compares and writes a value: the codec's word for shell/spellings.sh, and the text."""

from __future__ import annotations

from numatune.settings.codecs import (
    AtBoot,
    Bool,
    Choice,
    CpuList,
    CpuMask,
    Int,
    Members,
    Size,
)
from numatune.settings.model import Setting
from numatune.settings.targets import MountOption

_BOUNDS = {"=": "text", ">=": "least", "<=": "most"}


def same(setting: Setting) -> str:  # noqa: PLR0911  # one return a spelling
    """Its word for when two texts mean the same."""
    if isinstance(setting.target, MountOption) and setting.target.name == "mpol":
        return "policy"
    match setting.codec:
        case Int(op=op):
            return _BOUNDS[op]
        case Bool():
            return "yes_no"
        case Choice():
            return "choice"
        case Members():
            return "members"
        case CpuMask():
            return "mask"
        case CpuList():
            return "list"
        case Size(page=page):
            return f"size{page}"
        case _:
            return "text"


def want(setting: Setting) -> str:
    """The wanted value as a kernel or systemd takes it; of members and states the words themselves."""
    wanted = setting.want or ""
    if isinstance(setting.codec, Members | AtBoot):
        return wanted
    texts = setting.codec.spell(wanted, None)
    return texts[-1].strip() if texts else wanted


def by_partner(setting: Setting) -> bool:
    """Whether another setting's write brings it about."""
    return setting.want is not None and not setting.codec.spell(setting.want, None)
