"""Comparison of the ops of an extrapolated trace with those of a recorded one."""

from __future__ import annotations

import numpy as np

from clue.trace import Trace
from clue.trace.ops import COLUMNS

#: Columns that are not compared: measured times, and indices into lists of the trace's head, whose order may differ.
_MEASURED, _LISTED = {"cpu", "begin", "took"}, {"comm", "call", "region", "site", "extra"}


def difference(made: Trace, recorded: Trace) -> str:
    """Return the first field in which the ops of the traces differ, and where; ``""`` if all are equal."""
    if made.ranks != recorded.ranks:
        return f"ranks: {made.ranks} instead of {recorded.ranks}"
    for rank in range(made.ranks):
        if found := _difference(made, recorded, rank):
            return f"rank {rank}: {found}"
    return ""


def _difference(made: Trace, recorded: Trace, rank: int) -> str:
    one, other = made.rank(rank), recorded.rank(rank)
    for name, *_ in COLUMNS:
        if name in _MEASURED | _LISTED:
            continue
        mine, theirs = getattr(one, name), getattr(other, name)
        if len(mine) != len(theirs):
            return f"{len(mine)} ops instead of {len(theirs)}"
        if (differing := np.flatnonzero(mine != theirs)).size:
            at = int(differing[0])
            return f"op {at}: {name} {mine[at]} instead of {theirs[at]}"
    if not np.array_equal(one.extras, other.extras):
        return "extras"
    mine, theirs = (
        [trace.head.communicators[i].group for i in ops.comm] for trace, ops in ((made, one), (recorded, other))
    )
    return "communicators" if mine != theirs else ""
