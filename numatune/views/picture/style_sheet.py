"""The style sheet of a picture. All of it hangs on the class `numatune`, so that it can stand within a page of HTML."""

from __future__ import annotations

from numatune.views.picture.palette import COLOURS

_FONT = "ui-monospace,'SF Mono',SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace"

_FILLED = {
    ".page": ("paper", "paper"),
    ".package,.apart,.unknown,.distances,.legend": ("package", "line"),
    ".node": ("node", "strong"),
    ".cluster": ("cluster", "cluster"),
    ".cluster.none": ("node", "node"),
    ".switch": ("package", "strong"),
    ".core": ("core", "core"),
    ".cpu": ("cpu", "cpu"),
    ".cpu.nohz_full": ("tickless", "tickless"),
    ".cpu.isolated": ("isolated", "isolated"),
    ".irqs": ("irq", "irq"),
    ".memory": ("node", "node"),
    ".room": ("room", "strong"),
    ".used": ("used", "used"),
    **{f".device.{kind}": (kind, f"{kind}-line") for kind in ("accelerator", "nic", "infiniband", "nvme", "other")},
    **{f".heat{step}": (f"heat{step}", f"heat{step}") for step in range(6)},
    ".heatx": ("node", "line"),
}
"""Boxes: what they are filled with, and their outline."""

_LETTERS = {"text": "ink", "text.faint": "faint", "text.warning": "warning", "text.mark": "ink"}
_BOLD = "text.headline,text.title,text.name,text.mark,text.warning"
_DASHED = ".unknown>rect,.switch>rect,.node.none>rect,.node.empty>rect,.node.memory-only>rect,.room.unknown>rect"


def style_sheet() -> str:
    """CSS. Each colour comes twice: as it is, for readers that know no variables, and as a variable."""
    return "\n".join(["", *_rules(), ""])


def _rules() -> list[str]:
    light = ";".join(f"--{name}:{colours[0]}" for name, colours in COLOURS.items())
    dark = ";".join(f"--{name}:{colours[1]}" for name, colours in COLOURS.items())
    rules = [
        f".numatune{{{light}}}",
        f"@media (prefers-color-scheme:dark){{.numatune{{{dark}}}}}",
        f".numatune text{{font-family:{_FONT};white-space:pre}}",
        ".numatune rect{stroke-width:1}",
    ]
    for boxes, (fill, line) in _FILLED.items():
        chosen = ",".join(f".numatune {box}>rect" for box in boxes.split(","))
        rules.append(f"{chosen}{{{_colour('fill', fill)};{_colour('stroke', line)}}}")
    rules += [f".numatune {text}{{{_colour('fill', colour)}}}" for text, colour in _LETTERS.items()]
    rules.append(f"{_all(_BOLD)}{{font-weight:600}}")
    rules.append(f"{_all(_DASHED)}{{stroke-dasharray:4 3}}")
    return rules


def _all(selectors: str) -> str:
    return ",".join(f".numatune {one}" for one in selectors.split(","))


def _colour(what: str, name: str) -> str:
    return f"{what}:{COLOURS[name][0]};{what}:var(--{name})"
