"""Chooses the iterations to simulate: some in the middle of each stratum; strata are spread evenly along a loop."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from clue.errors import ClueError
from clue.steady.cuts import Flow
from clue.steady.folded import folded_stretches
from clue.steady.iterations import Stretch, stretches
from clue.steady.steadiness import is_coupled, keeps_together, odd_ones, period_of
from clue.trace import Trace

#: Largest share of all ops that is simulated; and a further share, to check whether ranks fall into another step later.
SHARE, CHECK = 0.1, 0.05
#: Number of strata of all loops together, if the sample allows them; fewer and longer ones if no collective call
#: keeps ranks together: the ranks then drift apart slowly, and few long blocks measure that better than many short
#: ones.
STRATA, LONG_STRATA = 16, 10
#: Fewest strata of a loop; with fewer, its interval would be meaningless.
FEWEST = 4
#: Least number of warm-up iterations, in whole periods: only the second iteration begins in a normal state.
_WARM = 2


class UnsteadyError(ClueError):
    """Report a program whose time cannot be estimated from a part of it."""


@dataclass(frozen=True, slots=True)
class Stratum:
    """Iterations of a stretch with consecutive simulated ones among them: ``first`` to ``first + warm + measured``.

    Attributes:
        begin: First iteration that it represents; iterations that are simulated in any case do not count.
        end: Iteration after the last.
        first: First iteration that is simulated.
        warm: Number of warm-up iterations, which are not measured.
        measured: Number of measured iterations that follow.
    """

    begin: int
    end: int
    first: int
    warm: int
    measured: int

    @property
    def part(self) -> npt.NDArray[np.int64]:
        """The measured iterations."""
        return np.arange(self.first + self.warm, self.first + self.warm + self.measured)

    @property
    def simulated(self) -> npt.NDArray[np.int64]:
        """Iterations of both replays."""
        long = np.arange(self.first, self.first + self.warm + self.measured)
        return np.append(long[: self.warm], long)


@dataclass(frozen=True, slots=True, eq=False)
class SampledLoop:
    """A stretch and its strata.

    Attributes:
        stretch: All its iterations.
        kept: Iterations that are simulated in any case: at both ends, and outliers with their surroundings.
        strata: Strata of the other iterations.
        late: Iterations after a much longer warm-up; ``None`` if outliers leave no room for it.
        coupled: Whether each rank waits, directly or indirectly, for every other.
        widths: Number of iterations of the loop statement in each iteration of the stretch.
    """

    stretch: Stretch
    kept: npt.NDArray[np.bool_]
    strata: tuple[Stratum, ...]
    late: Stratum | None
    coupled: bool
    widths: npt.NDArray[np.int64]

    @property
    def iterations(self) -> int:
        """Number of iterations of the loop statement."""
        return int(self.widths.sum())

    @property
    def simulated(self) -> int:
        """Number of them in all replays."""
        strata = (*self.strata, *([self.late] if self.late else []))
        return int(self.widths[self.kept].sum() + sum(self.widths[each.simulated].sum() for each in strata))

    def stands_for(self, stratum: Stratum) -> npt.NDArray[np.int64]:
        """Return the iterations that a stratum represents."""
        return stratum.begin + np.flatnonzero(~self.kept[stratum.begin : stratum.end])


@dataclass(frozen=True, slots=True, eq=False)
class _Usable:
    """A stretch that can be sampled.

    Attributes:
        stretch: The stretch.
        widths: Number of iterations of the loop statement in each of its iterations.
        period: Its period, in iterations.
        odd: Outliers with a period on either side, which are simulated in any case.
        together: Whether a collective call keeps ranks together.
        coupled: Whether each rank waits for every other.
    """

    stretch: Stretch
    widths: npt.NDArray[np.int64]
    period: int
    odd: npt.NDArray[np.bool_]
    together: bool
    coupled: bool

    @property
    def odd_ops(self) -> int:
        """Number of ops of outliers and their surroundings."""
        return int(self.stretch.lengths[self.odd].sum())

    @property
    def usual(self) -> float:
        """Mean number of ops of the other iterations."""
        return float(self.stretch.lengths[~self.odd].mean())

    def needed(self, outside: float) -> int:
        """Return how many iterations suffice for a sample beside some ops outside of loops."""
        always = (outside + self.odd_ops) / self.usual
        return math.ceil(_shortest(self.period) + (1 / SHARE - 1) * always) + int(self.odd.sum())


def plan(trace: Trace) -> tuple[SampledLoop, ...]:
    """Choose iterations.

    Raises:
        UnsteadyError: If a tenth of the program does not determine the time of the whole.
    """
    if any(each.world for each in trace.head.rank_heads):
        raise UnsteadyError(
            f"{trace.name}: a sampled simulation must have all ranks from the beginning, got spawned ones"
        )
    chosen, ops, share, why = _choose(trace), len(trace.ops), SHARE, ""
    while chosen and share > 0:  # what is outside of loops only grows
        looped = sum(each.stretch.ops for each in chosen)
        share = (SHARE * ops - (ops - looped)) / max(1, looped)
        spread = [_spread(each, share, len(chosen)) for each in chosen]
        planned = tuple(each for each in spread if each is not None)
        if len(planned) == len(chosen):
            return planned
        # A loop without room for strata is replayed, like ops outside of loops, if the others leave room for it.
        short = min(
            (each for each, found in zip(chosen, spread, strict=True) if found is None),
            key=lambda each: each.stretch.ops,
        )
        why = why or f"{trace.name}: {_too_short(short, ops, looped)}"
        chosen.remove(short)
    raise UnsteadyError(why)


def _too_short(loop: _Usable, ops: int, looped: int) -> str:
    """Return why a loop has no room for strata, of a program with some ops, of which all loops together make some."""
    if looped < (1 - SHARE / 2) * ops:
        return f"loops of many steady iterations must make {1 - SHARE / 2:.0%} of all ops, got {looped / ops:.1%}"
    stretch, outside = loop.stretch, ops - looped
    needed = loop.needed(outside * stretch.ops / looped)
    return (
        f"loop {stretch.name} has {stretch.iterations:,} {stretch.unit}, a sample of a tenth needs {needed:,}, because "
        f"ops outside of loops ({outside / ops:.1%} of all) and outliers ({loop.odd_ops / ops:.1%}) are replayed, too"
    )


def _choose(trace: Trace) -> list[_Usable]:
    """Return long loops that follow one another, preferring outer ones if these are long enough."""
    flow, found, why = Flow.of(trace), list[_Usable](), dict[int, str]()
    known = len(trace.head.sites) > 1
    for runs in stretches(trace) if known else folded_stretches(trace):
        for stretch in runs:
            if any(_overlap(stretch, other.stretch) for other in found):
                continue
            usable, reason = _usable(trace, flow, stretch)
            if usable is None:
                why.setdefault(stretch.ops, reason)
            else:
                found.append(usable)
    if not found:
        most = max(why, default=0)
        nothing = "no loop has equally many iterations on all ranks"
        said = why.get(most, nothing if known else f"{nothing}, and there are no call sites to tell: record it again")
        raise UnsteadyError(f"{trace.name}: not steady: {said}")
    return sorted(found, key=lambda each: int(each.stretch.bounds[0, 0]))


def _overlap(one: Stretch, other: Stretch) -> bool:
    return bool(((one.bounds[:, 0] < other.bounds[:, -1]) & (other.bounds[:, 0] < one.bounds[:, -1])).any())


def _usable(trace: Trace, flow: Flow, stretch: Stretch) -> tuple[_Usable | None, str]:
    """Return a stretch with its cuts and its period, or the reason why it cannot be sampled."""
    name, iterations = stretch.name, stretch.iterations
    if iterations < _shortest(1):
        return None, f"loop {name} has {iterations} iterations, a sample of a tenth needs {_shortest(1)}"
    closed = np.flatnonzero(flow.closed(stretch))
    if len(closed) - 1 < _shortest(1):
        return None, (
            f"messages, collective calls or requests are under way between all but {len(closed)} of the "
            f"{iterations} iterations of loop {name}"
        )
    whole = len(closed) > iterations
    stretch = Stretch(name, stretch.bounds[:, closed], "iterations" if whole else "parts")
    # What is before the first cut or after the last is simulated like the iterations next to it.
    closed[[0, -1]] = 0, iterations
    period = period_of(trace, stretch)
    if stretch.iterations < _shortest(period):
        of = "" if whole else f" ({iterations} iterations)"
        return None, (
            f"loop {name} has {stretch.iterations} {stretch.unit}{of} and a period of {period}, a sample of a tenth "
            f"needs {_shortest(period)}"
        )
    outliers, why = odd_ones(trace, stretch, period, SHARE / 3)
    if why:
        return None, why
    odd = np.zeros(stretch.iterations, np.bool_)
    for each in outliers.tolist():
        odd[max(0, each - period) : each + period + 1] = True
    together, coupled = keeps_together(trace, stretch), is_coupled(trace, stretch)
    return _Usable(stretch, np.diff(closed), period, odd, together, coupled), ""


def _warm(period: int) -> int:
    """Return the least number of warm-up periods."""
    return -(-_WARM // period)


def _shortest(period: int) -> int:
    """Return the fewest iterations of a stretch: for each stratum's two runs, and for both ends."""
    return round(period * (2 * _warm(period) + FEWEST * (2 * _warm(period) + 1)) / SHARE)


