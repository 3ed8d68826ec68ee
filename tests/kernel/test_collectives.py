"""Collectives in the kernel against times added up by hand; tests/collectives tests the algorithms themselves."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import Any

import pytest

from clue.collectives import Collective
from clue.errors import ReplayError
from clue.kernel import simulate
from clue.kernel.model.costs import Costs
from clue.machine import AlgorithmChoice, Curve, Link, Machine, Network, NodeType, Progress
from clue.trace import Flag, Op, TraceBuilder
from tests.kernel.cases import ANSWER, ENGINES, RECEIVE, SEND, TRANSMIT, finishes, machine, sending, transmission

#: Time of a 1 KB message from the start of its send to the end of its blocking receive.
HOP = sending(1) + transmission(1) + RECEIVE
#: Time of a 1 KB exchange: the receive is posted first, then the send runs, then the partner's message arrives.
SWAP = RECEIVE + sending(1) + transmission(1)


def using(algorithms: dict[str, str], on: Machine) -> Machine:
    """Return the machine with these algorithms at every size."""
    choices = {name: AlgorithmChoice(((float("inf"), chosen),)) for name, chosen in algorithms.items()}
    return replace(on, network=replace(on.network, collectives=choices))


def everywhere(op: Op, ranks: int, nbytes: int = 1000, **fields: Any) -> TraceBuilder:
    """Return a program that is one collective on all ranks."""
    trace = TraceBuilder(ranks)
    for rank in trace:
        rank.collective(op, nbytes, **fields)
    return trace


def test_binomial_broadcast_on_four_ranks() -> None:
    """The root sends to rank 2, then to rank 1; rank 2 sends to rank 3, which has the data after two hops."""
    times = finishes(everywhere(Op.BCAST, 4), using({"bcast": "binomial"}, machine(4)))
    s, rest = sending(1), transmission(1) + RECEIVE
    assert times == pytest.approx([2 * s, 2 * s + rest, HOP + s, HOP + HOP], rel=1e-12)


def test_linear_and_binomial_broadcast_differ() -> None:
    """The machine chooses the algorithm: on 8 ranks, linear takes 7 sends and a transmission, binomial 3 hops."""
    times = finishes(everywhere(Op.BCAST, 8), using({"bcast": "linear"}, machine(8)))
    assert max(times) == pytest.approx(7 * sending(1) + transmission(1) + RECEIVE, rel=1e-12)
    binomial = finishes(everywhere(Op.BCAST, 8), using({"bcast": "binomial"}, machine(8)))
    assert max(binomial) == pytest.approx(3 * HOP, rel=1e-12)


def test_recursive_doubling_allreduce_pays_for_its_reductions() -> None:
    """On 8 ranks, an allreduce takes log2(8) = 3 exchanges of 1 KB, each followed by reducing 1000 B at 1 us/B."""
    on = using({"allreduce": "recursive_doubling"}, machine(8, reduction_delay=1e-6))
    times = finishes(everywhere(Op.ALLREDUCE, 8), on)
    assert times == pytest.approx([3 * (SWAP + 0.001)] * 8, rel=1e-12)


@ENGINES
@pytest.mark.parametrize(("first", "makespan"), [(0.0, 4.0), (0.001, 5.0)])
def test_reductions_take_the_delay_of_their_own_time(engine: str, first: float, makespan: float) -> None:
    """The reductions of an allreduce of 1 KB on four ranks take the delays that hold when they begin.

    Each of its two exchanges takes 1 s, and the first reduction 0 or 1 s. From 1.5 s on a byte takes 2 ms, so that the
    second reduction takes 2 s.
    """
    link = Link(Curve.line(0.0), Curve.line(1.0))
    before, after = (
        using({"allreduce": "recursive_doubling"}, machine(4, link=link, reduction_delay=delay))
        for delay in (first, 0.002)
    )
    on = replace(before, changes=((1.5, after),))
    assert finishes(everywhere(Op.ALLREDUCE, 4), on, engine) == pytest.approx([makespan] * 4, rel=1e-12)


def test_collective_waits_for_the_last_rank() -> None:
    """In a barrier of two, the rank that comes at 5 s finds the other's message there; the other waits for its own."""
    late = TraceBuilder(2)
    late[0].collective(Op.BARRIER)
    late[1].compute(5.0)
    late[1].collective(Op.BARRIER)
    leaves = 5.0 + RECEIVE + sending(0)
    assert finishes(late, machine()) == pytest.approx([leaves + transmission(0), leaves], rel=1e-12)


