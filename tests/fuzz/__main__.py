"""``python -m fuzz``, from tests/: thousands of cases of each kind, from one seed. `make fuzz` calls it.

python -m fuzz --seed 1 --count 10000        profiles and trees, a line for each failure
python -m fuzz --seed 1 --only trees --number 4711 --keep NAME    that one again, cut down, as a file of cases/
"""

from __future__ import annotations

import argparse
import collections
import resource
import sys
import tempfile
import time
from pathlib import Path

from fuzz import profiles, trees
from fuzz.case import written
from fuzz.judged import Verdict, judged
from fuzz.shrink import shrunk

KINDS = {"profiles": profiles.case, "trees": trees.case}
CASES = Path(__file__).parent / "cases"
MEMORY = 4 << 30
"""Bytes of address space: nothing here needs them, every bomb that went off would."""

PROGRESS = 500


def main() -> int:
    """Exit 1 when a case failed."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", choices=KINDS)
    parser.add_argument("--number", type=int, help="this one alone, with its trace")
    parser.add_argument("--keep", metavar="NAME", help="of --number: write it, cut down, to cases/NAME.yaml")
    args = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    kinds = [args.only] if args.only else list(KINDS)
    if args.number is not None:
        return one(kinds[0], args.seed, args.number, args.keep)
    return max(many(kind, args.seed, range(args.first, args.first + args.count)) for kind in kinds)


def many(kind: str, seed: int, numbers: range) -> int:
    """Run them, and say which failed and how they ended."""
    ends: collections.Counter[str] = collections.Counter()
    began = time.process_time()
    print(f"{kind}: {len(numbers)} cases of seed {seed}", flush=True)
    for number in numbers:
        if number % PROGRESS == 0:
            print(f"  {number}", flush=True)
        verdict = run(kind, seed, number)
        ends["failed" if verdict.wrong else "refused" if verdict.refused else "rows"] += 1
        if verdict.wrong:
            print(f"  --seed {seed} --only {kind} --number {number}: {verdict.wrong[:300]}", flush=True)
            print("".join(f"    {line}\n" for line in verdict.trace.splitlines()[-3:]), end="", flush=True)
    spent = time.process_time() - began
    print(
        f"{kind}: {', '.join(f'{count} {end}' for end, count in sorted(ends.items()))}; {spent:.0f} s of CPU",
        flush=True,
    )
    return int(bool(ends["failed"]))


def run(kind: str, seed: int, number: int) -> Verdict:
    """One case, from its seed."""
    with tempfile.TemporaryDirectory(prefix="numatune-fuzz-") as folder:
        return judged(KINDS[kind](f"{seed} {kind} {number}"), Path(folder))


def one(kind: str, seed: int, number: int, keep: str | None) -> int:
    """One case with all that there is to know of it; kept as a file when asked for."""
    case = KINDS[kind](f"{seed} {kind} {number}")
    verdict = run(kind, seed, number)
    if keep and verdict.wrong:
        case = shrunk(case, verdict)
        (CASES / f"{keep}.yaml").write_text(written(case, verdict.wrong), encoding="utf-8")
    print(written(case, verdict.wrong or "nothing is wrong with it"), verdict.said, verdict.trace, sep="\n")
    return int(bool(verdict.wrong))


if __name__ == "__main__":
    sys.exit(main())
