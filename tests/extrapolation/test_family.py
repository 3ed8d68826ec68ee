"""Recordings named by a pattern: search, consistency, and messages about those that do not belong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.errors import ClueError, TraceError, UsageError
from clue.extrapolation import Family, Pattern, Recording, extrapolate
from clue.extrapolation.arguments import CommandLine, common, filled
from clue.extrapolation.recordings import save_recordings
from clue.trace import Flag, Op, Trace, TraceBuilder
from clue.trace.head import Typical
from clue.trace.place import numbered
from tests.extrapolation.families import ring, saved

GRID = tuple((size, ranks) for size in (8, 16) for ranks in (2, 4))


def test_a_family_has_what_its_pattern_names(tmp_path: Path) -> None:
    """Recordings are ordered by size, then ranks; the argument with the size is found, and other files are ignored."""
    pattern = saved(tmp_path, [*GRID, (32, 8)])
    for name in ("ring-x-2.clue", "ring-08-2.clue", "ring-8-2.clue.zip", "string-8-2.clue"):
        (tmp_path / name).touch()
    family = Family.open(pattern)
    assert [(each.size, each.ranks) for each in family.recordings] == [*GRID, (32, 8)]
    assert (family.sizes, family.ranks, family.program) == ((8, 16, 32), (2, 4, 8), "ring.py")
    assert family.arguments == ("--n", "{size}")
    assert family.command(64, 16) == ("--n", "64")
    assert family.at(16, 4) is family.recordings[3] and family.at(16, 8) is None


def test_folders_may_have_the_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Placeholders may be in the names of folders, and a pattern may be relative."""
    monkeypatch.chdir(tmp_path)
    assert Family.open(saved(Path(), GRID, "runs/{ranks}/of {size}.clue")).sizes == (8, 16)
    assert Family.open("./runs/{ranks}/of {size}.clue").ranks == (2, 4)


def with_repeats(pattern: str, path: Callable[[int], Path]) -> Family:
    """Save three repeats of a ring's recording, and return the family."""
    for repeat, seconds in enumerate((1e-3, 4e-3, 2e-3), 1):
        ring(8, 2, seconds).save(path(repeat))
    return Family.open(pattern)


@pytest.mark.parametrize("name", ["ring-{size}-{ranks}.clue", "ring-{size}-{ranks}-{repeat}.clue"])
def test_repeats_are_found_and_the_typical_comes_first(name: str, tmp_path: Path) -> None:
    """Repeats are named by the pattern or by ``clue record --repeats``; the first has the median bursts of all."""
    pattern = str(tmp_path / name)
    family = with_repeats(pattern, lambda repeat: Pattern(pattern).path(8, 2, repeat))
    (recording,) = family.recordings
    assert len(recording.traces) == 3
    assert recording.typical.bursts.max() == 2e-3 * 8**2 / 2 * 1e9
    assert recording.typical.head.typical is not None
    assert not any("made once" in each for each in family.remarks())


@pytest.mark.parametrize("name", ["ring-{size}-{ranks}.clue", "ring-{size}-{ranks}-{repeat}.clue"])
def test_repeats_of_an_earlier_run_are_gone(name: str, tmp_path: Path) -> None:
    """A single recording replaces three: its burst of 8 ms x 8² / 2 counts, not the median of it and two old ones."""
    pattern = str(tmp_path / name)
    with_repeats(pattern, lambda repeat: Pattern(pattern).path(8, 2, repeat))
    again = Trace.open(ring(8, 2, 8e-3).save(tmp_path / "again.clue"))
    save_recordings([again], partial(Pattern(pattern).path, 8, 2))
    (recording,) = Family.open(pattern).recordings
    assert len(recording.traces) == 1
    assert recording.typical.bursts.max() == 8e-3 * 8**2 / 2 * 1e9


def test_one_recording_with_typical_bursts_is_enough(tmp_path: Path) -> None:
    """A recording with typical bursts needs no repeats beside it."""
    pattern = str(tmp_path / "ring-{size}-{ranks}.clue")
    family = with_repeats(pattern, lambda repeat: Pattern(pattern).path(8, 2, repeat))
    family.recordings[0].typical.save(tmp_path / "one-8-2.clue")
    one = Family.open(str(tmp_path / "one-{size}-{ranks}.clue"))
    assert len(one.recordings[0].traces) == 1
    assert not any("made once" in each for each in one.remarks())


@pytest.mark.parametrize(
    ("pattern", "got"),
    [
        ("cg.clue", "neither"),
        ("cg-{size}.clue", "{size}"),
        ("cg-{ranks}.clue", "{ranks}"),
        ("cg-{size}-{size}-{ranks}.clue", "{size} {size} {ranks}"),
        ("cg-{size}-{ranks}-{n}.clue", "{size} {ranks} {n}"),
        ("{repeat}-{repeat}-{size}-{ranks}", "{repeat} {repeat} {size} {ranks}"),
    ],
)
def test_a_pattern_has_its_placeholders(pattern: str, got: str) -> None:
    """A pattern has {size} and {ranks} exactly once and no unknown placeholders; others are refused."""
    with pytest.raises(UsageError) as caught:
        Family.open(pattern)
    assert str(caught.value).startswith(f"{pattern}: pattern must have {{size}} and {{ranks}} once")
    assert str(caught.value).endswith(f"got {got}")


