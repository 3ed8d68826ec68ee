"""One-sided calls, recorded as operations, waits, messages and collectives."""

from __future__ import annotations

import pytest

from clue.kernel import simulate
from clue.trace import COMPLETED, POSTED, Access, Op, Trace
from tests.kernel.cases import machine
from tests.virtual_layer.conftest import Recorded
from tests.virtual_layer.rows import Row, calls, named
from virtual_layer.meaning.epochs import UnderWay

DATA, SHARED, EXCLUSIVE, UNLOCK, DIRECT = (int(each) for each in Access)


@pytest.fixture(scope="module")
def epochs(recorded: Recorded) -> Trace:
    """Return the trace of a program with all kinds of epochs, on a communicator whose ranks are reversed."""
    return recorded("""
        turned = comm.Split(0, -rank)
        window = MPI.Win.Create(room, 8, comm=turned)
        window.Fence()
        window.Put(eight, 0)
        found = array("d", bytes(16))
        window.Get([found, 2, MPI.DOUBLE], 0)
        window.Fence()
        one, result = array("q", [1]), array("q", [0])
        if rank == 0:
            window.Lock(0)
            window.Fetch_and_op(one, result, 0)
            window.Compare_and_swap(one, one, result, 0)
            window.Unlock(0)
            window.Lock_all()
            request = window.Rput(one, 0)
            window.Flush(0)
            request.Wait()
            window.Rget(result, 0).Wait()
            window.Flush(0)
            window.Accumulate(one, 0)
            window.Flush_local(0)
            window.Put(one, MPI.PROC_NULL)
            window.Unlock_all()
        group = window.Get_group()
        if rank == 1:
            window.Post(group.Incl([1]))
            window.Wait()
        else:
            window.Start(group.Incl([0]))
            window.Put(one, 0)
            window.Complete()
        window.Free()
        own = MPI.Win.Create(room, 8)
        own.Lock(0)
        own.Put(one, 0)
        own.Unlock(0)
        own.Free()
        """)


def shape(row: Row) -> tuple[Op, int, int, int, tuple[int, ...]]:
    """Return the op, peer, tag, bytes and entries of a row, without those of waits."""
    return row.op, row.peer, row.tag, row.nbytes, () if row.op == Op.WAIT else row.extras


def test_each_call_is_written_as_what_it_consists_of(epochs: Trace) -> None:
    """Rank 0, which is rank 1 of the window: rows by call, with targets as ranks of the window."""
    wait = (Op.WAIT, 0, 0, 0, ())
    found: dict[str, list[list[tuple[Op, int, int, int, tuple[int, ...]]]]] = {}
    for row in calls(epochs, 0):
        if row.call.startswith("Win."):
            made = found.setdefault(row.call.removeprefix("Win."), [])
            if not row.flags & 1:
                made.append([])
            made[-1].append(shape(row))
    barrier = (Op.BARRIER, 0, 0, 0, ())
    assert found["Create"] == [[(Op.COMM, 0, 0, 0, ())], [(Op.LOCAL, 0, 0, 0, ())]]
    assert [[each[0] for each in call] for call in found["Fence"]] == [[Op.BARRIER], [Op.WAIT, Op.BARRIER]]
    assert found["Fence"][0] == [barrier]
    put = (Op.RMA, 0, DATA, 8, ())
    assert found["Put"][0] == [(Op.RMA, 0, DATA, 64, ())]
    assert found["Put"][1:] == [[(Op.LOCAL, 0, 0, 0, ())], [put], [(Op.LOCAL, 0, 0, 0, ())]]
    assert found["Get"] == [[(Op.RMA, 0, DATA, 0, (16,))]]
    assert found["Fetch_and_op"] == found["Compare_and_swap"] == [[(Op.RMA, 0, DATA, 8, (8,))]]
    assert found["Lock"][0][0] == (Op.RMA, 0, EXCLUSIVE, 0, ())
    assert found["Unlock"][0][0] == (Op.RMA, 0, UNLOCK, 0, ())
    assert [call[:2] for call in found["Lock_all"]] == [[(Op.RMA, 0, SHARED, 0, ()), (Op.RMA, 1, SHARED, 0, ())]]
    assert found["Rput"] == [[put]]
    # The program has not waited for the first Rput: an operation without data goes behind it.
    assert [[each[0] for each in call] for call in found["Flush"]] == [[Op.RMA, Op.WAIT], [Op.LOCAL]]
    assert found["Flush"][0][0] == (Op.RMA, 0, DATA, 0, ())
    assert found["Flush_local"] == [[(Op.LOCAL, 0, 0, 0, ())]]
    assert found["Start"] == [[(Op.RECV, 0, POSTED, 0, ())]]
    assert [each[0] for each in found["Complete"][0]] == [Op.WAIT, Op.SEND]
    assert found["Complete"][0][1] == (Op.SEND, 0, COMPLETED, 0, ())
    assert [[each[0] for each in call] for call in found["Free"]] == [[Op.BARRIER], [Op.LOCAL]]
    assert wait in [shape(row) for row in named(epochs, 0, "Wait")]
    assert not epochs.left_out()