def test_thresholds_choose_by_size() -> None:
    """A threshold of 1000 B chooses the algorithm: 1000 B go by binomial, 1001 B by linear broadcast."""
    choice = AlgorithmChoice(((1000.0, "binomial"), (float("inf"), "linear")))
    on = machine(8)
    on = replace(on, network=replace(on.network, collectives={"bcast": choice}))
    small, large = (max(finishes(everywhere(Op.BCAST, 8, nbytes), on)) for nbytes in (1000, 1001))
    linear = 7 * sending(1.001) + transmission(1.001) + RECEIVE
    assert (small, large) == (pytest.approx(3 * HOP), pytest.approx(linear))


#: The send and the hop within a node.
LOCAL_SEND = SEND / 10
LOCAL_HOP = (SEND + TRANSMIT + RECEIVE) / 10


@ENGINES
def test_a_broadcast_among_nodes_and_within_them(engine: str) -> None:
    """A broadcast goes to node leaders first, then within nodes; ranks 0 to 3 and 4 to 7 share a node.

    Rank 0 sends to rank 4. On each node the first rank sends to the third, then to the second; the third sends to the
    fourth.
    """
    result = simulate(everywhere(Op.BCAST, 8).build(), machine(2), [0] * 4 + [1] * 4, engine)
    within = [2 * LOCAL_SEND, LOCAL_SEND + LOCAL_HOP, LOCAL_HOP + LOCAL_SEND, 2 * LOCAL_HOP]
    expected = [begin + step for begin in (sending(1), HOP) for step in within]
    assert [rank.finish for rank in result.ranks] == pytest.approx(expected, rel=1e-12)


@ENGINES
def test_nodes_are_those_of_a_communicators_members(engine: str) -> None:
    """In a communicator of ranks (3, 1, 2), the algorithm uses their nodes: root 3 shares a node with rank 2."""
    trace = TraceBuilder(4)
    some = trace.communicator((3, 1, 2))
    for rank in (1, 2, 3):
        trace[rank].collective(Op.BCAST, 1000, root=0, comm=some)
    result = simulate(trace.build(), machine(2), [0, 0, 1, 1], engine)
    expected = [0.0, HOP, sending(1) + LOCAL_HOP, sending(1) + LOCAL_SEND]
    assert [rank.finish for rank in result.ranks] == pytest.approx(expected, rel=1e-12)


@ENGINES
def test_copies_side_by_side_share_nodes_each_in_its_way(engine: str) -> None:
    """Three copies, each placed in another way, take as long as alone: two ranks per node, one, and cyclic."""
    trace = TraceBuilder(4)
    pair = trace.communicator((2, 0))
    for op in (Op.BARRIER, Op.BCAST, Op.REDUCE, Op.ALLREDUCE, Op.SCAN):
        for rank in trace:
            rank.collective(op, 20_000 * (op is not Op.BARRIER))
        for member in (0, 2):
            trace[member].collective(op, 20_000 * (op is not Op.BARRIER), comm=pair)
    on, placements = machine(8, processors=2), ([0, 0, 1, 1], [2, 3, 4, 5], [6, 7, 6, 7])
    alone = [[rank.finish for rank in simulate(trace.build(), on, each, engine).ranks] for each in placements]
    together = simulate(trace.build(), on, [*chain.from_iterable(placements)], engine, instances=3)
    assert [rank.finish for rank in together.ranks] == [*chain.from_iterable(alone)]
    assert len({max(finishes) for finishes in alone}) == 3


