"""Collective calls on buffers and objects, recorded as rows."""

from __future__ import annotations

import pytest

from clue.trace import Flag, Op, Trace
from tests.classes import TENSOR
from tests.virtual_layer.conftest import PREAMBLE, Recorded
from tests.virtual_layer.rows import calls, named

RANKS = 3


@pytest.fixture(scope="module")
def buffers(recorded: Recorded) -> Trace:
    """Return the trace of a program with every blocking collective on buffers of 8 B elements."""
    return recorded(
        """
        import numpy as np
        one, all_ = np.ones(2), np.zeros(2 * size)
        counts = [rank_ + 1 for rank_ in range(size)]
        mine, ragged = np.ones(rank + 1), np.zeros(sum(counts))
        comm.Barrier()
        comm.Bcast([all_, 5, MPI.DOUBLE], root=1)
        comm.Gather(one, all_, root=2)
        comm.Gather(MPI.IN_PLACE if rank == 0 else one, all_, 0)
        comm.Gatherv(mine, [ragged, counts], 1)
        comm.Scatter(all_, one)
        comm.Scatterv([ragged, counts], mine, root=0)
        comm.Allgather(one, all_)
        comm.Allgather(MPI.IN_PLACE, all_)
        comm.Allgatherv(mine, [ragged, counts])
        comm.Allgatherv(MPI.IN_PLACE, [ragged, counts])
        comm.Alltoall(all_, np.zeros(2 * size))
        comm.Alltoallv([np.zeros(size * (rank + 1)), [rank + 1] * size], [ragged, counts])
        types = [MPI.DOUBLE] * size
        comm.Alltoallw([all_, [2] * size, [16 * i for i in range(size)], types],
                       [np.zeros(2 * size), [2] * size, [16 * i for i in range(size)], types])
        comm.Reduce(one, one.copy(), MPI.MAX, 1)
        comm.Allreduce(MPI.IN_PLACE, one)
        comm.Scan(one, one.copy())
        comm.Exscan(one, one.copy())
        comm.Reduce_scatter_block(all_, one)
        comm.Reduce_scatter(ragged, mine, counts)
        comm.Reduce_scatter(ragged, mine)
        """,
        RANKS,
    )


EXPECTED = [
    ("Barrier", Op.BARRIER, 0, [0, 0, 0]),
    ("Bcast", Op.BCAST, 1, [40, 40, 40]),
    ("Gather", Op.GATHER, 2, [16, 16, 16]),
    ("Gather", Op.GATHER, 0, [16, 16, 16]),
    ("Gatherv", Op.GATHERV, 1, [8, 16, 24]),
    ("Scatter", Op.SCATTER, 0, [16, 16, 16]),
    ("Scatterv", Op.SCATTERV, 0, [8, 16, 24]),
    ("Allgather", Op.ALLGATHER, 0, [16, 16, 16]),
    ("Allgather", Op.ALLGATHER, 0, [16, 16, 16]),
    ("Allgatherv", Op.ALLGATHERV, 0, [8, 16, 24]),
    ("Allgatherv", Op.ALLGATHERV, 0, [8, 16, 24]),
    ("Alltoall", Op.ALLTOALL, 0, [16, 16, 16]),
    ("Alltoallv", Op.ALLTOALLV, 0, [24, 48, 72]),
    ("Alltoallw", Op.ALLTOALLV, 0, [48, 48, 48]),
    ("Reduce", Op.REDUCE, 1, [16, 16, 16]),
    ("Allreduce", Op.ALLREDUCE, 0, [16, 16, 16]),
    ("Scan", Op.SCAN, 0, [16, 16, 16]),
    ("Exscan", Op.EXSCAN, 0, [16, 16, 16]),
    ("Reduce_scatter_block", Op.REDUCE_SCATTER, 0, [16, 16, 16]),
    ("Reduce_scatter", Op.REDUCE_SCATTER, 0, [8, 16, 24]),
    ("Reduce_scatter", Op.ALLGATHER, 0, [8, 8, 8]),
    ("Reduce_scatter", Op.REDUCE_SCATTER, 0, [8, 16, 24]),
]


