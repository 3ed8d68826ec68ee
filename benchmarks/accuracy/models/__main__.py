"""Write the report: ``python -m benchmarks.accuracy.models [-o benchmarks/accuracy/models.md]``."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.accuracy.models.cluster import NL, Cluster
from benchmarks.accuracy.models.kishimoto import lines, studies, table
from benchmarks.page import write_page
from clue.models import Bin, ClusterModel, Errors, FittedTime, Statistics, Term, best

_HEAD = """\
# Fitted models beside the papers that they come from

`python -m benchmarks.accuracy.models` writes this page. CPU times are those of one core, the least of five.

## Kishimoto and Ichikawa: the best processors of a mixed cluster

The paper prints single times of 16 runs of some 800, so its models cannot be fitted again. Here HPL (a plain LU on a
grid of 1 by P) is replayed by clue on its description of the cluster (`machines/kishimoto.yaml`; each slow processor is
a node of its own): what *takes* means below is a replay, with 1 % of noise, and what is best is the best of replays of
all 62 candidates. So clue's replay itself loses nothing here; [validation.md](validation.md) shows how far replays
are from real runs. Models are built from the paper's sets of runs, composed with its factors (0.27, 0.85), and adjusted
by its runs (the largest size, all slow processors, three processes and more on the fast one).

The paper's losses are of a real cluster, ours of this one: side by side they tell whether models fail in the same way,
not which are better. Here 12 ranks are best from 3200 on, more than were measured with one process each (8): all
choices but those of one processor are extrapolated in P, which every answer says. The column *outside of what was
fitted* has the sizes N beyond those measured, and those where the error of the model is unknown.

*fit* is the time of all models of a set (54 and 30 in the paper), from the list of runs to the coefficients of the
adjusted model, which is what the paper's 0.5 to 0.7 ms are of; *with statistics* includes leave-one-out errors,
covariances and outliers, which are computed when they are first read. The paper's search of the 62 candidates takes 26
to 35 ms.

The terms of communication, and the further runs to adjust by, were chosen after a look at these tables. That residuals
are relative to whole runs was found on another cluster, [the emulated one](models/rebuilt.md), before a look at these.
"""


def main() -> None:
    """Replay the runs, fit the models, search the configurations, and write the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.models", description=__doc__)
    parser.add_argument("-o", "--output", type=Path, help="the Markdown file (default: standard output)")
    parser.add_argument("--runs", type=Path, metavar="TABLE.csv", help="write the runs of NL, with those to adjust by")
    asked = parser.parse_args()
    if asked.runs is not None:
        asked.runs.write_text("\n".join(table([*(c := Cluster()).measured(NL), *c.adjusting(NL, (4, 8))])) + "\n")
        return
    text = "\n".join([_HEAD, *lines(list(studies(Cluster()))), "", *_searches()]) + "\n"
    write_page(text, asked.output)


def _searches() -> Iterator[str]:
    yield from ("### Large searches", "", "| kinds | processors of each | processes | candidates | search |")
    yield "| ---: | ---: | ---: | ---: | ---: |"
    for kinds, processors, processes in ((6, 3, 3), (4, 8, 4), (20, 1, 1), (2, 1000, 1)):
        model = _divided(kinds, processes)
        begin = time.process_time()
        found = best(model, 1000.0, dict.fromkeys(model.kinds, processors))
        seconds = time.process_time() - begin
        yield f"| {kinds} | {processors} | 1 to {processes} | {found.total:,} | {seconds * 1e3:.0f} ms |"


def _divided(kinds: int, processes: int) -> ClusterModel:
    """Return models of kinds of processors with different speeds, which divide the work and have a cost per rank."""
    terms = (Term.parse("n/P"), Term.parse("P"))

    def time_of(m: int, speed: float) -> FittedTime:
        certain = partial(Statistics, np.zeros((2, 2)), 0.0, Errors(0, 0, 0), 9)
        return FittedTime(terms, np.array([m / speed, 0.01]), {}, certain)

    return ClusterModel(
        {
            f"kind{i}": tuple(
                Bin(m, {"time": time_of(m, 1.3**i)}, ranks) for m in range(1, processes + 1) for ranks in (m, None)
            )
            for i in range(kinds)
        }
    )


if __name__ == "__main__":
    main()
