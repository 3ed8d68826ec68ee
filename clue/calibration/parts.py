"""Performance factors between two processors that are not at hand, from what is published of them.

A factor multiplies recorded computation time, so it is the speed of a core of the processor that recorded over that of
the target. What speed means depends on what bursts do (:mod:`clue.skeleton.work`):

- *core*: SPEC scores of one copy, HPL and DGEMM that both have, each as the share of one core. Where both have none of
  them in common, two figures that lie on either side: the share of a core of SPECrate, whose copies share the memory,
  too, and the largest clock, as if a cycle did as much work on both.
- *memory*: the bandwidth of a core's share of the memory, by STREAM if both have it, and by the peak. It is that of a
  core among busy ones: a core that has the memory for itself gets more.
- *cache*: as core work, since no figure of caches is published alike.

Each kind of work gets the geometric mean over its figures. How sure that is, the figures say: by how much the factors
of one pair differ (standard deviation of their logarithms), at least by as much as such figures differ over all pairs
of processors of the library (:func:`disagreement`), because two figures may agree by luck.

Work of several kinds takes the sum of their times, so that the factor is the mean of theirs, by their shares of the
recorded time.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from clue.calibration.measurement import Estimate
from clue.calibration.processor import NodeCalibration
from clue.errors import UsageError
from clue.machine import BENCHMARKS, Processor, Sockets
from clue.skeleton.work import CACHE, CORE, MEMORY, UNKNOWN, Character, characters
from clue.trace import Trace
from clue.trace.speed import UNKNOWN as RESPONSE_DEVIATION
from clue.trace.speed import fitted_response
from clue.uncertainty.spread import TAIL

#: What stands for core work.
_CORES = tuple(BENCHMARKS[name] for name in ("spec_fp_one", "spec_int_one", "hpl", "dgemm"))
_RATES = tuple(BENCHMARKS[name] for name in ("spec_fp_rate", "spec_int_rate"))
#: What stands for any other region.
_DEFAULT = "default"
#: Fewer pairs than this may agree by luck.
LEAST_PAIRS = 10
#: By how much the share of core work is unsure where nothing says what bursts do.
MIX_DEVIATION = float(RESPONSE_DEVIATION[0])
_CLOCK, _STREAM, _PEAK = "largest clock", BENCHMARKS["stream_triad"], "peak memory bandwidth"


@dataclass(frozen=True, slots=True)
class Comparison:
    """How two processors compare for a kind of work.

    Attributes:
        factors: Speed of a core of the one that recorded over that of the target, by what it is read off.
        least: The standard deviation of the logarithm that such figures have over the library.
        lonely: Whether nothing but clocks is known of both.
    """

    factors: Mapping[str, float]
    least: float
    lonely: bool = False

    @property
    def factor(self) -> float:
        """The geometric mean."""
        return math.exp(sum(map(math.log, self.factors.values())) / len(self.factors))

    @property
    def own_deviation(self) -> float:
        """The standard deviation of the logarithms of the factors; 0 of one alone."""
        return _deviation([math.log(factor) for factor in self.factors.values()])

    @property
    def deviation(self) -> float:
        """The standard deviation of the factor's logarithm."""
        return max(self.own_deviation, self.least)


def _deviation(values: Sequence[float]) -> float:
    if len(values) < 2:
        return 0.0
    mean = sum(values) / len(values)
    return math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))


def speeds_of(processor: Processor) -> dict[str, float]:
    """Return what is known of the speed of one core, by what it is read off: benchmarks, clock, memory."""
    found = {title: processor.figures[name].per_core for name, title in BENCHMARKS.items() if name in processor.figures}
    if processor.boost_clock is not None:
        found[_CLOCK] = processor.boost_clock
    if processor.peak_bandwidth is not None:
        found[_PEAK] = processor.peak_bandwidth / processor.cores
    return found


def disagreement(processors: Iterable[Processor], figures: Sequence[str]) -> float:
    """Return by how much one figure of a kind misleads, over all pairs of processors that have two of them.

    If each figure's factor misses the truth by a deviation d of its logarithm, two of them differ by √2 d: d is the
    root mean square of what they differ by, over √2. 0 if there are no such pairs.

    Args:
        processors: Of the library.
        figures: What they are read off, as :func:`speeds_of` names it.
    """
    squares = _squares(processors, figures)
    return math.sqrt(sum(squares) / len(squares) / 2) if squares else 0.0


