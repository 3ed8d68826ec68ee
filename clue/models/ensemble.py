"""All formulas and lines that are plausible for what was measured, weighed by how they predict what was left out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from clue.models.formula import Formula, formulas
from clue.models.lines import Lines, lines
from clue.models.points import Points, checked
from clue.models.terms import Features, Floats, Term, terms_for
from clue.models.trials import Estimate, Trials

#: Share of the cases that an interval is to hold.
LEVEL = 0.8
_TAIL = NormalDist().inv_cdf((1 + LEVEL) / 2)
#: How many times likelier the most plausible lines are between the points that they join.
ODDS = 4.0
SLACK = 3.0


@dataclass(frozen=True, slots=True)
class Member:
    """A plausible model.

    Attributes:
        model: A formula, or lines through points.
        weight: How much it counts beside others.
        inside: The same where it has been measured.
    """

    model: Formula | Lines
    weight: float
    inside: float


@dataclass(frozen=True, slots=True)
class Ensemble:
    """A fitted time.

    Attributes:
        members: By falling weight.
        domain: From where to where each feature was measured.
        points: How many distinct points it was fitted to.
    """

    members: tuple[Member, ...]
    domain: Mapping[str, tuple[float, float]]
    points: int

    @property
    def error(self) -> float:
        """How far members are off at points left out of their fit, as a share: root mean square by weight."""
        total = sum(member.weight for member in self.members)
        return math.sqrt(sum(member.weight * member.model.beyond**2 for member in self.members) / total)

    def predict(self, features: Features) -> tuple[Floats, Floats, Floats]:
        """Return the mean and the low and high end of an interval that is to hold 80 of 100 true times.

        The mean is that of the members' logarithms, by their weights. The interval is that of a normal variable whose
        variance is that between the members and the mean one of their own.

        Returns:
            Seconds, each of shape (samples,).

        Raises:
            ModelError: A feature is missing, or no number.
        """
        estimates, weights = self._asked(features)
        logs = np.log(np.maximum([each.seconds for each in estimates], 1e-300))
        mean = (weights * logs).sum(axis=0)
        between = (weights * (logs - mean) ** 2).sum(axis=0)
        own = (weights * [each.variance for each in estimates]).sum(axis=0)
        reach = _TAIL * np.sqrt(between + own)
        return np.exp(mean), np.exp(mean - reach), np.exp(mean + reach)

    def inside(self, features: Features) -> npt.NDArray[np.bool_]:
        """Return where members of at least half the weight have all their terms within what was measured."""
        estimates, weights = self._asked(features)
        within = weights * [each.inside for each in estimates]
        return np.asarray(within.sum(axis=0) >= 0.5)

    def _asked(self, features: Features) -> tuple[list[Estimate], Floats]:
        """Return what members say, and how much each counts for each sample: 1 in all, shape (members, samples)."""
        given = checked(features)
        samples = len(next(iter(given.values()))) if given else 1
        estimates = [member.model.estimate(given, samples) for member in self.members]
        weights = np.array(
            [
                np.where(said.inside, each.inside, each.weight)
                for each, said in zip(self.members, estimates, strict=True)
            ]
        )
        return estimates, weights / weights.sum(axis=0)

    def describe(self) -> Iterator[str]:
        """Yield a line for each member, those of most weight first."""
        total = sum(member.weight for member in self.members)
        for member in self.members:
            yield f"{member.weight / total:6.1%}  {member.model.beyond:6.1%} off  {member.model}"

    def __str__(self) -> str:
        return "\n".join(self.describe())


def fit(
    features: Features,
    seconds: npt.ArrayLike,
    terms: Sequence[Term | str] | None = None,
    weights: npt.ArrayLike | None = None,
) -> Ensemble:
    """Return the models that are plausible for measured times."""
    points = Points.of(features, seconds, weights)
    trials = Trials.of(points)
    chosen = terms_for(features) if terms is None else [Term.parse(t) if isinstance(t, str) else t for t in terms]
    sums = formulas(trials, _distinct(points, chosen))
    through = lines(trials, chosen, min(model.beyond for model, _ in sums))
    best = max(weight for _, weight in sums)
    members = [Member(model, math.exp(weight - best), math.exp(weight - best)) for model, weight in sums]
    total = sum(member.weight for member in members)
    for rank, (model, weight) in enumerate(sorted(through, key=lambda each: -each[1])):
        nearest = min(each.scatter for each, _ in sums)
        inside = ODDS * total * min(1.0, SLACK * nearest / model.scatter) ** 4 if rank == 0 else 0.0
        members.append(Member(model, math.exp(weight - best), max(inside, math.exp(weight - best))))
    return Ensemble(tuple(sorted(members, key=lambda each: -each.weight)), points.domain, len(points))


def _distinct(points: Points, terms: Sequence[Term]) -> list[Term]:
    """Leave out terms that have the values of an earlier one at every point."""
    seen: dict[bytes, Term] = {}
    for term in terms:
        values = np.maximum(term.of(points.features, len(points)), 1e-300)
        seen.setdefault(np.round(np.log(values), 8).tobytes(), term)
    return list(seen.values())
