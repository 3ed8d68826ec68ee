"""The critical path, which splits the makespan into parts: by hand and on random programs and machines."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clue.errors import DeadlockError
from clue.kernel import compile_program, simulate
from clue.kernel.reference.critical_path import ExplainedReplay, explained_replay
from clue.machine import Curve, Flows, Link, Machine, Network, NodeType, Placement, Ports, Progress
from clue.machine.contention import NUMBERS
from clue.machine.contention.topology import Switch
from clue.result import CriticalPath, Part
from clue.trace import Op, Trace, TraceBuilder
from clue.trace.sites import UNKNOWN, Frame, Site, Sites
from tests.kernel.cases import ANSWER, RECEIVE, SEND, TRANSMIT, machine, sending, transmission
from tests.kernel.random_cases import random_machine, random_placement, random_trace
from tests.properties import examples


def explained(trace: TraceBuilder, on: Machine, placement: tuple[int, ...] | None = None) -> ExplainedReplay:
    """Return the explained replay of a trace, with one rank per node unless a placement is given."""
    program = compile_program(trace.build())
    nodes = placement if placement is not None else tuple(range(program.ranks))
    return explained_replay(program, on, Placement(nodes))


def parts(path: CriticalPath) -> dict[Part, float]:
    """Return the seconds of a path by part."""
    found: Counter[Part] = Counter()
    for each in path.stretches:
        found[Part(each["part"])] += each["end"] - each["begin"]
    return dict(found)


def ranks_on(path: CriticalPath) -> list[int]:
    """Return the ranks along the path, in order."""
    ranks = path.stretches["rank"].tolist()
    return [rank for i, rank in enumerate(ranks) if not i or rank != ranks[i - 1]]


def one_message(nbytes: int, *, before: float = 0.0, until: float = 0.0) -> TraceBuilder:
    """Return a program: rank 0 sends to rank 1 after a burst of *before*, rank 1 receives after one of *until*."""
    trace = TraceBuilder(2)
    trace[0].compute(before, "solve")
    trace[0].send(1, nbytes)
    trace[1].compute(until, "wait")
    trace[1].recv(0)
    return trace


def test_call_sites() -> None:
    """A message belongs to the sender's call site until its arrival; the receive and the wait to the receiver's."""
    sites = [Site((Frame("p.py", "f", line, 0),)) for line in (10, 20, 30)]
    trace = TraceBuilder(2)
    trace[0].at(sites[0])
    trace[0].compute(5.0)
    trace[0].send(1, 1000)
    trace[1].at(sites[1])
    trace[1].compute(1.0)
    trace[1].recv(0)
    trace[1].at(sites[2])
    trace[1].compute(2.0)
    done = explained(trace, machine())
    begin, end, site = (done.path.stretches[each] for each in ("begin", "end", "site"))
    assert np.bincount(site, end - begin) == pytest.approx([0, 5.0 + sending(1) + transmission(1), RECEIVE, 2.0])
    assert [each.name for each in done.path.sites] == ["", "p.py:10", "p.py:20", "p.py:30"]
    assert done.sites.compute.tolist() == [0, 5.0, 1.0, 2.0]
    assert done.sites.communicate == pytest.approx([0, sending(1), RECEIVE, 0])
    assert done.sites.wait == pytest.approx([0, 0, 4.0 + sending(1) + transmission(1), 0])
    assert done.sites.nbytes.tolist() == [0, 1000, 0, 0]


def test_a_collective_in_its_background_is_at_its_call() -> None:
    """Messages of a nonblocking collective belong to the site of the call that began it, not to that of the wait."""
    begun, waited = (Site((Frame("p.py", "f", line, 0),)) for line in (10, 20))
    trace = TraceBuilder(2)
    for rank in range(2):
        trace[rank].at(begun)
        request = trace[rank].icollective(Op.BARRIER)
        trace[rank].at(waited)
        trace[rank].compute(1e-3)
        trace[rank].wait(request)
    done = explained(trace, machine())
    begin, end, site = (done.path.stretches[each] for each in ("begin", "end", "site"))
    assert np.bincount(site, end - begin) == pytest.approx([0, sending(0) + transmission(0) + RECEIVE])


def test_late_sender() -> None:
    """Rank 1 waits for rank 0's 5 s of computation and its message: the path is on rank 0, then rank 1's receive."""
    path = explained(one_message(1000, before=5.0, until=1.0), machine()).path
    assert parts(path) == pytest.approx(
        {Part.COMPUTATION: 5.0, Part.SEND: sending(1), Part.TRANSMISSION: transmission(1), Part.RECEIVE: RECEIVE}
    )
    assert ranks_on(path) == [0, 1]
    first = path.stretches[0]
    assert path.regions[first["region"]] == "solve"
    assert (path.stretches["peer"].tolist(), path.node_types) == ([-1, 1, 1, -1], ("host", "host"))


def test_early_sender() -> None:
    """If the message has arrived already, the path is the receiver's computation and its receive."""
    path = explained(one_message(1000, before=1.0, until=5.0), machine()).path
    assert parts(path) == pytest.approx({Part.COMPUTATION: 5.0, Part.RECEIVE: RECEIVE})
    assert ranks_on(path) == [1]