def test_waits_name_the_operations(epochs: Trace) -> None:
    """Unlock waits for the two operations under the lock and its own; Unlock_all for the Accumulate and both locks."""
    (lock, locked), unlock = named(epochs, 0, "Win.Lock")[:2], named(epochs, 0, "Win.Unlock")[:2]
    assert locked.request == lock.request
    between = [named(epochs, 0, f"Win.{name}")[0].request for name in ("Fetch_and_op", "Compare_and_swap")]
    assert unlock[1].extras == (*between, unlock[0].request)
    (*_, waited) = named(epochs, 0, "Win.Unlock_all")
    assert named(epochs, 0, "Win.Accumulate")[0].request in waited.extras
    assert len(waited.extras) == 3


def test_members_of_groups_are_ranks_of_the_window(epochs: Trace) -> None:
    """Rank 1 of the program is rank 0 of the window, and posts to its rank 1, which is rank 0 of the program."""
    assert [shape(row) for row in named(epochs, 1, "Win.Post")] == [(Op.SEND, 1, POSTED, 0, ())]
    (received,) = [row for row in named(epochs, 1, "Win.Wait") if row.op is Op.RECV]
    assert (received.peer, received.tag) == (1, COMPLETED)
    window = epochs.head.communicators[received.comm]
    assert (window.group, window.name) == ((1, 0), "Win")


def test_it_is_replayed(epochs: Trace) -> None:
    """A replay needs nothing else: no call is left out, no message is left over."""
    said = simulate(epochs, machine()).warnings
    assert not [each for each in said if "not modelled" in each or "never received" in each]


def test_operations_tell_whether_mpi_allocated_the_memory(recorded: Recorded) -> None:
    """So do those that a flush adds for an operation with a request; locks do not."""
    trace = recorded("""
        one = array("q", [1])
        windows = [MPI.Win.Create(room, 8, comm=comm), MPI.Win.Create_dynamic(comm=comm)]
        windows += [MPI.Win.Allocate(64, 8, comm=comm), MPI.Win.Allocate_shared(64, 8, comm=comm)]
        for window in windows:
            window.Lock_all()
            if window is not windows[1]:
                window.Put(one, 1 - rank)
                request = window.Rput(one, 1 - rank)
            window.Flush_all()
            window.Unlock_all()
        """)
    found = [row.tag for row in calls(trace, 0) if row.op == Op.RMA and row.tag in {DATA, DIRECT}]
    assert found == [*[DATA] * 3, *[DIRECT] * 3, *[DIRECT] * 3]


def test_windows_made_again_are_others(recorded: Recorded) -> None:
    """Two windows at once, one freed and made again: three communicators, with rows of their own."""
    trace = recorded("""
        first, second = MPI.Win.Create(room, 8, comm=comm), MPI.Win.Allocate(8, 8, comm=comm)
        for window in (first, second):
            window.Fence()
        first.Free()
        first = MPI.Win.Create_dynamic(comm=comm)
        first.Attach(room)
        first.Fence()
        for window in (first, second):
            window.Free()
        comm.Dup().Barrier()
        """)
    fences = [row.comm for row in named(trace, 0, "Win.Fence")]
    assert len(set(fences)) == 3
    assert fences == [row.comm for row in named(trace, 1, "Win.Fence")]
    assert not trace.left_out()


def test_operations_with_a_request_are_asked_for_once() -> None:
    """A flush asks for what the program has not seen complete; a local one only for data brought back."""
    under_way = UnderWay()
    under_way.begin(1, 10, brings=False)
    under_way.begin(1, 11, brings=True)
    under_way.begin_loose(1, 12, brings=False)
    assert under_way.to_ask([1], local=True) == []
    assert under_way.take([1], local=True) == [11]
    assert (under_way.to_ask([1], local=False), under_way.to_ask([1], local=False)) == ([1], [])
    assert under_way.take([1], local=False) == [10]
    under_way.begin_loose(2, 13, brings=True)
    assert under_way.to_ask([2], local=True) == [2]
    under_way.seen(2, 13)
    assert under_way.to_ask([2], local=True) == under_way.to_ask([2], local=False) == []
