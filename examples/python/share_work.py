"""Share work between unequal processors: equal shares, and shares by relative performance, on a mixed cluster.

Run: python share_work.py
"""

import clue
from clue import balance

UNITS, SECONDS = 1200, 0.01  # a unit takes 10 ms on the computer that recorded, whose performance factor is 1


def program(shares):
    """Return a program in which each rank computes its units, and rank 0 gathers 8 KB for each of them."""
    trace = clue.TraceBuilder(len(shares), "units")
    for rank, units in enumerate(shares):
        trace[rank].compute(units * SECONDS)
        if rank:
            trace[rank].send(0, 8000 * units)
            trace[0].recv(rank)
    return trace.build()


machine = clue.load_machine("kishimoto")
nodes = range(5)  # one fast node, and four slow ones
performance = balance.relative_performance(balance.factors_on(machine, nodes))
print("relative performance:", ", ".join(f"{each:.2f}" for each in performance))
for name, shares in (
    ("equal", (UNITS // len(nodes),) * len(nodes)),
    ("by performance", balance.shares(UNITS, performance)),
):
    result = clue.simulate(program(shares), machine, placement=list(nodes), engine="reference")
    print(f"{name}: shares {', '.join(map(str, shares))}; {result.makespan:.2f} s")
