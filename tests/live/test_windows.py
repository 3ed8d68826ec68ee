"""One-sided communication of live ranks: results, order and times."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.live.programs import MACHINE, Live

START = """
from mpi4py import MPI
import numpy as np
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
right, left = (rank + 1) % size, (rank - 1) % size
"""
RANKS = pytest.mark.parametrize("ranks", [1, 3])


def check(live: Live, program: str, ranks: int, *options: str) -> list[str]:
    """Run a program that must succeed on all ranks; return what it printed after "at", sorted."""
    ended = live(START + dedent(program), *options, ranks=ranks)
    assert ended.status == 0, ended.err
    return sorted(line.split(maxsplit=1)[1] for line in ended.out.splitlines() if line.startswith("at "))


@RANKS
def test_between_fences_memory_is_written_read_and_added_to(live: Live, ranks: int) -> None:
    """Put, Get and Accumulate between fences; displacements count in the target's units, and datatypes may differ."""
    check(
        live,
        """
        memory = np.zeros(8)
        window = MPI.Win.Create(memory, 8, comm=comm)
        window.Fence()
        window.Put(np.full(2, rank + 1.0), right, target=3)
        window.Fence()
        assert list(memory[3:6]) == [left + 1, left + 1, 0]
        found = np.zeros(2)
        window.Get(found, right, (3, 2))
        window.Fence()
        assert (found == rank + 1).all()
        window.Accumulate(np.ones(1), 0, 7)
        window.Accumulate(np.full(1, rank + 2.0), 0, 6, op=MPI.MAX)
        window.Fence()
        assert rank or (memory[7], memory[6]) == (size, size + 1)
        every_other = MPI.DOUBLE.Create_vector(2, 1, 2).Commit()
        window.Put(np.array([8.0, 9.0]), right, (0, 1, every_other))
        window.Fence()
        assert list(memory[:3]) == [8, 0, 9]
        assert window.group_size == size and window.group.rank == rank
        window.Free()
        assert window == MPI.WIN_NULL
        """,
        ranks,
    )


@RANKS
def test_tickets_are_drawn_once_each(live: Live, ranks: int) -> None:
    """Fetch_and_op gives every number to exactly one rank, under an exclusive lock and under Lock_all."""
    check(
        live,
        """
        memory = np.zeros(2, "l")
        window, one, ticket, drawn = MPI.Win.Create(memory, 8, comm=comm), np.ones(1, "l"), np.zeros(1, "l"), []
        for _ in range(4):
            window.Lock(0)
            window.Fetch_and_op(one, ticket, 0)
            window.Unlock(0)
            drawn.append(ticket[0])
        window.Lock_all()
        for _ in range(4):
            window.Fetch_and_op(one, ticket, 0)
            window.Flush(0)
            drawn.append(ticket[0])
        window.Unlock_all()
        assert sorted(sum(comm.allgather(drawn), [])) == list(range(8 * size))
        window.Lock(right)
        window.Compare_and_swap(one, np.zeros(1, "l"), ticket, right, 1)
        window.Unlock(right)
        comm.Barrier()
        assert memory[1] == 1 and ticket[0] == 0
        window.Free()
        """,
        ranks,
    )


def test_an_exclusive_lock_keeps_others_out(live: Live) -> None:
    """A counter that ranks read, increase and write under an exclusive lock loses no increment."""
    check(
        live,
        """
        memory = np.zeros(1)
        window, found = MPI.Win.Create(memory, 8, comm=comm), np.zeros(1)
        for _ in range(5):
            window.Lock(0, MPI.LOCK_EXCLUSIVE)
            window.Get(found, 0)
            window.Flush(0)
            found += 1
            window.Put(found, 0)
            window.Unlock(0)
        comm.Barrier()
        assert rank or memory[0] == 5 * size
        window.Free()
        """,
        4,
    )


def test_requests_of_operations(live: Live) -> None:
    """The data of an Rget have arrived when its request completes; an Unlock completes an Rput without a wait."""
    check(
        live,
        """
        memory = np.full(20000, float(rank))
        window, found = MPI.Win.Create(memory, 8, comm=comm), np.zeros(20000)
        window.Lock(right, MPI.LOCK_SHARED)
        request = window.Rget(found, right)
        request.Wait()
        assert (found == right).all()
        window.Unlock(right)
        comm.Barrier()
        window.Lock(right)
        window.Rput(np.full(20000, 7.0), right)
        window.Unlock(right)
        comm.Barrier()
        assert (memory == 7).all()
        window.Free()
        """,
        3,
    )


