"""The trace of a program at a size and a number of ranks: recorded, or extrapolated, with the distance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from clue.display import frame_of, html, short_repr
from clue.errors import UsageError
from clue.extrapolation.family import Family
from clue.extrapolation.inference import RefusedError, Structure, infer
from clue.extrapolation.loops import InLoops, check_length
from clue.extrapolation.memory import peak_memory
from clue.extrapolation.operations import Operations, operations, remarks_on, remarks_on_loops
from clue.extrapolation.plan import DIMENSIONS, Wanted
from clue.kernel import LoopedProgram
from clue.progress import Progress, silent
from clue.structure import Refusal
from clue.trace import Trace
from clue.trace.head import EXTRAPOLATED
from clue.trace.meaning import LARGEST
from clue.trace.place import numbered, remove_further
from clue.units import count_of, format_size

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, slots=True)
class Factor:
    """Extrapolation factors: the target's size and number of ranks over the largest recorded ones."""

    size: float
    ranks: float


@dataclass(frozen=True, slots=True)
class LocalSize:
    """Local size, a rank's share of the problem: size^dimension / ranks.

    Attributes:
        dimension: 1 to 3.
        target: Value at the target.
        low: Minimum over the recordings.
        high: Maximum over the recordings.
    """

    dimension: int
    target: float
    low: float
    high: float

    @property
    def inside(self) -> bool:
        """Whether the target's value lies within the recorded range, so that bursts are interpolated."""
        slack = 1e-9 * self.target
        return self.low - slack <= self.target <= self.high + slack

    @property
    def name(self) -> str:
        """Its formula."""
        return name_of(self.dimension)


def name_of(dimension: int) -> str:
    """Return the formula of a local size."""
    return f"{'size' if dimension == 1 else f'size^{dimension}'} / ranks"


@dataclass(frozen=True, slots=True, eq=False)
class Extrapolation:
    """A trace at a size and a number of ranks that need not have been recorded.

    Attributes:
        trace: The trace.
        size: Its size.
        warnings: Caveats for readers of results; the trace's header has them, too.
        factor: Extrapolation factors.
        local: Local sizes at the target and in the recordings.
        repeats: The same ops with the bursts of other models, or further recordings of a recorded target.
        refused: Refusals; a trace is made only if there are none.
        structure: Structure at any size and number of ranks; ``None`` if the target was recorded.
    """

    trace: Trace
    size: int
    warnings: tuple[str, ...]
    factor: Factor
    local: tuple[LocalSize, ...]
    repeats: tuple[Trace, ...] = ()
    refused: tuple[Refusal, ...] = ()
    structure: Structure | None = None

    def save(self, path: Path) -> tuple[Path, ...]:
        """Save the trace and its repeats as ``clue record`` does; return their paths, the trace first.

        Raises:
            UsageError: As :meth:`Trace.save`.
            OutputError: The same.
        """
        place = partial(numbered, path)
        saved = tuple(each.save(place(i)) for i, each in enumerate((self.trace, *self.repeats), 1))
        remove_further(len(saved), place)
        return saved

    def rows(self) -> list[dict[str, object]]:
        """Return a row for each local size: its formula, the target's value, and the recorded range."""
        return [
            {
                "local size": each.name,
                "target": each.target,
                "least recorded": each.low,
                "largest recorded": each.high,
                "inside": each.inside,
            }
            for each in self.local
        ]

    def to_pandas(self) -> pandas.DataFrame:
        """Return a pandas data frame: local sizes at the target beside the recorded ones.

        ``extrapolation.trace.to_pandas()`` has the ops.

        Raises:
            UsageError: If pandas is not installed (``pip install "clue[pandas]"``).
        """
        return frame_of(self.rows())

    def __repr__(self) -> str:
        """Return a short description with the target."""
        return short_repr(self, f"size {self.size:,}", count_of(self.trace.ranks), count_of(len(self.trace.ops), "op"))

    def _repr_html_(self) -> str:
        facts = (
            ("size", f"{self.size:,}, {self.factor.size:.4g} times the largest recorded"),
            ("ranks", f"{self.trace.ranks:,}, {self.factor.ranks:.4g} times the most recorded"),
            ("ops", f"{len(self.trace.ops):,}"),
        )
        columns = ("local size", "target", "least recorded", "largest recorded", "inside")
        rows = [
            (each.name, *(f"{figure:,.6g}" for figure in (each.target, each.low, each.high)),
             "yes" if each.inside else "no")
            for each in self.local
        ]  # fmt: skip
        return html(f"Extrapolation of {self.trace.name}", facts, columns, rows, self.warnings)


