"""Cases, and the errors of their predictions."""

from __future__ import annotations

import statistics
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

from benchmarks.accuracy.unseen.predicting import Figures
from benchmarks.accuracy.validate.figures import kendall, quantile, regret
from clue.uncertainty.model_error import MESSAGES, SHARES

#: Maximum ratio of the times of two machines that count as close for a program.
_NEAR = 1.25


@dataclass(frozen=True, slots=True)
class UnseenCase:
    """A program on a machine, predicted and measured; times in seconds.

    Attributes:
        program: Its name.
        machine: Name of the machine.
        ranks: Number of ranks.
        size: Size of the problem.
        frozen: Whether it was hidden during the development of the model.
        live: Whether it was run in virtual time.
        runs: Times of runs.
        late: Share of the slowest rank's time by which this computer was late.
        user: The prediction that a user gets.
        low: Lower end of the interval that a user gets.
        high: Its upper end.
        by_user: Predictions by model and baselines, from a user's knowledge.
        calibrated: The same, with a performance factor for each program.
        hindsight: The same, with the computation measured in the runs.
        message: Mean message size, bytes.
        commit: Commit of the model.
    """

    program: str
    machine: str
    ranks: int
    size: str
    frozen: bool
    live: bool
    runs: tuple[float, ...]
    late: float
    user: float
    low: float
    high: float
    by_user: Figures
    calibrated: Figures
    hindsight: Figures
    message: float
    commit: str

    @property
    def measured(self) -> float:
        """The median run."""
        return statistics.median(self.runs)

    @property
    def kind(self) -> str:
        """The kind of case: how much of its time is communication, and whether its messages are long."""
        share = 1 - self.hindsight.computation / self.measured
        words = ("computes", "computes and communicates", "communicates")
        return f"{words[bisect_right(SHARES, share)]}, {('short', 'long')[self.message >= MESSAGES[0]]} messages"

    @property
    def covered(self) -> bool:
        """Whether the measured time lies in the interval."""
        return self.low <= self.measured <= self.high

    def __str__(self) -> str:
        """Return the case in a line."""
        each = ((column, 100 * (of(self) / self.measured - 1)) for column, of in COLUMNS.items())
        errors = ", ".join(f"{column} {error:+.1f}" for column, error in each)
        return (
            f"{self.program} on {self.machine}: measured {self.measured:.3f} s; % off: {errors}; late {self.late:.1%}"
        )


Column = Callable[[UnseenCase], float]
#: Columns of predictions; baselines without the model are named for the source of their computation.
COLUMNS: dict[str, Column] = {
    "user": lambda case: case.user,
    "calibrated": lambda case: case.calibrated.model,
    "hindsight": lambda case: case.hindsight.model,
    "baseline": lambda case: case.hindsight.baseline,
    "none": lambda case: case.hindsight.none,
    "computation": lambda case: case.hindsight.computation,
    "calibrated_baseline": lambda case: case.calibrated.baseline,
    "calibrated_none": lambda case: case.calibrated.none,
    "calibrated_computation": lambda case: case.calibrated.computation,
    "user_baseline": lambda case: case.by_user.baseline,
    "user_none": lambda case: case.by_user.none,
    "user_computation": lambda case: case.by_user.computation,
}


@dataclass(frozen=True, slots=True)
class Worth:
    """The quality of a column of predictions.

    Attributes:
        mean: Mean absolute error.
        most: 90th percentile of absolute errors.
        ordered: Share of pairs of close machines that are predicted in the right order; ``None`` if there are none.
        pairs: Number of such pairs.
        regret: Extra time of the worst program on the chosen machine, relative to the best machine.
        tau: Median of the programs' Kendall's tau; ``None``: no program ran on several machines.
    """

    mean: float
    most: float
    ordered: float | None
    pairs: int
    regret: float | None
    tau: float | None

    @classmethod
    def of(cls, cases: Sequence[UnseenCase], column: Column) -> Worth:
        """Return the quality of a column over cases, of which there must be at least one."""
        off = [abs(column(case) / case.measured - 1) for case in cases]
        of_programs = [
            [(column(case), case.measured) for case in cases if (case.program, case.size) == program]
            for program in dict.fromkeys((case.program, case.size) for case in cases)
        ]
        several = [group for group in of_programs if len(group) > 1]
        right = [_same_order(*pair) for group in several for pair in combinations(group, 2) if _is_near(*pair)]
        return cls(
            mean=statistics.fmean(off),
            most=quantile(off, 0.9),
            ordered=statistics.fmean(right) if right else None,
            pairs=len(right),
            regret=max((regret(group) for group in several), default=None),
            tau=statistics.median(map(kendall, several)) if several else None,
        )


def _is_near(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return max(one[1], other[1]) <= _NEAR * min(one[1], other[1])


def _same_order(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return (one[0] < other[0]) == (one[1] < other[1])
