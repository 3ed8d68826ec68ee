"""Sizes that depend on data: refused with an offer to draw them, drawn consistently if the user asks for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest

import clue
from benchmarks.speed.settings import NetworkSetting, build_machine
from clue.errors import UsageError
from clue.extrapolation import Family, InLoops, Recording, RefusedError, in_loops, infer, loops
from clue.extrapolation.inference import Structure
from clue.extrapolation.kept import kept_extrapolation
from clue.kernel import simulate, simulate_loops
from clue.structure import rules
from clue.trace import Flag, Op, Trace, TraceBuilder
from clue.trace.sites import Frame, Site
from tests.extrapolation.families import IN_LOOP, NAME, chance, parcels

pytestmark = pytest.mark.long

SITE = Site((Frame("sort.py", "<module>", 7, 0),))
Program = Callable[[int, int], Trace]


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit the search for rules: there are none, and a thorough search takes half a minute."""
    monkeypatch.setattr(rules, "_MOST_SUMS", 4)


def family_of(program: Program, ranks: tuple[int, ...] = (2, 3, 4)) -> Family:
    """Return recordings of a program at two sizes."""
    return Family.of([Recording(n, p, (program(n, p),)) for n in (6, 8) for p in ranks], "sort-{size}-{ranks}")


@cache
def drawn_ring() -> tuple[Family, Structure]:
    """Return recordings of the ring and its structure with drawn sizes."""
    family = family_of(parcels)
    return family, infer(family, distributions=(NAME,))


def alltoall(n: int, ranks: int, even: bool = False, flags: int = 0) -> Trace:
    """Return an exchange of random sizes between all ranks; if *even*, each rank sends 96 n bytes in total."""
    trace, sizes = TraceBuilder(ranks, "sort.py"), np.array(chance(n, ranks, 3 * ranks**2)[: ranks**2])
    for rank, row in enumerate(sizes.reshape(ranks, ranks).tolist()):
        if even:
            row[-1] += 96 * n - sum(row)
        trace[rank].at(SITE)
        trace[rank].collective(Op.ALLTOALLV, sum(row), extras=row, flags=flags)
    return trace.build()


def table(trace: Trace) -> list[list[int]]:
    """Return the bytes that each rank sends to each other."""
    return trace.ops.extras.reshape(trace.ranks, trace.ranks).tolist()


def test_the_refusal_offers_to_draw() -> None:
    """The refusal names the call site and offers the option that draws its sizes."""
    with pytest.raises(RefusedError) as told:
        infer(family_of(alltoall))
    assert str(told.value.refusals[0]).startswith(
        "site sort.py:7 Alltoallv sizes must follow a rule in n, P, rank and iteration, got "
    )
    assert str(told.value.refusals[0]).endswith(f": --distribution {NAME} draws them from those recorded")


def test_two_ranks_pass_on_what_is_drawn() -> None:
    """The mean is 8 n: of 12 parcels at n = 40, each third has 160, 320 and 480 B, and all bytes arrive."""
    _, inferred = drawn_ring()
    trace = inferred.generate(40, 2).trace
    sent = trace.ops.nbytes[trace.ops.op == Op.ISEND]
    assert Counter(sent.tolist()) == {160: 4, 320: 4, 480: 4}
    assert not trace.ops.nbytes[trace.ops.op != Op.ISEND].any()
    traffic = simulate(trace, build_machine(NetworkSetting(), 2), traffic=True).traffic
    assert traffic is not None
    assert [traffic.nbytes[0, 1], traffic.nbytes[1, 0]] == sent.reshape(2, 6).sum(axis=1).tolist()


def test_what_is_drawn_is_said_beside_the_result() -> None:
    """A warning, also in the head of the trace, describes the 108 parcels of mean (48 + 64) / 2 B."""
    made = clue.extrapolate(family_of(parcels), size=40, ranks=2, distributions=(NAME,))
    said = [each for each in made.warnings if each.startswith("sizes at ")]
    assert said == [
        "sizes at sort.py:7 Sendrecv are drawn from 108 recorded (mean 56 B, 0.5 to 1.5 times that): no rule"
    ]
    assert said[0] in made.trace.head.notes


