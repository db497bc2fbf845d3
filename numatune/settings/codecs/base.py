"""How one kind of kernel text is spelled, and when two spellings mean the same. Text is never compared as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from numatune.compat import override


class Codec:
    """The defaults. A codec is pure and is named on the wire by its class name.

    Every method takes texts as the kernel or the profile spells them. `same`, `holds`, `grows` and `between` raise
    ValueError on text that is no spelling at all; ask through `numatune.settings.codecs.agree` where the text comes
    from a host.
    """

    __slots__ = ()

    def show(self, text: str) -> str:
        """The shortest spelling that means the same, for people and JSON."""
        return " ".join(text.split())

    def same(self, a: str, b: str) -> bool:
        """Whether both spell one value."""
        return self.show(a) == self.show(b)

    def holds(self, want: str, have: str) -> bool:
        """Whether a host that has `have` is as `want` asks. Differs from `same` for >=, <= and memberships."""
        return self.same(want, have)

    def spell(self, want: str, have: str | None) -> tuple[str, ...]:  # noqa: ARG002  # some spellings depend on it
        """Texts to write, in order, to get from `have` (None: not there yet) to `want`. Empty: a partner writes it."""
        return (want.strip() or "\n",)  # write(b"") is a no-op in every kernel

    def back(self, original: str, have: str) -> tuple[str, ...]:
        """Texts to write, in order, so that the host holds `original` again."""
        return self.spell(original, have)

    def grows(self, have: str, want: str) -> bool | None:  # noqa: ARG002  # most values have no size
        """Whether the way from `have` to `want` widens (True) or narrows (False) what nests inside. None: neither."""
        return None

    def between(self, before: str, want: str, now: str) -> bool:  # noqa: ARG002  # most writes are whole or not at all
        """Whether `now` could be a write of `want` over `before` that got part of the way."""
        return False


@dataclass(frozen=True, slots=True)
class Bounded(Codec):
    """What has an order. With `op` >= or <= any host value on that side is as wanted and stays."""

    op: Literal["=", ">=", "<="] = "="

    def measure(self, text: str) -> tuple[int, ...]:
        """What is compared. Raises ValueError on text that has no such thing."""
        raise NotImplementedError

    @override
    def holds(self, want: str, have: str) -> bool:
        return self.within(self.measure(want), self.measure(have))

    def within(self, wanted: tuple[int, ...], held: tuple[int, ...]) -> bool:
        """Whether `held` is on the side of `wanted` that `op` says."""
        match self.op:
            case "=":
                return held == wanted
            case ">=":
                return held >= wanted
            case "<=":
                return held <= wanted