def test_operations_on_no_target_are_complete_at_once(live: Live) -> None:
    """A request of an operation on PROC_NULL is complete for a Test and a Waitany, too."""
    check(
        live,
        """
        window, found = MPI.Win.Create(np.zeros(1), 8, comm=comm), np.zeros(1)
        window.Lock_all()
        request = window.Rput(found, MPI.PROC_NULL)
        assert request.Test() and request == MPI.REQUEST_NULL
        never = comm.Irecv(found, left)
        assert MPI.Request.Waitany([never, window.Rget(found, MPI.PROC_NULL)]) == 1
        never.Cancel()
        never.Wait()
        window.Unlock_all()
        window.Free()
        """,
        2,
    )


def test_data_that_nobody_needs_take_no_memory(live: Live) -> None:
    """Get_accumulate with NO_OP only reads, and frees the shared memory of its origin data."""
    check(
        live,
        """
        import gc
        from virtual_layer.substitutes.arena import Arena
        gc.unfreeze()
        (arena,) = [each for each in gc.get_objects() if type(each) is Arena]
        memory, found = np.full(8192, float(rank)), np.zeros(8192)
        window = MPI.Win.Create(memory, 8, comm=comm)
        window.Lock(right, MPI.LOCK_SHARED)
        window.Get_accumulate(np.ones(8192), found, right, op=MPI.NO_OP)
        window.Unlock(right)
        assert (found == right).all()
        window.Free()
        assert arena.used == 0, arena.used
        """,
        2,
    )


def test_post_start_complete_wait(live: Live) -> None:
    """Rank 0 exposes its memory to ranks 1 and 2, which write to it; Test tells when they have completed."""
    check(
        live,
        """
        memory = np.zeros(3)
        window, everyone = MPI.Win.Create(memory, 8, comm=comm), comm.Get_group()
        if rank == 0:
            window.Post(everyone.Excl([0]))
            while not window.Test():
                pass
            assert list(memory) == [0, 1, 2]
        else:
            window.Start(everyone.Incl([0]))
            window.Put(np.full(1, float(rank)), 0, rank)
            window.Complete()
        window.Free()
        """,
        3,
    )


@RANKS
def test_a_rank_may_be_in_its_own_groups(live: Live, ranks: int) -> None:
    """An exposure and an access epoch with the neighbours in a ring, which are the rank itself if it is alone."""
    check(
        live,
        """
        memory = np.zeros(1)
        window, everyone = MPI.Win.Create(memory, 8, comm=comm), comm.Get_group()
        window.Post(everyone.Incl([left]))
        window.Start(group=everyone.Incl([right]))
        window.Put(np.full(1, rank + 1.0), right)
        window.Complete()
        assert window.Wait() and memory[0] == left + 1
        window.Free()
        """,
        ranks,
    )


@RANKS
def test_memory_that_ranks_of_a_node_share(live: Live, ranks: int) -> None:
    """Each rank sees what others store in shared memory; the ranks' parts are in rank order."""
    one_node = MACHINE.replace("count: 4", "count: 1").replace("processors: 1", "processors: 4")
    (live.folder / "four.yaml").write_text(one_node)
    check(
        live,
        """
        window = MPI.Win.Allocate_shared(np.int64(8 * (rank + 1)), np.int32(8), comm=comm)
        mine = np.frombuffer(window.tomemory(), "d")
        mine[:] = rank
        window.Fence()
        for other in range(size):
            memory, unit = window.Shared_query(other)
            assert unit == 8 and list(np.frombuffer(memory, "d")) == [other] * (other + 1)
        assert window.flavor == MPI.WIN_FLAVOR_SHARED
        window.Free()
        """,
        ranks,
    )


@pytest.mark.parametrize(("made", "seconds"), [("Create(memory", 1.0), ("Allocate(8", 0.01)])
def test_an_origin_reads_memory_that_mpi_allocated_while_its_owner_computes(
    live: Live, made: str, seconds: float
) -> None:
    """It asks after 10 ms; other memory is read in the owner's next call, 1 s after the start."""
    one_node = MACHINE.replace("count: 4", "count: 1").replace("processors: 1", "processors: 4")
    (live.folder / "four.yaml").write_text(one_node + "  progress: calls\n")
    lines = check(
        live,
        f"""
        from virtual_layer import region
        memory, found = np.zeros(1), np.zeros(1)
        window = MPI.Win.{made}, 8, comm=comm)
        mine = np.frombuffer(window.tomemory(), "d")
        window.Lock_all()
        mine[0] = 7.0
        comm.Barrier()
        if rank == 0:
            with region("work", flops=1e7):
                pass
            window.Get(found, 1)
            window.Flush(1)
            print("at", found[0], MPI.Wtime())
        else:
            with region("work", flops=1e9):
                pass
        comm.Barrier()
        window.Unlock_all()
        window.Free()
        """,
        2, "--bursts", "1 Gflop/s",
    )  # fmt: skip
    ((found, ended),) = [map(float, line.split()) for line in lines]
    assert found == 7.0
    assert ended == pytest.approx(seconds, abs=2e-3)


