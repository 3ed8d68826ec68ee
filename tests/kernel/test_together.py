"""Several programs in one simulation: shared resources slow them, by hand; without any, they run as alone."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from clue.errors import DeadlockError, UsageError
from clue.kernel import Job, Program, compile_program, simulate, together
from clue.machine import Contention, Curve, Flows, Link, Machine, Network, NoContention, NodeType, Ports
from clue.machine.contention import NUMBERS
from clue.machine.contention.topology import Switch, Switches
from clue.trace import Flag, Op, TraceBuilder
from tests.kernel.cases import ENGINES, need_fast_engine
from tests.kernel.random_cases import CASES, random_machine, random_trace

#: A link of 1 B/s.
LINK = Link(Curve.line(0.0), Curve.line(0.0, 1.0))


def message(nbytes: int, before: float = 0.0) -> Program:
    """Return a program of two ranks; the first computes for *before* seconds and sends *nbytes* to the other."""
    trace = TraceBuilder(2)
    trace[0].compute(before)
    trace[0].send(1, nbytes)
    trace[1].recv(0)
    return compile_program(trace.build())


def finishes(jobs: list[Job], machine: Machine, nodes: list[int], engine: str = "fast") -> list[float]:
    """Return when each rank of all jobs ends."""
    if engine == "fast":
        need_fast_engine()
    joined, on = together(jobs, machine)
    result = simulate(joined, on, nodes, engine)
    assert result.engine == engine
    return [rank.finish for rank in result.ranks]


@ENGINES
def test_two_programs_on_one_uplink(engine: str) -> None:
    """Messages of 4 B and 6 B share an uplink of 1 B/s: both run at 1/2 B/s for 8 s; then 2 B are alone."""
    flows = Flows(Switches(2, 1.0, 2.0))
    on = Machine("tree", (NodeType("host"),) * 4, Network(LINK, LINK, contention=flows))
    assert finishes([Job((message(4),))], on, [0, 2], engine)[1] == pytest.approx(4.0)
    both = finishes([Job((message(4),)), Job((message(6),))], on, [0, 2, 1, 3], engine)
    assert (both[1], both[3]) == pytest.approx((8.0, 10.0))
    # Of three runs of 2 B, two run beside the 4 B, which take 8 s; the third runs alone.
    again = finishes([Job((message(4),)), Job((message(2),), 3)], on, [0, 2, 1, 3], engine)
    assert (again[1], again[3]) == pytest.approx((8.0, 10.0))
    # Each within its own switch, they share nothing.
    assert finishes([Job((message(4),)), Job((message(6),))], on, [0, 1, 2, 3], engine)[1] == 4.0


@ENGINES
def test_two_programs_at_one_port(engine: str) -> None:
    """A message of 4 B, sent at 1 s, waits until the port has served the other program's 6 B, at 6 s: 10 s in all."""
    on = Machine("ports", (NodeType("host", processors=2),) * 2, Network(LINK, LINK, contention=Ports()))
    assert finishes([Job((message(4, 1.0),))], on, [0, 1], engine)[1] == pytest.approx(5.0)
    both = finishes([Job((message(4, 1.0),)), Job((message(6),))], on, [0, 1, 0, 1], engine)
    assert (both[1], both[3]) == pytest.approx((10.0, 6.0))
    # A run of 3 B ends at 3.5 s; the next run's message is ready at 4 s and waits for the 4 B until 7.5 s.
    again = finishes([Job((message(4, 1.0),)), Job((message(3, 0.5),), 2)], on, [0, 1, 0, 1], engine)
    assert (again[1], again[3]) == pytest.approx((7.5, 10.5))


def test_programs_of_a_job_follow_each_other() -> None:
    """A job runs a program of 2 s and one of 3 B, twice; each begins when all ranks have ended the one before."""
    on = Machine("two", (NodeType("host"),) * 2, Network(LINK, LINK))
    assert finishes([Job((message(0, 2.0), message(3)), 2)], on, [0, 1]) == pytest.approx([7.0, 10.0])


def test_a_message_that_nobody_receives_is_not_received_by_the_next_run() -> None:
    """Each run has its own communicators: the second run receives its own 5 B, not the 1 B that the first run left."""
    trace = TraceBuilder(2)
    trace[0].send(1, 5)
    trace[0].send(1, 1)
    trace[1].recv(0)
    on = Machine("two", (NodeType("host"),) * 2, Network(LINK, LINK))
    program = compile_program(trace.build())
    joined, _ = together([Job((program,), 2)], on)
    result = simulate(joined, on, "block", traffic=True)
    assert result.traffic is not None and result.traffic.nbytes[0, 1] == 12
    assert result.ranks[1].finish == pytest.approx(10.0)
    assert any("2 messages were sent and never received" in each for each in result.warnings)


