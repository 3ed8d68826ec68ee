"""The caveats of a simulation: the full text of each, which also says what to do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clue.kernel import simulate
from clue.kernel.live import execute
from clue.machine import Machine, SpeedCurve
from clue.trace import ANY, Flag, Op, Trace, TraceBuilder
from tests.kernel.cases import machine
from tests.kernel.live_sources import playing


def computing(ranks: int = 1) -> TraceBuilder:
    """Return a program whose ranks compute for 1 s in region "solve"."""
    trace = TraceBuilder(ranks, program="jacobi.py")
    for rank in trace:
        rank.compute(1.0, "solve")
    return trace


def left_out(call: str) -> Trace:
    """Return a program that makes a call twice that is not modelled."""
    trace = computing()
    for _ in range(2):
        trace[0].add(Op.OTHER, call=call, took=250_000_000)
    return trace.build()


def overtaken() -> Trace:
    """Return a program whose first wildcard receive matched the later of two messages."""
    trace = computing(3)
    for rank, time in ((1, 2.0), (2, 1.0)):
        trace[rank].compute(time)
        trace[rank].send(0, 0)
        trace[0].recv(rank, flags=Flag.ANY_SOURCE)
    return trace.build()


def unresolved() -> Trace:
    """Return a program with a receive whose match is unknown, which leaves a message unreceived."""
    trace = computing(2)
    trace[0].send(1, 0)
    trace[1].wait(trace[1].irecv(ANY, tag=ANY, flags=Flag.ANY_SOURCE | Flag.ANY_TAG))
    return trace.build()


def polling() -> Trace:
    """Return a program with a poll that found nothing."""
    trace = computing()
    trace[0].add(Op.POLL)
    return trace.build()


def combining(nbytes: int, ranks: int = 2) -> Trace:
    """Return a program with a reduction."""
    trace = TraceBuilder(ranks, program="jacobi.py")
    for rank in trace:
        rank.collective(Op.ALLREDUCE, nbytes)
    return trace.build()


def large() -> Trace:
    """Return a program of two ranks that needed 3 GB each."""
    trace = computing(2)
    for rank in range(2):
        trace.declare(rank, peak_memory=3_000_000_000)
    return trace.build()


def exchanging() -> Trace:
    """Return a program of three ranks, two of which send at once."""
    trace = computing(3)
    for rank in (1, 2):
        trace[rank].send(0, 0)
        trace[0].recv(rank)
    return trace.build()


CASES = [
    (
        left_out("Win.Put"),
        machine(1),
        "jacobi.py: Win.Put is not modelled: the simulation leaves out 2 calls that took 500 ms when recorded; a live "
        "run gives such calls the time of messages (clue run)",
    ),
    (
        left_out("File.Write"),
        machine(1),
        "jacobi.py: File.Write is not modelled: the simulation leaves out 2 calls that took 500 ms when recorded",
    ),
    (
        overtaken(),
        machine(3, contention={1: 1.0, 8: 2.0}),
        "jacobi.py: 1 of 2 wildcard receives would have matched another message here; they are replayed as recorded. "
        "If the program takes whatever message arrives first, run it live instead (clue run)",
    ),
    (
        unresolved(),
        machine(2),
        "jacobi.py: 1 receive or probe is left out, because the MPI library did not tell what was matched: run the "
        "program live instead (clue run)",
    ),
    (unresolved(), machine(2), "jacobi.py: 1 message was sent and never received"),
    (
        polling(),
        machine(1),
        "jacobi.py: 1 Test, probe or Win.Sync call found nothing when recorded; a replay polls as often, with the "
        "computation between polls: a live run shows how often the program would poll here (clue run)",
    ),
    (
        large(),
        machine(1, processors=2, memory=4e9),
        "hand-made: memory does not suffice: 2 ranks need 6 GB of memory on a node, a host has 4 GB. The program would "
        "not run there; the figures are those of nodes with enough memory. Place fewer ranks on a node, or take larger "
        "nodes",
    ),
    (
        computing().build(),
        machine(1, speeds={"solve": 1e9}),
        "hand-made: speed of region solve needs a trace with operations declared there (virtual_layer.region "
        "with flops=); the performance factor is used instead",
    ),
    (
        exchanging(),
        machine(3),
        "hand-made: no contention is stated, so simultaneous messages do not slow each other down: predicted "
        "times are too short "
        "where many are sent at a time",
    ),
    (
        exchanging(),
        machine(3, contention={1: 1.0}),
        "hand-made: contention is stated up to 1 simultaneous communication, but there were 2; the last factor is "
        "used for more: measure more pairs at once (clue calibrate contention --pairs)",
    ),
    (
        combining(1 << 20),
        machine(2),
        "hand-made: no reduction_delay is stated for host, so reductions combine data in no time: predicted times are "
        "too short where vectors are long (1.049 MB here) and the network is fast. Measure it (clue calibrate network "
        "or processor), or state that of a present processor (0.1 ns/B)",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("trace", "on", "said"), CASES, ids=[said[:40] for *_, said in CASES])
def test_a_caveat_says_what_to_do(trace: Trace, on: Machine, said: str) -> None:
    """The warnings of a simulation contain the expected text word for word."""
    assert said in simulate(trace, on).warnings


def test_speeds_of_a_change_are_looked_at_too() -> None:
    """A speed that holds from 0.5 s on is as useless without declared operations as one that holds from the start."""
    on = machine(1, changes=((0.5, machine(1, speeds={"solve": 1e9})),))
    done = simulate(computing().build(), on)
    assert done.makespan == pytest.approx(1.0)
    assert done.warnings == (
        "hand-made: speed of region solve needs a trace with operations declared there (virtual_layer.region "
        "with flops=); the performance factor is used instead",
    )


def test_curves_of_a_change_are_looked_at_too() -> None:
    """A burst of 1 Gflop is outside the range of a speed that holds from 0.5 s on, stated for 1 kflop to 1 Mflop."""
    curve = SpeedCurve.through([(1e3, 1e9), (1e6, 1e9)])
    trace = computing()
    trace.declare(0, region="solve", flops=10**9)
    on = machine(1, changes=((0.5, machine(1, speeds={"solve": curve})),))
    said = "bursts of region solve have 1e+09 flop, where its speed is stated for 1e+03 to 1e+06"
    assert any(said in each for each in simulate(trace.build(), on).warnings)


def test_factors_of_another_processor_are_told() -> None:
    """If bursts were not measured on the reference processor, a warning names both and says how to compare them."""
    built = computing().build()
    trace = replace(built, head=replace(built.head, processor="AMD Ryzen"))
    on = replace(machine(1), reference_processor="Intel Xeon")
    assert simulate(trace, on).warnings == (
        "hand-made: performance factors are relative to Intel Xeon, but bursts were measured on AMD Ryzen: record or "
        "run the program on Intel Xeon, or compare both processors (clue calibrate processor)",
    )
    assert simulate(trace, replace(on, reference_processor="AMD Ryzen")).warnings == ()


@pytest.mark.parametrize(
    ("trace", "delays", "said"),
    [
        (combining(1 << 16), (0.0, 0.0), "host, other"),
        (combining(1 << 16), (1e-10, 0.0), "other"),
        (combining(1 << 16), (1e-10, 1e-10), ""),
        (combining((1 << 16) - 1), (0.0, 0.0), ""),  # short vectors take next to no time
        (combining(1 << 16, ranks=1), (0.0, 0.0), ""),  # has nothing to combine
    ],
)
def test_long_vectors_that_are_combined_in_no_time_are_told(
    trace: Trace, delays: tuple[float, float], said: str
) -> None:
    """A caveat names the types of the nodes used that state no delay, in replays and in live runs."""
    host = machine(1).nodes[0]
    kinds = [
        replace(host, name=name, reduction_delay=each) for name, each in zip(("host", "other"), delays, strict=True)
    ]
    on = replace(machine(3), nodes=(*kinds, replace(host, name="unused")))
    where = [0, 1][: trace.ranks]
    for result in (simulate(trace, on, where), execute(playing(trace), on, where).result):
        found = [each for each in result.warnings if "reduction_delay" in each]
        assert len(found) == bool(said)
        assert all(f"no reduction_delay is stated for {said}, so" in each for each in found)


@pytest.mark.parametrize(("nodes", "faults"), [([0, 1], 0), ([0, 0], 1)])
def test_memory_is_that_of_the_ranks_of_a_node(nodes: list[int], faults: int) -> None:
    """On a node of 4 GB, one rank of 3 GB fits and two do not; memory that is not stated never causes a warning."""
    on = machine(2, processors=2, memory=4e9)
    assert sum("memory does" in each for each in simulate(large(), on, nodes).warnings) == faults
    assert simulate(large(), machine(1), [0, 0]).warnings == ()
    assert simulate(computing(2).build(), machine(1, memory=1.0), [0, 0]).warnings == ()
