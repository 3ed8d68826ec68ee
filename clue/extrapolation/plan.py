"""Which few recordings to make for a target, so that what its ranks compute is interpolated, and what they need here.

What a burst takes depends on what a rank has of the problem: size^d / ranks, with d from 1 (a strip's rows) to 3 (a
block's volume); which d, a planner does not know. So for each d there is a size that gives a rank of the middle one of
three numbers of ranks as much as the target does, the smallest twice and the largest half as much. Two more numbers of
ranks, which are no powers of two, tell rules from coincidences: 6 = 3 x 2, and 27 = 3 x 3 x 3, the smallest block of
ranks of which one has neighbours on all sides; two sizes are enough of these. What a program does not take
(:mod:`clue.extrapolation.admissible`) gives way to what is nearest.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from clue.extrapolation.admissible import ANY, Admissible
from clue.units import count_of

#: What a local size may grow with: the length, the area or the volume of what is divided among ranks.
DIMENSIONS = (1, 2, 3)
#: For targets of more ranks than :data:`_FEW`: numbers of ranks on which all sizes are recorded, and those of two.
_POWERS, _OTHERS = (4, 8, 16), (6, 27)
#: The same for smaller targets.
_SMALL_POWERS, _SMALL_OTHERS, _FEW = (2, 4, 8), (6,), 16
#: A size may differ by such a share of it, or by so much, from what is ideal; those for rules alone by more.
_SLACK, _LEAST_SLACK, _SLACK_OF_OTHERS = 0.04, 2, 0.3
#: The same where the program takes none that is nearer.
_WIDER = (0.15, 0.5, 1.0)
#: How many times an ideal number of ranks another may be that is taken instead.
_FARTHEST = 3
#: So many sizes and numbers of ranks must be recorded at least for rules with cases.
SIZES, COUNTS = 3, 4
#: Exponents that times and memory may grow with.
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
    """What a recording took here.

    Attributes:
        size: Its size.
        ranks: Its number of ranks.
        work: CPU seconds in the bursts of all ranks together.
        alone: CPU seconds of a rank besides, as for its start.
        memory: Peak memory of a rank, bytes, the mean of all.
    """

    size: int
    ranks: int
    work: float
    alone: float
    memory: float


@dataclass(frozen=True, slots=True)
class Planned:
    """A recording to be made, and what it takes here.

    Attributes:
        size: Its size.
        ranks: Its number of ranks.
        seconds: How long.
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
        why: What the program must do and did not.
        instead: The recording that is planned instead, if there is one.
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
        repeats: How often to make each, all in turn.
        recordings: What to make, with what one of each takes here: by size, then by ranks.
        left_out: What should be made as well, and cannot be: the same.
        takes: Which sizes and numbers of ranks the program is said to take.
        learned: Which it seems to take, by what it refused.
        refused: What could not be recorded when it was tried.
        tried: Whether all of the recordings were tried; else only some, which tell what all need.
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
        """How long all of them take."""
        return self.repeats * sum(each.seconds for each in self.recordings)

    def bracketed(self, dimension: int) -> bool:
        """Tell whether the target's local size of a dimension lies between such as are recorded."""
        known = [each.size**dimension / each.ranks for each in self.recordings]
        return bool(known) and min(known) <= self.size**dimension / self.ranks * (1 + 1e-9) <= max(known) * (1 + 2e-9)

    @property
    def variety(self) -> tuple[int, int]:
        """How many sizes and how many numbers of ranks are recorded."""
        return len({each.size for each in self.recordings}), len({each.ranks for each in self.recordings})


@dataclass(frozen=True, slots=True, order=True)
class Role:
    """What a recording is wanted for.

    Attributes:
        ranks: The number of ranks that would be ideal.
        size: Which of the sizes that would be ideal on it.
    """

    ranks: int
    size: int


