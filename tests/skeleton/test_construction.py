"""The construction of whole skeletons: their lengths, remarks and refusals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clue.errors import SkeletonError
from clue.kernel import engine_for, simulate
from clue.skeleton import construct
from clue.trace import Op, Trace, TraceBuilder
from clue.trace.builder import RankBuilder
from tests.kernel.cases import machine
from tests.steady.programs import looped
from tests.steady.test_simulate import ping_pong


def recorded(seconds: float, trace: Trace) -> Trace:
    """Return a trace whose ranks ran for this many seconds."""
    heads = tuple(replace(each, wall=seconds) for each in trace.head.rank_heads)
    return replace(trace, head=replace(trace.head, rank_heads=heads))


TRACE = recorded(500.0, looped(2, 400, ping_pong))


def test_seconds_say_the_scale() -> None:
    """A skeleton of 10 s for an application of 500 s has a scale of 50."""
    short = construct(TRACE, seconds=10)
    assert (short.scale, short.application, short.seconds) == (50.0, 500.0, 10.0)
    assert short.good
    assert short.caveats == ()
    assert short.trace.head.rank_heads[0].wall == 10.0
    assert short.trace.head.notes[0] == "a skeleton of loop.py: the application takes 50 times as long"


def test_sleeps_take_time_in_a_trace_without_times() -> None:
    """Without recorded times, 10 × (1 s of computation, a sleep of 3 s) take 40 s: a skeleton of 4 s sleeps for 3 s."""
    built = TraceBuilder(2, "app.py")
    for own in built:
        for _ in range(10):
            own.compute(1.0)
            own.add(Op.SLEEP, nbytes=3_000_000_000)
            own.collective(Op.BARRIER)
    short = construct(built.build(), seconds=4)
    assert (short.application, short.scale) == (40.0, 10.0)
    for rank in range(2):
        ops = short.trace.rank(rank)
        assert ops.nbytes[ops.op == Op.SLEEP].sum() == 3_000_000_000


def test_notes_on_the_recording_are_caveats_of_its_skeleton() -> None:
    """What was noted when the application was recorded holds for its skeleton, too, and is said once."""
    noted = "2 threads called MPI: their calls are replayed one after the other"
    short = construct(replace(TRACE, head=replace(TRACE.head, notes=(noted,))), seconds=10)
    assert [each.said for each in short.caveats] == [noted]
    assert short.trace.head.notes[1:] == (noted,)


def test_the_shortest_good_skeleton_has_one_iteration_of_the_dominant_sequence() -> None:
    """The shortest good skeleton has one of the 400 iterations, so it takes 500 s / 400 = 1.25 s."""
    short = construct(TRACE, shortest=True)
    assert short.dominant is not None
    assert (short.dominant.name, short.dominant.iterations) == ("loop.py:10", 400)
    assert (short.scale, short.shortest, short.good) == (400.0, 1.25, True)
    assert short.trace.ops.nbytes.sum() == 2000


def test_what_is_too_short_warns() -> None:
    """A skeleton below one iteration warns, and names the loop, its share of the time and the shortest good length."""
    short = construct(TRACE, seconds=1)
    assert not short.good
    assert [each.said for each in short.caveats if "too short" in each] == [
        "its skeleton is too short for one of the 400 iterations of loop loop.py:10, which make 80% of its time: the "
        "shortest good one takes 1.25 s"
    ]


def test_a_program_without_loops_has_no_good_skeleton() -> None:
    """A program without loops has no good skeleton; without recorded times, its 2 s of computation are its time."""
    built = TraceBuilder(2)
    built[0].compute(2.0)
    built[0].send(1, 100)
    built[1].recv(0)
    short = construct(built.build(), scale=4)
    assert (short.application, short.shortest, short.dominant, short.good) == (2.0, 2.0, None, False)
    assert [each.said for each in short.caveats] == [
        "its elapsed time is unknown: the time of calls and computation of its slowest rank is used instead",
        "its signature is 1 times as short as its events, where a skeleton 4 times as short wants 2 (similarity "
        "threshold 0.2): little of it is repeated; a longer skeleton is more reliable",
        "1 message or collective call of its skeleton represents less than one of the application each, with fewer "
        "bytes, but no less latency, which at 50 us each is 0.0% of its time",
        "no loop that all ranks go round alike makes half of its time: a skeleton of it is not known to be good",
    ]


def test_the_threshold_rises_until_the_signature_is_short_enough() -> None:
    """The similarity threshold rises until the signature is short enough, or stays 0 if it is already.

    Broadcasts of 1,000 to 1,040 B at scale 700: the threshold is 0.05, and the signature 400 times shorter than the
    events.
    """

    def body(own: RankBuilder, _: int, i: int) -> None:
        own.compute(0.1)
        own.collective(Op.BCAST, 1000 + 10 * (i * i % 8))

    exact = construct(looped(2, 400, body), scale=2)
    assert (exact.threshold, exact.ratio >= 1) == (0.0, True)
    short = construct(looped(2, 400, body), scale=700)
    assert (short.threshold, short.ratio) == (0.05, 400.0)


def test_an_application_begins_with_mpi() -> None:
    """Its time is that from the initialisation of MPI to its end, without the 300 s that the process took before."""
    trace = recorded(500.0, looped(2, 400, ping_pong))
    begin = np.arange(1, len(trace.ops) + 1)
    begin -= np.repeat(trace.head.offsets[:-1], np.diff(trace.head.offsets))
    last = replace(trace.ops, begin=begin * round(200e9) // begin.max(), took=np.zeros(len(begin), np.int64))
    short = construct(replace(trace, ops=last), scale=4)
    assert (short.application, short.seconds) == (200.0, 50.0)
    assert construct(replace(trace, ops=last), shortest=True).shortest == pytest.approx(0.5)


def test_loops_are_found_without_call_sites() -> None:
    """Without call sites, loops are found by repetition of events."""
    built = TraceBuilder(2)
    for own in built:
        for _ in range(100):
            own.compute(0.01)
            own.collective(Op.ALLREDUCE, 8)
            own.collective(Op.BCAST, 1000)
    short = construct(built.build(), scale=20)
    assert short.dominant is not None
    assert short.dominant.name == "[Allreduce, Bcast]"
    assert short.trace.rank(0).nbytes.tolist() == [8, 1000] * 5


def test_a_skeleton_has_a_name_of_its_own() -> None:
    """A skeleton's identity depends on its trace and its scale, and is the same each time."""
    once, again, other = construct(TRACE, scale=5), construct(TRACE, scale=5), construct(TRACE, scale=6)
    assert once.identity == again.identity != other.identity
    assert len(once.identity) == 16
    changed = recorded(500.0, looped(2, 401, ping_pong))
    assert construct(changed, scale=5).identity != once.identity
    assert once.recording == other.recording != construct(changed, scale=5).recording


