"""Writes docs/shipped-profiles.md from the shipped profiles, so that it says what they say.

``python tests/profile/shipped_page.py > docs/shipped-profiles.md``; test_shipped_page.py compares. What a profile sets
comes from its YAML, for whom it is from the comment at its top, the rest from two comments at its end:

    # Disagreements:
    #   what          who says what
    # Left out on purpose:
    #   what          why
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from numatune.profile.lookup import shipped_folder
from numatune.profile.reader import read
from numatune.profile.resolving import OWN_KEYS
from numatune.profile.tree import Branch, Leaf, Node, Row

ASIDE = ("why", "optional", "when")
ITEM = re.compile(r"#   (\S.*?) {2,}(\S.*)")
HEAD = """\
# Shipped profiles

Written by `tests/profile/shipped_page.py` from the profiles themselves; a test compares.

`numatune plan NAME` shows what one means on a host, `numatune profiles show NAME` the whole of it with what it
extends, line by line. A profile of your own says `extends: NAME` and changes what is yours. None of them stalls or
cuts work that runs as it is shipped, and none promises a number: vendors give values mostly without a measurement,
and where they disagree it is said here. An *optional* setting is not counted where a host lacks it. Values in `{{ }}`
are worked out on the host. The one that is named last wins where two set the same (`numatune apply A B`).
"""
SOURCES = """\
## Sources

Each reason names its source, or says *derived*: a conclusion of ours from how the kernel works, which nobody else
published for this value. Where it names a document by a short name:

| name | document |
|---|---|
| NVIDIA's profiles (H100, GB200, OKE, GKE, inference, generic) | NVIDIA/nodewright-packages, `nvidia-tuned/profiles` |
| NVIDIA Grace benchmarking guide | NVIDIA/grace-cpu-benchmarking-guide, `src/platform` |
| NVIDIA Grace tuning guide | Grace Performance Tuning Guide, "Operating System Settings", "Optimizing IO Performance" |
| DGX OS | NVIDIA's packages nv-hugepage, nv-iommu-pt, nv-cpu-governor, as decoded by others: second hand |
| MI300X, MI300A, MI200 guides | ROCm/amdgpu-docs, `docs/system-optimization` |
| iommu.rst of ROCm | ROCm/amdgpu-docs, `docs/conceptual/iommu.rst` |
| Intel optimization zone | intel/optimization-zone |
| TuneD | redhat-performance/tuned, `profiles` |
| OpenShift | openshift/cluster-node-tuning-operator |
| SAP, SAP HotFix000022286 | SUSE/saptune, `ospackage/usr/share/saptune/notes` |
| Azure's images | Azure/azhpc-images |
| Google guest-configs, google_set_multiqueue | GoogleCloudPlatform/guest-configs |
| Amazon's EKS image | awslabs/amazon-eks-ami |
| Oracle's HPC images, OCI | oracle-quickstart/oci-hpc-images |
| mlnx_tune | Mellanox/mlnx-tools |
| N:M interleave patches, write-up on TPP | patches and texts of the kernel's memory tiering developers |
| NVIDIA AI Enterprise | NVIDIA AI Enterprise, deployment guide for virtual machines |
| admin-guide, Documentation/..., mm/..., CONFIG_..., commit | the Linux kernel's documentation and source |
"""


@dataclass(frozen=True)
class Line:
    """One setting of a profile as it is written."""

    name: str
    value: str
    when: str
    why: str


def page() -> str:
    """The whole page."""
    files = {path.stem: path.read_text(encoding="utf-8") for path in sorted(Path(shipped_folder()).glob("*.yaml"))}
    trees = {name: read(text, name)[0] for name, text in files.items()}
    order = sorted(files, key=lambda name: (len(lineage(name, trees)), name))
    listed = [
        f"| [`{name}`](#{name}) | {text_of(trees[name], 'extends') or ''} | {text_of(trees[name], 'summary')} |"
        for name in order
    ]
    overview = ["| profile | extends | for |", "|---|---|---|", *listed, ""]
    parts = [line for name in order for line in section(name, files[name], trees[name])]
    return "\n".join([HEAD, *overview, *parts, SOURCES])


def lineage(name: str, trees: dict[str, Branch]) -> list[str]:
    """What a profile extends, and what that extends."""
    above = text_of(trees[name], "extends")
    return [above, *lineage(above, trees)] if above else []


def section(name: str, text: str, tree: Branch) -> Iterator[str]:
    """What is told of one profile."""
    yield from (f"## {name}", "", *paragraph(text), "")
    if above := text_of(tree, "extends"):
        yield from (f"Extends [`{above}`](#{above}); below is what differs.", "")
    yield from ("| setting | value | why |", "|---|---|---|")
    for key, entry in tree.entries.items():
        if key not in OWN_KEYS:
            for one in lines(key, entry.node, ()):
                yield f"| `{one.name}` | {cell(coded(one.value))} | {cell(condition(one.when) + one.why)} |"
    yield ""
    yield from variables(text, tree)
    for title in ("Disagreements", "Left out on purpose"):
        told = list(items(text, title))
        if told:
            yield from (f"{title}:", "", *(f"- {what}: {why}" for what, why in told), "")


def lines(name: str, node: Node, whens: Sequence[str]) -> Iterator[Line]:
    """The settings at and below one key."""
    if isinstance(node, Branch):
        whens = [*whens, *(flow(when) for when in node.whens)]
        if "value" in node.entries or "why" in node.entries:
            yield Line(name, value(node), " and ".join(whens), text_of(node, "why"))
            return
        for key, entry in node.entries.items():
            if key != "match":
                yield from lines(f"{name}.{key}", entry.node, whens)
    elif isinstance(node, Row) and any(isinstance(item, Branch) for item in node.items):
        for item in node.items:
            if isinstance(item, Branch):
                own = [*whens, *(flow(when) for when in item.whens)]
                yield Line(name, value(item), " and ".join(own), text_of(item, "why"))
            else:
                yield from lines(name, item, whens)
    else:
        yield Line(name, flow(node), " and ".join(whens), "")


def value(node: Branch) -> str:
    """What a long form, or a mapping with a reason of its own, asks for; whether it is optional."""
    optional = " (optional)" if text_of(node, "optional") == "true" else ""
    if "value" in node.entries:
        return flow(node.entries["value"].node) + optional
    return flow(Branch({key: one for key, one in node.entries.items() if key not in ASIDE}, node.source)) + optional


def condition(when: str) -> str:
    """What goes before the reason."""
    return f"*when {when}* " if when else ""


def flow(node: Node) -> str:
    """A node on one line, as a person would say it."""
    match node:
        case Leaf():
            return "not managed" if node.value is None else " ".join(node.text.split())
        case Row():
            return ", ".join(map(flow, node.items))
        case Branch():
            return ", ".join(f"{key} {flow(entry.node)}" for key, entry in node.entries.items())


def text_of(node: Branch, key: str) -> str:
    """The text of one key, "" when it is not there."""
    found = node.entries.get(key)
    return flow(found.node) if found else ""


def coded(text: str) -> str:
    """An expression as code."""
    return re.sub(r"(?:[<>]= )?\{\{.*?\}\}", lambda found: f"`{found[0]}`", text)


def cell(text: str) -> str:
    """In a table of Markdown."""
    return text.replace("|", r"\|")


def paragraph(text: str) -> Iterator[str]:
    """The comment at the top of a file."""
    for line in text.splitlines():
        if not line.startswith("# "):
            return
        yield line.removeprefix("# ")


def variables(text: str, tree: Branch) -> Iterator[str]:
    """Each variable with its default and the comment above it, or above the first of its group."""
    entry = tree.entries.get("vars")
    if entry is None or not isinstance(entry.node, Branch):
        return
    yield from ("| variable | default | |", "|---|---|---|")
    written = text.splitlines()
    for name, one in entry.node.entries.items():
        above = one.source.line - 1
        told: list[str] = []
        while above and (comment := written[above - 1].strip()).startswith("#"):
            told.insert(0, comment.lstrip("# "))
            above -= 1
        default = flow(one.node) if not isinstance(one.node, Leaf) or one.node.value is not None else "null (off)"
        yield f"| `{name}` | {cell(coded(default))} | {cell(' '.join(told))} |"
    yield ""


def items(text: str, title: str) -> Iterator[tuple[str, str]]:
    """What the comment under a title tells, item by item."""
    _, _, rest = text.partition(f"\n# {title}:\n")
    what, why = "", ""
    for line in rest.splitlines():
        if found := ITEM.fullmatch(line):
            if what:
                yield what, why
            what, why = found[1], found[2]
        elif line.startswith("#     "):
            why += " " + line.lstrip("# ")
        elif line.startswith("#  "):
            raise ValueError(f"{line!r}; accepted: two blanks or more between what and why")
        else:
            break
    if what:
        yield what, why


if __name__ == "__main__":
    sys.stdout.write(page())
