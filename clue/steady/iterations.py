"""Finds the rows at which iterations begin, by the loops around call sites (:mod:`clue.structure.nest`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import PurePath

import numpy as np
import numpy.typing as npt

from clue.structure.nest import Nest, Step
from clue.trace import Trace

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Stretch:
    """One run of a loop, in which all ranks make the same number of iterations.

    Attributes:
        name: File and line of the loop statement.
        bounds: Rows at which iterations begin on each rank, and the row after the last, shape (ranks, iterations + 1).
        unit: What its iterations are to a reader: ``"parts"`` if each is several iterations of the loop statement.
    """

    name: str
    bounds: Integers
    unit: str = "iterations"

    @property
    def iterations(self) -> int:
        """Number of iterations."""
        return int(self.bounds.shape[1]) - 1

    @property
    def ops(self) -> int:
        """Number of their ops, on all ranks."""
        return int((self.bounds[:, -1] - self.bounds[:, 0]).sum())

    @property
    def lengths(self) -> Integers:
        """Number of ops of each, on all ranks, shape (iterations,)."""
        lengths: Integers = np.diff(self.bounds).sum(axis=0)
        return lengths

    def __getitem__(self, part: slice) -> Stretch:
        """Return some of its iterations."""
        first, end, _ = part.indices(self.iterations)
        return replace(self, bounds=self.bounds[:, first : end + 1])


@dataclass(frozen=True, slots=True, eq=False)
class _Walk:
    """The calls of one rank.

    Attributes:
        rows: First row of each call.
        sites: Site of each call.
        shared: Number of loops around each call that are in the same iteration as at the call before.
        again: Whether the innermost of these loops begins a new iteration.
        end: Row after the last.
    """

    rows: Integers
    sites: Integers
    shared: Integers
    again: npt.NDArray[np.bool_]
    end: int

    def runs(self, inside: npt.NDArray[np.bool_], depth: int) -> list[Integers]:
        """Return, for each run of a loop, the rows at which its iterations begin, and the row after the last one.

        Args:
            inside: By site, whether the loop is around it.
            depth: Depth of the loop, 1 for an outermost one.
        """
        within = inside[self.sites]
        enters = within & (self.shared < depth)
        begins = enters | (within & (self.shared == depth) & self.again)
        calls = np.flatnonzero(within)
        runs = np.split(np.flatnonzero(begins), np.searchsorted(np.flatnonzero(begins), np.flatnonzero(enters))[1:])
        behind = np.append(self.rows, self.end)
        # Rows after the last call of a run, before the next run, are outside the loop.
        lasts = (
            calls[np.searchsorted(calls, np.append(np.flatnonzero(enters)[1:], len(self.rows))) - 1]
            if len(calls)
            else calls
        )
        return [np.append(self.rows[run], behind[last + 1]) for run, last in zip(runs, lasts, strict=False)]


def stretches(trace: Trace) -> Iterator[list[Stretch]]:
    """Yield, for each loop, its runs with equally many iterations on all ranks; outer loops first."""
    nest = Nest.of(trace.head.sites)
    walks = _walks(trace, nest)
    around = [nest.loops(site) for site in range(len(nest.paths))]
    loops = dict.fromkeys(loop for each in around[1:] for loop in each)
    for loop in sorted(loops, key=_depth):
        inside = np.array([loop in each for each in around])
        runs = [walk.runs(inside, _depth(loop)) for walk in walks]
        if len({len(each) for each in runs}) > 1:
            continue
        name = f"{PurePath(loop[-1].file).name}:{loop[-1].line}"
        together = [each for each in zip(*runs, strict=True) if len({len(bounds) for bounds in each}) == 1]
        yield [Stretch(name, np.array(each)) for each in together]


def _depth(loop: tuple[Step, ...]) -> int:
    return sum(step.is_loop for step in loop)


def _walks(trace: Trace, nest: Nest) -> list[_Walk]:
    """Return the calls of each rank, followed through the loops."""
    offsets, sites = trace.head.offsets, len(nest.paths)
    begins = np.flatnonzero(trace.ops.are_first())
    numbers = trace.ops.site[begins].astype(np.int64)
    steps = np.zeros(len(begins), np.int64)
    steps[1:] = numbers[:-1] * sites + numbers[1:]
    found, which = np.unique(steps, return_inverse=True)
    transitions = [nest.transition(*divmod(int(step), sites)) for step in found]
    shared = np.array([each for each, _ in transitions], np.int64)[which]
    again = np.array([each for _, each in transitions], np.bool_)[which]
    firsts = np.searchsorted(begins, offsets)
    # The first call of a rank shares no iteration with a call before.
    some = firsts[:-1][firsts[:-1] < firsts[1:]]
    shared[some], again[some] = 0, False
    return [
        _Walk(begins[a:b], numbers[a:b], shared[a:b], again[a:b], offsets[rank + 1])
        for rank, (a, b) in enumerate(pairwise(firsts.tolist()))
    ]