def test_a_region_of_one_name_has_the_speed_of_its_own_recording() -> None:
    """Two programs recorded 4 s each in a region of one name, at 1 and 2 flop/s: at 4 flop/s they take 1 s and 2 s."""
    programs = []
    for flops in (4.0, 8.0):
        trace = TraceBuilder(1)
        trace[0].compute(4.0, "solve")
        trace.declare(0, region="solve", flops=flops)
        programs.append(compile_program(trace.build()))
    node = NodeType("host", speeds={"solve": 4.0}, memory_contention={2: {"solve": 0.5}})
    on = Machine("two", (node,) * 2, Network(LINK, LINK))
    jobs = [Job((programs[0],)), Job((programs[1],)), Job((programs[0],))]
    assert finishes(jobs[:2], on, [0, 1]) == pytest.approx([1.0, 2.0])
    shared = Machine("dual", (NodeType("host", 2, speeds=node.speeds, memory_contention=node.memory_contention),) * 1,
                     Network(LINK, LINK))  # fmt: skip
    assert finishes(jobs[:2], shared, [0, 0]) == pytest.approx([2.0, 3.0])


def test_programs_that_spawn_are_refused() -> None:
    """A program that spawns ranks is refused, and the error names it."""
    trace = TraceBuilder(2)
    world, _ = trace.spawned((1,))
    trace[0].add(Op.SPAWN, nbytes=1, extras=(world,))
    on = Machine("two", (NodeType("host"),) * 2, Network(LINK, LINK))
    with pytest.raises(UsageError, match="built: programs that run beside others must not spawn ranks"):
        together([Job((compile_program(trace.build()),))], on)


@pytest.mark.parametrize("contention", [NoContention(), Ports(), Flows(Switches(2, 1e6, 1.5)), Flows(Switch(1e6))])
@settings(max_examples=CASES // 8, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**48), ties=st.booleans(), engine=st.sampled_from(("reference", "fast")))
def test_with_nothing_shared_all_is_as_alone(contention: Contention, seed: int, ties: bool, engine: str) -> None:
    """On nodes and links of their own, programs have the same times as alone, to the last bit."""
    random = Random(seed)
    first, other = (compile_program(random_trace(random, ties=ties)) for _ in range(2))
    assume(not any(first.worlds) and not any(other.worlds))
    drawn = random_machine(random, "none", ties=ties)
    on = Machine("four", drawn.nodes[:1] * 4, replace(drawn.network, contention=contention))
    nodes, others = [random.randrange(2) for _ in range(first.ranks)], [2 + i % 2 for i in range(other.ranks)]
    alone = [rank.finish for rank in simulate(first, on, nodes, engine).ranks]
    joined, machine = together([Job((first,)), Job((other,), random.randrange(1, 4))], on)
    both = simulate(joined, machine, nodes + others, engine)
    assert [rank.finish for rank in both.ranks[: first.ranks]] == alone


@pytest.mark.parametrize("kind", NUMBERS)
@settings(max_examples=CASES // 8, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**48), ties=st.booleans())
def test_engines_agree_about_programs_together(kind: str, seed: int, ties: bool) -> None:
    """Both engines give programs together the same times or deadlock, to the last bit, on shared nodes or not."""
    random = Random(seed)
    jobs = []
    for _ in range(random.randrange(2, 4)):
        program = compile_program(random_trace(random, ties=ties))
        assume(not any(program.worlds))
        jobs.append(Job((program,), random.randrange(1, 3)))
    on = random_machine(random, kind, ties=ties)
    joined, machine = together(jobs, on)
    nodes = [random.randrange(len(on.nodes)) for _ in range(joined.ranks)]
    found: list[object] = []
    for engine in ("reference", "fast"):
        try:
            found.append([each.finish for each in simulate(joined, machine, nodes, engine).ranks])
        except DeadlockError as deadlock:
            found.append(list(deadlock.blocked))
    assert found[0] == found[1]


def test_requests_and_sizes_of_later_runs_are_their_own() -> None:
    """In three runs of a program, waits refer to requests of their own run, and an alltoallv keeps its sizes."""
    trace = TraceBuilder(2)
    for rank in range(2):
        ops = trace[rank]
        ops.wait(ops.irecv(1 - rank), ops.isend(1 - rank, 2))
        ops.collective(Op.ALLTOALLV, extras=(1, 3))
        ops.irecv(1 - rank, tag=9, flags=Flag.CANCELLED)
    program = compile_program(trace.build())
    on = Machine("two", (NodeType("host"),) * 2, Network(LINK, LINK))
    once = simulate(program, on, engine="reference")
    ends = [2 * once.makespan + rank.finish for rank in once.ranks]
    for engine in ("reference", "fast"):
        assert finishes([Job((program,), 3)], on, [0, 1], engine) == pytest.approx(ends)
