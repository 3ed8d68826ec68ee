"""Plan of few recordings from which the computation at a target is interpolated, and their cost on this computer.

The time of a burst depends on the local size of a rank, size^d / ranks, with d from 1 (a strip's rows) to 3 (a block's
volume); the planner does not know d. So for each d there is one size, recorded on three numbers of ranks: on the middle
one, the local size is the target's, on the smallest twice and on the largest half of it. Two more numbers of ranks,
which are not powers of two, distinguish rules from coincidences: 6 = 3 x 2, and 27 = 3 x 3 x 3, the smallest block of
ranks in which one rank has neighbours on all sides; two sizes are enough for these. Recordings that a program does not
accept (:mod:`clue.extrapolation.admissible`) are replaced by the nearest acceptable ones.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from clue.extrapolation.admissible import ANY, Admissible
from clue.units import count_of

#: Exponents d of local sizes: a length, an area or a volume is divided among ranks.
DIMENSIONS = (1, 2, 3)
#: Numbers of ranks for targets above :data:`_FEW` ranks: recorded with all sizes, and recorded with two sizes.
_POWERS, _OTHERS = (4, 8, 16), (6, 27)
#: The same for smaller targets, and the number of ranks up to which a target is small.
_SMALL_POWERS, _SMALL_OTHERS, _FEW = (2, 4, 8), (6,), 16
#: Tolerance of a size around its ideal: relative, absolute, and relative for sizes that only serve rules.
_SLACK, _LEAST_SLACK, _SLACK_OF_OTHERS = 0.04, 2, 0.3
#: Wider relative tolerances, tried in turn where the program accepts no nearer size.
_WIDER = (0.15, 0.5, 1.0)
#: Maximum ratio between a substitute and the ideal number of ranks.
_FARTHEST = 3
#: Minimum number of sizes and of numbers of ranks for rules with cases.
SIZES, COUNTS = 3, 4
#: Maximum exponent of growth of times and memory, and the exponent assumed when unknown.
_STEEPEST, _UNKNOWN = 4.0, 3.0


@dataclass(frozen=True, slots=True, order=True)
class Wanted:
    """A recording that is wanted."""

    size: int
    ranks: int

    def __str__(self) -> str:
        return f"size {self.size} on {count_of(self.ranks)}"


@dataclass(frozen=True, slots=True)
class Sample:
    """Cost of a recording made on this computer.

    Attributes:
        size: Its size.
        ranks: Its number of ranks.
        work: CPU seconds in the bursts of all ranks together.
        alone: Additional CPU seconds of each rank, for instance at its start.
        memory: Mean peak memory of a rank, bytes.
    """

    size: int
    ranks: int
    work: float
    alone: float
    memory: float


@dataclass(frozen=True, slots=True)
class Planned:
    """A recording to be made, with its estimated cost on this computer.

    Attributes:
        size: Its size.
        ranks: Its number of ranks.
        seconds: Estimated time.
        memory: Memory of all its ranks together, bytes.
    """

    size: int
    ranks: int
    seconds: float
    memory: float


@dataclass(frozen=True, slots=True)
class Refused:
    """A recording that could not be made.

    Attributes:
        size: Its size.
        ranks: Its number of ranks.
        why: Reason, in the words of the error.
        instead: The recording planned instead, if any.
    """

    size: int
    ranks: int
    why: str
    instead: Wanted | None = None

    def __str__(self) -> str:
        instead = self.instead or "nothing"
        return f"{Wanted(self.size, self.ranks)} could not be recorded: {self.why}; instead: {instead}"


@dataclass(frozen=True, slots=True)
class Plan:
    """Recordings to make for a target.

    Attributes:
        size: The target's size.
        ranks: Its number of ranks.
        repeats: Number of repeats of each, made in turn.
        recordings: Recordings to make, with the cost of one of each: by size, then by ranks.
        left_out: Recordings that are needed but cannot be made, in the same form.
        takes: Sizes and numbers of ranks that the program accepts, as stated.
        learned: Those that it seems to accept, inferred from refusals.
        refused: Recordings that failed when tried.
        tried: Whether all recordings were tried; otherwise only some, from which the cost of all is estimated.
    """

    size: int
    ranks: int
    repeats: int
    recordings: tuple[Planned, ...]
    left_out: tuple[Planned, ...] = ()
    takes: Admissible = ANY
    learned: Admissible = ANY
    refused: tuple[Refused, ...] = ()
    tried: bool = False

    @property
    def seconds(self) -> float:
        """Estimated time of all recordings."""
        return self.repeats * sum(each.seconds for each in self.recordings)

    def bracketed(self, dimension: int) -> bool:
        """Tell whether the target's local size of a dimension lies within the recorded range."""
        known = [each.size**dimension / each.ranks for each in self.recordings]
        return bool(known) and min(known) <= self.size**dimension / self.ranks * (1 + 1e-9) <= max(known) * (1 + 2e-9)

    @property
    def variety(self) -> tuple[int, int]:
        """How many different sizes and how many different numbers of ranks are recorded."""
        return len({each.size for each in self.recordings}), len({each.ranks for each in self.recordings})