def test_late_receiver_of_a_rendezvous() -> None:
    """The data of a 20 KB rendezvous wait for rank 1's 5 s of computation and for its answer."""
    path = explained(one_message(20_000, before=1.0, until=5.0), machine()).path
    assert parts(path) == pytest.approx(
        {
            Part.COMPUTATION: 5.0,
            Part.HANDSHAKE: ANSWER,
            Part.SEND: sending(20),
            Part.TRANSMISSION: transmission(20),
            Part.RECEIVE: RECEIVE,
        }
    )
    assert ranks_on(path) == [1, 0, 1]


def test_late_sender_of_a_rendezvous() -> None:
    """If the receive was posted early, the answer travels when the sender is ready, at 5 s."""
    path = explained(one_message(20_000, before=5.0, until=1.0), machine()).path
    assert parts(path)[Part.COMPUTATION] == pytest.approx(5.0)
    assert parts(path)[Part.HANDSHAKE] == pytest.approx(ANSWER)
    assert ranks_on(path) == [0, 1, 0, 1]


@pytest.mark.parametrize("blocking", [True, False])
def test_sender_blocked_in_a_rendezvous(blocking: bool) -> None:
    """A send of 20 KB, or a wait for an Isend of it, has the receiver's 5 s, the answer and s on its path."""
    trace = TraceBuilder(2)
    if blocking:
        trace[0].send(1, 20_000)
    else:
        trace[0].wait(trace[0].isend(1, 20_000))
    trace[0].compute(1.0)
    trace[1].compute(5.0)
    trace[1].recv(0)
    path = explained(trace, machine()).path
    assert parts(path) == pytest.approx({Part.COMPUTATION: 6.0, Part.HANDSHAKE: ANSWER, Part.SEND: sending(20)})


def test_probe_of_a_rendezvous_goes_along_its_envelope() -> None:
    """A probe of 20 KB ends an empty message's travel after the sender is ready; this is handshake on the path."""
    trace = TraceBuilder(2)
    trace[0].compute(5.0)
    trace[0].isend(1, 20_000)
    trace[1].add(Op.PROBE, peer=0)
    path = explained(trace, machine()).path
    assert parts(path) == pytest.approx({Part.COMPUTATION: 5.0, Part.HANDSHAKE: ANSWER, Part.RECEIVE: RECEIVE})


def two_pairs(nbytes: int = 0) -> TraceBuilder:
    """Return a program in which ranks 0 and 2 send at once, to 1 and 3."""
    trace = TraceBuilder(4)
    for source in (0, 2):
        trace[source].send(source + 1, nbytes)
        trace[source + 1].recv(source)
    return trace


def test_contention_by_factor_is_what_the_factor_adds() -> None:
    """The second of two messages takes 1.5 times as long: the additional half of s and t is contention."""
    path = explained(two_pairs(), machine(4, contention={1: 1.0, 2: 1.5})).path
    assert parts(path) == pytest.approx(
        {
            Part.CONTENTION: 0.5 * (SEND + TRANSMIT),
            Part.SEND: SEND,
            Part.TRANSMISSION: TRANSMIT,
            Part.RECEIVE: RECEIVE,
        }
    )


def test_contention_by_factor_of_a_blocked_sender() -> None:
    """If the slowed sender itself ends last, the additional half of its s is contention."""
    trace = two_pairs()
    trace[2].compute(10.0)
    path = explained(trace, machine(4, contention={1: 1.0, 2: 1.5})).path
    assert parts(path) == pytest.approx({Part.CONTENTION: 0.5 * SEND, Part.SEND: SEND, Part.COMPUTATION: 10.0})