def test_every_collective_has_its_root_and_size(buffers: Trace) -> None:
    """Each collective has its root, and sizes as the model defines them, in place or not, with or without counts."""
    by_rank = [calls(buffers, rank) for rank in range(RANKS)]
    assert [(row.call, row.op, row.peer) for row in by_rank[0]] == [each[:3] for each in EXPECTED]
    assert [[rows[i].nbytes for rows in by_rank] for i in range(len(EXPECTED))] == [each[3] for each in EXPECTED]


def test_alltoallv_lists_the_sizes_to_each_rank(buffers: Trace) -> None:
    """The sizes for each destination are in the extras."""
    assert [named(buffers, rank, "Alltoallv")[0].extras for rank in range(RANKS)] == [(8,) * 3, (16,) * 3, (24,) * 3]
    assert named(buffers, 0, "Alltoallw")[0].extras == (16, 16, 16)


def test_elements_of_2_gib_fit_no_row(recorded: Recorded) -> None:
    """The size of an element beyond 2^31 - 1 B is not known; the call is recorded like any other."""
    trace = recorded(
        """
        largest = MPI.BYTE.Create_contiguous(2**31 - 1).Commit()
        larger = MPI.BYTE.Create_contiguous(2**30).Create_contiguous(2).Commit()
        for kind in (largest, larger):
            comm.Bcast([eight, 0, kind])
        """,
        1,
    )
    found = named(trace, 0, "Bcast")
    assert [(row.op, row.tag, row.nbytes) for row in found] == [(Op.BCAST, 2**31 - 1, 0), (Op.BCAST, 0, 0)]


def test_elements_of_arrays_that_only_dlpack_shows(recorded: Recorded) -> None:
    """Three single-precision numbers of a tensor without Python's buffer protocol have 4 B each, of either version."""
    trace = recorded(
        """
        import numpy as np
        class Earlier(Tensor):
            def __dlpack__(self, stream=None):
                return self.array.__dlpack__()
        for kind in (Tensor, Earlier):
            comm.Bcast([kind(np.zeros(3, "f")), 3])
        """,
        1,
        preamble=PREAMBLE + TENSOR,
    )
    assert [(row.tag, row.nbytes) for row in named(trace, 0, "Bcast")] == [(4, 12), (4, 12)]


@pytest.fixture(scope="module")
def others(recorded: Recorded) -> Trace:
    """Return the trace of a program with nonblocking, persistent and neighbourhood collectives, on three ranks."""
    return recorded(
        """
        import numpy as np
        one = np.ones(2)
        MPI.Request.Waitall([comm.Ibarrier(), comm.Ibcast(one, 1), comm.Iallreduce(one, one.copy())])
        persistent = comm.Allgather_init(one, np.zeros(2 * size))
        for _ in range(2):
            persistent.Start()
            persistent.Wait()
        persistent.Free()
        blocks = np.ones(2 * size)  # mpi4py 4.1 does not keep it alive
        comm.Ireduce_scatter(blocks, one).Wait()
        persistent = comm.Reduce_scatter_init(blocks, one)
        persistent.Free()
        line = comm.Create_cart([size], [False])
        line.Neighbor_allgather(one, np.zeros(4))
        line.Ineighbor_alltoall(np.zeros(4), np.zeros(4)).Wait()
        graph = comm.Create_dist_graph_adjacent([(rank - 1) % size], [(rank + 1) % size])
        graph.Neighbor_alltoallv([one, [2]], [one.copy(), [2]])
        graph.Neighbor_alltoallw([one, [1], [0], [MPI.DOUBLE]], [one.copy(), [1], [0], [MPI.DOUBLE]])
        half = comm.Split(rank > 0, 0)
        bridge = half.Create_intercomm(0, comm, 1 if rank == 0 else 0)
        bridge.Barrier()
        bridge.Ibarrier().Wait()
        """,
        RANKS,
    )


def test_nonblocking_collectives_have_requests(others: Trace) -> None:
    """A nonblocking collective is an op with a request, which a wait completes."""
    started = [row for row in calls(others, 0) if row.flags == Flag.NONBLOCKING and row.op is not Op.NEIGHBOR]
    assert [row.op for row in started] == [Op.BARRIER, Op.BCAST, Op.ALLREDUCE, Op.BARRIER]
    assert named(others, 0, "Waitall")[0].extras == tuple(row.request for row in started[:3])