@ENGINES
def test_nodes_count_where_the_library_or_the_machine_goes_by_them(engine: str) -> None:
    """A barrier on two nodes of two ranks goes by nodes if MPICH or the machine says so, and is flat otherwise."""
    trace, nodes = everywhere(Op.BARRIER, 4, 0).build(), [0, 0, 1, 1]

    def makespan(on: Machine, library: str = "mpich") -> float:
        on = replace(on, network=replace(on.network, collective_library=library))
        return simulate(trace, on, nodes, engine).makespan

    swap_within, swap_between = (sum(each) for each in ((RECEIVE / 10, LOCAL_SEND, TRANSMIT / 10), (RECEIVE, ANSWER)))
    composed = swap_within + swap_between + LOCAL_HOP
    assert makespan(machine()) == pytest.approx(composed, rel=1e-12)
    assert makespan(using({"barrier": "node_leaders"}, machine()), "openmpi") == pytest.approx(composed, rel=1e-12)
    flat = makespan(using({"barrier": "dissemination"}, machine()))
    assert makespan(machine(), "mpich-flat") == flat > composed


def swap(nbytes: int) -> float:
    """Return the time of an exchange of *nbytes*."""
    return RECEIVE + sending(nbytes / 1000) + transmission(nbytes / 1000)


@pytest.mark.parametrize(
    ("how", "exchanged"),
    [
        ({}, (24, 24)),  # older traces have no element size: it counts as 8 B, and 3 elements are too few for 4 ranks
        ({"element": 8}, (24, 24)),
        ({"element": 1}, (12, 6, 6, 12)),
        ({"element": 1, "flags": Flag.IN_PLACE}, (12, 6, 6, 12)),
        ({"element": 1, "flags": Flag.NONBLOCKING}, (24, 24)),
        ({"element": 1, "flags": Flag.USER_DEFINED}, (24, 24)),
    ],
)
def test_algorithm_depends_on_how_a_collective_is_called(how: dict[str, Any], exchanged: tuple[int, ...]) -> None:
    """MPICH halves an allreduce of 24 B if each rank has an element, the call blocks, and MPI defines the operation."""
    trace = TraceBuilder(4)
    for rank in trace:
        if how.get("flags", 0) & Flag.NONBLOCKING:
            rank.wait(rank.icollective(Op.ALLREDUCE, 24, **how))
        else:
            rank.collective(Op.ALLREDUCE, 24, **how)
    assert finishes(trace, machine(4)) == pytest.approx([sum(map(swap, exchanged))] * 4, rel=1e-12)


@ENGINES
def test_reductions_are_cut_between_elements(engine: str) -> None:
    """Three elements of 1 KB on two ranks: rank 0 sends 1 KB, then 2 KB, rank 1 the reverse.

    The 2 KB of rank 1 arrive after one swap of 2 KB, and those of rank 0 after another; rank 1's 1 KB follow its first
    swap of 1 KB. Older traces have no element size: both ranks send 1.5 KB twice.
    """
    times = finishes(everywhere(Op.ALLREDUCE, 2, 3000, element=1000), machine(), engine)
    assert times == pytest.approx([2 * swap(1000), 2 * swap(2000)], rel=1e-12)
    assert finishes(everywhere(Op.ALLREDUCE, 2, 3000), machine(), engine) == pytest.approx([2 * swap(1500)] * 2)


def test_root_counts_within_its_communicator() -> None:
    """The root is a rank of the communicator: root 0 of ranks (2, 0) is rank 2 of the program."""
    trace = TraceBuilder(3)
    pair = trace.communicator((2, 0))
    for rank in (0, 2):
        trace[rank].collective(Op.BCAST, 1000, root=0, comm=pair)
    assert finishes(trace, machine(3)) == pytest.approx([HOP, 0.0, sending(1)], rel=1e-12)


def test_contributions_may_differ() -> None:
    """A gather of 1 KB and 3 KB is irregular: the root receives each rank's own size."""
    trace = TraceBuilder(3)
    for rank, nbytes in enumerate((0, 1000, 3000)):
        trace[rank].collective(Op.GATHER, nbytes)
    result = simulate(trace.build(), machine(3), traffic=True)
    assert result.traffic is not None
    assert result.traffic.nbytes[:, 0].tolist() == [0, 1000, 3000]


