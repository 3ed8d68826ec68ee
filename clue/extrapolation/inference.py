"""Inference of a program's structure at any size and number of ranks from its recordings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

import numpy as np

from clue import structure
from clue.errors import ClueError, UsageError
from clue.extrapolation.bursts import (
    BEFORE,
    Bursts,
    Fitted,
    add_predecessors,
    cut_remarks,
    first_rows,
    outside_remarks,
    predecessors,
    together,
)
from clue.extrapolation.family import Family
from clue.extrapolation.plan import COUNTS, SIZES, Wanted, lacking
from clue.progress import Progress, silent
from clue.structure import Columns, Generator, Learner, Refusal, Tables, examples_of
from clue.structure.atoms import Integers
from clue.trace import Trace
from clue.trace.builder import RankColumns, trace_of
from clue.trace.meaning import MOST_TOGETHER
from clue.trace.sites import Sites
from clue.units import count_of


class RefusedError(ClueError):
    """Report a program that follows no rules in size and ranks, so that its behaviour elsewhere is unknown.

    Args:
        refusals: One for each call without a rule, at least one.
        name: Name of the family.
        lacking: Recordings without which rules can hardly be found.

    Attributes:
        record: Recordings that would resolve the refusals, or are lacking.
    """

    def __init__(self, refusals: tuple[Refusal, ...], name: str = "", lacking: Sequence[Wanted] = ()) -> None:
        self.refusals = refusals
        place = f"{name}: " if name else ""
        said = [f"{place}{each}" for each in refusals]
        if lacking:
            wanted = ", ".join(f"size {each.size} on {count_of(each.ranks)}" for each in lacking)
            said.append(
                f"{place}recordings should have {SIZES} sizes and {COUNTS} numbers of ranks, one of them not a "
                f"power of two: record {wanted}, too"
            )
        decided = (Wanted(*each.decided) for each in refusals if each.decided is not None)
        self.record = tuple(dict.fromkeys((*decided, *lacking)))
        super().__init__(said)


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """An extrapolated trace.

    Attributes:
        trace: The trace.
        remarks: Caveats for readers of results.
        repeats: The same ops with the bursts of other models, which express uncertainty as repeated recordings do.
            Simulations take the median of each burst, so there must be as many shorter repeats as longer ones.
    """

    trace: Trace
    remarks: tuple[str, ...] = ()
    repeats: tuple[Trace, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Structure:
    """Structure of a program at any size and number of ranks.

    Attributes:
        program: Its calls as rules.
        bursts: Bursts before each part of a call.
        name: Name of the family that it was learned from.
        recorded: Size and number of ranks of each recording of the family.
        remarks: Caveats for any target.
        distributions: Call sites at which message sizes are drawn.
    """

    program: structure.Structure
    bursts: tuple[Bursts, ...]
    name: str
    recorded: tuple[tuple[int, int], ...]
    remarks: tuple[str, ...] = ()
    distributions: tuple[str, ...] = ()

    def generate(self, size: int, ranks: int) -> Made:
        """Return the trace at a size and a number of ranks.

        Raises:
            RefusedError: If the recordings do not determine it there.
            UsageError: If the computation takes longer than a trace can state.
        """
        columns, remarks = self._columns(size, ranks)
        drawn = np.zeros((4, len(columns.columns["op"])))
        for bursts, (v, rows) in zip(self.bursts, columns.surroundings, strict=True):
            drawn[:, rows] = bursts.draw(v, columns.columns["peer"][rows])
        ends = together(drawn[:3], [rows for _, rows in columns.surroundings])
        self.check_time(size, ranks, max(float(each.sum()) for each in (drawn[0], *ends)))
        middle, low, high = (np.round(each * 1e9).astype(np.int64) for each in (drawn[0], *ends))
        trace = self.trace(columns, middle)
        repeats = tuple(replace(trace, ops=replace(trace.ops, cpu=each)) for each in (low, high))
        return Made(trace, (*self.remarks, *remarks, *outside_remarks(drawn[0], drawn[3])), repeats)

    def fits(self, size: int, ranks: int) -> tuple[Fitted, ...]:
        """Return the models of bursts with their data, those with the longest time at a target first.

        Raises:
            RefusedError: If the recordings do not determine the program there.
        """
        columns, _ = self._columns(size, ranks)
        found = [
            each
            for part, (bursts, (v, rows)) in enumerate(zip(self.bursts, columns.surroundings, strict=True))
            for each in bursts.fitted(part, v, columns.columns["peer"][rows])
        ]
        return tuple(sorted(found, key=lambda each: -each.seconds))

    def _columns(self, size: int, ranks: int) -> tuple[Columns, tuple[str, ...]]:
        """Return the rows at a size and a number of ranks, with caveats; surroundings are of rows that begin a call."""
        generator = Generator(self.program, size, ranks)
        columns = generator.make()
        self.check(generator)
        add_predecessors([(part, *each) for part, each in enumerate(columns.surroundings)], columns.offsets)
        first = [first_rows(*each, columns.columns["flags"]) for each in columns.surroundings]
        return replace(columns, surroundings=first), tuple(generator.remarks)

    def check(self, generator: Generator) -> None:
        """Check that a generator has a rule for every site.

        Raises:
            RefusedError: If it has not; names the sites, and the recordings to make.
        """
        if generator.refusals:
            refusals = structure.decided(self.program, generator, self.recorded)
            some = any(each.decided is None for each in refusals)
            raise RefusedError(refusals, self.name, lacking(self.recorded) if some else ())

    def check_time(self, size: int, ranks: int, seconds: float) -> None:
        """Check that a trace can state the computation of all ranks.

        Raises:
            UsageError: If it cannot.
        """
        if not seconds * 1e9 <= MOST_TOGETHER:
            raise UsageError(
                f"{self.name}: computation of all ranks at size {size} on {count_of(ranks)} must take at most "
                f"{MOST_TOGETHER * 1e-9:.3g} s, got up to {seconds:.3g} s"
            )

    def trace(self, columns: Columns, bursts: Integers) -> Trace:
        """Return the trace of all rows."""
        every = columns.columns | {"cpu": bursts, "extra": _places(columns)}
        ends = np.concatenate([[0], np.cumsum(columns.columns["count"])])
        ranks = [
            RankColumns(
                {name: column[first:end] for name, column in every.items()}, columns.extras[ends[first] : ends[end]]
            )
            for first, end in zip(columns.offsets[:-1].tolist(), columns.offsets[1:].tolist(), strict=True)
        ]
        return trace_of(
            ranks,
            self.name,
            calls=columns.calls,
            regions=columns.regions,
            communicators=columns.communicators,
            sites=Sites.of(self.program.sites),
        )


def infer(family: Family, progress: Progress = silent, distributions: Sequence[str] = ()) -> Structure:
    """Infer a program's structure from its recordings.

    Args:
        family: The recordings.
        progress: Callback for progress: the column and the site that are being learned.
        distributions: Sites at which sizes that follow no rule are drawn: ``"cg.py:72"``.

    Raises:
        RefusedError: If a call follows no rule.
        UsageError: If there is no such site, or its sizes follow a rule.
    """
    sites, examples = examples_of([(each.size, each.ranks, each.typical) for each in family.recordings])
    tables = Tables.of(sites, examples)
    called = sorted({sites[part.site].name for part in tables.parts} - {""})
    _check_distributions(family, _unknown(distributions, called))
    learner = Learner(sites, tables, progress, frozenset(distributions))
    program = learner.learn()
    recorded = tuple((each.size, each.ranks) for each in family.recordings)
    if learner.refusals:
        raise RefusedError(tuple(dict.fromkeys(learner.refusals)), family.name, lacking(recorded))
    ruled = [each for each in distributions if each not in learner.drawn]
    rule = "must have sizes that follow no rule to be drawn from a distribution, got a rule for all of them"
    _check_distributions(family, [f"site {each} {rule}" for each in ruled])
    names = [f"{program.sites[rules.part.site].name} {rules.part.call}" for rules in program.parts]
    bursts = _bursts(family, learner, program, names, progress)
    computing = np.array([each.typical.bursts.sum() * 1e-9 for each in family.recordings], np.float64)
    remarks = (*learner.remarks, *cut_remarks(bursts, names, computing))
    return Structure(program, bursts, family.name, recorded, remarks, tuple(dict.fromkeys(distributions)))


def _check_distributions(family: Family, faults: Iterable[str]) -> None:
    named = [f"{family.name}: {each}" for each in faults]
    if named:
        raise UsageError(named)


def _unknown(distributions: Sequence[str], called: Sequence[str]) -> Iterator[str]:
    """Yield a line for each site that no recording has, with similar sites."""
    for each in dict.fromkeys(distributions):
        if each not in called:
            near = next(iter(get_close_matches(each, called, 1, 0.5)), "")
            meant = f": did you mean {near}?" if near else ": clue inspect --sites TRACE lists those there are"
            yield f"distributions must name call sites of the program, got {each}{meant}"


def _bursts(
    family: Family, learner: Learner, program: structure.Structure, names: Sequence[str], progress: Progress
) -> tuple[Bursts, ...]:
    """Return the bursts of each part of the program, given the names of the parts."""
    result = []
    before = _before(family, learner)
    for done, (rules, (v, row)) in enumerate(zip(program.parts, learner.seen, strict=True)):
        progress(f"fitting bursts: {names[done]}", done, len(program.parts))
        example = v["example"]
        (peer, flags), seconds = np.zeros((2, len(row)), np.int64), np.zeros(len(row))
        for number, each in enumerate(family.recordings):
            mine = example == number
            peer[mine], flags[mine] = each.typical.ops.peer[row[mine]], each.typical.ops.flags[row[mine]]
            seconds[mine] = each.typical.bursts[row[mine]] * 1e-9
        surroundings = {name: column for name, column in v.items() if name != "example"} | {BEFORE: before[done]}
        surroundings, first = first_rows(surroundings, np.arange(len(row)), flags)
        place = f"{names[done]} {rules.part.op} {rules.part.which}"
        result.append(
            Bursts.learn(place, surroundings, peer[first], example[first], seconds[first], learner.blocks, names)
        )
    return tuple(result)


def _before(family: Family, learner: Learner) -> list[Integers]:
    """Return the part that precedes each row of a part in its recording."""
    result = [np.full(len(row), -1) for _, row in learner.seen]
    for number, each in enumerate(family.recordings):
        mine = [np.flatnonzero(v["example"] == number) for v, _ in learner.seen]
        parts = [(part, row[at]) for part, (at, (_, row)) in enumerate(zip(mine, learner.seen, strict=True))]
        for of_part, at, before in zip(result, mine, predecessors(parts, each.typical.head.offsets), strict=True):
            of_part[at] = before
    return result


def _places(columns: Columns) -> Integers:
    """Return where the list of each row begins among the lists of its rank."""
    counts = columns.columns["count"]
    before = np.concatenate([[0], np.cumsum(counts)])
    first = np.repeat(before[columns.offsets[:-1]], np.diff(columns.offsets))
    places: Integers = np.where(counts > 0, before[:-1] - first, 0)
    return places
