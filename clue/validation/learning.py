"""Learning of the model error of further predictions from validated cases: :class:`clue.uncertainty.ModelError`.

Components of variance are estimated by moments. The errors of a program's cases about their mean give the scatter of
single cases: over all cases, and for each kind. The scatter of a kind is pooled with that of all cases, which has the
weight of ten (a scaled inverse chi-squared prior: G. K. Smyth, Statistical Applications in Genetics and Molecular
Biology 3, 2004, article 3). The programs' means give the scatter that the cases of a program share. If there is a prior
model error, such as the one shipped with clue, a site's own cases are pooled with it in the same way.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from clue.errors import UsageError
from clue.uncertainty.model_error import LARGEST, MESSAGES, SHARES, Character, Kind, ModelError, Scatter, intervals

#: Weight of the prior in degrees of freedom: of cases, and of programs.
_PRIOR_CASES, _PRIOR_PROGRAMS = 10.0, 3.0


@dataclass(frozen=True, slots=True)
class Known:
    """A prediction whose error is known.

    Attributes:
        program: Name of the program.
        error: Natural logarithm of measured / predicted.
        character: Its character, which decides its kind.
    """

    program: str
    error: float
    character: Character


def learn(cases: Sequence[Known], *, source: str, date: str, prior: ModelError | None = None) -> ModelError:
    """Learn from cases.

    Args:
        cases: At least two more than there are programs; with a prior, at least one.
        source: Their source.
        date: Date of learning.
        prior: Prior model error.

    Raises:
        UsageError: If there are too few, or their errors are beyond :data:`LARGEST`.
    """
    programs = sorted({case.program for case in cases})
    if not cases or (prior is None and len(cases) - len(programs) < 2):
        raise UsageError(
            f"{source}: cases must be two more than programs to tell what errors share, got {len(cases)} of "
            f"{len(programs)}"
        )
    residuals = _Residuals.of(cases, programs)
    pooled = residuals.scatter(np.ones(len(cases), np.bool_))
    kinds = []
    for communication, message in product(intervals(SHARES, math.inf), intervals(MESSAGES, math.inf)):
        empty = Kind(communication, message, 0, pooled)
        alike = np.array([empty.has(case.character) for case in cases])
        before = pooled if prior is None else prior.of(Character(communication[0], message[0])).own
        scatter = _beside(before, _PRIOR_CASES, residuals.scatter(alike))
        kinds.append(Kind(communication, message, int(alike.sum()), scatter))
    own = np.array([next(kind.scatter.deviation for kind in kinds if kind.has(case.character)) for case in cases])
    shared = _shared(residuals, own)
    if prior is not None:
        shared = _beside(prior.shared, _PRIOR_PROGRAMS, shared)
    largest = max(each.deviation for each in (shared, *(kind.scatter for kind in kinds)))
    if largest > LARGEST:
        raise UsageError(
            f"{source}: deviation of the errors must be at most {LARGEST} (a factor of {math.exp(LARGEST):,.0f}) to be "
            f"learned, got {largest:.3g}: check the units of the measured times"
        )
    return ModelError(source, date, len(cases), len(programs), shared, tuple(kinds))


@dataclass(frozen=True, slots=True, eq=False)
class _Residuals:
    """Errors of cases about their program's mean.

    Attributes:
        numbers: Program of each case.
        means: Mean error of each program.
        left: Residual of each case.
        degrees: Degrees of freedom of each case's residual, 1 - 1 / cases of the program.
    """

    numbers: np.ndarray
    means: np.ndarray
    left: np.ndarray
    degrees: np.ndarray

    @classmethod
    def of(cls, cases: Sequence[Known], programs: Sequence[str]) -> _Residuals:
        numbers = np.array([programs.index(case.program) for case in cases])
        errors = np.array([case.error for case in cases])
        counts = np.bincount(numbers)
        means = np.bincount(numbers, errors) / counts
        return cls(numbers, means, errors - means[numbers], 1 - 1 / counts[numbers])

    def scatter(self, chosen: np.ndarray) -> Scatter:
        """Return the scatter of some cases about their means; of no cases, 0 with 0 degrees of freedom."""
        degrees = float(self.degrees[chosen].sum())
        squares = float((self.left[chosen] ** 2).sum())
        return Scatter(math.sqrt(squares / degrees) if degrees else 0.0, degrees)


def _shared(residuals: _Residuals, own: np.ndarray) -> Scatter:
    """Return the scatter of the programs' means about 0 in excess of that due to their cases."""
    counts = np.bincount(residuals.numbers)
    by_chance = np.bincount(residuals.numbers, own**2) / counts**2
    variance = float((residuals.means**2 - by_chance).mean())
    return Scatter(math.sqrt(max(variance, 0.0)), float(len(counts)))


def _beside(before: Scatter, weight: float, found: Scatter) -> Scatter:
    """Pool a prior and an estimate, each weighted by its degrees of freedom."""
    weight = min(weight, before.degrees)
    degrees = weight + found.degrees
    variance = (weight * before.deviation**2 + found.degrees * found.deviation**2) / degrees
    return Scatter(math.sqrt(variance), degrees)


def as_yaml(error: ModelError) -> str:
    """Return a model error's file."""
    lines = [
        "# Errors of predictions in validated cases: clue simulate --samples takes its intervals from here.",
        "# Deviations are those of the logarithm of measured / predicted; degrees of freedom say how sure they are.",
        f"source: {json.dumps(error.source, ensure_ascii=False)}",
        f"date: {json.dumps(error.date)}",
        f"cases: {error.cases}",
        f"programs: {error.programs}",
        "# What the errors of a program have in common on all machines.",
        f"shared: {_scatter(error.shared)}",
        "# What each case has of its own, by the share of communication in the makespan and the mean message (bytes).",
        "kinds:",
        *(_kind(kind) for kind in error.kinds),
    ]
    return "\n".join(lines) + "\n"


def _kind(kind: Kind) -> str:
    ends = f"communication: {_range(kind.communication)}, message: {_range(kind.message)}, cases: {kind.cases}"
    return f"  - {{{ends}, own: {_scatter(kind.scatter)}}}"


def _range(ends: tuple[float, float]) -> str:
    return "[" + ", ".join("null" if math.isinf(each) else f"{each:g}" for each in ends) + "]"


def _scatter(scatter: Scatter) -> str:
    return f"{{deviation: {scatter.deviation:.5f}, degrees: {scatter.degrees:.1f}}}"