@pytest.mark.parametrize("even", [False, True])
def test_each_rank_receives_what_others_send(even: bool) -> None:
    """A replay's traffic is the drawn table; if a rule gives a rank's total, the drawn sizes add up to it."""
    trace = infer(family_of(partial(alltoall, even=even)), distributions=(NAME,)).generate(40, 6).trace
    drawn = np.array(table(trace))
    assert (drawn >= 0).all() and len(np.unique(drawn)) > 2
    assert trace.ops.nbytes[trace.ops.op == Op.ALLTOALLV].tolist() == drawn.sum(axis=1).tolist()
    if even:
        assert drawn.sum(axis=1).tolist() == [96 * 40] * 6
    traffic = simulate(trace, build_machine(NetworkSetting(), 6), traffic=True).traffic
    assert traffic is not None
    np.fill_diagonal(drawn, 0)
    received = traffic.nbytes - np.diag(np.diag(traffic.nbytes))
    assert received.sum(axis=1).tolist() == drawn.sum(axis=1).tolist()
    assert received.sum(axis=0).tolist() == drawn.sum(axis=0).tolist()


def broadcasts(n: int, ranks: int, root_alone: bool = False) -> Trace:
    """Return six broadcasts of random sizes; with *root_alone*, the root calls them at another site."""
    trace, sizes = TraceBuilder(ranks, "sort.py"), chance(n, ranks, 6)
    for rank in range(ranks):
        other = root_alone and rank == 0
        trace[rank].at(Site((Frame("sort.py", "<module>", 5, 0, (6,)),)) if other else IN_LOOP)
        for size in sizes:
            trace[rank].collective(Op.BCAST, size)
    return trace.build()


def test_all_ranks_name_one_size_of_a_broadcast() -> None:
    """All ranks name the same size: of six broadcasts at n = 40, two each have 160, 320 and 480 B."""
    trace = infer(family_of(broadcasts), distributions=(NAME,)).generate(40, 5).trace
    sizes = trace.ops.nbytes[trace.ops.op == Op.BCAST].reshape(5, 6)
    assert (sizes == sizes[0]).all()
    assert Counter(sizes[0].tolist()) == {160: 2, 320: 2, 480: 2}


def halves(n: int, ranks: int) -> Trace:
    """Return six broadcasts of random sizes in each half of the ranks."""
    trace, sizes = TraceBuilder(ranks, "sort.py"), chance(n, ranks, 12)
    middle = ranks // 2
    comms = [trace.communicator(range(*bounds), "Split") for bounds in ((0, middle), (middle, ranks))]
    for rank in range(ranks):
        half = int(rank >= middle)
        trace[rank].at(IN_LOOP)
        for size in sizes[6 * half : 6 * half + 6]:
            trace[rank].collective(Op.BCAST, size, comm=comms[half])
    return trace.build()


def test_members_of_a_communicator_name_one_size() -> None:
    """Members of a half name the same size: of twelve broadcasts at n = 40, four each have 160, 320 and 480 B."""
    trace = infer(family_of(halves, (4, 6, 8)), distributions=(NAME,)).generate(40, 10).trace
    sizes = trace.ops.nbytes[trace.ops.op == Op.BCAST].reshape(10, 6)
    assert (sizes[:5] == sizes[0]).all() and (sizes[5:] == sizes[5]).all()
    assert Counter(sizes[[0, 5]].ravel().tolist()) == {160: 4, 320: 4, 480: 4}


def test_what_would_not_be_consistent_is_refused() -> None:
    """Sizes are not drawn for a broadcast with two call sites, nor for an exchange in place, which is symmetric."""
    with pytest.raises(RefusedError, match="sizes must be one for all ranks of a call at one site to be drawn"):
        infer(family_of(partial(broadcasts, root_alone=True)), distributions=("sort.py:5", NAME))
    with pytest.raises(RefusedError, match="they cannot be drawn: in place, any two ranks send each other as much"):
        infer(family_of(partial(alltoall, flags=int(Flag.IN_PLACE))), distributions=(NAME,))