@pytest.mark.parametrize(("call", "then"), [("Ireduce_scatter", Op.REDUCE_SCATTER), ("Reduce_scatter_init", Op.LOCAL)])
def test_counts_are_gathered_at_the_call(others: Trace, call: str, then: Op) -> None:
    """Without counts, mpi4py gathers them by a blocking call, once, before it begins or sets up the reduction."""
    rows = named(others, 0, call)
    assert [(row.op, row.flags & Flag.NONBLOCKING) for row in rows] == [
        (Op.ALLGATHER, 0), (then, Flag.NONBLOCKING if then is Op.REDUCE_SCATTER else 0)
    ]  # fmt: skip
    assert rows[0].nbytes == 8


def test_persistent_collectives_start_anew(others: Trace) -> None:
    """Each start of a persistent collective is a nonblocking op."""
    starts = named(others, 0, "Start")
    assert [(row.op, row.nbytes, row.flags) for row in starts] == [
        (Op.ALLGATHER, 16, Flag.NONBLOCKING | Flag.PERSISTENT)
    ] * 2


def test_neighbourhoods_list_their_edges(others: Trace) -> None:
    """The extras list destinations with sizes, then sources; null neighbours are omitted."""
    assert named(others, 0, "Neighbor_allgather")[0].extras == (1, 1, 16, 1, 1)
    assert named(others, 1, "Neighbor_allgather")[0].extras == (2, 0, 2, 16, 16, 2, 0, 2)
    assert named(others, 1, "Ineighbor_alltoall")[0].extras == (2, 0, 2, 16, 16, 2, 0, 2)
    assert named(others, 2, "Neighbor_alltoallv")[0].extras == (1, 0, 16, 1, 1)
    assert named(others, 2, "Neighbor_alltoallw")[0].extras == (1, 0, 8, 1, 1)


def test_groups_meet_on_their_union(others: Trace) -> None:
    """Collectives on an intercommunicator without a root take place there; a wait completes those with a request."""
    blocking, begun, waited = calls(others, 0)[-3:]
    assert [blocking.op, begun.op, waited.op] == [Op.BARRIER, Op.BARRIER, Op.WAIT]
    assert waited.request == begun.request
    assert {each.comm for each in (blocking, begun)} == {blocking.comm}
    place = others.head.communicators[blocking.comm]
    assert (place.name, place.group, place.remote) == ("union", (0, 1, 2), None)


@pytest.fixture(scope="module")
def between(recorded: Recorded) -> Trace:
    """Return the trace of collectives between rank 0, alone, and ranks 1 and 2."""
    return recorded(
        """
        import numpy as np
        half = comm.Split(rank > 0, 0)
        bridge = half.Create_intercomm(0, comm, 1 if rank == 0 else 0)
        first, none = MPI.ROOT if rank == 0 else 0, None
        second = {0: 1, 1: MPI.PROC_NULL, 2: MPI.ROOT}[rank]
        others = bridge.Get_remote_size()
        one, all_of_them = np.ones(5), np.ones(5 * others)
        bridge.Bcast(one, first)
        bridge.Gather(*((none, all_of_them) if rank == 0 else (one, none)), first)
        bridge.Scatter(*((all_of_them, none) if rank == 0 else (none, one)), first)
        bridge.Reduce(*{0: (one, none), 1: (none, none), 2: (none, one)}[rank], MPI.SUM, second)
        bridge.Allgather(one, all_of_them)
        bridge.Alltoall(all_of_them, all_of_them.copy())
        bridge.Allreduce(one, one.copy())
        bridge.Reduce_scatter_block(np.ones(4), np.ones(4 // (3 - others)))
        bridge.bcast(bytes(1000), first)
        bridge.gather(bytes(1000), second)
        bridge.allgather(bytes(1000))
        bridge.alltoall([bytes(1000)] * others)
        bridge.reduce([rank], root=second)
        bridge.allreduce([rank])
        """,
        RANKS,
    )


def _placed(trace: Trace, name: str) -> list[list[tuple[Op, tuple[int, ...], int, tuple[int, ...]]]]:
    """Return, by rank, the op, the members of the communicator, the size and the sizes of the rows of a call."""
    return [
        [(row.op, trace.head.communicators[row.comm].group, row.nbytes, row.extras) for row in named(trace, rank, name)]
        for rank in range(RANKS)
    ]