def test_who_watches_its_memory_sees_it_change(live: Live) -> None:
    """A loop over Sync ends when another rank's Put arrives, after 1 s of virtual time."""
    lines = check(
        live,
        """
        from virtual_layer import region
        memory = np.zeros(1)
        window = MPI.Win.Create(memory, 8, comm=comm)
        window.Lock_all()
        if rank == 0:
            while not memory[0]:
                window.Sync()
            print("at", MPI.Wtime())
        else:
            with region("work", flops=1e9):
                pass
            window.Put(np.ones(1), 0)
        window.Unlock_all()
        window.Free()
        """,
        2, "--bursts", "1 Gflop/s",
    )  # fmt: skip
    assert [float(line) for line in lines] == pytest.approx([1.0], abs=1e-3)


def test_memory_attached_later(live: Live) -> None:
    """A dynamic window is accessed by the address of attached memory."""
    check(
        live,
        """
        window, memory = MPI.Win.Create_dynamic(comm=comm), np.zeros(2)
        window.Attach(memory)
        where = comm.allgather(MPI.Get_address(memory))
        window.Fence()
        window.Put(np.full(1, 5.0), right, where[right] + 8)
        window.Fence()
        assert list(memory) == [0, 5]
        window.Detach(memory)
        window.Free()
        """,
        2,
    )


def test_a_get_takes_a_message_there_and_one_back(live: Live) -> None:
    """The request leaves after 10 us and arrives 30 us later; so does the reply: 80 us in all."""
    lines = check(
        live,
        """
        window, found = MPI.Win.Create(np.zeros(1), 8, comm=comm), np.zeros(1)
        window.Fence()
        before = MPI.Wtime()
        if rank == 1:
            window.Rget(found, 0).Wait()
            print("at", MPI.Wtime() - before)
        window.Free()
        """,
        2, "--bursts", "1 Gflop/s",
    )  # fmt: skip
    assert [float(line) for line in lines] == pytest.approx([80e-6])


def test_a_flush_waits_for_what_is_missing(live: Live) -> None:
    """A request leaves after 10 us, and its reply is back 70 us later; a flush of what is complete takes no time.

    A local flush waits only for data from the target. An Rput that the program has not waited for costs a flush a
    message there and one back.
    """
    lines = check(
        live,
        """
        window, found, one = MPI.Win.Create(np.zeros(1), 8, comm=comm), np.zeros(1), np.ones(1)
        window.Lock_all()
        comm.Barrier()
        calls = [lambda: window.Flush(0), lambda: window.Rput(one, 0).Wait()]
        calls += [lambda: window.Flush_local(0), lambda: window.Flush_all()]
        calls += [lambda: window.Put(one, 0), lambda: window.Flush_local_all(), lambda: window.Flush(0)]
        calls += [lambda: window.Get(found, 0), lambda: window.Flush_local(0), lambda: window.Flush(0)]
        calls += [lambda: window.Rput(one, 0), lambda: window.Flush_local(0), lambda: window.Flush(0)]
        calls += [lambda: window.Flush(0)]
        calls += [lambda: window.Rget(found, 0), lambda: window.Flush_local(0)]
        for call in calls if rank == 1 else []:
            before = MPI.Wtime()
            call()
            print("at", f"{calls.index(call):02}", round((MPI.Wtime() - before) * 1e6))
        assert found == rank
        window.Unlock_all()
        window.Free()
        """,
        2, "--bursts", "1 Gflop/s",
    )  # fmt: skip
    took = [int(line.split()[1]) for line in lines]
    assert took == [0, 80, 0, 0, 10, 0, 70, 10, 70, 0, 10, 0, 80, 0, 10, 80]


def test_faults_are_told_at_the_call(live: Live) -> None:
    """A wrong target, a target outside the window and a user-defined operation raise MPI's errors at the call."""
    check(
        live,
        """
        window = MPI.Win.Create(np.zeros(1), 8, comm=comm)
        window.Fence()
        for call, code in (
            (lambda: window.Put(np.zeros(1), size), MPI.ERR_RANK),
            (lambda: window.Put(np.zeros(1), 0, 1), MPI.ERR_RMA_RANGE),
            (lambda: window.Accumulate(np.zeros(1), 0, op=MPI.Op.Create(print)), MPI.ERR_OP),
        ):
            try:
                call()
            except MPI.Exception as error:
                assert error.Get_error_class() == code
            else:
                raise AssertionError(code)
        window.Put(np.zeros(1), MPI.PROC_NULL)
        window.Free()
        """,
        2,
    )