def test_nonblocking_collective_proceeds_beside_its_rank() -> None:
    """Two seconds of computation hide an allreduce; with a wait right after the call, it takes two exchanges."""
    on = using({"allreduce": "recursive_doubling"}, machine(4))
    hidden, plain = TraceBuilder(4), TraceBuilder(4)
    for rank in range(4):
        request = hidden[rank].icollective(Op.ALLREDUCE, 1000)
        hidden[rank].compute(2.0)
        hidden[rank].wait(request)
        plain[rank].wait(plain[rank].icollective(Op.ALLREDUCE, 1000))
    assert finishes(hidden, on) == [2.0] * 4
    assert finishes(plain, on) == pytest.approx([2 * SWAP] * 4, rel=1e-12)


def in_background(op: Op, call: float | None, computation: float = 5.0) -> TraceBuilder:
    """Return a nonblocking collective of 8 B on four ranks that compute meanwhile.

    *call* is the time of a test that finds nothing and interrupts the computation, if any.
    """
    trace = TraceBuilder(4)
    for rank in trace:
        request = rank.icollective(op, 8)
        rank.compute(computation if call is None else call)
        if call is not None:
            rank.add(Op.POLL)
            rank.compute(computation - call)
        rank.wait(request)
    return trace


def hops(progress: Progress, receive: float = 0.0, **link: Any) -> Machine:
    """Return four nodes where a message takes 1 s, a quarter of which blocks the sender."""
    between = Link(Curve.line(0.25), Curve.line(0.75), receive, **link)
    return Machine("hops", (NodeType("host"),) * 4, Network(between, between, progress=progress))


@ENGINES
@pytest.mark.parametrize(
    ("progress", "call", "finish"),
    [(Progress.ASYNCHRONOUS, None, 5.0), (Progress.CALLS, None, 6.0), (Progress.CALLS, 2.0, 5.0)],
    ids=["at any time", "within calls", "a test between"],
)
def test_a_round_in_the_background_begins_within_a_call(
    engine: str, progress: Progress, call: float | None, finish: float
) -> None:
    """The first of two exchanges ends at 1 s; the second takes 1 s.

    The second begins at 1 s with asynchronous progress, else within a test at 2 s, or the wait at 5 s.
    """
    on = using({"allreduce": "recursive_doubling"}, hops(progress))
    assert finishes(in_background(Op.ALLREDUCE, call), on, engine) == [finish] * 4


@ENGINES
def test_a_broadcast_in_the_background_is_passed_on_within_a_call(engine: str) -> None:
    """Rank 0 sends to ranks 2 and 1 at once; rank 2 takes its message in its wait at 5 s, in 1/2 s, and sends to 3."""
    on = using({"bcast": "binomial"}, hops(Progress.CALLS, receive=0.5))
    assert finishes(in_background(Op.BCAST, None), on, engine) == [5.0, 5.5, 5.75, 7.0]


@ENGINES
@pytest.mark.parametrize("computation", [5.0, 0.0])
def test_an_acknowledged_broadcast_in_the_background_goes_on_within_a_call(engine: str, computation: float) -> None:
    """Rank 2 has its message at 1 s and acknowledges it in its wait at 5 s; rank 0, in its wait, sends to 1 at 6 s."""
    on = using({"bcast": "binomial"}, hops(Progress.CALLS, acknowledged_from=1))
    begun = max(1.0, computation)  # when rank 2 sees its message
    ends = [begun + 3.0, begun + 2.0, begun + 2.0, begun + 1.0]
    assert finishes(in_background(Op.BCAST, None, computation), on, engine) == ends


def test_collectives_do_not_take_messages_of_the_program() -> None:
    """A broadcast does not take a message of the program from the same partner that is still to be received."""
    trace = TraceBuilder(2)
    trace[0].send(1, 0)
    trace[0].collective(Op.BCAST, 1000)
    trace[1].collective(Op.BCAST, 1000)
    trace[1].recv(0)
    times = finishes(trace, machine())
    assert times[1] == pytest.approx(sending(0) + HOP + RECEIVE, rel=1e-12)


def test_alltoallv_sends_what_each_pair_exchanges() -> None:
    """The traffic of an alltoallv equals its matrix of sizes."""
    sizes = [[0, 10, 20], [30, 0, 40], [50, 60, 0]]
    trace = TraceBuilder(3)
    for rank in range(3):
        trace[rank].collective(Op.ALLTOALLV, extras=sizes[rank])
    result = simulate(trace.build(), machine(3), traffic=True)
    assert result.traffic is not None
    assert result.traffic.nbytes.tolist() == sizes


