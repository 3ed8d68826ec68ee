"""Performance factors between two processors that are not available, from their published figures.

A factor multiplies recorded computation time: it is the speed of a core of the recording processor over the speed of a
core of the target. The relevant speed depends on the kind of work in bursts (:mod:`clue.skeleton.work`):

- *core*: SPEC scores of one copy, HPL and DGEMM, each per core, as far as they are known for both processors. Without
  such a common figure, two figures are used that err in opposite directions: SPECrate per core, whose copies also share
  the memory, and the highest clock, as if a cycle did the same work on both.
- *memory*: memory bandwidth per core, by STREAM if it is known for both, and by the peak. It holds if all cores are
  busy: a single busy core gets more.
- *cache*: the same as core work, because no comparable figures of caches are published.

Each kind of work gets the geometric mean over its figures. Its uncertainty is the standard deviation of the logarithms
of these factors, but at least the disagreement of such figures over all pairs of processors in the library
(:func:`disagreement`), because two figures may agree by chance.

Mixed work takes the sum of the times of its kinds, so that its factor is their mean, weighted by their shares of the
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

#: Benchmarks of core work.
_CORES = tuple(BENCHMARKS[name] for name in ("spec_fp_one", "spec_int_one", "hpl", "dgemm"))
_RATES = tuple(BENCHMARKS[name] for name in ("spec_fp_rate", "spec_int_rate"))
#: Key that stands for any other region.
_DEFAULT = "default"
#: Smallest number of pairs for an estimate of disagreement: fewer may agree by chance.
LEAST_PAIRS = 10
#: Uncertainty of the share of core work if the kind of work in bursts is unknown.
MIX_DEVIATION = float(RESPONSE_DEVIATION[0])
_CLOCK, _STREAM, _PEAK = "largest clock", BENCHMARKS["stream_triad"], "peak memory bandwidth"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparison of two processors for a kind of work.

    Attributes:
        factors: Speed of a core of the recording processor over that of the target, by figure.
        least: Standard deviation of the logarithm of such factors over the library.
        lonely: Whether clocks are the only figures known for both.
    """

    factors: Mapping[str, float]
    least: float
    lonely: bool = False

    @property
    def factor(self) -> float:
        """The geometric mean of the factors."""
        return math.exp(sum(map(math.log, self.factors.values())) / len(self.factors))

    @property
    def own_deviation(self) -> float:
        """The standard deviation of the logarithms of the factors; 0 for a single one."""
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
    """Return the known speeds of one core, by figure: benchmarks, clock, memory."""
    found = {title: processor.figures[name].per_core for name, title in BENCHMARKS.items() if name in processor.figures}
    if processor.boost_clock is not None:
        found[_CLOCK] = processor.boost_clock
    if processor.peak_bandwidth is not None:
        found[_PEAK] = processor.peak_bandwidth / processor.cores
    return found