def test_no_recordings(tmp_path: Path) -> None:
    """Without any recordings, the message says which command plans them."""
    with pytest.raises(UsageError, match=r"recordings must exist, got none. Ask which to make: clue extrapolate --p"):
        Family.open(str(tmp_path / "ring-{size}-{ranks}.clue"))


def refused(pattern: str) -> tuple[str, ...]:
    """Return the reasons for which a family is refused."""
    with pytest.raises(ClueError) as caught:
        Family.open(pattern)
    assert caught.value.exit_status == 2
    return caught.value.faults


def test_ranks_in_names_are_those_of_traces(tmp_path: Path) -> None:
    """A wrong number of ranks and a damaged trace are reported together."""
    pattern = saved(tmp_path, GRID)
    ring(8, 3).save(tmp_path / "ring-8-4.clue")
    (tmp_path / "ring-16-2.clue" / "head.json").unlink()
    first, second = refused(pattern)
    assert first == f"{tmp_path}/ring-8-4.clue: trace must have 4 ranks, as its name says, got 3"
    assert second.startswith(f"{tmp_path}/ring-16-2.clue: trace must be a folder with a head.json")


def test_other_programs_are_named(tmp_path: Path) -> None:
    """A recording of another program is refused, whose name must match except for its folder."""
    pattern = saved(tmp_path, GRID)
    ring(8, 4, program="/elsewhere/ring.py").save(tmp_path / "ring-8-4.clue")
    assert len(Family.open(pattern).recordings) == 4
    ring(8, 4, program="circle.py").save(tmp_path / "ring-8-4.clue")
    assert refused(pattern) == ("ring-8-4.clue: program must be that of ring-8-2.clue (ring.py), got circle.py",)


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (("--n", "9"), "argument 2 must have the size (8), got 9"),
        (("--m", "8"), "argument 1 must be that of ring-8-2.clue (--n) but for size and ranks, got --m"),
        (("--n", "8", "-v"), "number of arguments must be that of ring-8-2.clue (--n 8), got --n 8 -v"),
    ],
)
def test_other_arguments_are_named(arguments: tuple[str, ...], fault: str, tmp_path: Path) -> None:
    """Other arguments than those of the first recording are refused, with the expected ones."""
    pattern = saved(tmp_path, GRID)
    ring(8, 4, arguments=arguments).save(tmp_path / "ring-8-4.clue")
    assert refused(pattern) == (f"ring-8-4.clue: {fault}",)


def test_further_arguments_must_not_change(tmp_path: Path) -> None:
    """One recording has another number of steps, and the message names the argument."""
    pattern = str(tmp_path / "ring-{size}-{ranks}.clue")
    for size, ranks in GRID:
        steps = "20" if (size, ranks) == (16, 4) else "10"
        ring(size, ranks, arguments=(str(size), "--steps", steps)).save(Pattern(pattern).path(size, ranks))
    assert refused(pattern) == ("ring-16-4.clue: argument 3 must have that of ring-8-2.clue (10), got 20",)


@pytest.mark.parametrize(
    "words",
    [
        ("{size}",),
        ("--n={size}", "-q"),
        ("{size}x{size}", "on {ranks}"),
        ("mesh-{size}.msh", "8"),
        ("16", "{size}", "2"),
    ],
)
def test_what_follows_size_and_ranks_is_found(words: tuple[str, ...]) -> None:
    """The placeholders are found anywhere in the arguments; a constant number is kept, whatever it equals."""
    lines = [CommandLine("x", size, ranks, filled(words, size, ranks)) for size, ranks in GRID]
    assert common(lines) == (words, [])


PIECES = st.sampled_from(("{size}", "{ranks}", "n", "=", "8", "16", ""))


@given(
    words=st.lists(st.lists(PIECES, max_size=4).map("-".join), max_size=4),
    keys=st.lists(st.tuples(st.integers(1, 10**6), st.integers(1, 99)), min_size=1, max_size=4, unique=True),
)
def test_arguments_that_follow_the_size_come_back(words: list[str], keys: list[tuple[int, int]]) -> None:
    """The words found, once filled in, give the arguments of every recording, even if a constant equals a size."""
    lines = [CommandLine("x", size, ranks, filled(words, size, ranks)) for size, ranks in keys]
    found, faults = common(lines)
    assert faults == []
    assert [filled(found, line.size, line.ranks) for line in lines] == [line.words for line in lines]


