"""What becomes of a case: "" when it ends in rows, or in messages as they should be; else what is wrong, in words."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from fakes.commands import Typed, lend, typed
from fakes.journal import MemoryJournal, start
from fakes.kernel import FakeKernel
from fakes.trees import host_tree

from fuzz import bounds
from fuzz.alarm import Hang, limited
from fuzz.case import ASKED, Case
from fuzz.changed import tree
from numatune import api
from numatune.engine.execute import execute
from numatune.host.protocol import Reader
from numatune.settings.applied import SavedPlan
from numatune.views import plan_json

ROWS = frozenset({0, 2})
LONGEST = 1500
"""Characters of one line of a message: a long list of what is accepted has some hundred."""

_LOG = re.compile(r"the trace is in (\S+);")
_KERNELS: dict[str, FakeKernel] = {}


@dataclass(frozen=True, slots=True)
class Verdict:
    """`wrong`: in words, "" when nothing is. `said`: the messages. `trace`: of an exception that nobody expected."""

    wrong: str = ""
    said: str = ""
    trace: str = ""
    refused: bool = False


def judged(case: Case, folder: Path) -> Verdict:
    """Run a case in a folder of its own, within a minute."""
    try:
        with limited(), pytest.MonkeyPatch.context() as patch:
            return _of_profiles(case, folder, patch) if case.files else _of_a_tree(case, folder, patch)
    except Hang as hang:
        return Verdict(str(hang), trace=hang.where)
    except Exception as error:  # noqa: BLE001  # what numatune lets through is what is looked for
        return Verdict(f"{type(error).__name__}: {error}", trace=_trace(error))


def _of_profiles(case: Case, folder: Path, patch: pytest.MonkeyPatch) -> Verdict:
    """Planned, and applied to a fake kernel, to which nothing may be written that is out of bounds."""
    kernel = _kernel(case)
    made: list[SavedPlan] = []
    _lend(kernel, folder, patch, made)
    for name, text in case.files.items():
        (folder / name).write_bytes(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
    done = typed("plan", f"./{ASKED}", "--verbose", *case.options)
    verdict = _ended(done)
    if not verdict.wrong and done.code in ROWS and not made:
        return Verdict("rows without a plan", done.err)
    for saved in made if done.code in ROWS else ():
        json.dumps(plan_json.plan(saved.plan), allow_nan=False)
        before = len(kernel.log)
        beyond = [*bounds.of_plan(saved.plan.changes, kernel)]
        execute(saved.plan.changes, kernel, MemoryJournal(), start())
        beyond += bounds.of_writes(kernel.log[before:], kernel)
        if beyond:
            return Verdict("; ".join(beyond), done.err)
    return verdict


def _of_a_tree(case: Case, folder: Path, patch: pytest.MonkeyPatch) -> Verdict:
    """Shown, planned for, and placed on. What is planned stays within what the host says it has."""
    reader = tree(case)
    made: list[SavedPlan] = []
    _lend(reader, folder, patch, made)
    plan = ("plan", case.shipped, "--verbose", *case.options)
    for words in (plan, ("topology", "--all"), ("topology", "--json"), ("place", "--ranks", "3")):
        done = typed("--root", "a host", *words)
        verdict = _ended(done)
        if verdict.wrong:
            return Verdict(f"{' '.join(words)}: {verdict.wrong}", verdict.said, verdict.trace)
        if words[-1] == "--json" and done.code in ROWS:
            json.loads(done.out)
    beyond = [told for saved in made for told in bounds.of_plan(saved.plan.changes, reader)]
    return Verdict("; ".join(beyond))


def _lend(host: Reader, folder: Path, patch: pytest.MonkeyPatch, made: list[SavedPlan]) -> None:
    """Let commands find this host, and keep every plan that they make."""
    prepare = api.prepare

    def kept(*args: object) -> SavedPlan:
        made.append(prepare(*args))  # type: ignore[arg-type]  # passed on as they came
        return made[-1]

    lend(host, folder, patch)  # type: ignore[arg-type]  # nothing here writes to a host that is none
    patch.setattr(api, "prepare", kept)


def _kernel(case: Case) -> FakeKernel:
    key = repr(sorted(case.host.items()))
    if key not in _KERNELS:
        _KERNELS[key] = FakeKernel(host_tree(**case.host))
    return _KERNELS[key].copy()


def _ended(done: Typed) -> Verdict:
    """Whether a command ended as it may: rows, or one clear message for each mistake and nothing else."""
    if done.code in ROWS:
        return Verdict(said=done.err) if done.out else Verdict("no rows, and no message either", done.err)
    if done.code != 1:
        return Verdict(f"exit {done.code}: {done.err.strip()[:300]}", done.err, _log(done.err))
    return Verdict(_unclear(done.err.splitlines(), done), done.err, refused=True)


def _unclear(lines: Sequence[str], done: Typed) -> str:
    if done.out and not done.out.startswith("{"):
        return f"rows beside an error: {done.out[:200]!r}"
    if not lines:
        return "exit 1 without a message"
    for line in lines:
        if not line.startswith("numatune: "):
            return f"a line of a message that is none: {line[:200]!r}"
        if len(line) > LONGEST or not line.isprintable():
            return f"a message that is no clear line: {line[:300]!r}"
    return ""


def _log(said: str) -> str:
    """The trace that was written to a file, which goes."""
    found = _LOG.search(said)
    if not found:
        return ""
    path = Path(found[1])
    text = path.read_text(encoding="utf-8")
    path.unlink()
    return text


def _trace(error: BaseException) -> str:
    import traceback  # noqa: PLC0415  # for the few that fail

    return "".join(traceback.format_exception(error))
