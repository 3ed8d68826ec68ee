"""Time of a program on some processors of a heterogeneous cluster, by models of each kind of processor.

Kishimoto and Ichikawa, "An Execution-Time Estimation Model for Heterogeneous Clusters", section 3: work is divided
evenly between P processes, M of which share each processor of a kind; the slowest processor decides. A model holds for
one kind and one M, and is chosen by P and by the memory needed there (*binning*).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from clue.errors import ModelError
from clue.models.fitted import FittedTime, interval
from clue.models.terms import RANKS, SIZE, Floats, Term
from clue.models.trials import Flags
from clue.units import format_exact, format_range

Indices: TypeAlias = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, order=True)
class Use:
    """How processors of one kind are used.

    Attributes:
        processors: Number of processors, at least 1.
        processes: M, the number of processes that share each of them, at least 1.
    """

    processors: int
    processes: int = 1


#: Use of processors by kind; kinds that are not used are left out.
Configuration = Mapping[str, Use]


def ranks_of(configuration: Configuration) -> int:
    """Return P, the number of all processes."""
    return sum(use.processors * use.processes for use in configuration.values())


@dataclass(frozen=True, slots=True)
class Run:
    """A measured run.

    Attributes:
        size: N, the problem size.
        uses: Processors used.
        seconds: Elapsed time.
        parts: Times of its parts by name, if measured, seconds.
        name: Its name in messages: a line of a table.
    """

    size: float
    uses: Configuration
    seconds: float
    parts: Mapping[str, float] = field(default_factory=dict)
    name: str = ""

    @property
    def ranks(self) -> int:
        """P, the number of all processes."""
        return ranks_of(self.uses)


@dataclass(frozen=True, slots=True)
class Footprint:
    """The memory that a process needs: bytes × term, such as 8 n^2/P for its share of a matrix."""

    coefficient: float
    term: Term

    def of(self, size: float | Floats, ranks: Floats) -> Floats:
        """Return the bytes of a process, in the shape of ranks, for one size or for as many sizes as ranks."""
        sizes = np.broadcast_to(np.asarray(size, np.float64), ranks.shape)
        return self.coefficient * self.term.of({SIZE: sizes, RANKS: ranks}, len(ranks))

    def __str__(self) -> str:
        return f"{self.coefficient:.6g} {self.term}"


@dataclass(frozen=True, slots=True, eq=False)
class Bin:
    """A model, the sum of its parts, and the domain where it holds.

    Attributes:
        processes: M, the number of processes on each processor of the kind.
        parts: Fitted times by name, such as ``compute`` and ``communicate``: functions of ``n``, and of ``P`` if the
            model holds for any P.
        ranks: The only P that it holds for (an N-T model); ``None``: any P larger than M (a P-T model).
        memory: Bounds of the memory that the processes of a processor need where it holds, bytes: more than the first,
            at most the second.
        composed: The kind whose models were scaled to give these; ``""``: they were fitted to this kind's own times.
    """

    processes: int
    parts: Mapping[str, FittedTime]
    ranks: int | None = None
    memory: tuple[float, float] = (0.0, math.inf)
    composed: str = ""

    @property
    def is_beyond(self) -> bool:
        """Whether it holds for processes that need more memory than a processor has."""
        return self.memory[0] > 0

    def holds(self, ranks: Floats | int, memory: Floats | float) -> Flags | bool:
        """Return where it holds, by P and by the memory of a processor's processes."""
        # A need of 0 bytes belongs to the first bin.
        least = -1.0 if self.memory[0] == 0 else self.memory[0]
        return self.holds_for(ranks) & (memory > least) & (memory <= self.memory[1])

    def holds_for(self, ranks: Floats | int) -> Flags | bool:
        """Return where it holds, regardless of memory."""
        return ranks > self.processes if self.ranks is None else ranks == self.ranks


@dataclass(frozen=True, slots=True)
class Adjustment:
    """A linear transformation of predicted times: offset + factor × seconds, where seconds below 0 count as 0."""

    factor: float = 1.0
    offset: float = 0.0

    def of(self, seconds: Floats) -> Floats:
        """Return the adjusted times, at least 0."""
        return np.asarray(np.maximum(self.offset + self.factor * np.maximum(seconds, 0.0), 0.0))


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """Prediction of a model for processors of a kind, at several numbers of ranks; each array has shape (ranks,).

    Attributes:
        seconds: Predicted time; NaN where there is no model, as are the interval's ends.
        low: Low end of an interval meant to contain 80 % of measured times.
        high: High end of that interval.
        inside: Whether the point lies within the measured range.
    """

    seconds: Floats
    low: Floats
    high: Floats
    inside: Flags

    def adjusted(self, by: Adjustment) -> Told:
        """Return the prediction after an adjustment."""
        return Told(by.of(self.seconds), by.of(self.low), by.of(self.high), self.inside)


