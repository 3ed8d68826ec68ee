"""Rank options of a purchase from Python: the comparison of ../purchase/budget.yaml.

Run: python rank.py
"""

from pathlib import Path

import clue

here = Path(__file__).parent


def traces(application, ranks):
    """Return the recording of a program on the given number of ranks."""
    return clue.Trace.open(application.trace.replace("{ranks}", str(ranks)))


scenario = clue.load_config(here / "../purchase/budget.yaml")
ranking = clue.rank_options(scenario, clue.ReplayPredictor(traces, engine="reference"))
print(ranking)
for entry in ranking.entries:
    if entry.position is None:
        print(f"-. {entry.option}: {entry.reason}")
    else:
        (solve,) = entry.workloads
        print(f"{entry.position}. {entry.option}: {solve.makespan:.3f} s, {solve.side_by_side} x {solve.ranks} ranks")
