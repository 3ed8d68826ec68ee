"""Read the contents of a recording: calls by name, bytes between ranks, computation.

Run: python read_a_trace.py
"""

from collections import Counter
from pathlib import Path

import clue
from clue.trace import Op

traces = Path(__file__).parent / "../../scenarios/traces"
trace = clue.Trace.open(traces / "cholesky-1500-4.clue.zip")
print(trace)

calls = Counter(trace.head.calls[call] or "(end)" for call in trace.ops.call)
print("ops by call:", ", ".join(f"{name} {count}" for name, count in sorted(calls.items())))

for rank in range(trace.ranks):
    ops = trace.rank(rank)
    sends = ops.are(Op.SEND, Op.ISEND)
    print(f"rank {rank}: {len(ops)} ops, {sends.sum()} messages of {ops.nbytes[sends].sum():,} B in all")

print(f"computation of all ranks: {trace.bursts.sum() * 1e-9:.3f} s")