def test_a_root_meets_the_other_group(between: Trace) -> None:
    """The root contributes nothing to a gather or a scatter; the others of its group have no part in them."""
    everyone, pair = (0, 1, 2), (2, 0)
    assert _placed(between, "Bcast") == [[(Op.BCAST, everyone, 40, ())]] * 3
    assert _placed(between, "Gather") == [[(Op.GATHERV, everyone, 40 * (rank > 0), ())] for rank in range(3)]
    assert _placed(between, "Scatter") == [[(Op.SCATTERV, everyone, 40 * (rank > 0), ())] for rank in range(3)]
    zero, one, two = _placed(between, "Reduce")
    assert zero == two == [(Op.REDUCE, pair, 40, ())]
    assert [row[0] for row in one] == [Op.LOCAL]
    assert {row.peer for name in ("Bcast", "Gather", "Reduce") for row in named(between, 2, name)} == {0}
    assert between.head.communicators[named(between, 2, "Reduce")[0].comm].name == "root"


@pytest.mark.parametrize(
    ("name", "size"), [("Allgather", 40), ("Alltoall", 40), ("Allreduce", 40), ("Reduce_scatter_block", 32)]
)
def test_each_member_exchanges_blocks_with_the_other_group(between: Trace, name: str, size: int) -> None:
    """Rank 0 sends two blocks, the others one: for a reduction the whole vector."""
    zero, one, two = _placed(between, name)
    assert zero == [(Op.ALLTOALLV, (0, 1, 2), 2 * size, (0, size, size))]
    assert one == two == [(Op.ALLTOALLV, (0, 1, 2), size, (size, 0, 0))]


def test_objects_are_exchanged_between_groups_behind_their_sizes(between: Trace) -> None:
    """The sizes of pickles meet on the same communicators, 8 B each; a pickle has 1018 B."""
    everyone, pair, pickle = (0, 1, 2), (2, 0), 1018
    assert _placed(between, "bcast") == [[(Op.BCAST, everyone, 8, ()), (Op.BCAST, everyone, pickle, ())]] * 3
    zero, one, two = _placed(between, "gather")
    assert zero == [(Op.GATHER, pair, 8, ()), (Op.GATHERV, pair, pickle, ())]
    assert [row[0] for row in one] == [Op.LOCAL]
    assert two == [(Op.GATHER, pair, 8, ()), (Op.GATHERV, pair, 0, ())]
    for name, head in (("allgather", Op.ALLGATHER), ("alltoall", Op.ALLTOALL)):
        (sizes, pickles), *_ = _placed(between, name)
        assert sizes[:3] == (head, everyone, 8)
        assert pickles == (Op.ALLTOALLV, everyone, 2 * pickle, (0, pickle, pickle))


def test_objects_are_reduced_within_a_group_and_sent_to_the_other(between: Trace) -> None:
    """Each step is a size and a pickle. Rank 0 is a group, and sends to rank 2; both groups exchange their results."""
    steps = [[(row.op, row.peer) for row in named(between, rank, "reduce")[::2]] for rank in range(RANKS)]
    assert [step for step, _ in steps[0]] == [Op.SEND]
    assert steps == [[(Op.SEND, 1)], [(Op.LOCAL, 0)], [(Op.RECV, 0)]]
    ops = [[row.op for row in named(between, rank, "allreduce")] for rank in range(RANKS)]
    swap = [Op.IRECV, Op.ISEND, Op.WAIT] * 2
    assert ops[0] == [*swap, Op.BCAST, Op.BCAST]
    assert ops[1] == [Op.RECV, Op.RECV, *swap, Op.BCAST, Op.BCAST]
    assert ops[2] == [Op.SEND, Op.SEND, Op.BCAST, Op.BCAST]
    assert not between.left_out()


