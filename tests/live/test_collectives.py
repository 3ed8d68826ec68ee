"""Collectives of live ranks: data arrive as MPI defines, at the times that the kernel computes."""

from __future__ import annotations

import json
from textwrap import dedent

import pytest

from clue.config import load_machine
from clue.kernel import simulate
from clue.trace import Op, Trace
from tests.classes import SLOW, TENSOR
from tests.live.programs import Live

START = """
from mpi4py import MPI
import numpy as np
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
"""
RANKS = pytest.mark.parametrize("ranks", [1, 3])


DECLARED = ("--bursts", "1 Gflop/s")


def check(live: Live, program: str, ranks: int, *options: str) -> list[float]:
    """Run a program that must succeed on all ranks; return the times that it printed, in the order of ranks."""
    ended = live(START + dedent(program), *options, ranks=ranks)
    assert ended.status == 0, ended.err
    said = sorted(line.split()[1:] for line in ended.out.splitlines() if line.startswith("at "))
    return [float(time) for _, time in said]


@RANKS
def test_blocks_come_in_the_order_of_ranks(live: Live, ranks: int) -> None:
    """Broadcast, gather, scatter and all-to-all deliver blocks in rank order, in place or not, blocking or not."""
    check(
        live,
        """
        last = size - 1
        everyone = np.arange(size, dtype="i")
        data = np.full(3, 7.0 if rank == last else 0.0)
        comm.Bcast(data, root=last)
        assert (data == 7).all()
        found = np.zeros(size, "i")
        comm.Gather(np.array([rank], "i"), found if rank == last else None, root=last)
        assert rank != last or (found == everyone).all()
        found[:] = -1
        found[rank] = rank
        comm.Allgather(MPI.IN_PLACE, found)
        assert (found == everyone).all()
        mine = np.zeros(1, "i")
        comm.Scatter(everyone * 10 if rank == 0 else None, mine, root=0)
        assert mine[0] == 10 * rank
        sent, got = 100 * rank + everyone, np.zeros(size, "i")
        request = comm.Ialltoall(sent, got)
        request.Wait()
        assert (got == 100 * everyone + rank).all()
        """,
        ranks,
    )


@RANKS
def test_blocks_of_different_sizes_with_gaps(live: Live, ranks: int) -> None:
    """Counts and displacements are read as mpi4py reads them; gaps between blocks are left unchanged."""
    check(
        live,
        """
        counts = [i + 1 for i in range(size)]
        starts = [sum(counts[:i]) + i for i in range(size)]
        mine = np.full(rank + 1, rank, "d")
        found = np.full(sum(counts) + size, -1.0)
        comm.Allgatherv(mine, [found, (counts, starts), MPI.DOUBLE])
        for i in range(size):
            assert (found[starts[i] : starts[i] + i + 1] == i).all() and found[starts[i] + i + 1] == -1
        back = np.zeros(rank + 1)
        comm.Scatterv([found, counts, starts, MPI.DOUBLE] if rank == 0 else None, back, root=0)
        assert (back == rank).all()
        kinds = [MPI.INT] * size
        sent, got = np.arange(size, dtype="i") + 10 * rank, np.full(2 * size, -1, "i")
        comm.Alltoallw([sent, ([1] * size, [4 * i for i in range(size)]), kinds],
                       [got, ([1] * size, [8 * i for i in range(size)]), kinds])
        assert (got[::2] == 10 * np.arange(size) + rank).all() and (got[1::2] == -1).all()
        """,
        ranks,
    )


