"""The closed union of codecs: each knows one spelling of a value and its equality."""

from __future__ import annotations

from numatune.settings.codecs.base import Bounded, Codec
from numatune.settings.codecs.measures import Speed, Tally, Version
from numatune.settings.codecs.numbers import Bool, Count, Int, Paired
from numatune.settings.codecs.policies import MemPolicy
from numatune.settings.codecs.sets import CpuList, CpuMask, GroupSet, UnitSet
from numatune.settings.codecs.sizes import Size, bytes_of
from numatune.settings.codecs.words import AtBoot, Choice, Cmdline, Members, Text, Words

AnyCodec = (
    Int
    | Count
    | Paired
    | Bool
    | Choice
    | Words
    | Members
    | Cmdline
    | AtBoot
    | Text
    | CpuList
    | CpuMask
    | UnitSet
    | GroupSet
    | Size
    | MemPolicy
    | Tally
    | Speed
    | Version
)

__all__ = [
    "AnyCodec",
    "AtBoot",
    "Bool",
    "Bounded",
    "Choice",
    "Cmdline",
    "Codec",
    "Count",
    "CpuList",
    "CpuMask",
    "GroupSet",
    "Int",
    "MemPolicy",
    "Members",
    "Paired",
    "Size",
    "Speed",
    "Tally",
    "Text",
    "UnitSet",
    "Version",
    "Words",
    "agree",
    "alike",
    "bytes_of",
    "meets",
    "shown",
]


def agree(codec: Codec, a: str, b: str) -> bool:
    """Whether both texts spell one value; a text that is no spelling agrees only with itself."""
    try:
        return codec.same(a, b)
    except ValueError:
        return a.strip() == b.strip()


def alike(codec: Codec, a: str | None, b: str | None) -> bool:
    """`agree` of what is there; None, a thing that is not there, is like None alone."""
    return a is b if a is None or b is None else agree(codec, a, b)


def meets(codec: Codec, want: str, have: str) -> bool:
    """Whether `have`, read from a host, is as `want` asks; a text that is no spelling never is."""
    try:
        return codec.holds(want, have)
    except ValueError:
        return False


def shown(codec: Codec, text: str | None) -> str | None:
    """`text` in the codec's short spelling, or as it is when it is no spelling. None stays None."""
    if text is None:
        return None
    try:
        return codec.show(text)
    except ValueError:
        return text.strip()