@dataclass(frozen=True, slots=True, order=True)
class Role:
    """Purpose of a recording.

    Attributes:
        ranks: Ideal number of ranks.
        size: Index of the ideal size on this number of ranks.
    """

    ranks: int
    size: int


def wanted(size: int, ranks: int, takes: Admissible = ANY) -> dict[Role, Wanted]:
    """Return the recordings that a target needs; one may have several roles.

    Args:
        size: The target's size.
        ranks: Its number of ranks.
        takes: Sizes and numbers of ranks that the program accepts; those nearest to the ideal ones are taken. If none
            is near, no recording is wanted.
    """
    powers, others = _numbers(ranks, takes)
    if not powers:
        return {}
    middle = sorted(powers.values())[len(powers) // 2]
    ideal = [size * min(middle / ranks, 1.0) ** (1 / dimension) for dimension in DIMENSIONS]
    together = Sizes(size, ranks, tuple(sorted(powers.values())), takes)
    found: dict[Role, Wanted] = {}
    for i, each in enumerate(together.near(ideal)):
        for role, number in powers.items():
            own = each if takes.holds(each, number) else Sizes(size, ranks, (number,), takes).nearest(each)
            found |= {} if own is None else {Role(role, i): Wanted(own, number)}
    for role, number in others.items():
        two = sorted(set(Sizes(size, ranks, (number,), takes, _SLACK_OF_OTHERS).near(ideal)))[:2]
        found |= {Role(role, i): Wanted(each, number) for i, each in enumerate(two)}
    return found


def _numbers(ranks: int, takes: Admissible) -> tuple[dict[int, int], dict[int, int]]:
    """Return numbers of ranks by ideal number: those recorded with all sizes, and those recorded with two sizes."""
    powers: tuple[int, ...] = _POWERS if ranks > _FEW else _SMALL_POWERS
    others = _OTHERS if ranks > _FEW else _SMALL_OTHERS
    if ranks < _FEW:
        powers = tuple(sorted({*powers, ranks}))
    most = min(max(ranks, _FEW, *others), _FARTHEST * max(*powers, *others))
    possible = [each for each in range(min(2, ranks), most + 1) if takes.takes_ranks(each)]
    found: dict[int, int] = {}
    for ideal in dict.fromkeys((*powers, *others)):
        near = min(possible, key=lambda each: abs(math.log(each / ideal)), default=None)
        if near is not None and max(near / ideal, ideal / near) <= _FARTHEST:
            found[ideal] = near
            possible.remove(near)
    return {each: found[each] for each in powers if each in found}, {
        each: found[each] for each in others if each in found and each not in powers
    }


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes that serve a target: they share its divisors, because many programs accept only such sizes.

    Attributes:
        size: The target's size.
        ranks: Its number of ranks.
        numbers: Numbers of ranks on which they are to be recorded, ascending.
        takes: Sizes that the program accepts there.
        share: Relative tolerance around the ideal size.
    """

    size: int
    ranks: int
    numbers: tuple[int, ...]
    takes: Admissible = ANY
    share: float = _SLACK

    @property
    def granule(self) -> int:
        """Preferred divisor of the sizes: a multiple of all numbers of ranks if the target divides evenly; else 1."""
        return 1 if self.size % self.ranks else math.lcm(*self.numbers)

    def near(self, ideal: Sequence[float]) -> list[int]:
        """Return sizes near the ideal ones, in the same order, and further ones if too few of them are different."""
        found = [near for each in ideal if (near := self.nearest(each)) is not None]
        least = SIZES if self.takes.demands else 2
        low, high = min(found, default=0), max(found, default=0)
        for each in (low / 2 if low > self.granule else high + self.granule, 2 * high, math.sqrt(low * high)):
            if found and len(set(found)) < least and (near := self.nearest(each, found)) is not None:
                found.append(near)
        return found

    def nearest(self, ideal: float, besides: Collection[int] = ()) -> int | None:
        """Return a size near an ideal one; ``None`` if there is none.

        Among the sizes near enough, it is the one with the largest common divisor with the target's size. If the
        program accepts none of them on all numbers of ranks, the size is for the smaller numbers only, or less near.

        Args:
            ideal: The ideal size.
            besides: Excluded sizes.
        """
        even = self.share if self.granule > 1 else _SLACK
        for share in (even, *(each for each in _WIDER if each > even)):
            for numbers in (self.numbers[:count] for count in range(len(self.numbers), len(self.numbers) // 2, -1)):
                for granule in dict.fromkeys((self.granule, 1)):
                    found = [each for each in self._about(ideal, share, granule, numbers) if each not in besides]
                    if found:
                        return max(found, key=lambda each: (self._common(each, granule), -abs(each - ideal)))
        return None

    def _about(self, ideal: float, share: float, granule: int, numbers: Sequence[int]) -> list[int]:
        """Return sizes near enough, or else the first multiple of the granule."""
        slack = max(share * ideal, _LEAST_SLACK, granule / 2)
        low = granule * max(math.ceil((ideal - slack) / granule), 1)
        return self.takes.sizes(ideal, (low, max(ideal + slack, low)), granule, numbers)

    def _common(self, size: int, granule: int) -> int:
        """Return the greatest common divisor of a size and the target's, both less the offset of admissible sizes."""
        offset = self.takes.offset
        return math.gcd(max(size - offset, 1), math.lcm(max(self.size - offset, 1), granule))


def lacking(recorded: Sequence[tuple[int, int]]) -> tuple[Wanted, ...]:
    """Return cheap further recordings that distinguish rules from coincidences in sizes and numbers of ranks.

    Args:
        recorded: Size and number of ranks of each recording: at least one.
    """
    sizes, ranks = sorted({size for size, _ in recorded}), sorted({count for _, count in recorded})
    odd = [] if any(count & (count - 1) for count in ranks) else [3 * max(ranks[0] // 2, 1)]
    while len(ranks) + len(odd) < COUNTS:
        odd.append(2 * max((*ranks, *odd)))
    further = [sizes[-1] + (i + 1) * ranks[0] * ranks[-1] for i in range(SIZES - len(sizes))]
    found = {Wanted(size, count) for size in sizes[:2] for count in odd}
    return tuple(sorted(found | {Wanted(size, count) for size in further for count in (*ranks, *odd)}))


def estimate(samples: Sequence[Sample], what: Wanted, cores: int) -> Planned:
    """Estimate the cost of a recording from that of others.

    Total computation is independent of the number of ranks, and ranks share the cores. Computation and data grow as a
    power of the size: the exponent is that between the last two samples, at most four (data: three); with a single
    sample, three. Data are the memory beyond that of the smallest sample, so a single sample does not show any.

    Args:
        samples: At least one, by size.
        what: The recording to estimate.
        cores: Cores of this computer.
    """
    last = samples[-1]
    grown = what.size / last.size
    steep = _exponent([(each.size, each.work) for each in samples])
    work, start = last.work * grown**steep, max(each.alone for each in samples)
    empty = min(each.memory for each in samples)  # of a rank with almost no data
    data = (last.memory - empty) * last.ranks * grown ** min(steep, _UNKNOWN)
    seconds = (work + start * what.ranks) / min(what.ranks, cores)
    return Planned(what.size, what.ranks, seconds, empty * what.ranks + data)


def _exponent(points: Sequence[tuple[int, float]]) -> float:
    """Return the exponent of growth between the last two points."""
    if len(points) < 2 or min(value for _, value in points[-2:]) <= 0:
        return _UNKNOWN
    (before, less), (after, more) = points[-2:]
    return min(max(math.log(more / less) / math.log(after / before), 0.0), _STEEPEST)


def planned(
    target: Wanted, samples: Sequence[Sample], *, cores: int, memory: float, repeats: int, recordable: Iterable[Wanted]
) -> Plan:
    """Return the plan for a target with the cost of each recording, without those that exceed the memory.

    Args:
        target: Size and ranks of the target.
        samples: Cost of some of the recordings on this computer: at least one.
        cores: Cores of this computer.
        memory: Memory available for recordings, bytes.
        repeats: Number of repeats of each.
        recordable: The recordings to plan.
    """
    needs = [estimate(samples, each, cores) for each in recordable]
    fit = tuple(each for each in needs if each.memory <= memory)
    return Plan(target.size, target.ranks, repeats, fit, tuple(each for each in needs if each.memory > memory))
