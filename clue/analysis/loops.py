"""A trace as loops, with the times of the bursts in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from clue.structure.loops import LOOP, Loops, Node, compress
from clue.trace import Op, Trace


@dataclass(frozen=True, slots=True, eq=False)
class LoopsProfile:
    """The loops of a trace, with the times of the bursts in them.

    Attributes:
        loops: The loops.
        calls: Number of calls on all ranks, by node of a symbol.
        ops: Number of ops on all ranks, by node of a symbol: as many as calls, except for messages along bits.
        seconds: Time of the bursts before them, seconds, by node of a symbol.
    """

    loops: Loops
    calls: Mapping[Node, int]
    ops: Mapping[Node, int]
    seconds: Mapping[Node, float]

    @classmethod
    def of(cls, trace: Trace) -> LoopsProfile:
        """Compress a trace and add up its bursts by place."""
        loops = compress(trace)
        calls: dict[Node, int] = {}
        ops: dict[Node, int] = {}
        seconds: dict[Node, float] = {}
        for rank in range(trace.ranks):
            own = loops.rows(rank)
            bursts = np.bincount(own, trace.bursts[slice(*trace.head.offsets[rank : rank + 2])])
            counts = np.bincount(own)
            for node, _, rows in loops.leaves(rank):
                calls[node] = calls.get(node, 0) + len(rows)
                ops[node] = ops.get(node, 0) + int(counts[rows].sum())
                seconds[node] = seconds.get(node, 0.0) + float(bursts[rows].sum()) * 1e-9
        return cls(loops, calls, ops, seconds)

    def name(self, node: Node) -> str:
        """Return the name of an op's call."""
        return self.loops.trace.head.calls[self.column("call", node)] or Op(self.column("op", node)).name.lower()

    def site(self, node: Node) -> str:
        """Return the call site of an op; ``""`` if the trace has none."""
        sites = getattr(self.loops.trace.head, "sites", ())
        return str(sites[self.column("site", node)].name) if sites else ""

    def column(self, name: str, node: Node) -> int:
        """Return the value of a column for the symbol of an op."""
        return int(self.loops.shapes.columns[name][node.symbol])

    def flags(self, node: Node) -> int:
        """Return the flags of an op; a loop has none."""
        return 0 if node.symbol == LOOP else self.column("flags", node)
