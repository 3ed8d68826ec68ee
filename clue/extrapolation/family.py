"""Recordings at several sizes and numbers of ranks, checked to be of one program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from clue.caveats import Count, Said, gathered, note_of_recording
from clue.errors import ClueError, TraceError, UsageError
from clue.extrapolation.arguments import CommandLine, common, filled
from clue.extrapolation.pattern import SIZE, Pattern
from clue.trace import Flag, Op, Trace
from clue.trace.head import EXTRAPOLATED
from clue.trace.programs import other_programs
from clue.uncertainty import typical_recording
from clue.units import count_of


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """A program at one size on one number of ranks.

    Attributes:
        size: The size.
        ranks: Number of ranks.
        traces: Its recordings; the bursts of the first represent all.
    """

    size: int
    ranks: int
    traces: tuple[Trace, ...]

    @property
    def typical(self) -> Trace:
        """The trace whose bursts represent all."""
        return self.traces[0]


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """Recordings of one program.

    Attributes:
        name: Its name in messages: the pattern of its files.
        recordings: By size, then by ranks; at most one for each size and number of ranks.
        arguments: The program's arguments, with placeholders ``{size}`` and ``{ranks}``.
    """

    name: str
    recordings: tuple[Recording, ...]
    arguments: tuple[str, ...]

    @classmethod
    def open(cls, pattern: str) -> Family:
        """Open the recordings that match a pattern, and check that they are of one program.

        Raises:
            UsageError: If the pattern matches none, or they are of several programs; lists all faults.
            TraceError: If one cannot be read, or has no call sites; lists all faults.
        """
        named = Pattern(pattern)
        named.check()
        found = named.found()
        if not found:
            raise UsageError(
                f"{pattern}: recordings must exist, got none. Ask which to make: clue extrapolate --plan --size N "
                "--ranks P PROGRAM.py [ARGS with {size}]"
            )
        opened: list[Recording] = []
        faults: list[str] = []
        for (size, ranks), paths in found.items():
            try:
                opened.append(_opened(size, ranks, paths))
            except ClueError as error:
                faults += error.faults
        if faults:
            raise TraceError(faults)
        return cls.of(opened, pattern)

    @classmethod
    def of(cls, recordings: Iterable[Recording], name: str) -> Family:
        """Make a family of open recordings.

        Raises:
            UsageError: If they are of several programs; lists all faults.
        """
        found = tuple(sorted(recordings, key=lambda each: (each.size, each.ranks)))
        lines = [
            CommandLine(trace.name, each.size, each.ranks, trace.head.arguments)
            for each in found
            for trace in each.traces
        ]
        arguments, faults = common(lines)
        traces = [trace for each in found for trace in each.traces]
        faults = [*other_programs((each.name, PurePath(each.head.program).name) for each in traces), *faults]
        if faults:
            raise UsageError(faults)
        return cls(name, found, arguments)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Recorded sizes, ascending."""
        return tuple(sorted({each.size for each in self.recordings}))

    @property
    def ranks(self) -> tuple[int, ...]:
        """Recorded numbers of ranks, ascending."""
        return tuple(sorted({each.ranks for each in self.recordings}))

    @property
    def program(self) -> str:
        """The program, as its first recording names it."""
        return self.recordings[0].typical.head.program

    def at(self, size: int, ranks: int) -> Recording | None:
        """Return the recording of a size on a number of ranks, if there is one."""
        return next((each for each in self.recordings if (each.size, each.ranks) == (size, ranks)), None)

    def command(self, size: int, ranks: int) -> tuple[str, ...]:
        """Return the program's arguments at a size on a number of ranks."""
        return filled(self.arguments, size, ranks)

    def check_target(self, size: int, ranks: int) -> None:
        """Check that there are enough sizes and numbers of ranks to extrapolate to a target.

        Raises:
            UsageError: If there is a single size, and another is the target; likewise for ranks.
        """
        faults = [
            f"{self.name}: {what} that are recorded must be at least 2 to tell what {said} does, got {known[0]} alone: "
            "clue extrapolate --plan says what to record"
            for what, known, wanted, said in (
                ("sizes", self.sizes, size, f"size {size}"),
                ("numbers of ranks", self.ranks, ranks, f"a run on {count_of(ranks)}"),
            )
            if len(known) < 2 and known != (wanted,)
        ]
        if faults:
            raise UsageError(faults)

    def remarks(self) -> tuple[str, ...]:
        """Return caveats of these recordings, independent of the target."""
        return tuple(_remarks(self))


def _opened(size: int, ranks: int, paths: Sequence[Path]) -> Recording:
    traces = [Trace.open(path) for path in paths]
    for trace in traces:
        if trace.ranks != ranks:
            raise TraceError(f"{trace.path}: trace must have {count_of(ranks)}, as its name says, got {trace.ranks}")
        if trace.head.clock == EXTRAPOLATED:
            raise TraceError(f"{trace.path}: trace must be a recording, got one that was extrapolated itself")
        if not has_sites(trace):
            raise TraceError(
                f"{trace.path}: trace must have call sites, got none: record it again, as an earlier version "
                "of clue or another recorder made it"
            )
    if len(traces) == 1 or traces[0].head.typical is not None:
        return Recording(size, ranks, tuple(traces))
    typical = typical_recording(traces)
    return Recording(size, ranks, (typical, *(each for each in traces if each.path != typical.path)))


def has_sites(trace: Trace) -> bool:
    """Tell whether a trace contains the call sites of its ops, or has no calls."""
    return len(trace.head.sites) > 1 or bool(trace.ops.are(Op.COMPUTE).all())


def _remarks(family: Family) -> Iterator[str]:
    traces = [each.typical for each in family.recordings]
    if len(family.sizes) > 1 and not any(SIZE in word for word in family.arguments):
        yield "no argument of the program depends on the size: recordings are assumed to have the sizes in their names"
    processors = sorted({trace.head.processor for trace in traces})
    if len(processors) > 1:
        yield (
            f"recordings are of {len(processors)} kinds of processors ({', '.join(processors)}), but are treated "
            "as if made on one: record all on one computer"
        )
    once = sum(each.typical.head.typical is None and len(each.traces) == 1 for each in family.recordings)
    if once:
        yield (
            f"{once} of {len(traces)} recordings {'was' if once == 1 else 'were'} made once, so it is unknown how much "
            "bursts vary: record with --repeats 3"
        )
    wild = sum(int((trace.ops.flags & Flag.ANY_SOURCE != 0).sum()) for trace in traces)
    polls = sum(int(trace.ops.are(Op.POLL).sum()) for trace in traces)
    for count, words in (
        (wild, "receive from any source was recorded: it|receives from any source were recorded: they"),
        (polls, "test that found nothing was recorded: it|tests that found nothing were recorded: they"),
    ):
        if count:
            yield f"{Count(count):{words}} may turn out differently at another size or number of ranks"
    notes = (note_of_recording("", note) for trace in traces for note in trace.head.notes)
    yield from gathered((Said(each, "", "recordings") for each in notes), (), "")