def extrapolate(
    family: Family | str, *, size: int, ranks: int, distributions: Sequence[str] = (), progress: Progress = silent
) -> Extrapolation:
    """Return the trace of a program at a size and a number of ranks, from recordings at other sizes and numbers.

    Args:
        family: The recordings, or a pattern of their names: ``"cg-{size}-{ranks}.clue"``.
        size: The size.
        ranks: The number of ranks.
        distributions: Call sites at which sizes without a rule are drawn from the recorded ones: ``"cg.py:72"``. If the
            target was recorded, its recording is returned as it is.
        progress: Callback for progress of learning, which may take minutes.

    Raises:
        UsageError: If recordings are missing, too few, or of several programs; or there is no such call site, or its
            sizes follow a rule; or the target is so far away that a trace cannot state its times or its memory.
        TraceError: If one cannot be read, or has no call sites.
        RefusedError: If a call follows no rule.
        TooLongError: If it has too many ops to be written out; its loops may be replayed.
    """
    if isinstance(family, str):
        family = Family.open(family)
    factor = Factor(size / family.sizes[-1], ranks / family.ranks[-1])
    local = tuple(local_size(family, dimension, size, ranks) for dimension in DIMENSIONS)
    recorded = family.at(size, ranks)
    if recorded is not None:
        return Extrapolation(recorded.typical, size, (), factor, local, recorded.traces[1:])
    family.check_target(size, ranks)
    structure = infer(family, progress, distributions)
    check_length(structure, size, ranks)
    made = structure.generate(size, ranks)
    work = operations(family, size, ranks)
    warnings, peak = _warnings(family, size, ranks, (*made.remarks, *remarks_on(work)))
    trace, *repeats = (_told(family, each, size, warnings, peak, work) for each in (made.trace, *made.repeats))
    return Extrapolation(trace, size, warnings, factor, local, tuple(repeats), structure=structure)


def missing(
    family: Family, size: int, ranks: int, progress: Progress = silent, distributions: Sequence[str] = ()
) -> tuple[Wanted, ...]:
    """Return recordings that would resolve the refusals at a target; empty if nothing is refused.

    They are also empty if the target is too long to be written out, and its loops are too long to be replayed.
    """
    try:
        structure = infer(family, progress, distributions)
        loops = InLoops.of(structure, size, ranks)
        if not loops.too_long:
            structure.generate(size, ranks)
        elif loops.can_be_replayed:
            loops.blocks()
    except RefusedError as error:
        return error.record
    return ()


def in_loops(family: Family, loops: InLoops) -> LoopedProgram:
    """Return a program with too many ops to be written out as loops for the kernel.

    Raises:
        RefusedError: If the recordings do not determine the program at its size and number of ranks.
    """
    made = loops.make()
    warnings, peak = _warnings(family, loops.size, loops.ranks, (*made.remarks, *remarks_on_loops(family)))
    program = made.program(_told(family, made.trace, loops.size, warnings, peak, {}))
    return replace(program, program=replace(program.program, name=Path(family.program).name))


def _warnings(family: Family, size: int, ranks: int, remarks: Sequence[str]) -> tuple[tuple[str, ...], float]:
    """Return the caveats, and the memory of a rank.

    Raises:
        UsageError: If the memory is beyond what a trace can state.
    """
    peak, grows = peak_memory(family, size, ranks)
    if peak > LARGEST:
        raise UsageError(
            f"{family.name}: memory of a rank at size {size} on {count_of(ranks)} must be at most "
            f"{format_size(LARGEST)}, got {format_size(peak)}, as peaks of recordings grow with {grows}"
        )
    factor = Factor(size / family.sizes[-1], ranks / family.ranks[-1])
    said = [*_distance(family, size, ranks, factor), *remarks, *family.remarks()]
    if grows:
        said.append(f"a rank is taken to need {format_size(peak)} of memory: peaks of recordings grow with {grows}")
    return tuple(dict.fromkeys(said)), peak


def local_size(family: Family, dimension: int, size: int, ranks: int) -> LocalSize:
    """Return a local size at a target, with its recorded range."""
    known = [each.size**dimension / each.ranks for each in family.recordings]
    return LocalSize(dimension, size**dimension / ranks, min(known), max(known))


def _distance(family: Family, size: int, ranks: int, factor: Factor) -> Iterator[str]:
    """Yield caveats on the distance of a target from the recordings."""
    yield (
        f"extrapolated to size {size} on {count_of(ranks)} from {len(family.recordings)} recordings, of sizes up to "
        f"{family.sizes[-1]} on up to {count_of(family.ranks[-1])}: {factor.size:.3g} times the size, "
        f"{factor.ranks:.3g} times the ranks"
    )
    for what, wanted, least in (("size", size, family.sizes[0]), ("number of ranks", ranks, family.ranks[0])):
        if wanted < least:
            yield f"the {what} is below the smallest recorded one ({least}), where the program may behave differently"


def _told(  # noqa: PLR0917 - two callers
    family: Family, trace: Trace, size: int, warnings: tuple[str, ...], peak: float, work: Operations
) -> Trace:
    """Return a trace whose header describes it, with the memory and the operations of each rank: their mean."""
    first = family.recordings[0].typical.head
    regions = trace.head.regions
    flops = {regions.index(name): mean / trace.ranks for name, (mean, *_) in work.items() if name in regions}
    rank_heads = tuple(replace(each, peak_memory=round(peak), flops=flops) for each in trace.head.rank_heads)
    head = replace(
        trace.head,
        rank_heads=rank_heads,
        program=first.program,
        arguments=family.command(size, trace.ranks),
        processor=first.processor,
        mpi=first.mpi,
        python=first.python,
        clock=EXTRAPOLATED,
        notes=tuple(dict.fromkeys((*warnings, *trace.head.notes))),
    )
    return replace(trace, head=head)
