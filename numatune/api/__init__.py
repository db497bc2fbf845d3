"""The one stable surface: what the command line calls, tests and other programs too.

Names are looked up when they are first used, because a command should pay for nothing that it does not need. The
functions take a Reader or a Host, made by `open_reader` and `open_host`, and raise NumatuneError; none of them prints.
Modules here are named for what they do, and never like a function (`planning.plan`), so that both have a name.
"""

from __future__ import annotations

from importlib import import_module

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from numatune.api.applying import Applied as Applied
    from numatune.api.applying import apply as apply
    from numatune.api.capturing import Captured as Captured
    from numatune.api.capturing import capture as capture
    from numatune.api.checking import Checked as Checked
    from numatune.api.checking import check as check
    from numatune.api.comparing import Compared as Compared
    from numatune.api.comparing import compare as compare
    from numatune.api.confirming import Confirmed as Confirmed
    from numatune.api.confirming import confirm as confirm
    from numatune.api.drifting import clean as clean
    from numatune.api.drifting import drift as drift
    from numatune.api.explaining import explain as explain
    from numatune.api.exporting import export as export
    from numatune.api.exporting import write_export as write_export
    from numatune.api.histories import History as History
    from numatune.api.histories import cut_off as cut_off
    from numatune.api.histories import history as history
    from numatune.api.holding import hold as hold
    from numatune.api.holding import holds as holds
    from numatune.api.holding import unhold as unhold
    from numatune.api.hosts import need_own as need_own
    from numatune.api.hosts import open_host as open_host
    from numatune.api.hosts import open_reader as open_reader
    from numatune.api.launching import Scene as Scene
    from numatune.api.launching import engine_words as engine_words
    from numatune.api.launching import export_launch as export_launch
    from numatune.api.launching import launch_policy as launch_policy
    from numatune.api.launching import placement as placement
    from numatune.api.launching import placements as placements
    from numatune.api.launching import proofs as proofs
    from numatune.api.launching import scene as scene
    from numatune.api.launching import shm_policy as shm_policy
    from numatune.api.launching import shm_show as shm_show
    from numatune.api.looking import topology as topology
    from numatune.api.outputs import Outputs as Outputs
    from numatune.api.planning import Request as Request
    from numatune.api.planning import load as load
    from numatune.api.planning import load_plan as load_plan
    from numatune.api.planning import plan as plan
    from numatune.api.planning import prepare as prepare
    from numatune.api.planning import save_plan as save_plan
    from numatune.api.reapplying import reapply as reapply
    from numatune.api.rebinding import rebind as rebind
    from numatune.api.rebinding import rebinds as rebinds
    from numatune.api.repairing import repair as repair
    from numatune.api.repeating import repeated as repeated
    from numatune.api.restoring import TakenBack as TakenBack
    from numatune.api.restoring import proposal as proposal
    from numatune.api.restoring import rollback as rollback
    from numatune.api.verifying import verify as verify
    from numatune.api.verifying_hosts import verify_hosts as verify_hosts

_MODULES: dict[str, tuple[str, ...]] = {
    "applying": ("Applied", "apply"),
    "explaining": ("explain",),
    "exporting": ("export", "write_export"),
    "capturing": ("Captured", "capture"),
    "checking": ("Checked", "check"),
    "comparing": ("Compared", "compare"),
    "confirming": ("Confirmed", "confirm"),
    "drifting": ("clean", "drift"),
    "histories": ("History", "cut_off", "history"),
    "holding": ("hold", "holds", "unhold"),
    "hosts": ("need_own", "open_host", "open_reader"),
    "launching": (
        "Scene",
        "engine_words",
        "export_launch",
        "launch_policy",
        "placement",
        "placements",
        "proofs",
        "scene",
        "shm_policy",
        "shm_show",
    ),
    "looking": ("topology",),
    "outputs": ("Outputs",),
    "planning": ("Request", "load", "load_plan", "plan", "prepare", "save_plan"),
    "reapplying": ("reapply",),
    "rebinding": ("rebind", "rebinds"),
    "repairing": ("repair",),
    "repeating": ("repeated",),
    "restoring": ("TakenBack", "proposal", "rollback"),
    "verifying": ("verify",),
    "verifying_hosts": ("verify_hosts",),
}
_WHERE = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(_WHERE)  # noqa: PLE0605  # made from the table above


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"numatune.api.{_WHERE[name]}"), name)