@pytest.mark.parametrize(
    ("keys", "target", "fault"),
    [
        (
            [(8, 2), (8, 4)],
            (16, 4),
            "sizes that are recorded must be at least 2 to tell what size 16 does, got 8 alone",
        ),
        (
            [(8, 4), (16, 4)],
            (16, 8),
            "numbers of ranks that are recorded must be at least 2 to tell what a run on 8 ranks",
        ),
        ([(8, 2), (8, 4)], (8, 16), ""),
        ([(8, 2), (16, 2)], (32, 2), ""),
    ],
)
def test_a_target_needs_two_of_what_changes(
    keys: list[tuple[int, int]], target: tuple[int, int], fault: str, tmp_path: Path
) -> None:
    """A target with a new size needs two recorded sizes, and one with a new number of ranks two numbers."""
    family = Family.open(saved(tmp_path, keys))
    if not fault:
        family.check_target(*target)
        return
    with pytest.raises(UsageError, match=fault):
        family.check_target(*target)


def test_what_a_reader_should_know_is_said() -> None:
    """Remarks cover a size without argument, several processors, missing repeats, and calls that depend on timing."""
    traces = []
    for size, processor in ((8, "one"), (16, "other")):
        trace = TraceBuilder(2, "ring.py")
        trace[0].send(1, 8)
        trace[1].add(Op.POLL)
        trace[1].recv(0, flags=Flag.ANY_SOURCE)
        built = trace.build()
        traces.append(Recording(size, 2, (replace(built, head=replace(built.head, processor=processor)),)))
    said = Family.of(traces, "ring").remarks()
    assert [line.split(",")[0].split(":")[0] for line in said] == [
        "no argument of the program depends on the size",
        "recordings are of 2 kinds of processors (one",
        "2 of 2 recordings were made once",
        "2 receives from any source were recorded",
        "2 tests that found nothing were recorded",
    ]


def test_what_recordings_note_is_said_once() -> None:
    """Notes of recordings come once, with the largest figure."""
    busy = "recorded on a busy computer: other processes kept a rank from computing for {}% of its time"
    found = []
    for size, share in ((8, 7), (16, 12)):
        trace = TraceBuilder(2, "ring.py")
        trace[1].compute(1.0, "solve")
        trace[1].recv(0, flags=Flag.ANY_SOURCE if size == 8 else 0)
        trace[0].send(1, 8)
        built = trace.build()
        notes = (busy.format(share), "the program has threads that call MPI")
        head = replace(built.head, notes=notes, arguments=(str(size),))
        found.append(Recording(size, 2, (replace(built, head=head),)))
    typical = replace(found[0].typical, head=replace(found[0].typical.head, typical=Typical(3, 0.0)))
    assert Family.of([Recording(8, 2, (typical,)), found[1]], "ring").remarks() == (
        "1 of 2 recordings was made once, so it is unknown how much bursts vary: record with --repeats 3",
        "1 receive from any source was recorded: it may turn out differently at another size or number of ranks",
        f"recordings: {busy.format('up to 12')}",
        "recordings: the program has threads that call MPI",
    )


def test_names_of_repeats_are_those_of_recordings() -> None:
    """Patterns and recorder name repeats in the same way."""
    path = Path("a/cg-8-2.clue")
    assert [Pattern("a/cg-{size}-{ranks}.clue").path(8, 2, repeat) for repeat in (1, 2, 3)] == [
        numbered(path, repeat) for repeat in (1, 2, 3)
    ]


def test_a_trace_without_sites_is_to_be_recorded_again(tmp_path: Path) -> None:
    """A trace without call sites is refused, with the advice to record it again."""
    pattern = saved(tmp_path, GRID)
    trace = TraceBuilder(4, "ring.py")
    for rank in trace:
        rank.collective(Op.BARRIER)
    trace.build().save(tmp_path / "ring-8-4.clue")
    assert refused(pattern) == (
        f"{tmp_path}/ring-8-4.clue: trace must have call sites, got none: record it again, as an earlier version "
        "of clue or another recorder made it",
    )


def test_damaged_traces_are_told_as_such(tmp_path: Path) -> None:
    """A damaged trace raises the usual error."""
    pattern = saved(tmp_path, GRID)
    (tmp_path / "ring-8-2.clue" / "cpu.npy").write_bytes(b"")
    with pytest.raises(TraceError):
        Family.open(pattern)
    assert isinstance(Trace.open(tmp_path / "ring-8-4.clue"), Trace)


def test_a_program_without_calls_needs_no_sites(tmp_path: Path) -> None:
    """Each rank computes n² / P units of 1 us alone: 400² / 8 are 0.02 s."""
    pattern = str(tmp_path / "alone-{size}-{ranks}.clue")
    for size, ranks in ((n, p) for n in (100, 200, 300) for p in (1, 2, 4, 6)):
        trace = TraceBuilder(ranks, "alone.py")
        for rank in trace:
            rank.compute(1e-6 * size**2 / ranks)
        trace.build().save(Pattern(pattern).path(size, ranks))
    made = extrapolate(pattern, size=400, ranks=8).trace
    assert made.ops.op.tolist() == [Op.COMPUTE] * 8
    assert made.bursts.tolist() == pytest.approx([20_000_000] * 8, rel=0.05)