@RANKS
def test_reductions_keep_the_order_of_ranks(live: Live, ranks: int) -> None:
    """Reductions and scans keep rank order for an operation that does not commute, and handle a pair type."""
    check(
        live,
        """
        def append(a, b, kind):
            left, right = np.frombuffer(a, "i"), np.frombuffer(b, "i")
            right[:] = left * 10 + right
        op = MPI.Op.Create(append, commute=False)
        def word(n): return int("".join(str(i + 1) for i in range(n)) or 0)
        mine, found = np.array([rank + 1], "i"), np.zeros(1, "i")
        comm.Allreduce(mine, found, op)
        assert found[0] == word(size)
        comm.Reduce(mine, found, op, root=size - 1)
        assert rank < size - 1 or found[0] == word(size)
        comm.Scan(mine, found, op)
        assert found[0] == word(rank + 1)
        found[0] = 0
        comm.Exscan(mine, found, op)
        assert found[0] == word(rank)
        op.Free()
        pair = np.zeros(1, np.dtype([("value", "d"), ("place", "i")], align=True))
        best = pair.copy()
        pair["value"], pair["place"] = -rank, rank
        comm.Allreduce([pair, 1, MPI.DOUBLE_INT], [best, 1, MPI.DOUBLE_INT], MPI.MINLOC)
        assert best["place"][0] == size - 1 and best["value"][0] == 1 - size
        counts = list(range(size))
        part = np.zeros(counts[rank])
        comm.Reduce_scatter(np.arange(sum(counts), dtype="d"), part, counts)
        assert (part == size * np.arange(sum(counts))[sum(counts[:rank]) :][:rank]).all()
        comm.Allreduce(MPI.IN_PLACE, mine)
        assert mine[0] == size * (size + 1) // 2
        """,
        ranks,
    )


@RANKS
def test_a_count_of_reduce_scatter_block_is_that_of_a_block(live: Live, ranks: int) -> None:
    """Each rank gets the sums of its two elements: element e, which is e + r on rank r of n, is n·e + n·(n - 1)/2."""
    check(
        live,
        """
        mine, found = np.arange(2 * size, dtype="i") + rank, np.full(2, -1, "i")
        sums = size * np.arange(2 * rank, 2 * rank + 2) + size * (size - 1) // 2
        comm.Reduce_scatter_block([mine, 2, MPI.INT], [found, 2, MPI.INT])
        assert (found == sums).all(), found
        comm.Reduce_scatter_block(MPI.IN_PLACE, [mine, 2, MPI.INT])
        assert (mine[:2] == sums).all(), mine
        """,
        ranks,
    )


def test_an_operation_on_a_datatype_of_the_program(live: Live) -> None:
    """The program's operation gets a strided column with its gaps, not packed, and combines it element by element."""
    check(
        live,
        """
        column = MPI.INT.Create_vector(2, 1, 3).Commit()
        def add(a, b, kind):
            assert kind == column
            left, right = np.frombuffer(a, "i"), np.frombuffer(b, "i")
            right[0] += left[0]
            right[3] += left[3]
        op = MPI.Op.Create(add, commute=True)
        mine, found = np.arange(6, dtype="i") + rank, np.full(6, -1, "i")
        comm.Allreduce([mine, 1, column], [found, 1, column], op)
        assert list(found) == [3, -1, -1, 12, -1, -1], found
        """,
        3,
    )


def test_arrays_that_only_dlpack_shows_are_reduced_by_their_type(live: Live) -> None:
    """Tensors without Python's buffer protocol, as PyTorch's are, add up as numbers: 1 + 2 + 3 = 6."""
    check(
        live,
        TENSOR
        + dedent(
            """
            for code in "fdil":
                mine, found, block = np.full(3, rank + 1, code), np.zeros(3, code), np.zeros(1, code)
                comm.Allreduce(Tensor(mine), Tensor(found))
                assert (found == 6).all(), (code, found)
                comm.Reduce_scatter(Tensor(mine), Tensor(block), [1, 1, 1])
                assert block[0] == 6, (code, block)
                comm.Allreduce(MPI.IN_PLACE, Tensor(mine), MPI.MAX)
                assert (mine == 3).all(), (code, mine)
            """
        ),
        3,
    )


def test_large_elements_are_unknown(live: Live) -> None:
    """A reduction states elements of up to 2^31 - 1 B, as in a recording; the sizes of larger ones are unknown."""
    kept = live.folder / "kept.clue"
    check(
        live,
        """
        nothing = MPI.Op.Create(lambda a, b, kind: None)
        largest = MPI.BYTE.Create_contiguous(2**31 - 1).Commit()
        larger = MPI.BYTE.Create_contiguous(2**30).Create_contiguous(2).Commit()
        for kind in (largest, larger):
            sent, found = [bytearray(8), 0, kind], [bytearray(8), 0, kind]
            comm.Allreduce(sent, found, nothing)
            comm.Reduce(sent, found, nothing)
            comm.Scan(sent, found, nothing)
        """,
        2,
        *DECLARED,
        "--record",
        str(kept),
    )
    ops = Trace.open(kept).ops
    elements = [ops.tag[ops.op == op].tolist() for op in (Op.ALLREDUCE, Op.REDUCE, Op.SCAN)]
    assert elements == [[2**31 - 1, 0] * 2] * 3


