"""How programs scale: times over processors, and speed-ups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clue.purchase import Ranking, WorkloadOutcome

#: Relative excess over the ideal up to which a speed-up counts as ideal.
_IDEAL = 0.005


@dataclass(frozen=True, slots=True)
class Cost:
    """The parts of the time behind a point of a speed-up.

    Attributes:
        parts: compute, communicate and wait of one instance, added up over its ranks, in seconds.
        beside: Number of instances that ran side by side.
    """

    parts: tuple[float, float, float]
    beside: int = 1


@dataclass(frozen=True, slots=True)
class Series:
    """Figures of one machine.

    Attributes:
        name: The machine.
        points: Pairs of a number of processors and a figure, by rising number: makespans in seconds for a speed-up,
            flop/s for a performance.
        costs: The parts of the makespans, by point, if they are known.
        over: What the numbers count: processors, or ranks where several may share a processor.
    """

    name: str
    points: tuple[tuple[int, float], ...]
    costs: tuple[Cost, ...] = ()
    over: str = "processor"


def scaling_of(ranking: Ranking) -> dict[str, list[Series]]:
    """Return the time of one turn over ranks per instance, in the fastest placement of each number of ranks.

    By workload, a series for each option that tried several numbers.
    """
    found: dict[str, list[Series]] = {}
    for entry in ranking.entries:
        fastest: dict[str, dict[int, WorkloadOutcome]] = {}
        for each in entry.tried:
            by_ranks = fastest.setdefault(each.workload, {})
            by_ranks[each.ranks] = min(by_ranks.get(each.ranks, each), each, key=_turn)
        for workload, by_ranks in fastest.items():
            outcomes = by_ranks.values()
            if len(outcomes) > 1:
                points = tuple((each.ranks, _turn(each)) for each in outcomes)
                costs = tuple(cost for each in outcomes if (cost := _cost(each)) is not None)
                known = costs if len(costs) == len(points) else ()
                found.setdefault(workload, []).append(Series(entry.option, points, known, "rank"))
    return found


def _turn(outcome: WorkloadOutcome) -> float:
    return outcome.makespan / outcome.turns


def _cost(outcome: WorkloadOutcome) -> Cost | None:
    made = (each.prediction for each in outcome.components)
    predictions = [each for each in made if each is not None and each.simulated]
    if len(predictions) < len(outcome.components):
        return None
    whole, compute, communicate = (
        outcome.ranks * sum(getattr(each, part) for each in predictions)
        for part in ("makespan", "compute", "communicate")
    )
    return Cost((compute, communicate, max(whole - compute - communicate, 0.0)), outcome.side_by_side)


def speedups(series: Series) -> list[tuple[int, float]]:
    """Return processors and speed-ups; on the fewest processors the speed-up is taken to be ideal."""
    fewest, longest = series.points[0]
    return [(processors, ratio(fewest * longest, makespan)) for processors, makespan in series.points]


def ratio(of: float, to: float) -> float:
    """Return a ratio, NaN for a divisor of 0."""
    return of / to if to > 0 else float("nan")


def slowest_start(series: Sequence[Series]) -> Series:
    """Return the baseline of all series: of those that start at the fewest processors, the slowest there."""
    return max(series, key=lambda each: (-each.points[0][0], each.points[0][1]))


def is_above(processors: int, speedup: float) -> bool:
    """Tell whether a speed-up is better than ideal."""
    return speedup > processors * (1 + _IDEAL)
