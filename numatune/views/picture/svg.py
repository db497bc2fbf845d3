"""A picture as SVG: embedded styles only, no script, no font of its own, light and dark as its reader has it."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from numatune.topology.model import Topology
from numatune.views.picture.boxes import Box, Label
from numatune.views.picture.measure import clean
from numatune.views.picture.page import page
from numatune.views.picture.style_sheet import style_sheet
from numatune.views.picture.told import description
from numatune.views.summary import headline

_ROUND = {"page": 0, "package": 8, "apart": 8, "unknown": 8, "distances": 8, "legend": 8, "node": 6, "device": 5}
_ROUNDED = 2


def topology(found: Topology, *, everything: bool = False) -> str:
    """An SVG document of a host, the same for the same topology. `everything`: all PCI devices."""
    whole = page(found, everything=everything)
    size = f'width="{whole.width}" height="{whole.height}" viewBox="0 0 {whole.width} {whole.height}"'
    told = 'aria-labelledby="numatune-title numatune-desc"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="numatune" {size} role="img" {told}>',
        f'<title id="numatune-title">NUMA topology: {_text(headline(found))}</title>',
        f'<desc id="numatune-desc">{_text(description(found))}</desc>',
        f"<style>{style_sheet()}</style>",
        *_box(whole, ""),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _box(box: Box, place: str) -> Iterator[str]:
    """A group that is moved to its place, so that a change within one box is one in the text too."""
    named = f' data-key="{_text(box.key)}"' if box.key else ""
    yield f'<g class="{box.kind}"{named}{place}>'
    if box.tip:
        yield f"<title>{_text(box.tip)}</title>"
    if box.drawn:
        rounded = _ROUND.get(box.kind.partition(" ")[0], _ROUNDED)
        corners = f' rx="{rounded}"' if rounded else ""
        yield f'<rect width="{box.width}" height="{box.height}"{corners}/>'
    for label in box.labels:
        yield _label(label)
    for child in box.children:
        yield from _box(child.box, f' transform="translate({child.x},{child.y})"')
    yield "</g>"


def _label(label: Label) -> str:
    classes = f' class="{label.kind}"' if label.kind else ""
    return f'<text x="{label.x}" y="{label.y}" font-size="{label.size}"{classes}>{_text(label.text)}</text>'


def _text(text: str) -> str:
    return escape("\n".join(clean(line) for line in text.split("\n")))
