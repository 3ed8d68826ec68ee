"""Times of the parts of a program in several runs, and the time composed of their fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from clue.errors import ModelError
from clue.models.cluster import Forecast
from clue.models.composed import Among, Loop, Series, Time, spent
from clue.models.ensemble import fit
from clue.models.staged import fit_in_turn
from clue.models.terms import RANKS, SIZE, Features
from clue.units import format_exact, format_range

#: A function that fits times measured at points.
Fit = Callable[[Features, npt.ArrayLike], Time]
#: Possible dependences of a count on size and ranks, the simplest first; the first exact one is taken.
_COUNTS = (
    (("1",), ("1",)),
    (("1",), ("1", "P")),
    (("1", "n"), ("1",)),
    (("1", "n"), ("1", "P")),
    (("1", "n"), ("1", "1/P")),
)
_EXACT = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A part that is not divided further.

    Attributes:
        name: Its name.
        seconds: Time in one iteration of the loop around it, for each run; any if a run never enters that loop.
        others: Number of ranks that do not share its work.
    """

    name: str
    seconds: tuple[float, ...]
    others: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Repeated:
    """Parts that are repeated.

    Attributes:
        name: Their name.
        times: Number of repetitions in one iteration of the loop around them, for each run.
        parts: The parts, in order.
    """

    name: str
    times: tuple[float, ...]
    parts: tuple[Part | Repeated, ...]


Parts: TypeAlias = Sequence[Part | Repeated]


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """Runs of one program, with the times of its parts.

    Attributes:
        sizes: Size of each run.
        ranks: Number of ranks of each run.
        parts: The parts, in order; at least one.
    """

    sizes: tuple[float, ...]
    ranks: tuple[float, ...]
    parts: tuple[Part | Repeated, ...]

    def fit(self, fitted: Fit) -> tuple[Series, Mapping[Part | Repeated, Time]]:
        """Return the time composed of the fits of all parts, and the fit of each part.

        A part is fitted to the runs that enter all loops around it: other runs do not tell what it takes.

        Raises:
            ModelError: If there are no runs or parts, or a part cannot be fitted.
        """
        if not self.sizes:
            raise ModelError("compose: recordings must be at least one, got none")
        found: dict[Part | Repeated, Time] = {}
        return self._series(self.parts, range(len(self.sizes)), fitted, found), found

    @property
    def domain(self) -> Mapping[str, tuple[float, float]]:
        """Smallest and largest size and number of ranks of the runs; single parts may be fitted to fewer of them."""
        return {SIZE: (min(self.sizes), max(self.sizes)), RANKS: (min(self.ranks), max(self.ranks))}

    @property
    def seconds(self) -> tuple[float, ...]:
        """Total time of each run."""
        return tuple(_sum(self.parts, run) for run in range(len(self.sizes)))

    def _series(self, parts: Parts, runs: Sequence[int], fitted: Fit, found: dict[Part | Repeated, Time]) -> Series:
        named: dict[str, Time] = {}
        for part in parts:
            if isinstance(part, Repeated):
                entered = [run for run in runs if part.times[run]]
                body = self._series(part.parts, entered or runs, fitted, found)
                found[part] = Loop(_count(self._features(runs), [part.times[run] for run in runs], fitted), body)
            else:
                time = fitted(self._features(runs, part.others), [part.seconds[run] for run in runs])
                found[part] = Among(time, part.others) if part.others else time
            named[_free(named, part.name)] = found[part]
        return Series(named)

    def _features(self, runs: Sequence[int], others: int = 0) -> dict[str, list[float]]:
        return {SIZE: [self.sizes[run] for run in runs], RANKS: [self.ranks[run] - others for run in runs]}


def _sum(parts: Parts, run: int) -> float:
    return sum(
        part.times[run] * _sum(part.parts, run) if isinstance(part, Repeated) else part.seconds[run] for part in parts
    )


def _free(parts: Mapping[str, Time], name: str) -> str:
    """Return a name that no part has yet."""
    alike = sum(each == name or each.startswith(f"{name} (") for each in parts)
    return f"{name} ({alike + 1})" if alike else name


def _count(features: Features, counts: Sequence[float], fitted: Fit) -> Time:
    """Return a model of the number of iterations of a loop, exact where possible."""
    for inner, outer in _COUNTS:
        try:
            found = fit_in_turn(features, counts, inner, outer)
        except ModelError:
            continue
        if np.allclose(found.seconds(features), counts, rtol=_EXACT):
            return found
    return fitted(features, counts)


#: Methods of fitting parts: by all plausible models, or over the size and then over the ranks.
FITS: Mapping[str, Fit] = {"plausible": fit, "in-turn": fit_in_turn}
#: Minimum share of the time at which a part matters.
_MATTERS = 0.1
#: Relative error at its own runs from which a model must not be used.
UNUSABLE = 0.25


def doubts(time: Time, size: float, ranks: float) -> list[str]:
    """Return a line for each uncertain part that matters there: it may take twice as long as predicted."""
    parts = list(spent("", time, {SIZE: [size], RANKS: [ranks]}))
    # Parts of plain fits may be below 0, and cancel each other.
    whole = sum(abs(part.seconds) for part in parts)
    return [
        f"{part.name.lstrip('/')} takes {part.seconds / whole:.0%} of the time, by models that may be off by more than "
        "a factor of 2: fit to more sizes and numbers of ranks, all within one node or all beyond"
        for part in parts
        if part.seconds > _MATTERS * whole and part.high > 2 * part.seconds
    ]