def _squares(processors: Iterable[Processor], figures: Sequence[str]) -> list[float]:
    squares = []
    for one, other in combinations([speeds_of(each) for each in processors], 2):
        shared = [math.log(one[figure] / other[figure]) for figure in figures if figure in one and figure in other]
        squares += [(a - b) ** 2 for a, b in combinations(shared, 2)]
    return squares


def _least(library: Sequence[Processor], figures: Sequence[str]) -> float:
    """Return how unsure figures of a kind are at least: where few pairs tell, as all figures of cores are."""
    known = disagreement(library, figures)
    if len(_squares(library, figures)) >= LEAST_PAIRS:
        return known
    return max(known, disagreement(library, (*_CORES, *_RATES, _CLOCK)))


def compare_cores(here: Processor, there: Processor, library: Sequence[Processor]) -> Comparison:
    """Compare two processors for core work.

    Args:
        here: The one that recorded.
        there: The target.
        library: What tells how sure such comparisons are.

    Raises:
        UsageError: If nothing comparable is known of both.
    """
    for titles in (_CORES, (*_RATES, _CLOCK)):
        factors = _shared(here, there, titles)
        if factors and set(factors) != {_CLOCK}:
            return Comparison(factors, _least(library, titles))
    clock = _shared(here, there, [_CLOCK])
    if not clock:
        raise _nothing_shared(here, there, "core", (*_CORES, *_RATES, _CLOCK))
    # Against the best that is known of a core, each clock misses alone.
    return Comparison(clock, math.sqrt(2) * disagreement(library, [BENCHMARKS["spec_fp_one"], _CLOCK]), lonely=True)


def compare_memories(here: Processor, there: Processor, library: Sequence[Processor]) -> Comparison:
    """Compare two processors for work that memory bounds; the arguments are those of :func:`compare_cores`.

    Raises:
        UsageError: If nothing comparable is known of both.
    """
    titles = [_STREAM, _PEAK]
    factors = _shared(here, there, titles)
    if not factors:
        raise _nothing_shared(here, there, "memory", titles)
    return Comparison(factors, _least(library, titles))


def _shared(here: Processor, there: Processor, titles: Sequence[str]) -> dict[str, float]:
    one, other = speeds_of(here), speeds_of(there)
    return {title: one[title] / other[title] for title in titles if title in one and title in other}


def _nothing_shared(here: Processor, there: Processor, kind: str, titles: Sequence[str]) -> UsageError:
    def has(part: Processor) -> str:
        known = [title for title in speeds_of(part) if title in titles]
        return f"{part.key}: {', '.join(known) or 'none'}"

    return UsageError(
        f"parts must have a figure in common that tells of {kind} work ({', '.join(titles)}), got {has(here)}; "
        f"{has(there)}: name another --part or --target-part, or give speeds by --target"
    )


def characters_of(traces: Sequence[Trace], stated: Sequence[str] = ()) -> dict[str, Character]:
    """Return what each region of a program does, by its name.

    As stated, else by the operations that it declares, else as its bursts responded when the computer was busy: what
    several recordings of the same run tell by the probe (:mod:`clue.trace.speed`), else as where nothing is known.

    Args:
        traces: Recordings of the same run, the first of which is meant.
        stated: Mixes as the user gives them.

    Raises:
        UsageError: If one cannot be read, or names a region that there is not.
    """
    found = characters(traces[0], stated)
    if len(traces) < 2:
        return found
    measured = fitted_response(traces)
    return {
        region: _responding(character, measured[region], len(traces))
        if character.unsure and region in measured
        else character
        for region, character in found.items()
    }


def _responding(character: Character, response: Sequence[float], recordings: int) -> Character:
    core, memory = response
    if core + memory <= 0:
        return character
    share = core / (core + memory)
    why = f"as bursts responded in {recordings} recordings: {core:.2f} to core, {memory:.2f} to memory"
    return Character(character.region, {CORE: share, MEMORY: 1 - share}, why, unsure=True)


