"""Composed times: models of a program's parts combined bottom-up along its structure.

Parts that follow each other add up, and a loop multiplies (J. M. Laine, E. T. Midorikawa, PEMPIs-Het, equation 12).
A composed time has the interface of its parts, so programs are composed of loops that are composed of calls, and
anything that predicts a time may be a part.

Intervals add up, too, as if the errors of all parts were perfectly correlated: parts share what their models omit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from clue.errors import ModelError
from clue.models.terms import RANKS, SIZE, Features, Floats
from clue.models.trials import Flags

Interval = tuple[Floats, Floats, Floats]
#: Number of iterations below which there are none, but for rounding.
_NONE = 1e-10


class Time(Protocol):
    """A time that depends on features, fitted or composed."""

    def predict(self, features: Features) -> Interval:
        """Return seconds, and the ends of an interval, each of shape (samples,)."""

    def inside(self, features: Features) -> Flags:
        """Return where features have values for which it was fitted, shape (samples,)."""


class Composed(ABC):
    """Base of all composed times."""

    __slots__ = ()

    @property
    @abstractmethod
    def parts(self) -> Mapping[str, Time]:
        """Its parts by name."""

    @abstractmethod
    def predict(self, features: Features) -> Interval:
        """Return seconds, and the ends of an interval, each of shape (samples,).

        Raises:
            ModelError: If a part cannot be predicted.
        """

    def inside(self, features: Features) -> Flags:
        """Return where features have values for which all parts were fitted, shape (samples,)."""
        return np.asarray(np.all([part.inside(features) for part in self.parts.values()], axis=0))

    def __call__(self, n: float, p: float = 1) -> float:
        """Return the seconds of a problem of size n on p ranks."""
        return float(self.predict({SIZE: [n], RANKS: [p]})[0][0])


@dataclass(frozen=True, slots=True, eq=False)
class Series(Composed):
    """Parts that follow each other: their times add up.

    Attributes:
        parts: By name, at least one.
    """

    parts: Mapping[str, Time]

    def __post_init__(self) -> None:
        """Refuse an empty series."""
        if not self.parts:
            raise ModelError("composed: parts must be at least one, got none")

    def predict(self, features: Features) -> Interval:
        """Return the sums."""
        return _combined(np.sum, [part.predict(features) for part in self.parts.values()])


@dataclass(frozen=True, slots=True, eq=False)
class Loop(Composed):
    """A part that is repeated.

    Attributes:
        count: Number of iterations, as a model like that of a time.
        body: The part that is repeated.
    """

    count: Time
    body: Time

    @property
    def parts(self) -> Mapping[str, Time]:
        """Count and body."""
        return {"count": self.count, "body": self.body}

    def predict(self, features: Features) -> Interval:
        """Return the products; what takes no time takes none, however often it is repeated."""
        return _combined(_product, [self._iterations(features), self.body.predict(features)])

    def inside(self, features: Features) -> Flags:
        """Return where both were fitted; the body need not be where it is not repeated at all."""
        never = self._iterations(features)[0] == 0
        return np.asarray(self.count.inside(features) & (self.body.inside(features) | never))

    def _iterations(self, features: Features) -> Interval:
        middle, low, high = (np.where(np.abs(each) < _NONE, 0.0, each) for each in self.count.predict(features))
        return middle, low, high


@dataclass(frozen=True, slots=True, eq=False)
class Among(Composed):
    """A part that depends on the number of ranks without some of them: for instance, on the workers of a master.

    Attributes:
        time: The part, as a model over the remaining ranks.
        others: Number of the excluded ranks.
    """

    time: Time
    others: int

    @property
    def parts(self) -> Mapping[str, Time]:
        """The part."""
        return {f"{RANKS} - {self.others}": self.time}

    def predict(self, features: Features) -> Interval:
        """Return the time of the part on the remaining ranks.

        Raises:
            ModelError: If no ranks remain, or the part cannot be predicted.
        """
        return self.time.predict(self._fewer(features))

    def inside(self, features: Features) -> Flags:
        """Return where the part was fitted."""
        return self.time.inside(self._fewer(features))

    def _fewer(self, features: Features) -> Features:
        if RANKS not in features:
            raise ModelError(f"features: {RANKS} must be given, got {', '.join(sorted(features)) or 'none'}")
        ranks = np.asarray(features[RANKS], np.float64)
        if not (ranks > self.others).all():
            raise ModelError(f"{RANKS}: values must be above {self.others}, got {float(ranks.min()):g}")
        return {**features, RANKS: ranks - self.others}

    def __str__(self) -> str:
        return f"{self.time} with {RANKS} - {self.others} for {RANKS}"


def _product(factors: Floats, axis: int) -> Floats:
    """Return the product over an axis: 0 where any factor is, even if another is infinite."""
    none = (factors == 0).any(axis)
    return np.where(none, 0.0, np.where(none, 1.0, factors).prod(axis))


def _combined(how: Callable[..., Floats], parts: list[Interval]) -> Interval:
    middle, low, high = (how(np.array(each), axis=0) for each in zip(*parts, strict=True))
    return middle, low, high


@dataclass(frozen=True, slots=True)
class Spent:
    """Time of an elementary part within a whole.

    Attributes:
        name: Its path: ``"main/loop/body"``.
        time: The part.
        seconds: Its time in all iterations of the loops around it.
        high: High end of that time, seconds.
    """

    name: str
    time: Time
    seconds: float
    high: float


def spent(name: str, time: Time, features: Features, times: tuple[float, float] = (1.0, 1.0)) -> Iterator[Spent]:
    """Yield the times of the elementary parts of a time, in order.

    Args:
        name: Name of the time.
        time: The time.
        features: One sample.
        times: Number of repetitions, and the high end of that.
    """
    if isinstance(time, Series):
        for part, inner in time.parts.items():
            yield from spent(f"{name}/{part}", inner, features, times)
    elif isinstance(time, Loop):
        count, _, most = (float(each[0]) for each in time.count.predict(features))
        yield from spent(name, time.body, features, (times[0] * count, times[1] * most))
    else:
        seconds, _, high = (float(each[0]) for each in time.predict(features))
        yield Spent(name, time, times[0] * seconds, times[1] * high)


def crossings(one: Time, other: Time, low: float, high: float, *, along: str = SIZE, steps: int = 4096) -> list[float]:
    """Return the crossovers of two times that depend on one feature, ascending.

    Crossovers closer to each other than a step are not resolved.

    Args:
        one: A time.
        other: Another.
        low: Start of the range, above 0.
        high: End of the range, above its start.
        along: The feature.
        steps: Number of geometric steps in which a change of sign is sought.

    Raises:
        ModelError: If the range is invalid.
    """
    if not 0 < low < high < np.inf:
        raise ModelError(f"{along}: range must begin above 0 and end above that, got {low:g} to {high:g}")

    def difference(values: Floats) -> Floats:
        features = {along: values}
        return one.predict(features)[0] - other.predict(features)[0]

    at = np.geomspace(low, high, steps + 1)
    sign = np.sign(difference(at))
    places = np.flatnonzero(sign[:-1] * sign[1:] < 0)
    begin, end, falling = at[places], at[places + 1], sign[places]
    for _ in range(60):
        middle = (begin + end) / 2
        before = np.sign(difference(middle)) == falling if len(middle) else np.zeros(0, bool)
        begin, end = np.where(before, middle, begin), np.where(before, end, middle)
    return sorted([*((begin + end) / 2).tolist(), *at[sign == 0].tolist()])