def misfit(off: Sequence[float]) -> list[str]:
    """Return a line if a model is too far off at its own runs to be used; ``off`` are its relative errors there."""
    largest = max(map(abs, off), default=0.0)
    if largest <= UNUSABLE:
        return []
    return [
        f"the model is off by up to {largest:.0%} at its own recordings and must not be used: its parts do not follow "
        "size and ranks, or a recording was disturbed: look at the time of each part (clue model graph TRACE), and "
        "record again on a quiet computer"
    ]


@dataclass(frozen=True, eq=False)
class ProgramModel:
    """The model of a program on a machine, as it is stored: the times of its parts, which are fitted on demand.

    Attributes:
        name: Its name.
        how: Method of fitting parts, one of :data:`FITS`.
        machine: Machine on which the times were obtained.
        source: Recordings that they come from.
        made: Date of the recordings.
        runs: The times of the parts.
        described: Identifies the machine's description at that time; ``""``: unknown.
        node_ranks: Number of ranks up to which all share one node there, so that no message leaves it; 0: unknown.
    """

    name: str
    how: str
    machine: str
    source: str
    made: str
    runs: Runs
    described: str = ""
    node_ranks: int = 0

    @cached_property
    def time(self) -> Series:
        """Time of the program.

        Raises:
            ModelError: If a part cannot be fitted.
        """
        return self.runs.fit(FITS[self.how])[0]

    @property
    def off(self) -> tuple[float, ...]:
        """Relative error at each run."""
        pairs = zip(self.runs.sizes, self.runs.ranks, self.runs.seconds, strict=True)
        return tuple(self.time(size, ranks) / seconds - 1 for size, ranks, seconds in pairs)

    def predict(self, size: float, ranks: int) -> Forecast:
        """Predict the time of the program on a number of ranks.

        Raises:
            ModelError: If a part cannot be fitted or predicted.
        """
        return self._fitted.predict(size, ranks)

    def outside(self, size: float, ranks: int) -> tuple[str, ...]:
        """Return a line for each way in which size and ranks lie outside the fitted range; none: they are inside."""
        return self._fitted.outside(size, ranks)

    @property
    def _fitted(self) -> Fitted:
        return Fitted(self.time, self.runs, self.node_ranks)


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """The time of a program, with the runs that it was fitted to.

    Attributes:
        time: The time.
        runs: The runs.
        node_ranks: As of :class:`ProgramModel`.
    """

    time: Time
    runs: Runs
    node_ranks: int = 0

    def predict(self, size: float, ranks: int) -> Forecast:
        """Predict the time on a number of ranks.

        Raises:
            ModelError: If a part cannot be predicted.
        """
        at = {SIZE: [float(size)], RANKS: [float(ranks)]}
        middle, low, high = (float(each[0]) for each in self.time.predict(at))
        return Forecast(middle, low, high, not self.outside(size, ranks), "")

    def outside(self, size: float, ranks: int) -> tuple[str, ...]:
        """Return a line for each way in which size and ranks lie outside the fitted range; none: they are inside."""
        return (*self._beyond(size, ranks), *self._on_other_nodes(ranks))

    def _on_other_nodes(self, ranks: int) -> list[str]:
        """Return why the runs may say little about messages on a number of ranks: within a node or between nodes.

        No model over n and P has the step in cost from messages within a node to messages between nodes. A single rank
        sends no messages.
        """
        known = sorted({int(each) for each in self.runs.ranks if each > 1})
        if self.node_ranks == 0 or ranks == 1 or ranks in known or not known:
            return []
        within = [each for each in known if each <= self.node_ranks]
        between = [each for each in known if each > self.node_ranks]
        if within and between:
            first, second = (", ".join(map(str, each)) for each in (within, between))
            return [
                f"messages of {first} ranks stay within a node and those of {second} ranks do not, so models of both "
                f"together may be wrong by any factor on {ranks} ranks: fit to runs of one sort"
            ]
        if (ranks <= self.node_ranks) == bool(within):
            return []
        here, there = ("within one node", "on several nodes") if within else ("on several nodes", "within one node")
        return [f"ranks must be {here} to be inside what was fitted, got {ranks} {there}"]

    def _beyond(self, size: float, ranks: int) -> tuple[str, ...]:
        """Return a line for each way in which size and ranks lie outside the fitted range of values."""
        at = {SIZE: float(size), RANKS: float(ranks)}
        # The terms may be inside, such as n² / P, where n and P are not.
        beyond = tuple(
            f"{name} must be {format_range(low, high)} to be inside what was fitted, got {format_exact(at[name])}"
            for name, (low, high) in self.runs.domain.items()
            if not low <= at[name] <= high
        )
        if beyond or self.time.inside({name: [value] for name, value in at.items()})[0]:
            return beyond
        at_size = f"n = {format_exact(size)} on {ranks} ranks"
        return (f"{at_size} lies between measured points, where the model was not checked",)