def disagreement(processors: Iterable[Processor], figures: Sequence[str]) -> float:
    """Return the error of a single figure of a kind, over all pairs of processors that have two such figures.

    If the logarithm of each figure's factor has the standard deviation d around the truth, two of them differ by √2 d:
    d is the root mean square of their differences over √2. It is 0 if there are no such pairs.

    Args:
        processors: Processors of the library.
        figures: Names of the figures, as in :func:`speeds_of`.
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
    """Return the smallest uncertainty of figures of a kind: with too few pairs, that of all figures of cores."""
    known = disagreement(library, figures)
    if len(_squares(library, figures)) >= LEAST_PAIRS:
        return known
    return max(known, disagreement(library, (*_CORES, *_RATES, _CLOCK)))


def compare_cores(here: Processor, there: Processor, library: Sequence[Processor]) -> Comparison:
    """Compare two processors for core work.

    Args:
        here: The recording processor.
        there: The target.
        library: The processors from which the uncertainty of comparisons is estimated.

    Raises:
        UsageError: If no comparable figure is known for both.
    """
    for titles in (_CORES, (*_RATES, _CLOCK)):
        factors = _shared(here, there, titles)
        if factors and set(factors) != {_CLOCK}:
            return Comparison(factors, _least(library, titles))
    clock = _shared(here, there, [_CLOCK])
    if not clock:
        raise _nothing_shared(here, there, "core", (*_CORES, *_RATES, _CLOCK))
    # The other figures of core work are accurate, so the difference between them and the clock is the clock's error.
    return Comparison(clock, math.sqrt(2) * disagreement(library, [BENCHMARKS["spec_fp_one"], _CLOCK]), lonely=True)


def compare_memories(here: Processor, there: Processor, library: Sequence[Processor]) -> Comparison:
    """Compare two processors for memory-bound work; the arguments are those of :func:`compare_cores`.

    Raises:
        UsageError: If no comparable figure is known for both.
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
        f"parts must have a figure of {kind} work in common ({', '.join(titles)}), got {has(here)}; "
        f"{has(there)}: name another --part or --target-part, or give speeds by --target"
    )


def characters_of(traces: Sequence[Trace], stated: Sequence[str] = ()) -> dict[str, Character]:
    """Return the kind of work of each region of a program, by name.

    Sources, in this order: what the user states; declared operations; how bursts slowed down while the computer was
    busy, which the probe of several recordings of the same run shows (:mod:`clue.trace.speed`); the default mix.

    Args:
        traces: Recordings of the same run; the first is the one to describe.
        stated: Mixes stated by the user.

    Raises:
        UsageError: If one cannot be parsed, or names a region that does not exist.
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
        character: Its kind of work, and the source of this.
        factor: The mean over its kinds of work, weighted by their shares of recorded time.
        deviation: The standard deviation of its logarithm.
    """

    character: Character
    factor: float
    deviation: float

    @property
    def estimate(self) -> Estimate:
        """The factor with its 80 % interval."""
        reach = math.exp(TAIL * self.deviation)
        return Estimate(self.factor, self.factor / reach, self.factor * reach)


def factor_of(character: Character, kinds: Mapping[str, Comparison]) -> RegionFactor:
    """Return the factor of a region from those of its kinds of work.

    Args:
        character: The region's kind of work.
        kinds: Comparisons of the processors by kind of work; cache work counts as core work.
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
    """Return a node type with a processor that is not available, compared with the recording processor.

    Args:
        name: Name of the node type.
        here: The recording processor.
        there: The processors of the target.
        characters: Kinds of work of regions by name, ``""`` for bursts outside regions; empty without a trace.
        library: The processors from which the uncertainty of comparisons is estimated.
        compared_with: Name of the recording processor in the trace.

    Raises:
        UsageError: If no comparable figure is known for both.
    """
    known = dict(characters) or {"": Character("", UNKNOWN, "no trace shows what bursts do", unsure=True)}
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
    yield "an estimate from published figures: clue calibrate processor on the target measures it"
    for kind, each in kinds.items():
        read_off = ", ".join(f"{title} {factor:.3g}" for title, factor in each.factors.items())
        why = f"figures of the library differ by {each.least:.0%} over all its pairs of processors"
        if len(each.factors) > 1:
            why = f"these differ by {each.own_deviation:.0%}; {why}"
        yield f"{kind} work: factor {each.factor:.3g} by {read_off}; off by {each.deviation:.0%}, as {why}"
        if each.lonely:
            yield f"{kind} work: clocks alone say nothing about the work of a core per cycle"
        if kind == MEMORY:
            yield "memory work: holds if all cores are busy, here and there; a core alone gets more bandwidth"
    for region, found in regions.items():
        unsure = f"; its share of core work is uncertain by {MIX_DEVIATION:.0%}" if found.character.unsure else ""
        yield f"{region or 'outside regions'}: {found.character.text} ({found.character.why}){unsure}"
