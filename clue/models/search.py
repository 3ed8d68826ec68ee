"""Search for the best set of processors and of processes on each: exhaustive if small, else by exact bounds.

For a given size, the time of a processor depends only on its kind, on M and on P, and the slowest processor decides. So
for each P the question is which pairs of kind and M may be used so that their processes add up to P: a bottleneck
problem. The minimum time at which this is possible is a lower bound for all configurations of P ranks, and one of them
attains it.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product

import numpy as np

from clue.errors import ModelError
from clue.models.cluster import Adjustment, ClusterModel, Configuration, Forecast, Told, Use, forecast, ranks_of

#: Maximum number of configurations for an exhaustive search.
EXHAUSTIVE = 2000


@dataclass(frozen=True, slots=True)
class Candidate:
    """A configuration and its forecast.

    Attributes:
        uses: Processors used.
        forecast: Predicted time of a run there.
        loss: Excess over the best time, as a share; ``None``: the best time is predicted to be 0.
    """

    uses: Configuration
    forecast: Forecast
    loss: float | None


@dataclass(frozen=True, slots=True)
class Found:
    """Result of a search.

    Attributes:
        candidates: The best first; among equal times those with fewer processors first, as far as they were examined.
        total: Number of configurations.
        exhaustive: Whether all were examined.
    """

    candidates: tuple[Candidate, ...]
    total: int
    exhaustive: bool

    @property
    def best(self) -> Candidate:
        """The best."""
        return self.candidates[0]


@dataclass(frozen=True, slots=True)
class _Case:
    """Predictions for all kinds, given the number of processes of the adjusted kind (or that it is not used).

    Attributes:
        told: Predictions by kind and number of processes, at P = 1, 2, …
        counts: Number of processors by kind.
        must: Kind that must be used; ``""``: none.
    """

    told: Mapping[str, Mapping[int, Told]]
    counts: Mapping[str, int]
    must: str

    def uses(self, kind: str) -> Iterator[Use | None]:
        """Yield the possible uses of a kind; ``None``: not used."""
        if kind != self.must:
            yield None
        for processes in self.told[kind]:
            yield from (Use(count, processes) for count in range(1, self.counts[kind] + 1))

    def candidate(self, uses: Configuration) -> tuple[Forecast, Configuration]:
        """Return the forecast of a configuration, and the configuration."""
        told = {kind: self.told[kind][use.processes] for kind, use in uses.items()}
        return forecast(told, ranks_of(uses) - 1), uses


def best(
    model: ClusterModel,
    size: float,
    available: Mapping[str, int],
    *,
    processes: Mapping[str, Sequence[int]] | None = None,
    keep: int = 20,
    exhaustive: bool | None = None,
) -> Found:
    """Return the fastest configurations.

    Args:
        model: Model that predicts each.
        size: N, the problem size.
        available: Number of available processors of each kind.
        processes: Allowed numbers of processes per processor of each kind; by default all that have models.
        keep: Maximum number of configurations to return.
        exhaustive: Whether to examine all; by default if they are few.

    Raises:
        ModelError: If the model can predict no configuration.
    """
    counts = {kind: count for kind, count in available.items() if count > 0 and kind in model.kinds}
    if not counts:
        got = ", ".join(available) or "none"
        raise ModelError(f"processors must be of kinds that were fitted ({', '.join(model.kinds)}), got {got}")
    allowed = {kind: _allowed(model, kind, (processes or {}).get(kind)) for kind in counts}
    total = math.prod(1 + counts[kind] * len(allowed[kind]) for kind in counts) - 1
    whole = total <= EXHAUSTIVE if exhaustive is None else exhaustive
    cases = _cases(model, size, counts, allowed)
    found = [each for case in cases for each in (_all(case) if whole else _bounded(case, keep))]
    if not found:
        raise ModelError("processors must have models for the size and the numbers of ranks, got none")
    found.sort(key=lambda each: (each[0].seconds, sum(use.processors for use in each[1].values()), ranks_of(each[1])))
    least = found[0][0].seconds
    candidates = tuple(
        Candidate(uses, said, said.seconds / least - 1 if least > 0 else None) for said, uses in found[:keep]
    )
    return Found(candidates, total, whole)


def _allowed(model: ClusterModel, kind: str, asked: Sequence[int] | None) -> tuple[int, ...]:
    known = model.processes(kind)
    unknown = sorted(set(asked or ()) - set(known))
    if unknown:
        listed = ", ".join(map(str, known))
        raise ModelError(f"{kind}: processes per processor must be among those fitted ({listed}), got {unknown[0]}")
    return known if asked is None else tuple(sorted(set(asked)))


def _cases(
    model: ClusterModel, size: float, counts: Mapping[str, int], allowed: Mapping[str, Sequence[int]]
) -> list[_Case]:
    most = sum(count * max(allowed[kind], default=0) for kind, count in counts.items())
    ranks = np.arange(1.0, most + 1)
    told = {kind: {each: model.told(kind, each, size, ranks) for each in allowed[kind]} for kind in counts}
    key = model.adjusted
    if key not in counts or not model.adjustments:
        return [_adjusted(told, model.adjustment(0), counts, "")]
    others = {kind: of for kind, of in told.items() if kind != key}
    beside = [({**told, key: {each: told[key][each]}}, model.adjustment(each)) for each in allowed[key]]
    return [_adjusted(others, model.adjustment(0), counts, ""), *(_adjusted(*each, counts, key) for each in beside)]


def _adjusted(told: Mapping[str, Mapping[int, Told]], by: Adjustment, counts: Mapping[str, int], must: str) -> _Case:
    """Return a case whose predictions are adjusted as :meth:`ClusterModel.predict` does, so that none is below 0."""
    return _Case({kind: {m: each.adjusted(by) for m, each in of.items()} for kind, of in told.items()}, counts, must)


def _all(case: _Case) -> Iterator[tuple[Forecast, Configuration]]:
    """Yield every configuration for which there are models."""
    for chosen in product(*(case.uses(kind) for kind in case.told)):
        uses = {kind: use for kind, use in zip(case.told, chosen, strict=True) if use is not None}
        if uses:
            said = case.candidate(uses)
            if all(not math.isnan(case.told[k][u.processes].seconds[ranks_of(uses) - 1]) for k, u in uses.items()):
                yield said


def _bounded(case: _Case, keep: int) -> Iterator[tuple[Forecast, Configuration]]:
    """Yield the best configurations in the order of their times.

    A heap holds a lower bound for each number of ranks: at first the minimum time of any processor; then, for the
    numbers of ranks at the top of the heap, the minimum time of configurations that add up to P.
    """
    kinds = [case.must] if case.must else list(case.told)
    times = [told.seconds for kind in kinds for told in case.told[kind].values()]
    if not times:
        return
    fastest = np.min(np.where(np.isnan(times), math.inf, times), axis=0)
    heap = [(seconds, ranks, False) for ranks, seconds in enumerate(fastest.tolist(), 1) if seconds < math.inf]
    heapq.heapify(heap)
    while heap and keep > 0:
        seconds, ranks, reached = heapq.heappop(heap)
        bound = _Bound.of(case, ranks)
        if reached:
            for uses in islice(bound.configurations(seconds), keep):
                yield case.candidate(uses)
                keep -= 1
        if (following := bound.least(seconds, but=reached)) < math.inf:
            heapq.heappush(heap, (following, ranks, True))


@dataclass(frozen=True, slots=True)
class _Bound:
    """All configurations of a number of ranks.

    Attributes:
        ranks: P.
        times: Time of a processor by kind and number of processes, where there is a model.
        counts: Number of processors by kind.
        must: Kind that must be used.
    """

    ranks: int
    times: Mapping[str, Mapping[int, float]]
    counts: Mapping[str, int]
    must: str

    @classmethod
    def of(cls, case: _Case, ranks: int) -> _Bound:
        times = {
            kind: {m: seconds for m, told in of.items() if not math.isnan(seconds := float(told.seconds[ranks - 1]))}
            for kind, of in case.told.items()
        }
        return cls(ranks, times, case.counts, case.must)

    def least(self, seconds: float, *, but: bool) -> float:
        """Return the minimum time of a configuration at or above some seconds (``but``: above); infinity if none."""
        every = {each for of in self.times.values() for each in of.values()}
        values = sorted(each for each in every if each > seconds or (each == seconds and not but))
        return next((each for each in values if next(self.configurations(each), None) is not None), math.inf)

    def configurations(self, seconds: float) -> Iterator[Configuration]:
        """Yield the configurations that take exactly this time, without examining any other."""
        levels = [_Level("", (), 1, 0, False)]
        for kind in reversed(list(self.times)):
            uses = tuple(
                (m, min(self.counts[kind], self.ranks // m), each == seconds)
                for m, each in self.times[kind].items()
                if each <= seconds
            )
            levels.append(levels[-1].before(kind, uses, kind != self.must))
        yield from _made(levels, self.ranks, False)


@dataclass(frozen=True, slots=True)
class _Level:
    """A kind, and the sums of processes that it and all following kinds can form.

    Attributes:
        kind: The kind.
        uses: Possible uses: processes of each processor, maximum number of processors, and whether these take exactly
            the wanted time.
        within: Bit set of the numbers of ranks that can be formed.
        exact: Bit set of those that can be formed with a use that takes exactly that time.
        spare: Whether it may go unused.
    """

    kind: str
    uses: tuple[tuple[int, int, bool], ...]
    within: int
    exact: int
    spare: bool

    def before(self, kind: str, uses: tuple[tuple[int, int, bool], ...], spare: bool) -> _Level:
        """Return the level of a kind before this one."""
        within, exact = (self.within, self.exact) if spare else (0, 0)
        for m, most, takes in uses:
            within |= _with(self.within, m, most)
            exact |= _with(self.within if takes else self.exact, m, most)
        return _Level(kind, uses, within, exact, spare)


def _with(made: int, step: int, most: int) -> int:
    """Return the bit set of numbers formed by adding a step to others 1 to ``most`` times."""
    found, count = (made << step if most else 0), min(most, 1)
    while count < most:
        further = min(count, most - count)
        found |= found << further * step
        count += further
    return found


def _made(levels: Sequence[_Level], ranks: int, taken: bool) -> Iterator[Configuration]:
    """Yield the configurations of a number of ranks; ``taken``: whether a use already takes exactly the wanted time.

    Levels are in reverse order; branches that cannot form the sum are not searched.
    """
    here = levels[-1]
    if ranks < 0 or not (here.within if taken else here.exact) >> ranks & 1:
        return
    if len(levels) == 1:
        yield {}
    for m, most, takes in here.uses:
        for count in range(1, most + 1):
            for rest in _made(levels[:-1], ranks - count * m, taken or takes):
                yield {here.kind: Use(count, m), **rest}
    if here.spare:
        yield from _made(levels[:-1], ranks, taken)