def wanted(size: int, ranks: int, takes: Admissible = ANY) -> dict[Role, Wanted]:
    """Return the recordings that a target needs; one may have several roles.

    Args:
        size: The target's size.
        ranks: Its number of ranks.
        takes: Which sizes and numbers of ranks the program takes: of these the nearest to ideal ones. Where none is
            near, nothing is wanted.
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
    """Return numbers of ranks by those that would be ideal: on which all sizes are recorded, and those of two."""
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
    """Sizes that serve a target: they divide as its size does, for most programs take only such sizes.

    Attributes:
        size: The target's size.
        ranks: Its number of ranks.
        numbers: The numbers of ranks on which they are to be recorded, rising.
        takes: Which sizes the program takes there.
        share: How far they may be off what is ideal, as a share of that.
    """

    size: int
    ranks: int
    numbers: tuple[int, ...]
    takes: Admissible = ANY
    share: float = _SLACK

    @property
    def granule(self) -> int:
        """What should divide them: where the target's is a multiple of its ranks, theirs."""
        return 1 if self.size % self.ranks else math.lcm(*self.numbers)

    def near(self, ideal: Sequence[float]) -> list[int]:
        """Return sizes near ideal ones, in their order, and more if there are too few different ones."""
        found = [near for each in ideal if (near := self.nearest(each)) is not None]
        least = SIZES if self.takes.demands else 2
        low, high = min(found, default=0), max(found, default=0)
        for each in (low / 2 if low > self.granule else high + self.granule, 2 * high, math.sqrt(low * high)):
            if found and len(set(found)) < least and (near := self.nearest(each, found)) is not None:
                found.append(near)
        return found

    def nearest(self, ideal: float, besides: Collection[int] = ()) -> int | None:
        """Return a size near an ideal one; ``None`` if there is none.

        Of those that are near enough it is the one that has most divisors in common with the target's. If the program
        takes none of them on all numbers of ranks, it is one for the smaller numbers, or one that is less near.

        Args:
            ideal: What it should be.
            besides: Sizes that it must not be.
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
        """Return sizes that are near enough, or else the first multiple of what should divide them."""
        slack = max(share * ideal, _LEAST_SLACK, granule / 2)
        low = granule * max(math.ceil((ideal - slack) / granule), 1)
        return self.takes.sizes(ideal, (low, max(ideal + slack, low)), granule, numbers)

    def _common(self, size: int, granule: int) -> int:
        """Return what divides a size, or what it has beside an offset, and the target's as well."""
        offset = self.takes.offset
        return math.gcd(max(size - offset, 1), math.lcm(max(self.size - offset, 1), granule))


def lacking(recorded: Sequence[tuple[int, int]]) -> tuple[Wanted, ...]:
    """Return cheap recordings that are lacking to tell rules from coincidences: of sizes and numbers of ranks.

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
    """Return what a recording takes, by what others took.

    All ranks together compute as much on any number of ranks, and share the cores. Computation and data grow with a
    power of the size: that between the last two samples, at most the fourth; with one sample alone, the third.

    Args:
        samples: At least one, by size.
        what: The recording.
        cores: Cores of this computer.
    """
    last = samples[-1]
    grown = what.size / last.size
    steep = _exponent([(each.size, each.work) for each in samples])
    work, start = last.work * grown**steep, max(each.alone for each in samples)
    empty = min(each.memory for each in samples)  # of a rank that has next to nothing
    data = (last.memory - empty) * last.ranks * grown ** min(steep, _UNKNOWN)
    seconds = (work + start * what.ranks) / min(what.ranks, cores)
    return Planned(what.size, what.ranks, seconds, empty * what.ranks + data)


def _exponent(points: Sequence[tuple[int, float]]) -> float:
    """Return the power that the last two of some values grow with."""
    if len(points) < 2 or min(value for _, value in points[-2:]) <= 0:
        return _UNKNOWN
    (before, less), (after, more) = points[-2:]
    return min(max(math.log(more / less) / math.log(after / before), 0.0), _STEEPEST)


def planned(
    target: Wanted, samples: Sequence[Sample], *, cores: int, memory: float, repeats: int, recordable: Iterable[Wanted]
) -> Plan:
    """Return the plan for a target: what each recording takes, and without those that the memory cannot hold.

    Args:
        target: Size and ranks of the target.
        samples: What some of the recordings took here: at least one.
        cores: Cores of this computer.
        memory: Memory that recordings may take here, bytes.
        repeats: How often to make each.
        recordable: The recordings to plan.
    """
    needs = [estimate(samples, each, cores) for each in recordable]
    fit = tuple(each for each in needs if each.memory <= memory)
    return Plan(target.size, target.ranks, repeats, fit, tuple(each for each in needs if each.memory > memory))
