"""Sensitivity of a ranking's first place: the parameters that, a tenth lower or higher, give it to another option.

For the first few options, each parameter of their machines is changed, one at a time, and so is each figure of their
costs on which the criterion, the budget or a limit depends: prices, electricity, shares of use
(:mod:`clue.purchase.prices`). If options have a parameter in common (equal figures under one name), it changes for all
of them at once. Splits are chosen again. The budget and all limits hold: an option that a change makes too expensive
loses its place. All other options are unchanged: only their best rates matter, because points are relative to these.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from clue.explain.parameters import parameters_of
from clue.explain.sensitivity import CHANGE
from clue.machine import Machine, NodeType, Parameter, Placement
from clue.predict.predictor import Predictor
from clue.progress import Progress, silent
from clue.purchase import Option, Ranking, Scenario
from clue.purchase.attempts import wanted_on
from clue.purchase.prices import figures_in, with_factors
from clue.purchase.whatif import Order, what_if

#: Number of leading options that are tried.
FIRST = 4


@dataclass(frozen=True, slots=True)
class FirstPlace:
    """The first place among the leading options.

    Attributes:
        winner: The first option.
        lead: By how much the option that is first as things are is better than the best of the others, relative to the
            smaller of both; negative where another one is first, infinitely so if it deadlocks, misses a limit or costs
            more than the budget.
    """

    winner: str
    lead: float


@dataclass(frozen=True, slots=True)
class RankingSensitivity:
    """Effect of a parameter on the first place.

    Attributes:
        parameter: Its name (:mod:`clue.explain.parameters`, :mod:`clue.purchase.prices`).
        options: The options that have it.
        lower: The first place with the parameter at 0.9 times its value.
        higher: The same at 1.1 times its value.
        of_costs: Whether it is a figure of costs.
    """

    parameter: str
    options: tuple[str, ...]
    lower: FirstPlace
    higher: FirstPlace
    of_costs: bool = False

    @property
    def least_lead(self) -> float:
        """The least lead that the first option keeps."""
        return min(self.lower.lead, self.higher.lead)


@dataclass(frozen=True, slots=True)
class RankingExplanation:
    """Sensitivity of the first place to all parameters.

    Attributes:
        options: The options that were tried, by position.
        base: The first place with unchanged parameters.
        sensitivities: Effect of each parameter, the most dangerous for the first place first.
        change: By how much parameters were changed, relative to their values.
        fixed: Applications of these options that are not simulated, whose times no parameter of a machine changes.
    """

    options: tuple[str, ...]
    base: FirstPlace
    sensitivities: tuple[RankingSensitivity, ...]
    change: float = CHANGE
    fixed: tuple[str, ...] = ()

    @property
    def altering(self) -> tuple[RankingSensitivity, ...]:
        """The parameters that give the first place to another option."""
        winner = self.base.winner
        return tuple(each for each in self.sensitivities if {each.lower.winner, each.higher.winner} != {winner})


def explain_ranking(
    scenario: Scenario, ranking: Ranking, predictor: Predictor, progress: Progress = silent, *, first: int = FIRST
) -> RankingExplanation | None:
    """Find out which parameters of the first options would give the first place to another one.

    Args:
        scenario: What was compared.
        ranking: What came out.
        predictor: Tells what applications take.
        progress: Told about what is done.
        first: How many of the first options to try.

    Returns:
        ``None`` if fewer than two options have a position.
    """
    # Entries are in order; several may share a position.
    names = [each.option for each in ranking.entries if each.position is not None][:first]
    options = [option for name in names for option in scenario.options if option.name == name]
    if len(options) < 2:
        return None
    wanted = wanted_on(options, scenario)
    predictor.prepare(wanted, progress)
    shared: list[SharedParameter | SharedFigure] = [
        *shared_parameters(options, [predictor.regions(key) for key in wanted]),
        *shared_figures(options, scenario),
    ]
    variants = [each.changed(factor) for each in shared for factor in (1 - CHANGE, 1 + CHANGE)]
    orders = what_if(scenario, ranking, options, [(), *variants], predictor, progress)
    base, *places = (_first_place(order, names[0], ranking.higher_is_better) for order in orders)
    found = [
        RankingSensitivity(each.name, each.owners, lower, higher, isinstance(each, SharedFigure))
        for each, lower, higher in zip(shared, places[::2], places[1::2], strict=True)
    ]
    effects = tuple(sorted(found, key=lambda each: each.least_lead))
    return RankingExplanation(tuple(names), base, effects, fixed=_fixed(ranking, names))


def _fixed(ranking: Ranking, names: Sequence[str]) -> tuple[str, ...]:
    """Return the applications of some options whose times come from models or from runs of skeletons."""
    workloads = [workload for each in ranking.entries if each.option in names for workload in each.workloads]
    outcomes = [outcome for workload in workloads for outcome in workload.components]
    told = (each.name for each in outcomes if each.prediction is not None and not each.prediction.simulated)
    return tuple(dict.fromkeys(told))


def _first_place(order: Order, winner: str, higher_is_better: bool) -> FirstPlace:
    """Return the first option, and the lead of the option that wins with unchanged parameters."""
    scores = dict(order)
    rival = next((score for name, score in order if name != winner), None)
    first = next(iter(scores), "")
    if winner not in scores or rival is None:
        return FirstPlace(first, math.inf if winner in scores else -math.inf)
    one, other = (scores[winner], rival) if higher_is_better else (rival, scores[winner])
    if one == other:
        return FirstPlace(first, 0.0)
    least = min(one, other)
    return FirstPlace(first, (one - other) / least if least else math.copysign(math.inf, one - other))


# --- parameters that options have in common --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class SharedParameter:
    """A parameter, and the options whose machines have it.

    Attributes:
        name: Its name.
        options: With the parameter as it is in the machine of each.
    """

    name: str
    options: tuple[tuple[Option, Parameter], ...]

    @property
    def owners(self) -> tuple[str, ...]:
        """Names of the options."""
        return tuple(option.name for option, _ in self.options)

    def changed(self, factor: float) -> list[Option]:
        """Return the options with the parameter times a factor."""
        return [replace(option, machine=parameter.change(option.machine, factor)) for option, parameter in self.options]


@dataclass(frozen=True, slots=True, eq=False)
class SharedFigure:
    """A figure of costs, and the options that have it.

    Attributes:
        name: Its name.
        options: These.
    """

    name: str
    options: tuple[Option, ...]

    @property
    def owners(self) -> tuple[str, ...]:
        """Names of the options."""
        return tuple(option.name for option in self.options)

    def changed(self, factor: float) -> list[Option]:
        """Return the options with the figure times a factor."""
        return [with_factors(option, {self.name: factor}) for option in self.options]


def shared_figures(options: Sequence[Option], scenario: Scenario) -> list[SharedFigure]:
    """Return the figures of costs on which the order of options may depend, each once."""
    found: dict[tuple[str, float], list[Option]] = {}
    for option in options:
        for figure in figures_in(scenario, option).values():
            found.setdefault((figure.name, figure.value), []).append(option)
    return [SharedFigure(name, tuple(owners)) for (name, _), owners in found.items()]


def shared_parameters(options: Sequence[Option], computing: Sequence[Mapping[str, bool]]) -> list[SharedParameter]:
    """Return the parameters of options, each once.

    Args:
        options: The options.
        computing: Of each application the regions in which it computes, and whether their operations are declared.
    """
    regions = list(dict.fromkeys(region for each in computing for region in each))
    # A speed decides only where all applications declare their operations.
    timed = set(regions) - {region for each in computing for region, declared in each.items() if not declared}
    found: list[tuple[Parameter, list[tuple[Option, Parameter]]]] = []
    for option in options:
        for parameter in parameters_of(option.machine, _everywhere(option.machine), regions, timed):
            alike = (owners for known, owners in found if parameter.is_same(known))
            owners = next(alike, None)
            if owners is None:
                found.append((parameter, owners := []))
            owners.append((option, parameter))
    return [SharedParameter(_title(owners), tuple(owners)) for _, owners in found]


def _title(owners: Sequence[tuple[Option, Parameter]]) -> str:
    """Return the name of a parameter, with the node types that have it where a machine has several of the name."""
    of = ", ".join(dict.fromkeys(parameter.of for _, parameter in owners if parameter.of))
    name = owners[0][1].name
    return f"{name} ({of})" if of else name


def _everywhere(machine: Machine) -> Placement:
    """Return a placement that uses all links: on each node two ranks, or as many as reach its second domain."""

    def ranks(node: NodeType) -> int:
        return node.processors // node.domains + 1 if node.domains > 1 else 2

    return Placement(tuple(number for number, node in enumerate(machine.nodes) for _ in range(ranks(node))))