@dataclass(frozen=True, slots=True)
class Forecast:
    """Prediction for one configuration.

    Attributes:
        seconds: Predicted time.
        low: Low end of an interval meant to contain 80 % of measured times, seconds.
        high: High end of that interval, seconds.
        inside: Whether size and ranks lie within the fitted range, for all kinds that it uses.
        slowest: Kind whose processors take longest.
    """

    seconds: float
    low: float
    high: float
    inside: bool
    slowest: str


@dataclass(frozen=True, eq=False)
class ClusterModel:
    """Models of all kinds of processors.

    Attributes:
        kinds: Models of each kind.
        footprint: Memory of a process, by which models are chosen, if binning is used.
        adjusted: Kind whose number of processes selects the adjustment; ``""`` if nothing is adjusted.
        adjustments: Adjustments by number of processes of that kind, applied to the whole time, also where that kind
            is used alone.
    """

    kinds: Mapping[str, tuple[Bin, ...]]
    footprint: Footprint | None = None
    adjusted: str = ""
    adjustments: Mapping[int, Adjustment] = field(default_factory=dict)

    def processes(self, kind: str) -> tuple[int, ...]:
        """Return the numbers of processes per processor that a kind has models for, ascending."""
        return tuple(sorted({each.processes for each in self.kinds.get(kind, ())}))

    @cached_property
    def domain(self) -> Mapping[str, tuple[float, float]]:
        """Smallest and largest measured value of each feature."""
        return _joined(each for _, each in self.bins())

    def bins(self) -> Iterator[tuple[str, Bin]]:
        """Yield all kinds with each of their models."""
        return ((kind, each) for kind, bins in self.kinds.items() for each in bins)

    def told(self, kind: str, processes: int, size: float, ranks: Floats) -> Told:
        """Return the time of a processor of a kind shared by a number of processes, at several numbers of ranks.

        Raises:
            ModelError: If the size is not above 0 and finite.
        """
        if not 0 < size < math.inf:
            raise ModelError(f"size must be a number above 0, got {size:g}")
        seconds, variance = np.full(len(ranks), math.nan), np.zeros(len(ranks))
        inside = np.zeros(len(ranks), bool)
        memory = self._memory(processes, size, ranks)
        for each in self._of_use.get((kind, processes), ()):
            if (at := np.flatnonzero(each.holds(ranks, memory))).size:
                features = {SIZE: np.full(len(at), float(size)), RANKS: ranks[at]}
                parts = [part.estimate(features) for part in each.parts.values()]
                seconds[at] = sum(part.seconds for part in parts)
                variance[at] = sum(part.variance for part in parts)
                inside[at] = np.all([part.inside for part in parts], axis=0)
        return Told(*interval(seconds, variance), inside)

    def answers(self, size: float, configuration: Configuration) -> bool:
        """Tell whether there are models for every kind that a configuration uses."""
        ranks = ranks_of(configuration)
        return None not in (self.holding(kind, use.processes, size, ranks) for kind, use in configuration.items())

    def predict(self, size: float, configuration: Configuration, ranks: int = 0) -> Forecast:
        """Predict the time of a program on some processors.

        Args:
            size: N, the problem size.
            configuration: The processors, with the most processes on one of each kind.
            ranks: P; 0: all processors of a kind have as many processes.

        Raises:
            ModelError: If there is no model for the use of one of the kinds, or the size is not above 0.
        """
        if not configuration:
            raise ModelError("configuration must use processors, got none")
        total = ranks or ranks_of(configuration)
        key = configuration.get(self.adjusted)
        adjustment = self.adjustment(0 if key is None else key.processes)
        return forecast(
            {kind: self._of(kind, use, size, total).adjusted(adjustment) for kind, use in configuration.items()}, 0
        )

    def adjustment(self, processes: int) -> Adjustment:
        """Return the adjustment of whole times for a number of processes of the adjusted kind; 0: it is not used."""
        return self.adjustments.get(processes, Adjustment())

    def outside(self, size: float, configuration: Configuration, ranks: int = 0) -> tuple[str, ...]:
        """Return a line for each way in which size and ranks lie outside the fitted range; none: they are inside."""
        found = []
        at = {SIZE: float(size), RANKS: float(ranks or ranks_of(configuration))}
        for kind, use in configuration.items():
            holding = self.holding(kind, use.processes, size, int(at[RANKS]))
            for name, (low, high) in _joined([holding] if holding else []).items():
                if not low <= at[name] <= high:
                    what = f"{kind or 'runs'}, {use.processes} per processor: {name}"
                    rule = f"must be {format_range(low, high)} to be inside what was fitted"
                    found.append(f"{what} {rule}, got {format_exact(at[name])}")
        return tuple(dict.fromkeys(found))

    def holding(self, kind: str, processes: int, size: float, ranks: int) -> Bin | None:
        """Return the model that holds for a size and a number of ranks, if there is one."""
        if not 0 < size < math.inf:
            return None
        memory = self._memory(processes, size, np.array([float(ranks)]))
        of = self._of_use.get((kind, processes), ())
        return next((each for each in reversed(of) if each.holds(ranks, memory)), None)

    @cached_property
    def _of_use(self) -> Mapping[tuple[str, int], list[Bin]]:
        """Models by kind and M; those for a single number of ranks come last and take precedence."""
        found: dict[tuple[str, int], list[Bin]] = {}
        for kind, each in sorted(self.bins(), key=lambda each: each[1].ranks is not None):
            found.setdefault((kind, each.processes), []).append(each)
        return found

    def _memory(self, processes: int, size: float, ranks: Floats) -> Floats | float:
        """Return the bytes that a processor's processes need; just 0 without binning by memory."""
        return 0.0 if self.footprint is None else processes * self.footprint.of(size, ranks)

    def _of(self, kind: str, use: Use, size: float, total: int) -> Told:
        if kind not in self.kinds:
            raise ModelError(f"processors must be of a kind that was fitted ({', '.join(self.kinds)}), got {kind}")
        told = self.told(kind, use.processes, size, np.array([float(total)]))
        if math.isnan(told.seconds[0]):
            raise ModelError(f"{kind}: {self._why(kind, use, size, total)}")
        return told

    def _why(self, kind: str, use: Use, size: float, total: int) -> str:
        """Say why there is no model."""
        known = self.processes(kind)
        if use.processes not in known:
            return f"processes per processor must be among those fitted ({_listed(known)}), got {use.processes}"
        of = [each for each in self.kinds[kind] if each.processes == use.processes]
        if holding := [each for each in of if each.holds_for(total)]:
            needed = self._memory(use.processes, size, np.array([float(total)]))
            less = all(np.all(needed <= each.memory[0]) for each in holding)
            return f"memory must be within what was fitted, got {'less' if less else 'more'}"
        ranks = sorted({each.ranks for each in of if each.ranks is not None})
        if any(each.ranks is None for each in of):
            others = f", or among those fitted alone ({_listed(ranks)})" if ranks else ""
            return f"ranks must be above the processes per processor ({use.processes}){others}, got {total}"
        advice = (
            "" if total <= use.processes else ": measure at three or more numbers of processors, or compose a model"
        )
        return f"ranks must be among those fitted ({_listed(ranks)}), got {total}{advice}"


def _joined(bins: Iterable[Bin]) -> dict[str, tuple[float, float]]:
    """Return the smallest and largest value of each feature at which any of some models was fitted."""
    found: dict[str, tuple[float, float]] = {}
    for each in bins:
        at = {} if each.ranks is None else {RANKS: (float(each.ranks), float(each.ranks))}
        for part in each.parts.values():
            for name, (low, high) in {**at, **part.domain}.items():
                known = found.get(name, (low, high))
                found[name] = min(low, known[0]), max(high, known[1])
    return found


def forecast(told: Mapping[str, Told], at: int) -> Forecast:
    """Return the prediction for all kinds together at an index of their numbers of ranks; the slowest decides."""
    slowest = max(told, key=lambda kind: told[kind].seconds[at])
    return Forecast(
        float(told[slowest].seconds[at]),
        max(float(each.low[at]) for each in told.values()),
        max(float(each.high[at]) for each in told.values()),
        all(each.inside[at] for each in told.values()),
        slowest,
    )


def _listed(numbers: tuple[int, ...] | list[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"
