"""Finds iterations in a trace without call sites, by folding the ops of each rank into loops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from itertools import pairwise

import numpy as np

from clue.steady.iterations import Integers, Stretch
from clue.structure.loops import Place, folded, iterations
from clue.trace import Trace

#: Number of calls in the name of a loop.
_NAMED = 3


def folded_stretches(trace: Trace) -> Iterator[list[Stretch]]:
    """Yield the runs of each loop that has equally many iterations on all ranks; outer loops first.

    Loops of different ranks are matched in order if they have equal numbers of iterations in each run;
    :mod:`.cuts` checks that no message is under way between their iterations.
    """
    loops = [_loops(program, first) for program, first in zip(folded(trace), trace.head.offsets[:-1], strict=True)]
    for key, bounds in loops[0].items():
        if all(key in each for each in loops):
            runs = zip(*(each[key] for each in loops), strict=True)
            name = _name(trace, bounds[0])
            yield [Stretch(name, np.array(run)) for run in runs]


def _loops(program: Place, first: int) -> dict[Hashable, list[Integers]]:
    """Return the bounds of a rank's loops, by iteration counts and position among loops with equal counts."""
    found: dict[Hashable, list[Integers]] = {}
    seen: Counter[tuple[int, ...]] = Counter()
    for loop, begins, lengths in iterations(program):
        counts = tuple(loop.counts.tolist())
        ends = np.cumsum([0, *counts]).tolist()
        found[counts, seen[counts]] = [
            first + np.append(begins[a:b], begins[b - 1] + lengths[b - 1]) for a, b in pairwise(ends)
        ]
        seen[counts] += 1
    return found


def _name(trace: Trace, bounds: Integers) -> str:
    """Return the name of a loop: the first calls in it."""
    calls = dict.fromkeys(trace.head.calls[call] for call in trace.ops.call[bounds[0] : bounds[1]].tolist())
    return "[" + ", ".join([*list(calls)[:_NAMED], *(["…"] if len(calls) > _NAMED else [])]) + "]"