def ruled(n: int, ranks: int) -> Trace:
    """Return a trace whose sizes follow a rule."""
    trace = TraceBuilder(ranks, "sort.py")
    for rank in range(ranks):
        trace[rank].at(SITE)
        trace[rank].collective(Op.ALLREDUCE, 8 * n)
    return trace.build()


def test_what_follows_a_rule_is_not_drawn() -> None:
    """Sites with a rule for all sizes and unknown sites cannot be drawn; the messages say so."""
    with pytest.raises(UsageError) as told:
        infer(family_of(ruled), distributions=(NAME,))
    assert str(told.value) == (
        "sort-{size}-{ranks}: site sort.py:7 must have sizes that follow no rule to be drawn from a distribution, got "
        "a rule for all of them"
    )
    with pytest.raises(UsageError) as told:
        infer(family_of(ruled), distributions=("sort.py:8", "x"))
    assert told.value.faults == (
        "sort-{size}-{ranks}: distributions must name call sites of the program, got sort.py:8: did you mean "
        "sort.py:7?",
        "sort-{size}-{ranks}: distributions must name call sites of the program, got x: clue inspect --sites TRACE "
        "lists those there are",
    )


def test_other_numbers_are_never_drawn() -> None:
    """Partners that follow no rule are refused, even if the user asks to draw sizes."""

    def anywhere(n: int, ranks: int) -> Trace:
        trace, order = TraceBuilder(ranks, "sort.py"), np.random.default_rng((n, ranks))
        partners = order.integers(0, ranks, (12, ranks)).tolist()
        for rank in range(ranks):
            trace[rank].at(IN_LOOP)
            for step in range(12):
                trace[rank].send(partners[step][rank], 8 * n)
        return trace.build()

    with pytest.raises(RefusedError, match="partners must follow a rule in n, P, rank and iteration") as told:
        infer(family_of(anywhere), distributions=(NAME,))
    assert "--distribution" not in str(told.value)


def test_a_loop_in_which_sizes_are_drawn_is_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Iterations with drawn sizes are written out; a replay by loops equals that of the written trace."""
    family, inferred = drawn_ring()
    found = InLoops.of(inferred, 40, 8)
    assert [(each.site, each.why) for each in found.varying] == [
        ("sort.py:7 Sendrecv", "sizes are drawn: they follow no rule")
    ]
    machine = build_machine(NetworkSetting(), 8)
    expected = simulate(inferred.generate(40, 8).trace, machine, engine="fast")
    assert simulate_loops(in_loops(family, found), machine).ranks == expected.ranks
    monkeypatch.setattr(loops, "LONGEST", 100)
    with pytest.raises(
        loops.TooLongError, match=r"at sort\.py:7 Sendrecv sizes are drawn: they follow no rule in 6 iter"
    ):
        loops.check_length(inferred, 40, 8)


@pytest.fixture
def pattern(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Return the pattern of recordings of a ring with random parcels."""
    monkeypatch.setenv("CLUE_CACHE", str(tmp_path / "cache"))
    for each in family_of(parcels).recordings:
        each.typical.save(tmp_path / f"sort-{each.size}-{each.ranks}.clue")
    yield str(tmp_path / "sort-{size}-{ranks}.clue")


def test_what_is_drawn_is_kept_by_what_was_asked_for(pattern: str) -> None:
    """Kept traces have the same draws each time; a request without the option is refused even if a trace is kept."""
    (first, *_) = kept_extrapolation(pattern, 40, 3, distributions=(NAME,))
    assert first.ops.nbytes.tolist() == drawn_ring()[1].generate(40, 3).trace.ops.nbytes.tolist()
    assert kept_extrapolation(pattern, 40, 3, distributions=(NAME, NAME))[0].path == first.path
    with pytest.raises(RefusedError):
        kept_extrapolation(pattern, 40, 3)
