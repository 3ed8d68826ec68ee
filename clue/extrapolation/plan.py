"""Which few recordings to make for a target, so that what its ranks compute is interpolated, and what they need here.

What a burst takes depends on what a rank has of the problem: size^d / ranks, with d from 1 (a strip's rows) to 3 (a
block's volume); which d, a planner does not know. So for each d there is a size that gives a rank of the middle one of
three numbers of ranks as much as the target does, the smallest twice and the largest half as much. Two more numbers of
ranks, which are no powers of two, tell rules from coincidences: 6 = 3 x 2, and 27 = 3 x 3 x 3, the smallest block of
ranks of which one has neighbours on all sides; two sizes are enough of these.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

#: What a local size may grow with: the length, the area or the volume of what is divided among ranks.
DIMENSIONS = (1, 2, 3)
#: For targets of more ranks than :data:`_FEW`: numbers of ranks on which all sizes are recorded, and those of two.
_POWERS, _OTHERS = (4, 8, 16), (6, 27)
#: The same for smaller targets.
_SMALL_POWERS, _SMALL_OTHERS, _FEW = (2, 4, 8), (6,), 16
#: A size may differ by such a share of it, or by so much, from what is ideal; those for rules alone by more.
_SLACK, _LEAST_SLACK, _SLACK_OF_OTHERS = 0.04, 2, 0.3
#: So many sizes and numbers of ranks must be recorded at least for rules with cases.
SIZES, COUNTS = 3, 4
#: Exponents that times and memory may grow with.
_STEEPEST, _UNKNOWN = 4.0, 3.0


@dataclass(frozen=True, slots=True, order=True)
class Wanted:
    """A recording that is wanted."""

    size: int
    ranks: int


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
class Plan:
    """Recordings to make for a target.

    Attributes:
        size: The target's size.
        ranks: Its number of ranks.
        repeats: How often to make each, all in turn.
        recordings: What to make, with what one of each takes here: by size, then by ranks.
        left_out: What should be made as well, and cannot be: the same.
    """

    size: int
    ranks: int
    repeats: int
    recordings: tuple[Planned, ...]
    left_out: tuple[Planned, ...] = ()

    @property
    def seconds(self) -> float:
        """How long all of them take."""
        return self.repeats * sum(each.seconds for each in self.recordings)

    def bracketed(self, dimension: int) -> bool:
        """Tell whether the target's local size of a dimension lies between such as are recorded."""
        known = [each.size**dimension / each.ranks for each in self.recordings]
        return bool(known) and min(known) <= self.size**dimension / self.ranks * (1 + 1e-9) <= max(known) * (1 + 2e-9)


def wanted(size: int, ranks: int) -> tuple[Wanted, ...]:
    """Return the recordings that a target needs, the smallest first."""
    powers: tuple[int, ...] = _POWERS if ranks > _FEW else _SMALL_POWERS
    others = _OTHERS if ranks > _FEW else _SMALL_OTHERS
    if ranks < _FEW:
        powers = tuple(sorted({*powers, ranks}))
    middle = powers[len(powers) // 2]
    ideal = [size * min(middle / ranks, 1.0) ** (1 / dimension) for dimension in DIMENSIONS]
    found = {Wanted(n, p) for n in _sizes(ideal, size, ranks, math.lcm(*powers)) for p in powers}
    found |= {Wanted(n, p) for p in others for n in _sizes(ideal, size, ranks, p, _SLACK_OF_OTHERS)[:2]}
    return tuple(sorted(found))


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


def _sizes(ideal: Sequence[float], size: int, ranks: int, granule: int, share: float = _SLACK) -> list[int]:
    """Return at least two sizes near ideal ones; where the target's is a multiple of its ranks, multiples of theirs."""
    granule, share = (granule, share) if size % ranks == 0 else (1, _SLACK)
    found = {nice(each, size, granule, share) for each in ideal}
    while len(found) < 2:
        found.add(nice(min(found) / 2, size, granule, share) if min(found) > granule else max(found) + granule)
    return sorted(found)


def nice(ideal: float, size: int, granule: int, share: float = _SLACK) -> int:
    """Return a size near an ideal one that divides as the target's does: most programs take only such sizes.

    Args:
        ideal: What it should be.
        size: The target's size; what divides it should divide the result.
        granule: What must divide the result.
        share: How far it may be off, as a share of what is ideal.
    """
    shared = math.lcm(size, granule)
    slack = max(share * ideal, _LEAST_SLACK, granule / 2)
    first, last = max(math.ceil((ideal - slack) / granule), 1), math.floor((ideal + slack) / granule)
    near = (granule * i for i in range(first, max(last, first) + 1))
    return max(near, key=lambda each: (math.gcd(each, shared), -abs(each - ideal)))


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