def _spread(loop: _Usable, share: float, loops: int) -> SampledLoop | None:
    """Place strata along a stretch; ``share`` is the share of its ops that may be simulated."""
    period = loop.period
    room = (share * loop.stretch.ops - loop.odd_ops) / (loop.usual * period)
    least = _warm(period)
    most = (STRATA if loop.together else LONG_STRATA) // loops
    strata = max(FEWEST, min(most, int((room - 2 * least) / (4 * least))))
    warm = max(least, int(room / (6 * strata + 2)))
    measured = int((room - 2 * warm) / strata) - 2 * warm
    if measured < 1:
        return None
    kept = loop.odd.copy()
    kept[: warm * period] = kept[-warm * period :] = True
    placed = tuple(_strata(kept, warm * period, measured * period, strata))
    late = _late(kept, warm, measured, period)
    return SampledLoop(loop.stretch, kept, placed, late, loop.coupled, loop.widths)


def _strata(kept: npt.NDArray[np.bool_], warm: int, measured: int, number: int) -> Iterator[Stratum]:
    ends = np.linspace(warm, len(kept) - warm, number + 1).round().astype(int).tolist()
    for begin, end in pairwise(ends):
        # Measured iterations are in the middle, or as near to it as outliers allow.
        nearest = _nearest(kept, max(begin, warm), end, measured)
        at = (begin + end - measured) // 2 if nearest is None else nearest
        yield Stratum(begin, end, at - warm, warm, measured)


def _nearest(kept: npt.NDArray[np.bool_], begin: int, end: int, length: int) -> int | None:
    """Return where iterations that are not simulated in any case begin, as near to the middle as there are enough."""
    places = np.arange(begin, end - length + 1)
    passed = np.append(0, np.cumsum(kept))
    free = places[passed[places + length] == passed[places]]
    return int(free[np.abs(free - (begin + end - length) // 2).argmin()]) if len(free) else None


def _late(kept: npt.NDArray[np.bool_], warm: int, measured: int, period: int) -> Stratum | None:
    """Return whole periods of which half is a warm-up, longer than others, as many as outliers allow.

    Equal iterations may alternate in time. So, if there are enough, a multiple of what strata measure is measured:
    where these hold whole cycles, so does this.
    """
    half = int(CHECK / 3 * len(kept) / period)
    while half > warm:
        compared = half - half % measured or half
        length = (half + compared) * period
        at = _nearest(kept, 0, len(kept), length)
        if at is not None:
            return Stratum(at, at + length, at, half * period, compared * period)
        half //= 2
    return None
