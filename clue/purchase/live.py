"""A comparison whose programs run live on every option, instead of being replayed from recordings.

There are no traces, so nothing bounds a program's time before it has run, and every split of every option runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from clue.errors import UsageError
from clue.kernel import Candidate, compile_program
from clue.kernel import Program as Compiled
from clue.purchase.executors import Crew, Performed
from clue.purchase.library import Library, Recorded
from clue.purchase.outcome import Summary
from clue.purchase.runs import Job
from clue.purchase.scenario import Program, Scenario
from clue.result import Result
from clue.trace import TraceBuilder

#: Runs a program on so many ranks as a job says; how, is the caller's business.
LiveRunner = Callable[[Program, int, Job], Result]


def check_live(scenario: Scenario) -> None:
    """Check that a comparison can run live.

    Raises:
        UsageError: If several instances are to run, or a program is there as a trace only.
    """
    for workload in scenario.workloads:
        if workload.instances != 1:
            got = "fill" if workload.instances is None else workload.instances
            raise UsageError(f"{workload.name}: instances must be 1 in a live run, got {got}")
        for kernel in workload.kernels:
            if kernel.program.script is None:
                raise UsageError(f"{workload.name}: {kernel.name} must have a script to run live, got a trace only")


def unrecorded(scenario: Scenario) -> Library:
    """Return a library of programs of which nothing is known before they run, not even their need of memory."""
    return {
        (kernel.program, ranks): Recorded(compile_program(TraceBuilder(ranks).build()), (0.0,) * ranks)
        for workload in scenario.workloads
        for kernel in workload.kernels
        for ranks in workload.ranks
    }


def no_bounds(
    _program: Compiled, candidates: Sequence[Candidate], tell: Callable[[int], None]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Bound makespans from below by 0, which rules nothing out."""
    tell(len(candidates))
    return np.zeros(len(candidates)), np.zeros(len(candidates), np.bool_)


class LiveCrew(Crew):
    """Runs jobs one after the other, each as processes of its own."""

    def __init__(self, run: LiveRunner) -> None:
        super().__init__({}, "reference")
        self._run = run

    def perform(self, jobs: Sequence[Job]) -> Performed:
        """Run jobs; yields the place of each and what came of it."""
        for i, job in enumerate(jobs):
            yield i, tuple(Summary.of(self._run(program, ranks, job)) for program, ranks in job.kernels)
