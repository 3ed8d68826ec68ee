"""Rules learned from recordings, compared with what each program does at its targets.

``python -m tests.structure.judging [NAME …]`` prints a table of all programs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from clue.structure import Columns, Example, Generator, Learner, Structure, Tables
from clue.trace import Trace
from clue.trace.sites import UNKNOWN, Site
from tests.structure.programs import CASES, Case
from tests.structure.stub import run

EXACT, REFUSED, REFUSED_THERE, WRONG = "exact", "refused", "refused there", "WRONG"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result at a target.

    Attributes:
        outcome: One of the words above.
        why: The first message or difference; "" if the target is exact.
    """

    outcome: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Learned:
    """A learned program.

    Attributes:
        structure: Its rules.
        refusals: Messages about what follows no rule.
        sites: Its call sites.
        seconds: Time spent learning.
    """

    structure: Structure
    refusals: tuple[str, ...]
    sites: dict[Site, int]
    seconds: float


def learn(case: Case) -> Learned:
    """Return a program as learned from its recordings."""
    sites: dict[Site, int] = {UNKNOWN: 0}
    examples = []
    for size, ranks in case.recorded:
        trace = run(case.program, size, ranks)
        own = np.array([sites.setdefault(site, len(sites)) for site in trace.head.sites], np.int64)
        examples.append(Example(size, ranks, trace, own[trace.ops.site]))
    began = time.process_time()
    learner = Learner(tuple(sites), Tables.of(tuple(sites), examples))
    structure = learner.learn()
    return Learned(structure, tuple(map(str, learner.refusals)), sites, time.process_time() - began)


def judge(case: Case) -> Iterator[Verdict]:
    """Yield a verdict on each target of a program."""
    learned = learn(case)
    for target in case.targets:
        if learned.refusals:
            yield Verdict(REFUSED, learned.refusals[0])
        else:
            yield judge_there(case, learned, *target)


def judge_there(case: Case, learned: Learned, size: int, ranks: int) -> Verdict:
    """Return the verdict on one target."""
    generator = Generator(learned.structure, size, ranks)
    columns = generator.make()
    if generator.refusals:
        return Verdict(REFUSED_THERE, str(generator.refusals[0]))
    found = difference(run(case.program, size, ranks), columns, learned.sites)
    return Verdict(WRONG, f"n = {size}, P = {ranks}: {found}") if found else Verdict(EXACT)


def difference(trace: Trace, made: Columns, sites: dict[Site, int]) -> str:
    """Return the first difference between a recorded trace and the generated columns, or "" if there is none."""
    if (offsets := np.asarray(trace.head.offsets)).tolist() != made.offsets.tolist():
        rank = int(np.flatnonzero(offsets != made.offsets)[0]) - 1
        return f"rank {rank} has {np.diff(offsets)[rank]} rows, made {np.diff(made.offsets)[rank]}"
    for name, (real, other) in _columns(trace, made, sites).items():
        if real != other:
            row = next(i for i, (a, b) in enumerate(zip(real, other, strict=False)) if a != b)
            rank = int(np.searchsorted(offsets, row, side="right")) - 1 if name != "extras" else -1
            site = trace.head.sites[trace.ops.site[row]].name if name != "extras" else ""
            return f"{name} of row {row} (rank {rank}, {site}) is {real[row]}, made {other[row]}"
    return ""


def _columns(trace: Trace, made: Columns, sites: dict[Site, int]) -> dict[str, tuple[list[Any], list[Any]]]:
    ops, head, other = trace.ops, trace.head, made.columns
    found = {
        name: (getattr(ops, name).astype(np.int64).tolist(), other[name].tolist())
        for name in ("op", "peer", "tag", "nbytes", "flags", "request", "count")
    }
    numbers = np.array([sites.get(site, -1) for site in head.sites])
    return found | {
        "site": (numbers[ops.site].tolist(), other["site"].tolist()),
        "call": (_named(head.calls, ops.call), _named(made.calls, other["call"])),
        "region": (_named(head.regions, ops.region), _named(made.regions, other["region"])),
        "communicator": (
            _named([(each.name, each.group) for each in head.communicators], ops.comm),
            _named([(each.name, each.group) for each in made.communicators], other["comm"]),
        ),
        "extras": (ops.extras.tolist(), made.extras.tolist()),
    }


def _named(names: Sequence[Any], column: npt.NDArray[Any]) -> list[Any]:
    return [names[each] for each in column.tolist()]


def main(names: Sequence[str]) -> None:
    """Print a table of verdicts for the named programs, or for all."""
    for name in names or CASES:
        began = time.process_time()
        case = CASES[name]
        verdicts = list(judge(case))
        words = ", ".join(each.outcome for each in verdicts)
        why = next(
            (each.why for each in verdicts if each.outcome == WRONG),
            next((each.why for each in verdicts if each.why), ""),
        )
        print(  # noqa: T201 - a tool
            f"{name:22} {time.process_time() - began:6.1f} s  {words}\n    {why[:300]}"
            if why
            else f"{name:22} {time.process_time() - began:6.1f} s  {words}",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
