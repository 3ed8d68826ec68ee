"""Sources of prediction errors: each parameter is refitted alone; residual errors, and parameters not identifiable.

A parameter that explains the errors has one multiplier that brings all predictions to the measured times. This module
decides which parameters do, which cannot, and which these cases cannot distinguish; the report words it.
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

#: Relative noise of measurements assumed where runs do not show it.
LEAST_NOISE = 0.005
#: Minimum relative error whose sources must be distinguishable.
_ERROR_TO_TELL = 0.1
#: Relative change below which only rounding is at work.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Refit:
    """A parameter with the multiplier that brings predictions nearest to the measured times.

    Attributes:
        parameter: The parameter.
        multiplier: Factor of the figure in the machine's file: below 1, a bandwidth is lower than stated. For
            contention, the factor of its cost, as several figures may state it.
        range: Smallest and largest leave-one-out multiplier; ``None`` below three cases.
        predicted: Predictions with it, seconds, by simulated case.
        error_left: Mean absolute error with it.
        effect: Largest relative change of any case's prediction if the parameter costs a tenth more or less.
        reach: The same over the whole range of the search.
        is_identifiable: Whether that exceeds the noise of measured runs; otherwise the parameter cannot be refitted.
        at_limit: Whether the multiplier is at an end of the search range.
        explains: Whether it removes most of the error, or all but the noise of the measurements.
        rival: Whether its residual error equals that of the best within the noise of the measurements.
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
    """Accuracy of predictions, and sources of their errors.

    Attributes:
        compared: The cases.
        error: Mean absolute error.
        error_simulated: That of the cases that are simulated, which refits change: all but those of skeletons. 0
            without any.
        percentile: 90th percentile of the absolute errors.
        noise: Relative noise of measured runs: median of the cases' half ranges over their medians, at least
            :data:`LEAST_NOISE`.
        orders: Order of machines, by program and size.
        refits: Refits of all parameters by residual error, ascending; those not identifiable come last.
        alike: Pairs of parameters that these cases cannot distinguish, whichever of them causes an error.
        unchangeable: Parameters not refitted, and why.
    """

    compared: tuple[Compared, ...]
    error: float
    error_simulated: float
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
        """Whether runs show it; otherwise the noise is assumed, as each case has one run, or as they differ by less."""
        return self.spread_is_known and self.noise > LEAST_NOISE

    @property
    def spread_is_known(self) -> bool:
        """Whether a case has several runs, or states their spread."""
        return any(each.case.spread is not None for each in self.compared)

    @property
    def is_within_noise(self) -> bool:
        """Whether predictions are as close to the median run as the runs are to each other."""
        return self.error <= self.noise

    @property
    def caveats(self) -> tuple[str, ...]:
        """Caveats of the simulations on machines and programs, each once, with the names of the cases."""
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
    """Predict cases, and find the parameter that causes their errors.

    Args:
        cases: At least one; each with its measured runs.
        sampling: Samples for the intervals; ``None``: no intervals.
        error: The model's error, which intervals include; without it there are no intervals.
        engine: As for :func:`clue.kernel.simulate`.
        workers: Number of threads.
        progress: Called with the progress.

    Raises:
        UsageError: If a program takes no time.
        DeadlockError: If one deadlocks in virtual time.
    """
    replayed = [case for case in cases if isinstance(case.source, Program)]
    parameters, unchangeable = parameters_of(replayed)
    replays = 1 + len(parameters) + (0 if sampling is None else sampling.samples)
    work = sum(case.source.work * case.where.instances for case in cases if isinstance(case.source, Program))
    engine = engine_for(replays * work, engine)
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
        error_simulated=mean,
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
    """Return the smallest and largest leave-one-out multiplier."""
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
    """Return the pairs of parameters of which one could remove the errors caused by the other, except for noise.

    Their effects on the logarithms of the makespans are directions with one entry per case. If one parameter causes
    errors of some size, the part that the other cannot remove is that size times the sine of the angle between them.
    """
    known = [response for response in responses if _change(response, response.costs) > noise]
    directions = [_direction(response) for response in known]
    return tuple(
        (known[i].parameter, known[k].parameter)
        for i, k in combinations(range(len(known)), 2)
        if error * math.sqrt(max(0.0, 1 - float(directions[i] @ directions[k]) ** 2)) <= noise
    )


def _direction(response: Response) -> Doubles:
    """Return the effect of the parameter on each case's makespan, from half to twice its cost, as a unit vector."""
    less, more = response.at(np.array([0.5, 2.0]))
    change: Doubles = np.log(more / less)
    # A parameter without effect has no direction, and is unlike all others.
    direction: Doubles = change / (float(np.linalg.norm(change)) or 1.0)
    return direction