def test_neighbourhood_exchange_is_one_round() -> None:
    """On a ring of two ranks, a neighbourhood exchange of 1 KB takes one exchange."""
    trace = TraceBuilder(2)
    for rank in range(2):
        trace[rank].add(Op.NEIGHBOR, extras=(1, 1 - rank, 1000, 1, 1 - rank))
    assert finishes(trace, machine()) == pytest.approx([SWAP] * 2, rel=1e-12)


def test_communicator_constructor_costs_an_allreduce_of_8_bytes() -> None:
    """A constructor such as Split first agrees on a context, which costs an allreduce of 8 B."""
    on = using({"allreduce": "recursive_doubling"}, machine(4))
    assert finishes(everywhere(Op.COMM, 4, 0), on) == finishes(everywhere(Op.ALLREDUCE, 4, 8), on)


def test_wrong_number_of_sizes_in_an_alltoallv_is_an_error() -> None:
    """An alltoallv whose row has another number of sizes than there are ranks is an error."""
    trace = TraceBuilder(2)
    for rank in range(2):
        trace[rank].collective(Op.ALLTOALLV, extras=(1, 2, 3))
    with pytest.raises(ReplayError, match="alltoallv"):
        simulate(trace.build(), machine())


@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 8])
@pytest.mark.parametrize(
    "op", [Op.BARRIER, Op.BCAST, Op.REDUCE, Op.ALLREDUCE, Op.SCAN, Op.EXSCAN, Op.GATHER, Op.GATHERV, Op.SCATTER,
           Op.SCATTERV, Op.ALLGATHER, Op.ALLGATHERV, Op.ALLTOALL, Op.REDUCE_SCATTER],
)  # fmt: skip
@pytest.mark.parametrize("library", ["mpich", "openmpi"])
@pytest.mark.parametrize("nbytes", [0, 100, 1_000_000])
def test_every_collective_ends_with_the_default_algorithms(op: Op, ranks: int, library: str, nbytes: int) -> None:
    """Every collective ends, eager or by rendezvous; on one rank or without data, it takes no time (but a barrier)."""
    on = machine(ranks)
    on = replace(on, network=replace(on.network, collective_library=library))
    result = simulate(everywhere(op, ranks, nbytes).build(), on)
    assert not any("never received" in warning for warning in result.warnings)
    assert (result.makespan > 0) == (ranks > 1 and (nbytes > 0 or op is Op.BARRIER))


def test_engines_choose_alike_where_sizes_differ_by_a_byte() -> None:
    """Open MPI chooses by the exact sum of a reduce-scatter's blocks; both engines choose alike at a threshold.

    64 KiB and 64 KiB less a byte are in different bands.
    """
    link = Link(Curve.line(1e-6, 1e-9), Curve.line(1e-5, 1e-9), 1e-6, 64_000)
    on = Machine("m", (NodeType("host"),) * 3, Network(link, link, collective_library="openmpi"))
    for last in ((21845, 21846), (21846, 21845)):
        trace = TraceBuilder(3)
        for rank, own in zip(trace, (21845, 21845, 0), strict=True):
            for nbytes in last:
                rank.collective(Op.REDUCE_SCATTER, own or nbytes)
        reference, fast = (simulate(trace.build(), on, engine=engine).makespan for engine in ("reference", "fast"))
        assert reference == fast


def test_nodes_of_members_are_looked_at_once_for_all_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The algorithm, which depends on all members' nodes, is chosen once for equal collectives of a communicator."""
    asked: list[str] = []
    choose = Costs.algorithm

    def counted(self: Costs, collective: Collective, nodes: tuple[int, ...] = ()) -> str:
        asked.append(collective.name)
        return choose(self, collective, nodes)

    monkeypatch.setattr(Costs, "algorithm", counted)
    trace = TraceBuilder(4)
    for _ in range(3):
        for rank in trace:
            rank.collective(Op.ALLREDUCE, 1000)
            rank.collective(Op.BARRIER)
    simulate(trace.build(), machine(2), (0, 0, 1, 1), "reference")
    assert sorted(asked) == ["allreduce", "barrier"]
