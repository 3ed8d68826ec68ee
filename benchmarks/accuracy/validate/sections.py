"""Cutting a trace to the section that its program measures, between its first two barriers on all ranks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clue.errors import TraceError
from clue.trace import Op, Ops, Trace
from clue.trace.ops import COLUMNS


def section(trace: Trace) -> Trace:
    """Return the ops after each rank's first barrier, up to its second, whose burst is kept.

    Raises:
        TraceError: If a rank has fewer than two barriers.
    """
    rows, ends, offsets = [], [], [0]
    for rank in range(trace.ranks):
        barriers = np.flatnonzero(trace.rank(rank).op == Op.BARRIER)
        if len(barriers) < 2:
            raise TraceError(
                f"{trace.name}: rank {rank} must have a barrier before and after its section, got {len(barriers)}"
            )
        rows.append(trace.head.offsets[rank] + np.arange(barriers[0] + 1, barriers[1] + 1))
        offsets.append(offsets[-1] + len(rows[-1]))
        ends.append(offsets[-1] - 1)
    chosen = np.concatenate(rows)
    columns = {name: getattr(trace.ops, name)[chosen] for name, _, _ in COLUMNS}
    columns["op"][ends] = Op.COMPUTE
    head = replace(trace.head, offsets=tuple(offsets), checksums={})
    typical = None if trace.typical is None else trace.typical[chosen]
    return replace(trace, head=head, ops=Ops(**columns, extras=trace.ops.extras), typical=typical)