@dataclass(frozen=True, slots=True)
class RegionFactor:
    """The factor of a region.

    Attributes:
        character: What it does, and how that is known.
        factor: The mean over its kinds of work, by their shares of recorded time.
        deviation: The standard deviation of its logarithm.
    """

    character: Character
    factor: float
    deviation: float

    @property
    def estimate(self) -> Estimate:
        """The factor with the interval that holds four of five."""
        reach = math.exp(TAIL * self.deviation)
        return Estimate(self.factor, self.factor / reach, self.factor * reach)


def factor_of(character: Character, kinds: Mapping[str, Comparison]) -> RegionFactor:
    """Return the factor of a region from those of the kinds of work.

    Args:
        character: Of the region.
        kinds: How the processors compare, by kind of work; cache work is taken as core work.
    """
    shares = {
        CORE: character.mix.get(CORE, 0.0) + character.mix.get(CACHE, 0.0),
        MEMORY: character.mix.get(MEMORY, 0.0),
    }
    parts = {kind: share * kinds[kind].factor for kind, share in shares.items() if share}
    factor = sum(parts.values())
    squares = sum((part * kinds[kind].deviation) ** 2 for kind, part in parts.items())
    if character.unsure:
        squares += (MIX_DEVIATION * (kinds[CORE].factor - kinds[MEMORY].factor)) ** 2
    return RegionFactor(character, factor, math.sqrt(squares) / factor)


def node_by_parts(
    name: str,
    here: Processor,
    there: Sockets,
    characters: Mapping[str, Character],
    library: Sequence[Processor],
    *,
    compared_with: str = "",
) -> NodeCalibration:
    """Return a node type with a processor that is not at hand, compared with the one that recorded.

    Args:
        name: Of the node type.
        here: The processor that recorded.
        there: The processors of the target.
        characters: What regions do, by their names, ``""`` being outside any; empty if there is no trace to tell.
        library: What tells how sure such comparisons are.
        compared_with: How the trace names the processor that recorded.

    Raises:
        UsageError: If nothing comparable is known of both.
    """
    known = dict(characters) or {"": Character("", UNKNOWN, "no trace tells what bursts do", unsure=True)}
    wanted = {kind for character in known.values() for kind in character.mix}
    kinds = {}
    if wanted & {CORE, CACHE} or any(character.unsure for character in known.values()):
        kinds[CORE] = compare_cores(here, there.processor, library)
    if MEMORY in wanted:
        kinds[MEMORY] = compare_memories(here, there.processor, library)
    regions = {region: factor_of(character, kinds) for region, character in known.items()}
    factors = {region or _DEFAULT: each.estimate for region, each in regions.items()}
    return NodeCalibration(
        name,
        there.cores,
        factors,
        {},
        compared_with=compared_with or here.name,
        source=f"published figures of {here.name} ({here.key}) and {there.processor.name} ({there.processor.key}), "
        f"{datetime.date.today().isoformat()}",
        notes=tuple(_notes(kinds, regions)),
        deviation=max(each.deviation for each in regions.values()),
        sockets=there,
    )


def _notes(kinds: Mapping[str, Comparison], regions: Mapping[str, RegionFactor]) -> Iterable[str]:
    yield "a guess from published figures: clue calibrate processor on the target measures it"
    for kind, each in kinds.items():
        read_off = ", ".join(f"{title} {factor:.3g}" for title, factor in each.factors.items())
        why = f"figures of the library differ by {each.least:.0%} over all its pairs of processors"
        if len(each.factors) > 1:
            why = f"these differ by {each.own_deviation:.0%}; {why}"
        yield f"{kind} work: factor {each.factor:.3g} by {read_off}; off by {each.deviation:.0%}, as {why}"
        if each.lonely:
            yield f"{kind} work: clocks alone tell nothing of what a core does in a cycle"
        if kind == MEMORY:
            yield "memory work: holds where all cores are busy, here and there; a core alone gets more of the memory"
    for region, found in regions.items():
        unsure = f"; its share of core work is unsure by {MIX_DEVIATION:.0%}" if found.character.unsure else ""
        yield f"{region or 'outside regions'}: {found.character.text} ({found.character.why}){unsure}"
