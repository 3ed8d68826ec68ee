"""Short programs made of parts of a long one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from clue.kernel import Description, Program, compile_program, describe
from clue.steady.iterations import Integers
from clue.trace import Trace
from clue.trace.columns import Ops
from clue.trace.ops import COLUMNS

_NO_READINGS = np.zeros((0, 3), np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A long program from which parts are taken.

    Attributes:
        trace: Its trace.
        said: Its description: remarks that belong to its figures.
    """

    trace: Trace
    said: Description

    @classmethod
    def of(cls, trace: Trace, name: str = "") -> Source:
        """Return the source for a trace, under a name."""
        said = describe(trace)
        return cls(trace, replace(said, name=name or said.name))

    def excerpt(self, spans: Sequence[tuple[Integers, Integers]]) -> Program:
        """Return the program of some spans of rows in order; each span is given by its first rows and ends, by rank."""
        trace = self.trace
        rows = [
            np.concatenate([np.arange(first[rank], end[rank]) for first, end in spans]) for rank in range(trace.ranks)
        ]
        picked = np.concatenate(rows)
        columns = {name: getattr(trace.ops, name)[picked] for name, _, _ in COLUMNS}
        head = replace(trace.head, offsets=tuple(np.cumsum([0, *map(len, rows)]).tolist()), probe=None)
        short = Trace(head, Ops(**columns, extras=trace.ops.extras), trace.path, _NO_READINGS, trace.bursts[picked])
        return replace(
            compile_program(short), **{each.name: getattr(self.said, each.name) for each in fields(self.said)}
        )


def bounds(trace: Trace) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the first row of each rank and the row after its last."""
    offsets = np.array(trace.head.offsets)
    return offsets[:-1], offsets[1:]