def test_large_vectors_go_through_shared_memory(live: Live) -> None:
    """Vectors of a megabyte arrive whole in repeated collectives through shared memory."""
    check(
        live,
        """
        data, found = np.full(131072, rank + 1.0), np.zeros(131072)
        for _ in range(5):
            comm.Allreduce(data, found)
            assert (found == 6).all()
            comm.Bcast(found, root=1)
            comm.Alltoall(np.arange(3 * 4096.0) + rank, np.zeros(3 * 4096))
            request = comm.Iallgather(data, np.zeros(3 * 131072))
            request.Wait()
        """,
        3,
    )


@RANKS
def test_persistent_collectives_take_their_buffers_anew(live: Live, ranks: int) -> None:
    """Each start of a persistent collective sends the present content of the buffer."""
    check(
        live,
        """
        data, found = np.zeros(1), np.zeros(1)
        request = comm.Allreduce_init(data, found)
        for step in range(3):
            data[0] = step + rank
            request.Start()
            request.Wait()
            assert found[0] == size * step + size * (size - 1) / 2
        request.Free()
        """,
        ranks,
    )


@RANKS
def test_objects(live: Live, ranks: int) -> None:
    """Collectives deliver pickled objects of any size; Python functions reduce them in rank order."""
    check(
        live,
        """
        thing = {"who": [rank], "what": "x" * 1000 * rank}
        assert comm.bcast(thing, root=size - 1)["who"] == [size - 1]
        assert comm.allgather("y" * rank) == ["y" * i for i in range(size)]
        assert comm.gather(rank) == (list(range(size)) if rank == 0 else None)
        assert comm.scatter([(i, "z" * i) for i in range(size)]) == (rank, "z" * rank)
        assert comm.alltoall([(rank, i) for i in range(size)]) == [(i, rank) for i in range(size)]
        assert comm.allreduce(str(rank)) == "".join(map(str, range(size)))
        joined = comm.reduce([rank], lambda a, b: a + b, root=size - 1)
        assert joined == (None if rank < size - 1 else list(range(size)))
        assert comm.scan(str(rank)) == "".join(map(str, range(rank + 1)))
        assert comm.exscan(str(rank)) == ("".join(map(str, range(rank))) if rank else None)
        """,
        ranks,
    )


def test_a_rank_alone_pickles_its_objects(live: Live) -> None:
    """An object takes 50 ms to pickle and 100 ms to unpickle; this is computation even where nothing is sent."""
    check(
        live,
        SLOW
        + dedent(
            """
            slow = Slow()
            for call in (comm.bcast, comm.gather, comm.allgather, comm.allreduce, comm.scan):
                begin = MPI.Wtime()
                call(slow)
                assert MPI.Wtime() - begin > 0.05, call
            """
        ),
        1,
    )


def test_a_total_exchange_in_place_with_a_rank_without_data(live: Live) -> None:
    """Ranks 0 and 1 exchange their ranks in place; rank 2 has no data, and waits for nobody."""
    check(
        live,
        """
        counts = [[0, 1, 0], [1, 0, 0], [0, 0, 0]][rank]
        data = np.full(1, rank, "i")
        comm.Alltoallv(MPI.IN_PLACE, [data, counts, [0, 0, 0], MPI.INT])
        assert data[0] == (1 - rank if rank < 2 else 2)
        """,
        3,
    )


