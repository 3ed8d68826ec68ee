"""Long programs as loops: their replay equals that of the written trace, to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from random import Random

import numpy as np
import pytest

from benchmarks.accuracy.extrapolate.scale import SETTINGS, Setting, stencil
from benchmarks.speed.settings import ContentionKind, NetworkSetting, build_machine
from clue.extrapolation import (
    Family,
    InLoops,
    Recording,
    RefusedError,
    TooLongError,
    extrapolate,
    in_loops,
    infer,
    loops,
    making,
)
from clue.extrapolation.inference import Structure
from clue.extrapolation.plan import Wanted
from clue.kernel import Program, compile_program, simulate, simulate_loops
from clue.kernel.fast.library import LOOPED
from clue.machine import Curve, Link, Machine, Network, NoContention, NodeType
from clue.native import NoLibraryError
from clue.trace import Flag, Op, Trace, TraceBuilder
from clue.trace.sites import Frame, Site

try:
    LOOPED.load()
except NoLibraryError as error:
    pytest.skip(f"no fast engine here: {error}", allow_module_level=True)

RANKS = (2, 3, 4, 6)


def family_of(make: Callable[[int, int], Trace], sizes: tuple[int, ...] = (6, 8, 12, 16)) -> Family:
    """Return recordings of a program at these sizes."""
    return Family.of([Recording(size, ranks, (make(size, ranks),)) for size in sizes for ranks in RANKS], "prog-{size}")


@cache
def agreeing() -> tuple[Family, Structure]:
    """Return recordings and structure of a stencil with an agreement after each step and varying bursts."""
    random = Random(1)
    family = family_of(lambda n, p: stencil(n, p, agrees=True, burst=lambda: random.uniform(1e-5, 3e-5)))
    return family, infer(family)


@cache
def written_out(size: int, ranks: int) -> Program:
    """Return the compiled program of the stencil's written trace."""
    family, _ = agreeing()
    return compile_program(extrapolate(family, size=size, ranks=ranks).trace)


def shrinking(size: int, ranks: int) -> Trace:
    """Return a trace whose messages get smaller in each iteration, as in a factorisation."""
    trace = TraceBuilder(ranks, "factor.py")
    for rank in range(ranks):
        trace[rank].at(Site((Frame("factor.py", "<module>", 3, 0, (2,)),)))
        for step in range(size):
            trace[rank].compute(1e-5)
            trace[rank].collective(Op.BCAST, 8 * (size - step), 0)
    return trace.build()


def pivots(size: int, ranks: int, turns: bool) -> Trace:
    """Return a trace of size steps of 10 ms, each with a lower-case bcast of a row, which is recorded as two rows."""
    trace = TraceBuilder(ranks, "paths.py")
    for rank in range(ranks):
        trace[rank].at(Site((Frame("paths.py", "<module>", 3, 0, (2,)),)))
        for step in range(size):
            trace[rank].compute(1e-2)
            root = step % ranks if turns else 0
            trace[rank].collective(Op.BCAST, 8, root)
            trace[rank].collective(Op.BCAST, 8 * size, root, flags=Flag.CONTINUED)
    return trace.build()