def shared(contention: Ports | Flows) -> Machine:
    """Return three nodes with s = 0, t = 1 s per MB."""
    link = Link(Curve.line(0.0), Curve.line(0.0, 1e-6))
    return Machine("shared", (NodeType("host"),) * 3, Network(link, link, contention=contention))


def into_one() -> TraceBuilder:
    """Return a program in which ranks 1 and 2 send 1 MB each to rank 0 at once."""
    trace = TraceBuilder(3)
    for source in (1, 2):
        trace[source].send(0, 10**6)
        trace[0].recv(source)
    return trace


@pytest.mark.parametrize("contention", [Ports(), Flows(Switch(1e6))])
def test_a_shared_port_or_link_delays_by_the_other_message(contention: Ports | Flows) -> None:
    """Two messages of 1 s to one node take 2 s together, by ports or flows: 1 s of the path is contention."""
    path = explained(into_one(), shared(contention)).path
    assert parts(path) == pytest.approx({Part.CONTENTION: 1.0, Part.TRANSMISSION: 1.0})


def test_send_port_keeps_the_data_of_a_rendezvous() -> None:
    """A rendezvous after an eager message of the same sender waits 1 s for the send port, which is contention."""
    link = Link(Curve.line(0.0), Curve.line(0.0, 1e-6), 0.0, 10**6)
    on = Machine("shared", (NodeType("host"),) * 3, Network(link, link, contention=Ports()))
    trace = TraceBuilder(3)
    trace[0].send(1, 10**6)
    trace[0].send(2, 2 * 10**6)
    trace[1].recv(0)
    trace[2].recv(0)
    path = explained(trace, on).path
    assert parts(path) == pytest.approx({Part.CONTENTION: 1.0, Part.TRANSMISSION: 2.0})


def test_shared_processor() -> None:
    """Two bursts of 1 s on one processor take 2 s each, half of which is sharing."""
    trace = TraceBuilder(2)
    for rank in range(2):
        trace[rank].compute(1.0, "solve")
    done = explained(trace, machine(1), (0, 0))
    assert parts(done.path) == pytest.approx({Part.COMPUTATION: 1.0, Part.SHARING: 1.0})
    assert done.alone == pytest.approx((1.0, 1.0))


def test_a_burst_across_a_change_of_parameters_is_no_sharing() -> None:
    """A burst of 2 s at factor 1, then factor 3 from 1 s on, takes 1 + 3 s, all of which is computation."""
    later = machine(1, performance_factor=3.0)
    trace = TraceBuilder(1)
    trace[0].compute(2.0)
    path = explained(trace, machine(1, changes=((1.0, later),))).path
    assert parts(path) == pytest.approx({Part.COMPUTATION: 4.0})


def test_background_load_is_sharing() -> None:
    """Beside one competing process, a burst gets half a processor: half of its time is sharing."""
    trace = TraceBuilder(1)
    trace[0].compute(1.0)
    path = explained(trace, machine(1, background_load=1.0)).path
    assert parts(path) == pytest.approx({Part.COMPUTATION: 1.0, Part.SHARING: 1.0})


def test_a_broadcast_waits_for_its_root() -> None:
    """In a broadcast over four ranks whose root is 5 s late, the path is the root's 5 s, then two messages."""
    trace = TraceBuilder(4)
    trace[0].compute(5.0)
    for rank in range(4):
        trace[rank].collective(Op.BCAST, 1000)
    path = explained(trace, machine(4)).path
    found = parts(path)
    assert found[Part.COMPUTATION] == pytest.approx(5.0)
    assert found[Part.TRANSMISSION] == pytest.approx(2 * transmission(1))
    assert found[Part.SEND] == pytest.approx(2 * sending(1))
    assert ranks_on(path)[0] == 0


def test_a_nonblocking_collective_goes_on_in_its_background() -> None:
    """The path of a wait for an Iallreduce leads through its messages back to the rank that called it last."""
    trace = TraceBuilder(2)
    trace[1].compute(5.0)
    requests = [trace[rank].icollective(Op.ALLREDUCE, 8) for rank in range(2)]
    for rank in range(2):
        trace[rank].wait(requests[rank])
    path = explained(trace, machine()).path
    assert parts(path)[Part.COMPUTATION] == pytest.approx(5.0)
    assert path.stretches[0]["rank"] == 1


