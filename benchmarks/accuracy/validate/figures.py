"""The quality of predictions: errors, order of machines, and the cost of wrong choices."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from benchmarks.accuracy.validate.predicting import Prediction
from clue.validation.figures import kendall_tau

#: Relative limits beyond which a measurement counts as disturbed: half the range of its runs, lateness of ranks, and
#: the change of CPU times since calibration.
_MOST_SPREAD, _MOST_LATE, _MOST_CHANGE = 0.05, 0.03, 0.1


@dataclass(frozen=True, slots=True)
class PredictedCase:
    """A case predicted and measured.

    Attributes:
        program: Name of the program.
        machine: Name of the machine.
        ranks: Number of ranks.
        size: Problem size.
        prediction: The prediction made before the run.
        runs: Times of runs, seconds.
        late: Share of the slowest rank's time by which this computer was late: large for a disturbed measurement.
        burst_ratio: CPU time of bursts when measured, relative to the recorded one; sums over ranks.
        factor: The same ratio as calibrated beforehand, and used for the prediction.
        hindsight: The prediction given the measured CPU time of bursts, seconds.
        message: Mean size of the messages that the program names, bytes.
    """

    program: str
    machine: str
    ranks: int
    size: int
    prediction: Prediction
    runs: tuple[float, ...]
    late: float
    burst_ratio: float
    factor: float
    hindsight: float
    message: float

    @property
    def measured(self) -> float:
        """The median run."""
        return statistics.median(self.runs)

    @property
    def spread(self) -> float:
        """Half the difference between the slowest and the fastest run, seconds."""
        return (max(self.runs) - min(self.runs)) / 2

    @property
    def error(self) -> float:
        """Error of the prediction, relative to the measured time."""
        return self.prediction.predicted / self.measured - 1

    @property
    def disturbed(self) -> bool:
        """Whether the measurement was spoilt, most likely by other work of this computer.

        Either its runs differ much, or ranks were late to get their core, or their bursts took another CPU time than
        calibrated. The last condition also excludes cases whose computation was predicted wrongly for any other reason,
        so figures of the remaining cases are favourable: those of all cases count.
        """
        return (
            self.spread > _MOST_SPREAD * self.measured
            or self.late > _MOST_LATE
            or abs(self.burst_ratio / self.factor - 1) > _MOST_CHANGE
        )

    @property
    def covered(self) -> float:
        """Share of the runs within the predicted interval."""
        return sum(self.prediction.low <= run <= self.prediction.high for run in self.runs) / len(self.runs)


def in_hindsight(case: PredictedCase) -> PredictedCase:
    """Return a case as it would have been predicted, had the speed of this computer in those minutes been known."""
    known = case.hindsight / case.prediction.predicted
    low, high = case.prediction.low * known, case.prediction.high * known
    return replace(case, prediction=replace(case.prediction, predicted=case.hindsight, low=low, high=high))


def median_tau(groups: Iterable[Sequence[tuple[float, float]]]) -> float | None:
    """Return the median of Kendall's tau-b over groups of (predicted, measured), without those in which it is unknown.

    It is ``None`` if there are no others: tau-b needs different predictions and different measured times.
    """
    known = [tau for tau in map(kendall_tau, groups) if tau is not None]
    return statistics.median(known) if known else None


def tau_text(tau: float | None) -> str:
    """Return Kendall's tau-b in words; a dash if it is unknown."""
    return "–" if tau is None else f"{tau:.2f}"


def regret(pairs: Sequence[tuple[float, float]]) -> float:
    """Return the extra time of the program on the machine predicted to be the best, relative to the best machine.

    Of several that are predicted to be equally good, the slowest counts, as in ``clue validate``.
    """
    best = min(predicted for predicted, _ in pairs)
    chosen = max(measured for predicted, measured in pairs if predicted == best)
    return chosen / min(measured for _, measured in pairs) - 1
