"""Ensemble of all plausible formulas and lines, weighted by how well they predict points left out of their fit."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from clue.errors import ModelError
from clue.models.formulas import PLAUSIBLE, Formula, formulas
from clue.models.lines import Lines, lines
from clue.models.points import Points, checked
from clue.models.terms import RANKS, SIZE, Features, Floats, Term, terms_for
from clue.models.trials import WRONG, Estimate, Flags, Trials

#: Nominal coverage of an interval.
LEVEL = 0.8
#: The same as standard deviations of a normal variable.
TAIL = NormalDist().inv_cdf((1 + LEVEL) / 2)
#: Joint weight of lines relative to all formulas, and the largest error, relative to the best formula's, at which they
#: get it in full: lines are judged over gaps twice as wide as those that they bridge.
DOMINANCE, SLACK = 2.5, 3.0


@dataclass(frozen=True, slots=True)
class Member:
    """A plausible model.

    Attributes:
        model: A formula, or lines through points.
        weight: Its weight; the weights of an ensemble add up to 1.
    """

    model: Formula | Lines
    weight: float


@dataclass(frozen=True, slots=True)
class Ensemble:
    """A fitted time.

    Attributes:
        members: Members, the most plausible first.
        domain: Smallest and largest measured value of each feature.
        points: Number of distinct measured points.
    """

    members: tuple[Member, ...]
    domain: Mapping[str, tuple[float, float]]
    points: int

    @property
    def error(self) -> float:
        """Weighted root mean square of the members' relative errors at points left out of their fit."""
        return math.sqrt(sum(member.weight * member.model.overall**2 for member in self.members))

    def predict(self, features: Features) -> tuple[Floats, Floats, Floats]:
        """Return the mean prediction of the members, and the ends of an interval meant to contain 80 % of true times.

        The mean is that of the members' logarithms; one that says 0 counts as a hundredth of the least of the others.
        Its variance is the variance between members plus the mean of their own variances: of the errors at points left
        out, of the coefficients, and more for each doubling of a size beyond the measured range. A single point gives
        only its own time: elsewhere the mean is that time, and the interval goes from 0 to infinity.

        Args:
            features: By name, shape (samples,). All fitted features are required, others are ignored.

        Returns:
            Mean, low and high end in seconds, each of shape (samples,).

        Raises:
            ModelError: If a feature is missing, lengths differ, or values are negative or not finite.
        """
        given, samples = self._given(features)
        estimates, weights = self._asked(given, samples)
        seconds = np.array([each.seconds for each in estimates])
        least = np.min(seconds, axis=0, where=seconds > 0, initial=math.inf)
        # 0 has no logarithm, and any small number in its place would decide, however implausible the member is. So it
        # counts as in cross-validation, where errors are capped at this factor.
        logs = np.log(np.where(seconds > 0, seconds, np.where(least < math.inf, least, 1.0) / WRONG))
        mean = (weights * logs).sum(axis=0)
        variance = (weights * ((logs - mean) ** 2 + [each.variance for each in estimates])).sum(axis=0)
        reach = np.where(self._known(given, samples), TAIL * np.sqrt(variance), math.inf)
        middle = np.where(least < math.inf, np.exp(mean), 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            return middle, middle * np.exp(-reach), np.where(reach < math.inf, middle * np.exp(reach), math.inf)

    def inside(self, features: Features) -> Flags:
        """Return where models of at least half the weight depend on no size beyond the measured range."""
        given, samples = self._given(features)
        estimates, weights = self._asked(given, samples)
        within = (weights * [each.inside for each in estimates]).sum(axis=0)
        return np.asarray((within >= 0.5) & self._known(given, samples))

    def describe(self) -> Iterator[str]:
        """Yield a line for each member: its weight, its error at points left out, its terms."""
        for member in self.members:
            yield f"{member.weight:6.1%}  {member.model.overall:6.1%} off  {member.model}"

    def __str__(self) -> str:
        return "\n".join(self.describe())

    def _given(self, features: Features) -> tuple[dict[str, Floats], int]:
        """Return features as arrays, and their length: 1 if nothing depends on any."""
        missing = sorted(self.domain.keys() - features.keys())
        if missing:
            raise ModelError(
                f"features: {', '.join(missing)} must be given, got {', '.join(sorted(features)) or 'none'}"
            )
        given = checked({name: features[name] for name in self.domain})
        return given, len(next(iter(given.values()), np.zeros(1)))

    def _asked(self, given: dict[str, Floats], samples: int) -> tuple[list[Estimate], Floats]:
        """Return the members' predictions, and their weights, shape (members, 1)."""
        weights = np.array([[member.weight] for member in self.members])
        return [member.model.estimate(given, samples) for member in self.members], weights

    def _known(self, given: dict[str, Floats], samples: int) -> Flags:
        """Return where a prediction is possible: with a single point, only at that point."""
        at = [given[name] == low for name, (low, _) in self.domain.items() if self.points == 1]
        return np.asarray(np.all([np.ones(samples, bool), *at], axis=0))


def fit(
    features: Features,
    seconds: npt.ArrayLike,
    terms: Sequence[Term | str] | None = None,
    weights: npt.ArrayLike | None = None,
    of_run: Collection[str] = (SIZE, RANKS),
) -> Ensemble:
    """Return the plausible models of measured times.

    All sums of up to three terms are fitted by non-negative least squares of relative residuals, and lines are drawn
    along every size. Each model is judged by cross-validation. Repeats at one point count by their median.

    Args:
        features: By name, shape (samples,).
        seconds: Measured times, shape (samples,): preferably one for each recording, the mean of its bursts.
        terms: Terms that times may consist of; by default those of :func:`terms_for`.
        weights: Number of measurements that each sample represents, shape (samples,).
        of_run: Features that are sizes of the run, by default its size and its ranks. Others are local sizes, and terms
            in these are more plausible where there are both.

    Raises:
        ModelError: If there are no samples or terms, lengths differ, a term needs a feature that is not given, or
            values are negative or not finite.
    """
    points = Points.of(features, seconds, weights)
    if len(points) == 1 or not points.seconds.any():
        return _constant(points)
    chosen = terms_for(features) if terms is None else [Term.parse(t) if isinstance(t, str) else t for t in terms]
    if not chosen:
        raise ModelError("terms: at least one must be given, got none")
    trials = Trials.of(points, of_run)
    distinct = _distinct(points, chosen)
    sums = formulas(trials, distinct)
    through = lines(trials, distinct, min(each.overall for each, _ in sums))
    return Ensemble(_members(sums, through), points.domain, len(points))


def _constant(points: Points) -> Ensemble:
    """Return the constant ensemble of a single point, or of points that take no time."""
    noise = Trials.of(points).noise
    only = Formula((Term(),), (float(points.seconds[0]),), ((1 / len(points),),), ((1.0, 1.0),), noise, noise)
    return Ensemble((Member(only, 1.0),), points.domain, len(points))


def _members(sums: list[tuple[Formula, float]], through: list[tuple[Lines, float]]) -> tuple[Member, ...]:
    """Return members by descending weight; lines share their joint weight by plausibility."""
    weighed: list[tuple[Formula | Lines, float]] = [(model, math.exp(score - sums[0][1])) for model, score in sums]
    total, least = sum(weight for _, weight in weighed), min(model.within for model, _ in sums)
    likely = sum(math.exp(score - through[0][1]) for _, score in through)
    for model, score in through:
        share = math.exp(score - through[0][1]) / likely * min(1.0, SLACK * least / model.within) ** 4
        weighed.append((model, max(math.exp(score - sums[0][1]), DOMINANCE * total * share)))
    plausible = [(model, weight) for model, weight in weighed if weight > PLAUSIBLE]
    total = sum(weight for _, weight in plausible)
    return tuple(Member(model, weight / total) for model, weight in sorted(plausible, key=lambda each: -each[1]))


def _distinct(points: Points, terms: Sequence[Term]) -> list[Term]:
    """Drop terms that equal an earlier one at every point."""
    seen: dict[bytes, Term] = {}
    for term in terms:
        values = np.maximum(term.of(points.features, len(points)), 1e-300)
        seen.setdefault(np.round(np.log(values), 8).tobytes(), term)
    return list(seen.values())