@RANKS
def test_neighbourhoods(live: Live, ranks: int) -> None:
    """The ends of a line have one neighbour; on a distributed graph edges keep their order.

    In a circle of one or two ranks both neighbours are one rank: what it sends down comes from above.
    """
    check(
        live,
        """
        line = comm.Create_cart([size])
        found = np.full(2, -1, "i")
        line.Neighbor_allgather(np.array([rank], "i"), found)
        assert list(found) == [rank - 1 if rank else -1, rank + 1 if rank < size - 1 else -1]
        right, left = (rank + 1) % size, (rank - 1) % size
        ring = comm.Create_dist_graph_adjacent([left, left], [right, right])
        found = np.zeros(2, "i")
        request = ring.Ineighbor_alltoall(np.array([10 * rank, 10 * rank + 1], "i"), found)
        request.Wait()
        assert list(found) == [10 * left, 10 * left + 1]
        assert ring.neighbor_alltoall(["a", "b"]) == ["a", "b"]
        class Thing:
            pickled = 0
            def __reduce__(self):
                Thing.pickled += 1
                return bytes, (65536,)
        assert ring.neighbor_allgather(Thing()) == [bytes(65536)] * 2 and Thing.pickled == 1
        for extent in {1, min(size, 2)}:
            circle = comm.Create_cart([extent], periods=[True])
            if circle != MPI.COMM_NULL:
                other = (rank + 1) % extent
                found = np.zeros(2, "i")
                circle.Neighbor_alltoall(np.array([10 * rank, 10 * rank + 1], "i"), found)
                assert list(found) == [10 * other + 1, 10 * other], (extent, found)
                assert circle.neighbor_alltoall([(rank, "down"), (rank, "up")]) == [(other, "up"), (other, "down")]
        """,
        ranks,
    )


def test_blocks_for_null_neighbours_take_no_memory(live: Live) -> None:
    """The ends of a line send to one neighbour only, and all shared memory is free afterwards."""
    check(
        live,
        """
        import gc
        from virtual_layer.substitutes.arena import Arena
        gc.unfreeze()
        (arena,) = [each for each in gc.get_objects() if type(each) is Arena]
        line, block, both = comm.Create_cart([size]), np.full(8192, float(rank)), np.zeros(2 * 8192)
        line.Neighbor_allgather(block, both)
        line.Neighbor_alltoall(np.concatenate([block, block]), both)
        assert rank == 0 or (both[:8192] == rank - 1).all()
        for came in (line.neighbor_alltoall([bytes(65536)] * 2), line.neighbor_allgather(bytes(65536))):
            assert [each is None for each in came] == [rank == 0, rank == size - 1]
        comm.Barrier()
        assert arena.used == 0, arena.used
        """,
        3,
    )


@pytest.mark.parametrize("ranks", [2, 3])
def test_between_two_groups(live: Live, ranks: int) -> None:
    """In an intercommunicator, each side gets the data of the other, from a root or from all."""
    check(
        live,
        """
        side = comm.Split(rank % 2, rank)
        inter = side.Create_intercomm(0, comm, 1 - rank % 2)
        others = [i for i in range(size) if i % 2 != rank % 2]
        assert inter.remote_size == len(others) and inter.allgather(rank) == others
        found = np.zeros(len(others), "i")
        inter.Allgather(np.array([rank], "i"), found)
        assert list(found) == others
        total = np.zeros(1, "i")
        inter.Allreduce(np.array([rank], "i"), total)
        assert total[0] == sum(others) and inter.allreduce(rank) == sum(others)
        root = 0 if rank % 2 else MPI.ROOT if rank == 0 else MPI.PROC_NULL
        data = np.full(2, 4.0 if rank == 0 else 0.0)
        inter.Bcast(data, root)
        assert (data == 4).all() or rank % 2 == 0
        again = inter.Bcast_init(data, root)
        again.Start()
        for request in (again, inter.Ibcast(data, root)):
            assert root != MPI.PROC_NULL or request.Test()
            request.Wait()
        again.Free()
        inter.Reduce(np.array([rank], "i"), total, root=root)
        assert rank or total[0] == sum(others)
        inter.Barrier()
        merged = inter.Merge(rank % 2 == 1)
        assert merged.allgather(rank) == [*range(0, size, 2), *range(1, size, 2)]
        """,
        ranks,
    )


def test_a_barrier_of_two_is_an_exchange(live: Live) -> None:
    """Each rank posts a receive (10 us) and sends (10 us); the other's message is there 30 us later, after 50 us."""
    times = check(live, "comm.Barrier()\nprint('at', rank, MPI.Wtime())", 2, *DECLARED)
    assert times == pytest.approx([50e-6, 50e-6])


def test_a_broadcast_to_one_is_a_message(live: Live) -> None:
    """The root is free after 10 us, the other rank after 10 + 30 + 10 us."""
    times = check(live, "comm.Bcast(np.zeros(1))\nprint('at', rank, MPI.Wtime())", 2, *DECLARED)
    assert times == pytest.approx([10e-6, 50e-6])