@pytest.mark.parametrize(
    ("length", "message"),
    [
        (
            {"seconds": 501.0},
            "loop.py: seconds of a skeleton must be above 0 and at most those of the application, 500 s, got 501 s",
        ),
        (
            {"seconds": 0.0},
            "loop.py: seconds of a skeleton must be above 0 and at most those of the application, 500 s, got 0 s",
        ),
        ({"scale": 0.5}, "loop.py: scale of a skeleton must be a number from 1 on, got 0.5"),
        ({"scale": float("nan")}, "loop.py: scale of a skeleton must be a number from 1 on, got nan"),
    ],
)
def test_lengths_that_make_no_sense_are_refused(length: dict[str, float], message: str) -> None:
    """A length beyond the application's, or a scale below 1, is refused with the rule."""
    with pytest.raises(SkeletonError) as raised:
        construct(TRACE, **length)  # type: ignore[arg-type]
    assert raised.value.faults == (message,)


def test_a_skeleton_is_a_trace(tmp_path: Path) -> None:
    """A skeleton is saved and opened like any trace, and both engines give the same result for it."""
    short = construct(TRACE, scale=30)
    again = Trace.open(short.trace.save(tmp_path / "short.clue"))
    replayed = simulate(again, machine(2), engine="reference")
    assert replayed.ranks == simulate(short.trace, machine(2), engine="auto").ranks
    assert simulate(again, machine(2), engine=engine_for(10**6, "auto")).ranks == replayed.ranks


def test_flops_are_divided_too() -> None:
    """Declared operations are divided by the scale, so that the speed in a region is unchanged."""
    built = TraceBuilder(1)
    built[0].compute(2.0, "solve")
    built.declare(0, region="solve", flops=1e9)
    short = construct(built.build(), scale=4)
    assert short.trace.flops() == {"solve": (2.5e8, 0.5)}


def test_all_calls_that_cannot_be_repeated_are_told_at_once() -> None:
    """All calls that a skeleton cannot repeat are reported in one error, which has exit status 2."""
    built = TraceBuilder(1, "files.py")
    built[0].add(Op.OTHER, call="File.Open")
    built[0].add(Op.OTHER, call="Win.Fence")
    with pytest.raises(SkeletonError) as raised:
        construct(built.build(), scale=2)
    assert len(raised.value.faults) == 2