def test_a_nonblocking_collective_waits_for_a_call() -> None:
    """With progress within calls, the second exchange of an Iallreduce begins in the waits, after 50 s of bursts."""
    trace = TraceBuilder(4)
    for rank in trace:
        request = rank.icollective(Op.ALLREDUCE, 8)
        rank.compute(50.0)
        rank.wait(request)
    on = machine(4)
    within_calls = replace(on, network=replace(on.network, progress=Progress.CALLS))
    path = explained(trace, within_calls).path
    found = parts(path)
    assert found[Part.COMPUTATION] == pytest.approx(50.0)
    assert found[Part.TRANSMISSION] == pytest.approx(transmission(0.008))


def test_reduction_and_packing_have_their_own_parts() -> None:
    """Reducing 1 KB (1 s) and packing 1 KB (2 s) are separate parts of the path."""
    trace = TraceBuilder(2)
    for rank in range(2):
        trace[rank].add(Op.PACK, nbytes=1000)
        trace[rank].collective(Op.REDUCE, 1000)
    on = machine(reduction_delay=0.001, packing_delay=0.002)
    found = parts(explained(trace, on).path)
    assert (found[Part.REDUCTION], found[Part.PACKING]) == pytest.approx((1.0, 2.0))


def test_a_sleep_is_a_part_of_its_own() -> None:
    """A sender's sleep of 3 s is a part of its own on the path, and counts as wait, not as computation."""
    trace = TraceBuilder(2)
    trace[0].add(Op.SLEEP, nbytes=3_000_000_000)
    trace[0].send(1, 0)
    trace[1].recv(0)
    built = trace.build()
    for engine in ("reference", "auto"):
        sender = simulate(built, machine(), engine=engine).ranks[0]
        assert (sender.compute, sender.wait) == (0.0, 3.0)
    assert parts(explained(trace, machine()).path)[Part.SLEEP] == 3.0


def test_spawn() -> None:
    """A child's path has its parent's 5 s of computation, the spawn delay of 1 s and its initialisation of 2 s."""
    trace = TraceBuilder(2)
    world, _ = trace.spawned((1,))
    trace[0].compute(5.0)
    parents = trace.communicator((0,))
    trace[0].add(Op.SPAWN, comm=parents, peer=0, nbytes=1, extras=(world,))
    trace[1].compute(1.0)
    path = explained(trace, machine(spawn_delay=1.0, initialisation_delay=2.0)).path
    assert parts(path) == pytest.approx({Part.COMPUTATION: 6.0, Part.SPAWN: 3.0})


def test_nothing_takes_no_path() -> None:
    """A program that takes no time has an empty path."""
    assert len(explained(TraceBuilder(2), machine()).path.stretches) == 0


@pytest.mark.parametrize("kind", NUMBERS)
@settings(max_examples=examples(50), deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**48), ties=st.booleans(), plain=st.booleans())
def test_the_path_covers_the_makespan(kind: str, seed: int, ties: bool, plain: bool) -> None:
    """For any program and machine, the path covers 0 to the makespan without gaps, and the makespan is the replay's.

    The figures of call sites add up to those of the ranks.
    """
    random = Random(seed)
    trace = at_random_sites(random_trace(random, ties=ties), random)
    on = random_machine(random, kind, ties=ties, plain=plain)
    instances = random.choice((1, 1, 2))
    placement = random_placement(random, on, trace.ranks * instances)
    try:
        result = simulate(trace, on, placement, "reference", instances=instances, traffic=True)
    except DeadlockError:
        return
    makespan = result.makespan
    done = explained_replay(compile_program(trace), on, Placement(tuple(placement)), instances)
    begin, end = done.path.stretches["begin"], done.path.stretches["end"]
    assert done.replay.finish.max() == makespan
    assert (end >= begin).all()
    for figure in ("compute", "communicate", "wait"):
        spent = sum(getattr(rank, figure) for rank in result.ranks)
        assert getattr(done.sites, figure).sum() == pytest.approx(spent, rel=1e-9, abs=1e-12)
    assert result.traffic is not None
    assert done.sites.nbytes.sum() == result.traffic.nbytes.sum()
    assert np.concatenate(([0.0], end)) == pytest.approx(np.concatenate((begin, [makespan])), rel=1e-12, abs=1e-15)


def at_random_sites(trace: Trace, random: Random) -> Trace:
    """Return a trace whose ops have one of three call sites or none."""
    sites = Sites.of([UNKNOWN, *(Site((Frame("p.py", "f", line, 0),)) for line in (1, 2, 3))])
    numbers = np.array([random.randrange(4) for _ in range(len(trace.ops))], np.uint16)
    return replace(trace, head=replace(trace.head, sites=sites), ops=replace(trace.ops, site=numbers))
