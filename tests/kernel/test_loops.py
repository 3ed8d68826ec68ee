"""Programs in loops against the same programs written out: the same figures, to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from clue.errors import DeadlockError, UsageError
from clue.kernel import LoopedProgram, Pool, compile_program, simulate, simulate_loops
from clue.kernel.fast.library import ENGINE, LOOPED
from clue.kernel.fast.loops import LEFT_OUT
from clue.machine import Machine
from clue.machine.contention import NUMBERS
from clue.models import Distribution
from clue.native import NoLibraryError
from clue.result import Result
from clue.trace import Flag, Op, Trace, TraceBuilder
from tests.kernel.cases import EAGER_LIMIT, RECEIVE, machine, sending, transmission
from tests.kernel.looping import Block, cut, in_loops, loops, program_of
from tests.kernel.random_cases import CASES, ProgramMaker, random_machine, random_placement

try:
    ENGINE.load()
    LOOPED.load()
except NoLibraryError as error:
    pytest.skip(f"no fast engine here: {error}", allow_module_level=True)


def same(looped: LoopedProgram, written: Trace, on: Machine, placement: list[int], instances: int = 1) -> None:
    """Check that a program in loops has the figures, warnings and deadlocks of the same program written out."""

    def outcome(replay: Callable[[], Result]) -> Result | list[tuple[int, float]]:
        try:
            return replay()
        except DeadlockError as deadlock:
            return [(each.rank, each.time) for each in deadlock.blocked]

    program = compile_program(written)
    expected = outcome(lambda: simulate(program, on, placement, "fast", instances=instances))
    got = outcome(lambda: simulate_loops(looped, on, placement, instances=instances))
    if isinstance(expected, list) or isinstance(got, list):
        assert got == expected
        return
    assert (got.ranks, got.compute_by_region) == (expected.ranks, expected.compute_by_region)
    assert got.warnings == expected.warnings
    assert got.ops == expected.ops


def covered(trace: Trace) -> bool:
    """Tell whether a trace has only ops that can be replayed in loops."""
    wild = (trace.ops.flags & int(Flag.ANY_SOURCE)).any()
    program = compile_program(trace)
    if program.unmodelled or program.failed_polls:
        return False
    contexts = [each.context for each in trace.head.communicators]
    return not (trace.ops.are(*LEFT_OUT).any() or wild or len(set(contexts)) < len(contexts))


class LoopMaker(ProgramMaker):
    """Writes programs that can be replayed in loops."""

    def plan_world(self, children: int) -> None:
        """Spawn nothing, so that there is one world."""

    def neighbors(self) -> None:
        """Send a message instead."""
        self.message()

    odds = remote = neighbors

    def receive(self, rank: int, source: int, tag: int, comm: int, inter: int) -> None:
        """Add a receive that names its sender: loops contain no wildcards and no probes."""
        builder = self.builder[rank]
        if self.random.random() < 0.5:
            persistent = self.random.choice((0, Flag.PERSISTENT))
            self.open[rank].append(builder.irecv(source, tag, comm, inter | persistent))
        else:
            builder.recv(source, tag, comm, inter)

    def family(self) -> None:
        """Sometimes make a communicator by a split."""
        if self.random.random() < 0.3:
            self.split()


@pytest.mark.long
@pytest.mark.parametrize("kind", NUMBERS)
@settings(max_examples=CASES // 4, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**48), ties=st.booleans(), plain=st.booleans())
def test_loops_take_what_they_take_written_out(kind: str, seed: int, ties: bool, plain: bool) -> None:
    """Any program repeated in loops has the figures, warnings and deadlocks of the same written out, on any machine."""
    random = Random(seed)
    trace = LoopMaker(random, random.choice((1, 2, 3, 5, 8)), ties).make(random.randrange(1, 40))
    assume(covered(trace))
    on = random_machine(random, kind, ties=ties, plain=plain)
    instances = random.choice((1, 1, 2))
    placement = random_placement(random, on, trace.ranks * instances)
    blocks = [trace] * random.choice((1, 2))
    looped, written = loops(random, blocks, [random.choice((1, 2, 5)) for _ in blocks])
    same(looped, written, on, placement, instances)


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("size", [100, 20000])
@pytest.mark.parametrize("rounds", [1, 2, 1000])
def test_requests_and_messages_go_from_round_to_round(kind: str, size: int, rounds: int) -> None:
    """Each round completes the requests of the round before, eager or rendezvous; the last ones end after the loop."""
    ranks = 3
    trace = TraceBuilder(ranks)
    cuts = []
    for rank in range(ranks):
        mine = trace[rank]
        requests: list[int] = []
        for i in range(2):
            if requests:
                mine.wait(*requests)
                mine.compute(0.01 * (rank + 1))
            requests = [mine.irecv((rank - 1) % ranks), mine.isend((rank + 1) % ranks, size)]
            mine.send((rank + 1) % ranks, 10, tag=1)
            if i:
                mine.recv((rank - 1) % ranks, tag=1)
            cuts.append(len(mine.rows))
        mine.wait(*requests)
        mine.recv((rank - 1) % ranks, tag=1)
    built = trace.build()
    whole = [Block.of(built, rank) for rank in range(ranks)]
    blocks = [
        [
            cut(each, 0, cuts[2 * rank]),
            cut(each, cuts[2 * rank], cuts[2 * rank + 1]),
            cut(each, cuts[2 * rank + 1], len(each)),
        ]
        for rank, each in enumerate(whole)
    ]
    random = Random(rounds)
    looped, written = program_of(random, built.head, blocks, [1, rounds, 1])
    same(looped, written, random_machine(random, kind, ties=True), [0] * ranks)
    same(looped, written, machine(ranks), list(range(ranks)))


def test_a_loop_takes_so_many_times_what_a_round_takes() -> None:
    """1000 rounds of a burst and a 1 KB message there and back take 1000 times the time of one round."""
    trace = TraceBuilder(2)
    for rank in (0, 1):
        trace[rank].compute(0.5)
    trace[0].send(1, 1000)
    trace[0].recv(1)
    trace[1].recv(0)
    trace[1].send(0, 1000)
    looped, _ = loops(Random(0), [trace.build()], [1000])
    alike = replace(looped.bursts, pools=tuple(replace(pool, values=np.ones(1)) for pool in looped.bursts.pools))
    result = simulate_loops(replace(looped, bursts=alike), machine(2))
    # The answering rank starts its next burst while the answer travels.
    there = sending(1) + transmission(1) + RECEIVE
    first = 0.5 + 2 * there
    assert result.ranks[0].finish == pytest.approx(1000 * first)
    assert (result.ops, looped.ops) == (4000, 4000)


def test_messages_that_no_receive_takes_are_counted() -> None:
    """One unreceived message in each of 7 rounds gives a warning of 7 messages."""
    trace = TraceBuilder(2)
    trace[0].send(1, 8)
    looped, _ = loops(Random(0), [trace.build()], [7])
    result = simulate_loops(looped, machine(2))
    assert any("7 messages were sent and never received" in str(each) for each in result.warnings)


def test_a_deadlock_is_told_as_ever() -> None:
    """A deadlock in a loop has the same text as written out; its collective is counted over all rounds."""
    trace, stuck = TraceBuilder(2), TraceBuilder(2)
    for builder in (trace, stuck):
        for rank in (0, 1):
            builder[rank].collective(Op.BARRIER)
    stuck[0].recv(1)
    looped, written = loops(Random(0), [trace.build(), stuck.build()], [3, 2])
    with pytest.raises(DeadlockError) as expected:
        simulate(written, machine(2), engine="fast")
    with pytest.raises(DeadlockError) as got:
        simulate_loops(looped, machine(2))
    assert str(got.value) == str(expected.value)
    assert "barrier number 5" in str(got.value)


def test_a_deadlock_in_a_loop_counts_the_requests_that_are_open() -> None:
    """Of the four requests of a wait in a loop, a receive and a rendezvous that nobody answers are open."""
    trace = TraceBuilder(2)
    rank = trace[0]
    rank.wait(rank.irecv(1, tag=9), rank.irecv(1), rank.isend(1, 8, tag=3), rank.isend(1, 10 * EAGER_LIMIT, tag=4))
    trace[1].send(0, 8)
    looped, _ = loops(Random(0), [trace.build()], [3])
    with pytest.raises(DeadlockError, match="requests, 2 of them open"):
        simulate_loops(looped, machine(2))


def test_members_of_a_communicator_must_agree_about_their_calls_in_each_round() -> None:
    """A loop is refused if members make the same collectives in total, but not in each round."""
    one, other = TraceBuilder(2), TraceBuilder(2)
    one[0].collective(Op.BARRIER)
    other[1].collective(Op.BARRIER)
    looped, _ = loops(Random(0), [one.build(), other.build()], [2, 2])
    with pytest.raises(UsageError, match="loops in which members of a communicator make different collective calls"):
        simulate_loops(looped, machine(2))


def test_members_of_a_communicator_must_agree_about_their_calls_before_a_round() -> None:
    """A loop is refused if one member has made a call more before it and the other makes it after it.

    Of six calls, rank 0 makes the first before the loop, and rank 1 the last after it. Rank 0 scatters 1,000 B to
    rank 1 in five calls and 500 KB in the last, but each of its rounds would stand for a call of rank 1 after the loop.
    """
    trace = TraceBuilder(2)
    for rank, sizes in enumerate(((10, 20), (1000, 500_000))):
        for size in sizes:
            trace[rank].collective(Op.SCATTERV, size)
    built = trace.build()
    one, other = (Block.of(built, rank) for rank in (0, 1))
    blocks = [[cut(one, 0, 1), cut(one, 1, 2), cut(one, 2, 2)], [cut(other, 0, 0), cut(other, 0, 1), cut(other, 1, 2)]]
    looped, written = program_of(Random(0), built.head, blocks, [1, 5, 1])
    assert simulate(written, machine(2)).makespan < 2 * (sending(500) + transmission(500))
    with pytest.raises(UsageError, match="loops in which members of a communicator make different collective calls"):
        simulate_loops(looped, machine(2))


@pytest.mark.parametrize(
    ("op", "said"), [(Op.PROBE, "loops with PROBE are not replayed"), (Op.POLL, "tests that found nothing")]
)
def test_what_loops_are_not_replayed_of_is_said(op: Op, said: str) -> None:
    """Loops with a probe or a failed test are refused, and the error names the op."""
    trace = TraceBuilder(2)
    trace[1].add(op, peer=0, flags=0)
    trace[0].send(1, 8)
    trace[1].recv(0)
    looped, _ = loops(Random(0), [trace.build()], [2])
    with pytest.raises(UsageError, match=said):
        simulate_loops(looped, machine(2))


@settings(max_examples=CASES // 2, deadline=None)
@given(draws=st.integers(1, 5000), seed=st.integers(0, 2**32 - 1), values=st.integers(1, 40))
def test_the_engine_draws_what_the_distribution_draws(draws: int, seed: int, values: int) -> None:
    """The time of a rank that only computes is the sum of the distribution's draws, in their order."""
    spread = Distribution.of([np.linspace(1, 3, values)])
    trace = TraceBuilder(1)
    trace[0].compute(1.0)
    looped = in_loops(Random(0), [trace.build()], [draws])
    looped = replace(looped, bursts=replace(looped.bursts, pools=(Pool(seed, draws, spread.relative),)))
    drawn = np.round(spread.draw(np.ones(draws), seed) * 1e9) / 1e9
    assert simulate_loops(looped, machine(1)).makespan == np.add.accumulate(drawn)[-1]
