"""A ranking worked out in full: every split of every workload on every option, one after the other."""

from __future__ import annotations

from dataclasses import dataclass

from clue.kernel import simulate
from clue.machine import Machine
from clue.predict.replaying import TraceSource
from clue.purchase import Criterion, Option, Scenario, Workload
from clue.purchase.splits import Split, allowed_splits


@dataclass(frozen=True, slots=True)
class Outcome:
    """A workload on an option, in the split with the highest throughput.

    Attributes:
        throughput: Instances finished per second.
        makespan: Seconds until all instances of all kernels are done.
        rates: Instances of each kernel finished per second.
    """

    throughput: float
    makespan: float
    rates: tuple[float, ...]


def whole_ranking(scenario: Scenario, traces: TraceSource) -> list[tuple[str, float]]:
    """Return the options that can run all workloads with their scores: by score, price, and place in the scenario."""
    found: dict[str, list[Outcome]] = {}
    for option in scenario.options:
        outcomes = [_best_outcome(workload, option.machine, traces) for workload in scenario.workloads]
        known = [outcome for outcome in outcomes if outcome is not None]
        if len(known) == len(outcomes):
            found[option.name] = known
    sign = -1 if scenario.criterion in (Criterion.POINTS, Criterion.THROUGHPUT) else 1
    options = [option for option in scenario.options if option.name in found]
    scores = {option.name: _score(scenario, option, found) for option in options}
    # What is equal but for rounding is a tie, which the price decides.
    order = sorted(options, key=lambda option: (sign * float(f"{scores[option.name]:.12g}"), _price(option)))
    return [(option.name, scores[option.name]) for option in order]


def _best_outcome(workload: Workload, machine: Machine, traces: TraceSource) -> Outcome | None:
    best: Outcome | None = None
    for split in allowed_splits(workload, machine, [[0.0] * ranks for ranks in workload.ranks]):
        if isinstance(split, Split):
            outcome = _outcome(workload, machine, split, traces)
            if best is None or outcome.throughput > best.throughput:
                best = outcome
    return best


def _outcome(workload: Workload, machine: Machine, split: Split, traces: TraceSource) -> Outcome:
    times = [
        split.turns
        * simulate(
            traces(each.application, split.ranks), machine, split.placement, instances=split.side_by_side
        ).makespan
        for each in workload.components
    ]
    instances = workload.instances or split.side_by_side
    return Outcome(instances / sum(times), sum(times), tuple(instances / time for time in times))


def _price(option: Option) -> float:
    assert option.price is not None
    return option.price.amount


def _score(scenario: Scenario, option: Option, found: dict[str, list[Outcome]]) -> float:
    """Return a score by the criterion's definition."""
    mean = sum(workload.weight for workload in scenario.workloads) / len(scenario.workloads)
    figures = []
    for w, workload in enumerate(scenario.workloads):
        outcome = found[option.name][w]
        points = sum(
            100 * component.share * outcome.rates[k] / max(outcomes[w].rates[k] for outcomes in found.values())
            for k, component in enumerate(workload.components)
        )
        figure = {
            Criterion.POINTS: points * len(scenario.workloads),
            Criterion.MAKESPAN: outcome.makespan,
            Criterion.THROUGHPUT: 3600 * outcome.throughput,
            Criterion.COST_PER_RUN: _price(option) / (outcome.throughput * scenario.service_life),
        }
        figures.append(workload.weight / mean * figure[scenario.criterion])
    return sum(figures) / len(figures)
