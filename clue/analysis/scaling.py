"""How programs scale: times over processors, and speed-ups over a start that they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clue.purchase import Ranking, WorkloadOutcome

#: Speed-ups that exceed the ideal by less, relative to it, are ideal.
_IDEAL = 0.005


@dataclass(frozen=True, slots=True)
class Cost:
    """What a point of a speed-up is made of.

    Attributes:
        parts: compute, communicate and wait of one instance, added up over its ranks, in seconds.
        beside: Instances that ran side by side.
    """

    parts: tuple[float, float, float]
    beside: int = 1


@dataclass(frozen=True, slots=True)
class Series:
    """Figures of one machine.

    Attributes:
        name: The machine.
        points: Processors and figure, by rising number of processors: makespans in s for a speed-up, flop/s
            for a performance.
        costs: What makespans are made of, by point, if that is known.
    """

    name: str
    points: tuple[tuple[int, float], ...]
    costs: tuple[Cost, ...] = ()


def scaling_of(ranking: Ranking) -> dict[str, list[Series]]:
    """Return by workload, for each option, the time of one turn over ranks per instance, where several were tried."""
    found: dict[str, list[Series]] = {}
    for entry in ranking.entries:
        by_workload: dict[str, list[WorkloadOutcome]] = {}
        for outcome in entry.tried:
            by_workload.setdefault(outcome.workload, []).append(outcome)
        for workload, outcomes in by_workload.items():
            if len(outcomes) > 1:
                points = tuple((each.ranks, each.makespan / each.turns) for each in outcomes)
                costs = tuple(cost for each in outcomes if (cost := _cost(each)) is not None)
                known = costs if len(costs) == len(points) else ()
                found.setdefault(workload, []).append(Series(entry.option, points, known))
    return found


def _cost(outcome: WorkloadOutcome) -> Cost | None:
    predictions = [each.prediction for each in outcome.components if each.prediction is not None]
    if len(predictions) < len(outcome.components):
        return None
    whole, compute, communicate = (
        outcome.ranks * sum(getattr(each, part) for each in predictions)
        for part in ("makespan", "compute", "communicate")
    )
    return Cost((compute, communicate, max(whole - compute - communicate, 0.0)), outcome.side_by_side)


def speedups(series: Series) -> list[tuple[int, float]]:
    """Return processors and speed-up; the fewest processors measured count as that many times one."""
    fewest, longest = series.points[0]
    return [(processors, ratio(fewest * longest, makespan)) for processors, makespan in series.points]


def ratio(of: float, to: float) -> float:
    """Return a ratio, which is not a number where there is nothing to compare with."""
    return of / to if to > 0 else float("nan")


def slowest_start(series: Sequence[Series]) -> Series:
    """Return the series to measure all against: among those that start at the fewest processors, the slowest there."""
    return max(series, key=lambda each: (-each.points[0][0], each.points[0][1]))


def is_above(processors: int, speedup: float) -> bool:
    """Tell whether a speed-up is better than ideal."""
    return speedup > processors * (1 + _IDEAL)