@pytest.mark.parametrize("turns", [False, True])
def test_only_the_first_row_of_a_call_has_a_burst(turns: bool) -> None:
    """At the target, each of 40 steps on 8 ranks has 10 ms before its first row, written out and as loops."""
    family = family_of(partial(pivots, turns=turns))
    inferred = infer(family)
    made = inferred.generate(40, 8).trace
    assert made.bursts.reshape(-1, 2) == pytest.approx(np.tile([10_000_000, 0], (40 * 8, 1)), rel=1e-6)
    found = InLoops.of(inferred, 40, 8)
    assert [each.times for each in found.stretches] == ([1] if turns else [1, 39])
    bursts = found.make().bursts
    assert bursts.mean.reshape(-1, 2) == pytest.approx(np.tile([1e-2, 0], (len(bursts.mean) // 2, 1)), rel=1e-6)
    machine = build_machine(NetworkSetting(), 8)
    assert simulate_loops(in_loops(family, found), machine).ranks == simulate(made, machine, engine="fast").ranks


def tenths(size: int, ranks: int) -> Trace:
    """Return a trace with a barrier in each of size // 10 iterations."""
    trace = TraceBuilder(ranks, "tenths.py")
    for rank in range(ranks):
        trace[rank].at(Site((Frame("tenths.py", "<module>", 3, 0, (2,)),)))
        for _ in range(size // 10):
            trace[rank].collective(Op.BARRIER)
    return trace.build()


def test_an_undetermined_number_of_iterations_is_refused() -> None:
    """At 1005, the number of iterations is n / 10 rounded in an unknown way; 202 is the first even size that tells."""
    family = family_of(tenths, (200, 400, 800))
    with pytest.raises(
        RefusedError, match=r"site tenths\.py:3 Barrier must be .* at size 1005 on 4 ranks, got"
    ) as told:
        extrapolate(family, size=1005, ranks=4)
    assert told.value.record == (Wanted(202, 2),)


@pytest.mark.long
@pytest.mark.parametrize("kind", ContentionKind)
@pytest.mark.parametrize(("size", "ranks"), [(40, 8), (25, 5), (4, 12), (3, 8)])
def test_loops_take_what_the_written_trace_takes(kind: ContentionKind, size: int, ranks: int) -> None:
    """Ranks, regions, ops and warnings are equal for every contention model; three iterations are written out."""
    family, inferred = agreeing()
    found = InLoops.of(inferred, size, ranks)
    assert len(found.stretches) == (2 if size > 3 else 1)
    machine = build_machine(NetworkSetting(kind), ranks)
    expected = simulate(written_out(size, ranks), machine, engine="fast")
    got = simulate_loops(in_loops(family, found), machine)
    assert (got.ranks, got.compute_by_region, got.ops) == (expected.ranks, expected.compute_by_region, expected.ops)
    assert sorted(map(str, got.warnings)) == sorted(map(str, expected.warnings))
    assert found.ops == expected.ops


@pytest.mark.parametrize(
    "setting", [each for each in SETTINGS if each.contention == "none"], ids=lambda each: each.name
)
def test_a_stencil_at_weak_scaling_has_its_closed_form(setting: Setting) -> None:
    """A million ops need only a few hundred in memory; a step takes burst + 2 r + 2 s + t, and the agreement."""
    from benchmarks.accuracy.extrapolate.scale import RECEIVE, SEND, TRAVEL  # noqa: PLC0415

    family = family_of(lambda n, p: stencil(n, p, agrees=setting.agrees))
    found = InLoops.of(infer(family), 5000, 64)
    assert found.held < 2 * 64 * 6 + 1
    link = Link(Curve.line(SEND), Curve.line(TRAVEL), RECEIVE)
    machine = Machine("flat", (NodeType("node"),) * 64, Network(link, link, contention=NoContention()))
    result = simulate_loops(in_loops(family, found), machine)
    assert result.makespan == pytest.approx(setting.makespan(5000, 64), rel=1e-9)


def test_what_is_too_long_is_not_written_and_offers_its_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trace that is too long is refused, and the message gives the configuration that replays its loops."""
    monkeypatch.setattr(loops, "LONGEST", 1000)
    family, _ = agreeing()
    assert len(extrapolate(family, size=40, ranks=4).trace.ops) == 960
    with pytest.raises(TooLongError) as told:
        extrapolate(family, size=50, ranks=4)
    assert told.value.can_be_replayed
    assert str(told.value) == (
        "prog-{size}: trace at size 50 on 4 ranks must have at most 1,000 ops to be written out, got about 1,200. It "
        "need not be written: clue simulate replays its loops, by program: "
        '{extrapolate: {traces: "prog-{size}", size: 50, ranks: 4}}'
    )


def test_what_is_missing_for_a_long_target_is_known_without_its_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is missing for 1,200 ops, of which 1,000 may be written out: each loop is made once."""
    family, inferred = agreeing()
    monkeypatch.setattr(making, "infer", lambda *_: inferred)
    monkeypatch.setattr(Structure, "generate", lambda *_: pytest.fail("the trace was written out"))
    monkeypatch.setattr(loops, "LONGEST", 1000)
    assert making.missing(family, 50, 4) == ()


def test_a_loop_whose_iterations_differ_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes that shrink must be written out; if this is too long, the message names the call site and its rule."""
    family = family_of(shrinking)
    inferred = infer(family)
    found = InLoops.of(inferred, 40, 8)
    assert [each.site for each in found.varying] == ["factor.py:3 Bcast"]
    machine = build_machine(NetworkSetting(), 8)
    expected = simulate(inferred.generate(40, 8).trace, machine, engine="fast")
    assert simulate_loops(in_loops(family, found), machine).ranks == expected.ranks
    monkeypatch.setattr(loops, "LONGEST", 1000)
    with pytest.raises(TooLongError, match=r"at factor\.py:3 Bcast sizes follow .*i0.* in 500 iterations") as told:
        extrapolate(family, size=500, ranks=8)
    assert not told.value.can_be_replayed
