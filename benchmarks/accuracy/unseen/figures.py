"""Cases, and the errors of their predictions."""

from __future__ import annotations

import statistics
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

from benchmarks.accuracy.unseen.predicting import Figures
from benchmarks.accuracy.validate.figures import median_tau, regret
from clue.uncertainty.model_error import MESSAGES, SHARES
from clue.validation.figures import percentile

#: LATE: share of a case's time for which its slowest rank lacked a core of this computer; above it, the case is late.
LATE = 0.05
#: Maximum ratio of the times of two machines that count as close for a program.
_NEAR = 1.25


@dataclass(frozen=True, slots=True)
class UnseenCase:
    """A program on a machine, predicted and measured; times in seconds.

    Attributes:
        program: Its name.
        machine: Name of the machine.
        dilation: How many times slower than described it was built and described.
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
    dilation: int = 1

    @property
    def is_late(self) -> bool:
        """Whether a rank lacked a core for too much of the time."""
        return self.late > LATE

    @property
    def question(self) -> tuple[str, str, int]:
        """The question for which machines compete: the program, its size, and how much slower the machines are."""
        return self.program, self.size, self.dilation

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
        where = f"{self.machine}, dilated {self.dilation} times" if self.dilation > 1 else self.machine
        return f"{self.program} on {where}: measured {self.measured:.3f} s; % off: {errors}; late {self.late:.1%}"


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
        distinct: The same of those pairs whose runs do not overlap.
        regret: Extra time of the worst program on the chosen machine, relative to the best machine.
        tau: Median of Kendall's tau-b over questions; ``None``: no program ran on several equally dilated machines.
    """

    mean: float
    most: float
    ordered: float | None
    distinct: float | None
    regret: float | None
    tau: float | None

    @classmethod
    def of(cls, cases: Sequence[UnseenCase], column: Column) -> Worth:
        """Return the quality of a column over cases, of which there must be at least one."""
        off = [abs(column(case) / case.measured - 1) for case in cases]
        of_questions = [
            [(column(case), case.measured) for case in cases if case.question == question]
            for question in dict.fromkeys(case.question for case in cases)
        ]
        several = [group for group in of_questions if len(group) > 1]
        pairs = close_pairs(cases)
        return cls(
            mean=statistics.fmean(off),
            most=percentile(off, 0.9),
            ordered=_ordered(pairs, column),
            distinct=_ordered([pair for pair in pairs if are_distinct(*pair)], column),
            regret=max((regret(group) for group in several), default=None),
            tau=median_tau(several),
        )


Pair = tuple[UnseenCase, UnseenCase]


def with_cores(cases: Sequence[UnseenCase]) -> list[UnseenCase]:
    """Return each program on each machine once: as first measured or, if that was late, on the dilated machine."""
    found: dict[tuple[str, str, str], UnseenCase] = {}
    for case in sorted(cases, key=lambda case: case.dilation):
        key = case.program, case.size, case.machine
        if key not in found or found[key].is_late:
            found[key] = case
    return list(found.values())


def close_pairs(cases: Sequence[UnseenCase]) -> list[Pair]:
    """Return the pairs of machines that are close for a program."""
    same = (pair for pair in combinations(cases, 2) if len({case.question for case in pair}) == 1)
    return [pair for pair in same if max(_times(pair)) <= _NEAR * min(_times(pair))]


def are_distinct(one: UnseenCase, other: UnseenCase) -> bool:
    """Tell whether all runs of one case are shorter than those of the other."""
    return max(one.runs) < min(other.runs) or max(other.runs) < min(one.runs)


def repeatability(pairs: Sequence[Pair]) -> float | None:
    """Return how often half of the runs of two cases have the same order as the other halves, over all halves.

    Where runs hardly repeat their own order, a wrong order says little about a prediction. It is no upper limit: a
    perfect prediction, which has no noise, has the order of all runs more often.
    """
    agree = [
        (statistics.fmean(a) < statistics.fmean(b)) == (statistics.fmean(rest_a) < statistics.fmean(rest_b))
        for one, other in pairs
        for a, rest_a in _halves(one.runs)
        for b, rest_b in _halves(other.runs)
    ]
    return statistics.fmean(agree) if agree else None


def _halves(runs: Sequence[float]) -> list[tuple[list[float], list[float]]]:
    """Return every choice of half of the runs, with the rest; none if there is one run."""
    chosen = map(set, combinations(range(len(runs)), len(runs) // 2))
    both = (([runs[i] for i in of], [run for i, run in enumerate(runs) if i not in of]) for of in chosen)
    return [(half, rest) for half, rest in both if half]


def _ordered(pairs: Sequence[Pair], column: Column) -> float | None:
    right = [(column(a) < column(b)) == (a.measured < b.measured) for a, b in pairs]
    return statistics.fmean(right) if right else None


def _times(pair: Pair) -> tuple[float, float]:
    return pair[0].measured, pair[1].measured
