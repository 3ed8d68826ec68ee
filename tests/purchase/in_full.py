"""An independent reference: a ranking from all splits of all workloads on all options, one after the other."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from clue.kernel import simulate
from clue.machine import Machine
from clue.predict.replaying import TraceSource
from clue.purchase import Criterion, Option, Scenario, Workload
from clue.purchase.costs import Cloud, Costs, Electricity, Part
from clue.purchase.splits import Split, allowed_splits

#: Criteria by which more is better.
HIGHER = {Criterion.POINTS, Criterion.THROUGHPUT, Criterion.SSP, Criterion.SSI, Criterion.WEIGHTED}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a workload on an option, in the split with the highest throughput, or the one that costs least.

    Attributes:
        throughput: Instances finished per second.
        makespan: Seconds until all instances of all kernels finish.
        seconds: Duration of a run, from its own start.
        instances: Number of instances that finish within the makespan.
        nodes: Number of nodes in use.
        rates: Instances of each kernel finished per second.
    """

    throughput: float
    makespan: float
    seconds: float
    instances: int
    nodes: int
    rates: tuple[float, ...]


def all_outcomes(scenario: Scenario, traces: TraceSource) -> dict[str, list[Outcome]]:
    """Return the outcome of each workload on each option that can run all of them.

    It is that of the split with the highest throughput; by a criterion of costs that counts begun quanta, that of the
    split that costs least: it can do all runs a month, which must be those of one workload.
    """
    found: dict[str, list[Outcome]] = {}
    for option in scenario.options:
        outcomes = [_best_outcome(workload, option, traces, scenario) for workload in scenario.workloads]
        known = [outcome for outcome in outcomes if outcome is not None]
        if len(known) == len(outcomes):
            found[option.name] = known
    return found


def whole_ranking(
    scenario: Scenario, traces: TraceSource, found: dict[str, list[Outcome]] | None = None
) -> list[tuple[str, float]]:
    """Return the options that can run all workloads with their scores: by score, price, and place in the scenario.

    Options that miss a deadline or cannot do the runs per month are left out, but still count when the best figure is
    sought. *found* holds the outcomes if they are known from the same comparison by another criterion.
    """
    found = all_outcomes(scenario, traces) if found is None else found
    sign = -1 if scenario.criterion in HIGHER else 1
    options = [option for option in scenario.options if option.name in found and _keeps(scenario, option, found)]
    scores = _scores(scenario, options, found)
    # Scores that are equal except for rounding tie; the price breaks the tie.
    order = sorted(options, key=lambda option: (sign * float(f"{scores[option.name]:.12g}"), _price(option)))
    return [(option.name, scores[option.name]) for option in order]


def _scores(scenario: Scenario, options: list[Option], found: dict[str, list[Outcome]]) -> dict[str, float]:
    if scenario.criterion is not Criterion.WEIGHTED:
        return {option.name: _score(scenario, option, found) for option in options}
    scores = dict.fromkeys([option.name for option in options], 0.0)
    for criterion, weight in scenario.weighted.items():
        figures = _scores(replace(scenario, criterion=criterion), options, found)
        for name, figure in figures.items():
            share = figure / max(figures.values()) if criterion in HIGHER else min(figures.values()) / figure
            scores[name] += 100 * share * weight / sum(scenario.weighted.values())
    return scores


def _keeps(scenario: Scenario, option: Option, found: dict[str, list[Outcome]]) -> bool:
    outcomes = found[option.name]
    late = any(outcome.seconds > each.deadline for outcome, each in zip(outcomes, scenario.workloads, strict=True))
    costs = option.costs or Costs()
    return not late and _busy(scenario, costs, outcomes) <= costs.capacity * (1 + 1e-9)


def _busy(scenario: Scenario, costs: Costs, outcomes: list[Outcome]) -> float:
    """Return the share of time during which runs keep an option busy."""
    if scenario.workloads[0].demand is None:
        return costs.capacity
    return sum((w.demand or 0.0) / outcome.throughput for w, outcome in zip(scenario.workloads, outcomes, strict=True))


def _best_outcome(workload: Workload, option: Option, traces: TraceSource, scenario: Scenario) -> Outcome | None:
    machine = option.machine
    outcomes = [
        _outcome(workload, machine, split, traces)
        for split in allowed_splits(workload, machine, [[0.0] * ranks for ranks in workload.ranks])
        if isinstance(split, Split)
    ]
    in_time = [outcome for outcome in outcomes if outcome.seconds <= workload.deadline]
    if in_time:
        enough = [each for each in in_time if _counts_quanta(scenario) and _is_enough(workload, option, each)]
        # By rounding errors, a cheaper split may seem to be one that costs the same and is faster.
        by_cost = [(float(f"{_cost(workload, option, each, scenario):.12g}"), -each.throughput) for each in enough]
        return enough[by_cost.index(min(by_cost))] if enough else max(in_time, key=lambda each: each.throughput)
    nearest = min(outcomes, key=lambda outcome: outcome.seconds, default=None)
    return None if nearest is None else replace(nearest, rates=(0.0,) * len(nearest.rates))