@pytest.fixture(scope="module")
def objects(recorded: Recorded) -> Trace:
    """Return the trace of a program with every lower-case call.

    A pickle of ``bytes(n)`` in protocol 5 has n + 16 to n + 23 bytes.
    """
    return recorded(
        """
        import pickle
        thing = bytes(1000)
        assert len(MPI.pickle.dumps(thing)) == len(pickle.dumps(thing, 5)) == 1018
        if rank == 0:
            comm.send(thing, dest=1, tag=4)
            comm.ssend(thing, 1)
            comm.isend(thing, 1, 5).wait()
            comm.send(thing, MPI.PROC_NULL)
        elif rank == 1:
            assert comm.recv(source=0, tag=4) == thing
            comm.recv()
            assert comm.irecv(source=0, tag=5).wait() == thing
        comm.barrier()
        comm.bcast(thing if rank == 1 else None, root=1)
        comm.gather(thing, 2)
        comm.scatter([bytes(1000 * i) for i in range(size)] if rank == 0 else None)
        comm.allgather(thing)
        comm.alltoall([thing] * size)
        assert comm.reduce([rank], root=2) == ([0, 1, 2] if rank == 2 else None)
        assert comm.allreduce(rank) == 3
        assert comm.allreduce(rank, op=MPI.MAX) == 2
        assert comm.scan(rank) == sum(range(rank + 1))
        comm.exscan(rank, op=lambda a, b: a + b)
        comm.sendrecv(thing, (rank + 1) % size, 6, source=(rank - 1) % size, recvtag=6)
        """,
        RANKS,
    )


def test_objects_travel_with_the_size_of_their_pickle(objects: Trace) -> None:
    """A lower-case send has the size of the pickle; an object sent to PROC_NULL is not pickled."""
    assert [(row.op, row.nbytes, row.flags) for row in calls(objects, 0)[:5] if row.op is not Op.WAIT] == [
        (Op.SEND, 1018, Flag.PICKLED),
        (Op.SEND, 1018, Flag.PICKLED | Flag.SYNCHRONOUS),
        (Op.ISEND, 1018, Flag.PICKLED),
        (Op.SEND, 0, Flag.PICKLED),
    ]
    assert [row.peer for row in named(objects, 1, "recv")] == [0, 0]


def _sizes(trace: Trace, name: str) -> list[list[tuple[Op, int]]]:
    return [[(row.op, row.nbytes) for row in named(trace, rank, name)] for rank in range(RANKS)]


def test_collectives_on_objects_send_sizes_ahead(objects: Trace) -> None:
    """mpi4py first sends the sizes of the pickles, 8 B each, and then the pickles."""
    assert _sizes(objects, "bcast") == [[(Op.BCAST, 8), (Op.BCAST, 1018)]] * 3
    assert _sizes(objects, "gather") == [[(Op.GATHER, 8), (Op.GATHERV, 1018)]] * 3
    received = [rows[1][1] for rows in _sizes(objects, "scatter")]
    assert [rows[0] for rows in _sizes(objects, "scatter")] == [(Op.SCATTER, 8)] * 3
    assert (received[0] < 50, received[1], received[2]) == (True, 1018, 2018)
    assert _sizes(objects, "allgather") == [[(Op.ALLGATHER, 8), (Op.ALLGATHERV, 1018)]] * 3
    assert named(objects, 0, "alltoall")[1].extras == (1018,) * 3
    assert named(objects, 0, "bcast")[1].flags == Flag.CONTINUED | Flag.PICKLED


def test_reductions_of_objects_are_a_tree_of_messages(objects: Trace) -> None:
    """Reduce is a binomial tree to rank 0 and a message from there to the root; each step sends a size and a pickle."""
    steps = [[(row.op, row.peer) for row in named(objects, rank, "reduce")[::2]] for rank in range(RANKS)]
    assert steps[0] == [(Op.RECV, 1), (Op.RECV, 2), (Op.SEND, 2)]
    assert steps[1] == [(Op.SEND, 0)]
    assert steps[2] == [(Op.SEND, 0), (Op.RECV, 0)]
    sizes = [row.nbytes for row in named(objects, 0, "reduce") if row.op is Op.SEND]
    assert sizes[0] == 8
    assert 0 < sizes[1] < 100
    communicators = {row.comm for row in named(objects, 0, "reduce")}
    assert [objects.head.communicators[comm].name for comm in communicators] == ["objects"]


def test_allreduce_of_objects_ends_in_a_broadcast(objects: Trace) -> None:
    """Allreduce ends with a broadcast of the result to all ranks."""
    for rank in range(RANKS):
        last = named(objects, rank, "allreduce")[-2:]
        assert [(row.op, row.nbytes > 0) for row in last] == [(Op.BCAST, True)] * 2
    exchanges = [row.peer for row in named(objects, 0, "scan") if row.op is Op.ISEND]
    assert exchanges == [1, 1, 2, 2]