@pytest.mark.parametrize(
    "of", ["MPI.COMM_SELF", "comm.Split(rank)", "comm.Create_cart([2, 1], [True] * 2).Sub([False, True])"]
)
def test_a_rank_alone_sends_to_itself_as_its_neighbour(live: Live, of: str) -> None:
    """In a circle of one, a rank posts two receives and sends twice (10 us each); the second message takes 30 us.

    Each of the five exchanges thus takes 70 us; objects need two, of sizes and of pickles. Constructors take no time.
    """
    times = check(
        live,
        f"""
        circle = {of}
        if circle.topology != MPI.CART:
            circle = circle.Create_cart([1], [True])
        found, begin = np.zeros(2), MPI.Wtime()
        circle.Neighbor_alltoall(np.array([1.0, 2.0]), found)
        assert list(found) == [2, 1]
        copy, request = circle.Idup()
        request.Wait()
        copy = circle.Dup()
        copy.Ineighbor_alltoall(np.array([3.0, 4.0]), found).Wait()
        assert list(found) == [4, 3]
        assert copy.neighbor_alltoall(["down", "up"]) == ["up", "down"]
        persistent = copy.Neighbor_allgather_init(np.ones(1), found)
        assert persistent.Test()
        persistent.Start()
        persistent.Wait()
        assert list(found) == [1, 1]
        print("at", rank, MPI.Wtime() - begin)
        """,
        2,
        *DECLARED,
    )
    assert times == pytest.approx([5 * 70e-6] * 2)


def test_a_nonblocking_collective_goes_on_beside_the_program(live: Live) -> None:
    """One second of work hides the nonblocking collective: the wait takes no further time."""
    times = check(
        live,
        """
        from virtual_layer import region
        request = comm.Iallreduce(np.ones(1), np.zeros(1))
        with region("work", flops=1e9):
            pass
        request.Wait()
        print("at", rank, MPI.Wtime())
        """,
        2,
        *DECLARED,
    )
    assert times == pytest.approx([1.0, 1.0])


def test_what_was_kept_replays_to_the_same_time(live: Live) -> None:
    """The kept trace replays to the makespan of the live run, for collectives of all kinds.

    They work on buffers and objects, within a group, between two groups, and along the edges of a grid.
    """
    kept = live.folder / "kept.clue"
    program = """
        side = comm.Split(rank % 2, rank)
        inter = side.Create_intercomm(0, comm, 1 - rank % 2)
        inter.Allreduce(np.ones(5), np.zeros(5))
        assert inter.allreduce([rank]) == [i for i in range(size) if i % 2 != rank % 2]
        inter.allgather("x" * rank)
        everyone = inter.Merge(rank % 2)
        everyone.Reduce_scatter(np.ones(6), np.zeros(2), [2, 2, 2])
        everyone.scan("y" * rank)
        everyone.gather(list(range(100 * rank)))
        MPI.Request.Waitall([everyone.Iallreduce(np.ones(1), np.zeros(1)), everyone.Ibarrier()])
        everyone.Create_cart([size], periods=True).neighbor_alltoall(["a", "bb"])
        """
    ended = live(START + dedent(program), "--bursts", "synthetic", "--record", str(kept), "--json", ranks=3)
    assert ended.status == 0, ended.err
    replayed = simulate(Trace.open(kept), load_machine(live.machine))
    assert json.loads(ended.out)["makespan"] == replayed.makespan


def test_errors_are_mpi4pys_own(live: Live) -> None:
    """Wrong buffers, roots and counts raise mpi4py's own exceptions on the rank."""
    check(
        live,
        """
        def refuses(call, kind):
            try:
                call()
            except kind:
                return True
            return False
        assert refuses(lambda: comm.Bcast(7), TypeError)
        assert refuses(lambda: comm.Bcast(np.zeros(1), root=size), MPI.Exception)
        assert refuses(lambda: comm.Allreduce(np.zeros(1), np.zeros(2)), ValueError)
        assert refuses(lambda: comm.Allreduce(np.zeros(1), np.zeros(1, "i")), ValueError)
        assert refuses(lambda: comm.Allgather(np.zeros(1), np.zeros(size + 1)), ValueError)
        assert refuses(lambda: comm.alltoall([1]), ValueError)
        assert refuses(lambda: MPI.COMM_NULL.Barrier(), MPI.Exception)
        """,
        2,
    )