def _counts_quanta(scenario: Scenario) -> bool:
    if scenario.workloads[0].demand is None:
        return scenario.criterion is Criterion.COST_PER_RUN
    return scenario.criterion in {Criterion.COST_PER_RUN, Criterion.TOTAL_COST} and len(scenario.workloads) == 1


def _is_enough(workload: Workload, option: Option, outcome: Outcome) -> bool:
    capacity = (option.costs or Costs()).capacity
    return workload.demand is None or workload.demand / outcome.throughput <= capacity * (1 + 1e-9)


def _cost(workload: Workload, option: Option, outcome: Outcome, scenario: Scenario) -> float:
    """Return the cost of a run if this workload were the only one, but used the option to its capacity."""
    alone = replace(scenario, workloads=(workload,))
    return _costs(alone, option, [outcome], 0)[Criterion.COST_PER_RUN]


def _outcome(workload: Workload, machine: Machine, split: Split, traces: TraceSource) -> Outcome:
    times = [
        split.turns
        * simulate(
            traces(each.application, split.ranks), machine, split.placement, instances=split.side_by_side
        ).makespan
        for each in workload.components
    ]
    instances = workload.instances or split.side_by_side
    seconds = sum(times) / split.turns
    rates, nodes = tuple(instances / time for time in times), len(set(split.placement.nodes))
    return Outcome(instances / sum(times), sum(times), seconds, instances, nodes, rates)


def _price(option: Option) -> float:
    assert option.price is not None
    return option.price.amount


def _costs(scenario: Scenario, option: Option, outcomes: list[Outcome], w: int) -> dict[Criterion, float]:
    """Return an option's figures for a workload by the definitions of the cost items."""
    costs, nodes, life = option.costs or Costs(), len(option.machine.nodes), scenario.service_life
    grid, cloud = costs.electricity or Electricity(), costs.cloud or Cloud(0.0)
    (node,) = costs.parts or (Part("node"),)
    demands, outcome = [each.demand for each in scenario.workloads], outcomes[w]
    busy = _busy(scenario, costs, outcomes)
    watts = nodes * (node.idle + busy * (node.busy - node.idle))
    fixed = _price(option) + watts * life * (grid.price or 0.0)
    billed = [_billed(cloud.quantum, each) for each in outcomes]
    if None in demands:
        runs = outcome.throughput * busy * life
        return {
            Criterion.TOTAL_COST: fixed + nodes * cloud.price * busy * life,
            Criterion.COST_PER_RUN: fixed / runs + nodes * cloud.price * billed[w],
            Criterion.ENERGY_PER_RUN: watts * life / runs / 3.6e6,
            Criterion.CARBON_PER_RUN: watts * life / runs * (grid.carbon or 0.0),
        }
    wanted = [demand * life for demand in demands if demand is not None]
    total = fixed + sum(n * each * nodes * cloud.price for n, each in zip(wanted, billed, strict=True))
    return {
        Criterion.TOTAL_COST: total,
        Criterion.COST_PER_RUN: total / sum(wanted),
        Criterion.ENERGY_PER_RUN: watts * life / sum(wanted) / 3.6e6,
        Criterion.CARBON_PER_RUN: watts * life / sum(wanted) * (grid.carbon or 0.0),
    }


def _billed(quantum: float, outcome: Outcome) -> float:
    """Return the seconds billed for a run."""
    whole = math.ceil(outcome.makespan / quantum * (1 - 1e-9)) * quantum if quantum else outcome.makespan
    return whole / outcome.instances


def _sustained(scenario: Scenario, option: Option, found: dict[str, list[Outcome]]) -> float:
    """Return SSP or SSI by its definition."""
    product, size = 1.0, len(option.machine.nodes)
    total = sum(workload.weight for workload in scenario.workloads)
    for workload, outcome in zip(scenario.workloads, found[option.name], strict=True):
        if scenario.criterion is Criterion.SSP:
            figure = size * scenario.operations[workload.name] / (outcome.nodes * outcome.makespan) / 1e12
        else:
            assert scenario.reference is not None
            known = scenario.reference.workloads[workload.name]
            utilisation = known.nodes / outcome.nodes * size / scenario.reference.nodes
            figure = known.capability * utilisation * known.seconds / outcome.makespan
        product *= figure ** (workload.weight / total)
    return product


def _score(scenario: Scenario, option: Option, found: dict[str, list[Outcome]]) -> float:
    """Return a score by the criterion's definition."""
    if scenario.criterion in {Criterion.SSP, Criterion.SSI}:
        return _sustained(scenario, option, found)
    mean = sum(workload.weight for workload in scenario.workloads) / len(scenario.workloads)
    figures = []
    for w, workload in enumerate(scenario.workloads):
        outcome = found[option.name][w]
        rates = [max(outcomes[w].rates[k] for outcomes in found.values()) for k in range(len(workload.components))]
        points = sum(
            100 * component.share * outcome.rates[k] / rates[k] if rates[k] else 0.0
            for k, component in enumerate(workload.components)
        )
        figure = {
            Criterion.POINTS: points * len(scenario.workloads),
            Criterion.MAKESPAN: outcome.makespan,
            Criterion.THROUGHPUT: 3600 * outcome.throughput,
            **_costs(scenario, option, found[option.name], w),
        }
        figures.append(workload.weight / mean * figure[scenario.criterion])
    return sum(figures) / len(figures)
