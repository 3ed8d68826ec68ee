"""Where the errors of predictions come from: each parameter refitted alone, what is left, and what cannot be told.

A parameter that explains the errors has one multiplier that brings all predictions to what was measured. Which
parameters do, which cannot, and which nobody can tell apart by these cases, is decided here; report finds the words.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np

from clue.caveats import Said, gathered
from clue.errors import UsageError
from clue.kernel import Program, engine_for
from clue.machine import Parameter
from clue.progress import Progress, silent
from clue.uncertainty import ModelError, Sampling
from clue.validation.cases import Case, Compared, changed_makespans, compare
from clue.validation.figures import Order, mean_absolute_error, orders, percentile
from clue.validation.parameters import Unchangeable, multiplier, parameters_of
from clue.validation.search import LEAST, MOST, Doubles, Response, respond

#: Where the measurements do not say how well they repeat, as if they did within this; relative.
LEAST_NOISE = 0.005
#: Errors of this size at least are to be told apart by what causes them.
_ERROR_TO_TELL = 0.1
#: Nothing but rounding lies below this, relative.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Refit:
    """A parameter with the multiplier that brings predictions nearest to what was measured.

    Attributes:
        parameter: Which.
        multiplier: Of the figure that a machine's file states: below 1, a bandwidth is lower than stated.
        range: The smallest and largest multiplier with any one case left out; ``None`` below three cases.
        predicted: What is predicted with it, seconds, by case that is simulated.
        error_left: Mean absolute error with it.
        effect: Largest relative change of any case's prediction where the parameter costs a tenth more or less.
        reach: The same, wherever in the range of the search.
        is_identifiable: Whether that is more than measured runs of a case differ by; else nothing can be found out.
        at_limit: Whether the multiplier is the smallest or largest that was tried.
        explains: Whether it takes away most of the error, or all but what the measurements do not repeat within.
        rival: Whether it leaves as little as the best does, as far as the measurements tell.
    """

    parameter: Parameter
    multiplier: float
    range: tuple[float, float] | None
    predicted: tuple[float, ...]
    error_left: float
    effect: float
    reach: float
    is_identifiable: bool
    at_limit: bool
    explains: bool
    rival: bool

    @property
    def has_effect(self) -> bool:
        """Whether the parameter changes any prediction at all."""
        return self.reach > _ROUNDING


@dataclass(frozen=True, slots=True, eq=False)
class Validation:
    """How right predictions were, and where their errors come from.

    Attributes:
        compared: The cases.
        error: Mean absolute error.
        percentile: 90th percentile of the absolute errors.
        noise: How far from each other the runs of a case are, relative to their median: median of the cases' half
            ranges, at least :data:`LEAST_NOISE`.
        orders: Whether machines come in the right order, by program and size.
        refits: Of each parameter, the one that leaves the least error first, those that cannot be found out last.
        alike: Pairs of parameters that these cases cannot tell apart, whichever of them causes an error.
        unchangeable: What was not refitted, and why.
    """

    compared: tuple[Compared, ...]
    error: float
    percentile: float
    noise: float
    orders: tuple[Order, ...]
    refits: tuple[Refit, ...]
    alike: tuple[tuple[Parameter, Parameter], ...]
    unchangeable: tuple[Unchangeable, ...]

    @property
    def bias(self) -> float:
        """The median error: negative if predictions are too short."""
        return statistics.median(each.error for each in self.compared)

    @property
    def covered(self) -> float | None:
        """Mean share of runs within the intervals of those cases that have one."""
        shares = [each.covered for each in self.compared if each.covered is not None]
        return statistics.fmean(shares) if shares else None

    @property
    def noise_is_measured(self) -> bool:
        """Whether a case has several runs, or states their spread; else the noise is assumed."""
        return any(each.case.spread is not None for each in self.compared)

    @property
    def is_within_noise(self) -> bool:
        """Whether predictions are as near to the median run as runs are to each other."""
        return self.error <= self.noise

    @property
    def caveats(self) -> tuple[str, ...]:
        """What the simulations say of machines and programs, each once, by the names that the cases give them."""
        said = [
            Said(caveat, each.case.machine, f"{each.case.program} {each.case.size}".strip())
            for each in self.compared
            for caveat in each.warnings
        ]
        return tuple(gathered(said, {each.case.machine for each in self.compared}, "machines"))


def validate(
    cases: Sequence[Case],
    sampling: Sampling | None = None,
    error: ModelError | None = None,
    *,
    engine: str = "auto",
    workers: int = 1,
    progress: Progress = silent,
) -> Validation:
    """Predict cases, and find out which parameter their errors come from.

    Args:
        cases: At least one; each with its measured runs.
        sampling: Which samples give intervals; ``None``: no intervals.
        error: What is known of the model's error, which intervals hold; without it there are none.
        engine: As for :func:`clue.kernel.simulate`.
        workers: Number of threads.
        progress: Told about what is done.

    Raises:
        UsageError: If a program takes no time.
        DeadlockError: If one deadlocks in virtual time.
    """
    replayed = [case for case in cases if isinstance(case.source, Program)]
    parameters, unchangeable = parameters_of(replayed)
    replays = 1 + len(parameters) + (0 if sampling is None else sampling.samples)
    ops = sum(case.source.ops * case.where.instances for case in cases if isinstance(case.source, Program))
    engine = engine_for(replays * ops, engine)
    compared = []
    for i, case in enumerate(cases):
        progress(f"simulating {case.name}", i, len(cases))
        compared.append(compare(case, sampling, error, engine=engine, workers=workers, progress=progress))
        if not compared[-1].predicted > 0:
            raise UsageError(f"{case.name}: program must take time, got a makespan of 0 s")
    noise = _noise(cases)
    simulated = [each for each in compared if each.case in replayed]
    predicted = [each.predicted for each in simulated]
    again = partial(changed_makespans, replayed, predicted, engine=engine, workers=workers, progress=progress)
    responses = respond(replayed, predicted, parameters, again)
    mean = mean_absolute_error(simulated) if simulated else 0.0
    return Validation(
        compared=tuple(compared),
        error=mean_absolute_error(compared),
        percentile=percentile([abs(each.error) for each in compared], 0.9),
        noise=noise,
        orders=orders(compared),
        refits=_refits(responses, replayed, mean, noise),
        alike=_alike(responses, max(mean, _ERROR_TO_TELL), noise),
        unchangeable=tuple(unchangeable),
    )


def _noise(cases: Sequence[Case]) -> float:
    known = [case.spread / case.measured for case in cases if case.spread is not None]
    return max(statistics.median(known), LEAST_NOISE) if known else LEAST_NOISE


def _refits(responses: Sequence[Response], cases: Sequence[Case], error: float, noise: float) -> tuple[Refit, ...]:
    measured = np.array([case.measured for case in cases])
    costs = [response.best(measured) for response in responses]
    spans = [response.at(np.array([cost]))[0] for response, cost in zip(responses, costs, strict=True)]
    left = [float(np.mean(np.abs(span / measured - 1))) for span in spans]
    reaches = [_change(response, response.costs) for response in responses]
    least = min((each for each, reach in zip(left, reaches, strict=True) if reach > noise), default=error)
    found = [
        Refit(
            parameter=response.parameter,
            multiplier=multiplier(response.parameter, cost),
            range=_without_one(response, measured),
            predicted=tuple(span.tolist()),
            error_left=each,
            effect=_change(response, np.array([0.9, 1.1])),
            reach=reach,
            is_identifiable=reach > noise,
            at_limit=min(cost / LEAST, MOST / cost) < 1 + 1e-6,
            explains=reach > noise and each < error and (each <= error / 2 or each <= noise),
            rival=reach > noise and each <= max(1.5 * least, least + noise),
        )
        for response, cost, span, each, reach in zip(responses, costs, spans, left, reaches, strict=True)
    ]
    return tuple(sorted(found, key=lambda each: (not each.is_identifiable, each.error_left)))


def _without_one(response: Response, measured: Doubles) -> tuple[float, float] | None:
    """Return the smallest and largest multiplier with any one case left out."""
    cases = len(measured)
    if cases < 3:
        return None
    kept = [np.arange(cases) != i for i in range(cases)]
    costs = [response.of_cases(keep).best(measured[keep]) for keep in kept]
    multipliers = [multiplier(response.parameter, cost) for cost in costs]
    return min(multipliers), max(multipliers)


def _change(response: Response, costs: Doubles) -> float:
    """Return the largest relative change of a makespan at any of some costs."""
    same = response.at(np.array([1.0]))
    return float(np.abs(response.at(costs) / same - 1).max())


def _alike(responses: Sequence[Response], error: float, noise: float) -> tuple[tuple[Parameter, Parameter], ...]:
    """Return the pairs of which the one could take away what the other causes, but for the noise.

    Their effects on the logarithms of the makespans are directions, one entry a case. If one parameter causes errors of
    some size, what the other cannot take away is that size times the sine of the angle between them.
    """
    known = [response for response in responses if _change(response, response.costs) > noise]
    directions = [_direction(response) for response in known]
    return tuple(
        (known[i].parameter, known[k].parameter)
        for i, k in combinations(range(len(known)), 2)
        if error * math.sqrt(max(0.0, 1 - float(directions[i] @ directions[k]) ** 2)) <= noise
    )


def _direction(response: Response) -> Doubles:
    """Return how far each case's makespan follows the parameter, from half to twice its cost, as a unit vector."""
    less, more = response.at(np.array([0.5, 2.0]))
    change: Doubles = np.log(more / less)
    # Where that does nothing the parameter points nowhere, and is like no other.
    direction: Doubles = change / (float(np.linalg.norm(change)) or 1.0)
    return direction
