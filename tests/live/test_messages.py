"""Messages between rank processes arrive, whatever the kernel's times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clue.execution.processes import Processes
from clue.trace import Op
from clue.trace.calls import LiveOp
from tests.live import fake_kernel
from tests.live.programs import Live

pytest.importorskip("mpi4py.MPI", reason="mpi4py and an MPI library must be there", exc_type=ImportError)

Run = Callable[..., fake_kernel.FakeKernel]


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    """Yield what ranks are forked from: it takes longer to start than most of the programs."""
    with fake_kernel.started() as processes:
        yield processes


@pytest.fixture
def run(tmp_path: Path, processes: Processes) -> Run:
    """Return a function that runs a program that must succeed on all ranks, and returns its kernel."""

    def ran(text: str, ranks: int, on: Processes = processes) -> fake_kernel.FakeKernel:
        program = tmp_path / "program.py"
        program.write_text(text)
        kernel = fake_kernel.run((str(program),), ranks, on)
        assert {rank: call.op for rank, call in kernel.ended.items()} == dict.fromkeys(range(ranks), LiveOp.END)
        assert all(call.nbytes == 0 for call in kernel.ended.values())
        return kernel

    return ran


@pytest.mark.parametrize("length", [0, 10, 16385, 1_000_000])
def test_a_message_arrives_as_it_was_sent(run: Run, length: int) -> None:
    """Bytes, count, source and tag are the sender's, whether the message is sent inline or through shared memory."""
    text = f"""
from mpi4py import MPI
comm, status = MPI.COMM_WORLD, MPI.Status()
assert comm.rank == comm.Get_rank() and comm.size == comm.Get_size() == 3
data = bytes(i % 251 for i in range({length}))
if comm.rank == 0:
    for other in (1, 2):
        comm.Send(data, other, tag=6 + other)
else:
    found = bytearray({length} + 5)
    comm.Recv(found, MPI.ANY_SOURCE, MPI.ANY_TAG, status)
    assert bytes(found[:{length}]) == data
    assert (status.source, status.tag, status.Get_count(MPI.BYTE)) == (0, 6 + comm.rank, {length})
"""
    run(text, 3)


def test_a_receive_that_is_too_small_is_told_by_the_real_library(run: Run) -> None:
    """A receive buffer that is too small raises MPI's own truncation error."""
    text = """
from mpi4py import MPI
comm = MPI.COMM_WORLD
if comm.rank == 0:
    comm.Send(bytes(10), 1)
else:
    try:
        comm.Recv(bytearray(9), 0)
    except MPI.Exception as error:
        assert error.Get_error_class() == MPI.ERR_TRUNCATE
    else:
        raise AssertionError
"""
    run(text, 2)


RING = """
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
right, left = (rank + 1) % size, (rank - 1) % size
mine, found, status = np.full(5, rank, "i"), np.full(5, -1, "i"), MPI.Status()
thing = {"a": [rank] * 10}
"""

CASES = {
    "every mode of a send delivers": """
MPI.Attach_buffer(bytearray(10000))
for name in ("Send", "Ssend", "Rsend", "Bsend"):
    found[:] = -1
    request = comm.Irecv(found, left, 3)
    getattr(comm, name)(mine, right, 3)
    request.Wait(status)
    assert found[4] == left and (status.source, status.tag, status.Get_count(MPI.INT)) == (left, 3, 5)
    assert request == MPI.REQUEST_NULL
for name in ("Isend", "Issend", "Irsend", "Ibsend"):
    found[:], statuses = -1, []
    requests = [comm.Irecv(found, left, 3), getattr(comm, name)(mine, right, 3)]
    assert MPI.Request.Waitall(requests, statuses) and found[4] == left and statuses[0].source == left
MPI.Detach_buffer()
""",
    "objects travel as pickles": """
request = comm.irecv(source=left)
comm.send(thing, right, 9)
assert request.wait(status) == {"a": [left] * 10} and status.tag == 9
for send in (comm.isend, comm.issend):
    request = send(thing, right)
    assert comm.recv(source=MPI.ANY_SOURCE, status=status)["a"][0] == left == status.source
    request.wait()
assert comm.sendrecv(thing, right, 1, None, left, 1, status)["a"][0] == left
requests = [comm.irecv(source=left, tag=i) for i in range(3)] + [comm.isend(i, right, i) for i in range(3)]
assert MPI.Request.waitall(requests)[:3] == [0, 1, 2]
requests = [comm.irecv(source=left, tag=i) for i in range(3)]
for i in (2, 1, 0):
    comm.send(i, right, i)
assert sorted(MPI.Request.waitany(requests) for _ in range(3)) == [(0, 0), (1, 1), (2, 2)]
""",
    "a send and a receive at once": """
comm.Sendrecv(mine, right, 5, found, left, 5, status)
assert found[0] == left and (status.source, status.tag) == (left, 5)
both = mine.copy()
comm.Sendrecv_replace(both, right, 5, left, 5)
assert both[0] == left
found[:] = -1
comm.Isendrecv(mine, right, 5, found, left, 5).Wait(status)
assert found[0] == left == status.source
both = mine.copy()
assert MPI.Request.Waitany([comm.Isendrecv_replace(both, right, 5, left, 5)], status) == 0 and both[0] == left
""",
    "null partners send and receive nothing": """
comm.Send(mine, MPI.PROC_NULL)
comm.Recv(found, MPI.PROC_NULL, status=status)
assert status.source == MPI.PROC_NULL and found[0] == -1
comm.Isend(mine, MPI.PROC_NULL).Wait()
comm.Irecv(found, MPI.PROC_NULL).Wait()
comm.Sendrecv(mine, right, 0, found, MPI.PROC_NULL)
assert found[0] == -1
comm.Sendrecv(mine, MPI.PROC_NULL, 0, found, left)
assert found[0] == left
MPI.Message.Probe(comm, MPI.PROC_NULL).Recv(found)
""",
    "wrong arguments are refused by the real library": """
for call, kind in (
    (lambda: comm.Send(mine, size), MPI.ERR_RANK), (lambda: comm.Recv(found, size), MPI.ERR_RANK),
    (lambda: comm.Send(mine, 0, -5), MPI.ERR_TAG), (lambda: comm.Isend(mine, size + 3), MPI.ERR_RANK),
    (lambda: comm.Irecv(found, -7), MPI.ERR_RANK), (lambda: comm.Sendrecv(mine, size, 0, found), MPI.ERR_RANK),
):
    try:
        call()
    except MPI.Exception as error:
        assert error.Get_error_class() == kind
    else:
        raise AssertionError
request = comm.Irecv(np.zeros(1, "i"), left)
comm.Send(mine, right)
try:
    request.Wait()
except MPI.Exception as error:
    assert error.Get_error_class() == MPI.ERR_TRUNCATE
else:
    raise AssertionError
""",
    "persistent requests send what is there at each start": """
pair = [comm.Send_init(mine, right, 4), comm.Recv_init(found, left, 4)]
for k in range(3):
    mine[:], statuses = 10 * rank + k, []
    MPI.Prequest.Startall(pair)
    MPI.Request.Waitall(pair, statuses)
    assert found[0] == 10 * left + k and statuses[1].source == left
    for each in reversed(pair):
        each.Start()
    pair[1].Wait()
    pair[0].Wait()
for each in pair:
    each.Free()
""",
    "persistent requests with null partners rest once they are complete": """
pair = [comm.Recv_init(mine, MPI.PROC_NULL), comm.Recv_init(found, left, 4)]
nothing = comm.Send_init(mine, MPI.PROC_NULL)
for k in range(2):
    mine[:] = 10 * rank + k
    MPI.Prequest.Startall([*pair, nothing])
    nothing.Wait()
    assert MPI.Request.Waitany(pair) == 0
    comm.Send(mine, right, 4)
    assert MPI.Request.Waitany(pair, status) == 1 and status.source == left and found[0] == 10 * left + k
    assert MPI.Request.Waitany(pair) == MPI.UNDEFINED
for each in (*pair, nothing):
    each.Free()
""",
    "partitioned requests with null partners rest once they are complete": """
into, out = comm.Precv_init(mine, 5, MPI.PROC_NULL, 4), comm.Psend_init([mine, 1, MPI.INT], 5, MPI.PROC_NULL, 4)
for k in range(2):
    MPI.Prequest.Startall([into, out])
    assert into.Parrived(4) and not out.Test()
    each = [into, out, comm.Irecv(found, left, 4)]
    assert MPI.Request.Waitany(each) == 0
    out.Pready_range(0, 4)
    assert MPI.Request.Waitany(each) == 1
    mine[:] = 10 * rank + k
    comm.Send(mine, right, 4)
    assert MPI.Request.Waitany(each, status) == 2 and status.source == left and found[0] == 10 * left + k
into.Free()
out.Free()
comm.Psend_init(None, 5, MPI.PROC_NULL).Free()
""",
    "persistent collectives of one rank rest once they are complete": """
room = np.zeros(5, "i")
alone = MPI.COMM_SELF.Allreduce_init(mine, room)
for k in range(2):
    mine[:] = 10 * rank + k
    alone.Start()
    pair = [alone, comm.Irecv(found, left, 4)]
    assert MPI.Request.Waitany(pair) == 0 and room[4] == mine[4]
    comm.Send(mine, right, 4)
    assert MPI.Request.Waitany(pair, status) == 1 and status.source == left and found[0] == 10 * left + k
alone.Free()
""",
    "a wait for all that fails tells the source of each message": """
pair = [comm.Recv_init(found, left, 4), comm.Irecv(np.zeros(1, "i"), left, 5)]
pair[0].Start()
comm.Send(mine, right, 4)
comm.Send(mine, right, 5)
statuses = [MPI.Status(), MPI.Status()]
try:
    MPI.Request.Waitall(pair, statuses)
except MPI.Exception:
    assert [(each.source, each.tag) for each in statuses] == [(left, 4), (left, 5)]
else:
    raise AssertionError
pair[1] = comm.Irecv(np.zeros(5, "i"), left, 6)
comm.Send(mine, right, 6)
assert MPI.Request.Waitany(pair) == 1
pair[0].Free()
""",
    "a wait for any or some that fails lets a persistent request rest": """
first = comm.Recv_init(np.zeros(1, "i"), left, 4)
for wait in (MPI.Request.Waitany, MPI.Request.Waitsome):
    pair = [first, comm.Irecv(found, left, 5)]
    first.Start()
    comm.Send(mine, right, 4)
    try:
        wait(pair)
    except MPI.Exception:
        pass
    else:
        raise AssertionError
    comm.Send(mine, right, 5)
    assert MPI.Request.Waitany(pair, status) == 1 and status.source == left and found[0] == left
first.Free()
""",
    "probes see messages and matched probes keep them": """
comm.Send(mine, right, 8)
assert comm.Probe(left, 8, status) and (status.source, status.Get_count(MPI.INT)) == (left, 5)
assert comm.Iprobe(MPI.ANY_SOURCE, 8) and not comm.Iprobe(MPI.ANY_SOURCE, 888)
message = comm.Mprobe(MPI.ANY_SOURCE, 8, status)
assert not comm.Iprobe(left, 8)
message.Recv(found, status)
assert found[0] == left and status.tag == 8 and message == MPI.MESSAGE_NULL
comm.send(thing, right)
assert comm.mprobe().recv()["a"][0] == left
comm.send(thing, right)
assert MPI.Message.probe(comm, left).irecv().wait()["a"][0] == left
comm.Send(mine, right)
while (message := comm.Improbe(left)) is None:
    pass
found[:] = -1
message.Irecv(found).Wait(status)
assert found[0] == left == status.source and comm.improbe() is None
""",
    "tests and waits tell what is complete": """
request = comm.Irecv(found, left, 77)
assert not request.Test() and not request.Get_status()
comm.Send(mine, right, 77)
while not request.Get_status(status):
    pass
assert status.source == left and request.Test(status) and (status.source, status.tag) == (left, 77)
assert request == MPI.REQUEST_NULL
blocks = [np.zeros(1, "i") for _ in range(4)]
requests = [comm.Irecv(block, left, 100 + i) for i, block in enumerate(blocks)]
assert MPI.Request.Testany(requests) == (MPI.UNDEFINED, False)
assert not MPI.Request.Testall(requests) and MPI.Request.Testsome(requests) == []
comm.Send(mine[:1], right, 102)
assert MPI.Request.Waitany(requests, status) == 2 and status.tag == 102
comm.Send(mine[:1], right, 103)
comm.Send(mine[:1], right, 100)
done = []
while len(done) < 2:
    statuses = []
    new = MPI.Request.Waitsome(requests, statuses)
    assert [each.tag for each in statuses] == [100 + i for i in new]
    done += new
comm.Send(mine[:1], right, 101)
MPI.Request.Waitall(requests)
assert MPI.Request.Waitsome(requests) is None and all(block[0] == left for block in blocks)
""",
    "parts of a message arrive when all are ready": """
out, into = comm.Psend_init([mine, 1, MPI.INT], 5, right, 4), comm.Precv_init([found, 1, MPI.INT], 5, left, 4)
for k in range(2):
    mine[:], found[:] = 10 * rank + k, -1
    MPI.Prequest.Startall([out, into])
    assert not into.Parrived(0) and not out.Test()
    out.Pready_list([4])
    out.Pready_range(0, 2)
    out.Pready(3)
    while not into.Parrived(3):
        pass
    MPI.Request.Waitall([out, into])
    assert found[0] == 10 * left + k
out.Free()
into.Free()
""",
    "a receive without a message can be cancelled": """
request = comm.Irecv(found, left, 55)
request.Cancel()
request.Wait(status)
assert status.Is_cancelled()
""",
    "derived datatypes are packed by the real library": """
every_other = MPI.INT.Create_vector(3, 1, 2).Commit()
block = np.zeros(3, "i")
comm.Sendrecv([np.arange(6, dtype="i") + rank, 1, every_other], right, 0, block, left, 0)
assert list(block) == [left, left + 2, left + 4]
""",
    "each rank has random numbers of its own": """
import random
mine = np.random.rand(), random.random()
theirs = comm.sendrecv(mine, right, source=left)
assert mine[0] != theirs[0] and mine[1] != theirs[1]
""",
    "what the program leaves in the library is done at the end": """
comm.Irecv(found, left).Free()
comm.Send(mine, right)
MPI.Finalize()
assert MPI.Is_finalized() and found[0] == left
""",
}


@pytest.mark.parametrize("case", CASES)
def test_in_a_ring(run: Run, case: str) -> None:
    """Every rank sends to the right and receives from the left, by each kind of call."""
    run(RING + CASES[case], 2)


@pytest.mark.parametrize(
    ("look", "wait"),
    [
        ("request.Test()", "request.Wait(status)"),
        ("request.Get_status()", "MPI.Request.Waitall([request], statuses)"),
        ("MPI.Request.Testany([request])[1]", "MPI.Request.Waitany([request], status)"),
        ("MPI.Request.Testsome([request])", "MPI.Request.Waitall([request], statuses)"),
    ],
)
def test_half_of_a_send_and_a_receive_at_once_may_be_complete(live: Live, look: str, wait: str) -> None:
    """Rank 0 looks when its message has left and that of rank 1 is 1 s away, and then gets it whole."""
    ended = live(
        f"""
        from array import array
        from mpi4py import MPI
        from virtual_layer import region
        comm, status = MPI.COMM_WORLD, MPI.Status()
        statuses, other = [status], 1 - comm.rank
        with region("late", flops=1e9 * comm.rank):
            pass
        mine, found = array("i", [comm.rank] * 5), array("i", [-1] * 5)
        request = comm.Isendrecv(mine, other, 5, found, other, 5)
        assert comm.rank or not {look}
        {wait}
        assert list(found) == [other] * 5
        assert (statuses[0].source, statuses[0].tag) == (other, 5)
        """,
        "--bursts", "1 Gflop/s",
    )  # fmt: skip
    assert ended.status == 0, ended.err


def test_a_communicator_may_be_freed_before_its_receives_are_complete(live: Live) -> None:
    """A receive on a freed communicator still gets its message."""
    ended = live(
        """
        from array import array
        from mpi4py import MPI
        comm = MPI.COMM_WORLD.Dup()
        rank, found = comm.rank, array("i", [-1])
        request = comm.Irecv(found, 1 - rank)
        comm.Send(array("i", [rank]), 1 - rank)
        comm.Free()
        assert comm == MPI.COMM_NULL
        request.Wait()
        assert found[0] == 1 - rank
        """
    )
    assert ended.status == 0, ended.err


@pytest.mark.parametrize(
    "said", ["mpi4py.rc.initialize = False", "os.environ['MPI4PY_RC_INITIALIZE'] = 'No'; mpi4py.rc.initialize = True"]
)
def test_mpi_begins_when_the_program_says_so(run: Run, said: str) -> None:
    """The program finds MPI uninitialised if it says so before, though the library was initialised before."""
    text = f"""
import os, mpi4py
{said}
from mpi4py import MPI
assert not MPI.Is_initialized()
MPI.Init_thread()
assert MPI.Is_initialized() and MPI.COMM_WORLD.size == 2
"""
    run(text, 2)


def test_settings_of_other_values_are_ignored(run: Run) -> None:
    """mpi4py ignores an environment variable with a value that it does not know."""
    text = "import os; os.environ['MPI4PY_RC_INITIALIZE'] = '2'\nfrom mpi4py import MPI\nassert MPI.Is_initialized()"
    run(text, 2)


def test_a_program_may_delete_the_settings(run: Run) -> None:
    """Without ``mpi4py.rc``, the defaults hold: MPI is initialised by the import, and objects are reduced fast."""
    deleted = "import mpi4py, sys\ndel mpi4py.rc, sys.modules['mpi4py.rc']\n"
    run(f"{deleted}from mpi4py import MPI\nassert MPI.Is_initialized()\nMPI.COMM_WORLD.allreduce(1)", 2)


@pytest.mark.parametrize("begin", ["from mpi4py import MPI", "MPI.Init()", "MPI.Init_thread()"])
def test_time_before_mpi_does_not_count(run: Run, begin: str) -> None:
    """As in a recording, a rank's first burst begins when MPI is initialised, and not with Python and its imports."""
    late = "import mpi4py; mpi4py.rc.initialize = False; from mpi4py import MPI" if begin.startswith("MPI") else ""
    text = f"""
import time
{late}
def spend(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
spend(0.3)
{begin}
spend(0.01)
MPI.COMM_WORLD.Barrier()
"""
    kernel = run(text, 2)
    bursts = [sum(call.cpu for rank, call in kernel.log if rank == each) for each in (0, 1)]
    assert all(0.01e9 <= burst < 0.2e9 for burst in bursts)


def test_ops_and_regions_travel_in_order(run: Run, tmp_path: Path) -> None:
    """Sends that need no answer are delivered with the next call that does, in order.

    Each has its own region; a source line is known for the last call.
    """
    text = """
from mpi4py import MPI
import virtual_layer
comm = MPI.COMM_WORLD
if comm.rank == 0:
    with virtual_layer.region("loop"):
        for i in range(3):
            comm.Send(bytes(8), 1, i)
    MPI.Wtime()
else:
    for i in range(3):
        comm.Recv(bytearray(8), 0, i)
"""
    kernel = run(text, 2)
    sends = [call for rank, call in kernel.log if rank == 0 and call.op == Op.SEND]
    assert [(call.tag, call.nbytes, kernel.regions[call.region]) for call in sends] == [
        (i, 8, "loop") for i in range(3)
    ]
    clock = next(call for rank, call in kernel.log if rank == 0 and call.op == LiveOp.WTIME)
    place = next(c.payload for r, c in kernel.log if (r, c.op, c.request) == (0, LiveOp.LINE, clock.line))
    assert place == (str(tmp_path / "program.py"), 9)


def test_declared_work_is_all_that_bursts_hold_at_a_stated_rate(run: Run) -> None:
    """At 1 Gflop/s, 5000 declared flops take 5000 ns in their region, and all other computation takes no time."""
    text = """
from mpi4py import MPI
import virtual_layer
sum(range(100_000))
with virtual_layer.region("product", flops=5000):
    sum(range(100_000))
MPI.Wtime()
"""
    with fake_kernel.started(rate=1e9) as processes:
        kernel = run(text, 1, processes)
    assert [(call.cpu, kernel.regions[call.region]) for _, call in kernel.log if call.cpu] == [(5000, "product")]


@pytest.mark.parametrize(("rate", "work"), [(None, [3000, 3000]), (1e9, [3000, 3000, 5000])])
def test_work_within_a_call_counts_only_if_it_takes_time(run: Run, rate: float | None, work: list[int]) -> None:
    """Each of two ranks declares 3000 flops, and rank 0 another 5000 in the function of a reduction.

    The time within a call is no burst, so its flops do not count, unless declared work is all that takes time.
    """
    text = """
from mpi4py import MPI
import virtual_layer
def product(one, other):
    with virtual_layer.region("product", flops=5000):
        return one * other
with virtual_layer.region("product", flops=3000):
    pass
assert MPI.COMM_WORLD.reduce(2, product) == (None if MPI.COMM_WORLD.rank else 4)
"""
    with fake_kernel.started(rate=rate) as processes:
        kernel = run(text, 2, processes)
    assert sorted(call.nbytes for _, call in kernel.log if call.op == LiveOp.WORK) == work


def test_measured_bursts_are_the_threads_own_time(run: Run) -> None:
    """A measured burst is the CPU time of the thread, so a sleep adds nothing."""
    text = """
import sys, time
from mpi4py import MPI
MPI.Wtime()
begin = time.thread_time_ns()
while time.thread_time_ns() < begin + 20_000_000:
    pass
time.sleep(0.05)
MPI.Wtime()
"""
    kernel = run(text, 1)
    bursts = [call.cpu for _, call in kernel.log if call.op == LiveOp.WTIME]
    assert 20_000_000 <= bursts[1] < 45_000_000


def test_clocks_are_virtual_on_demand(run: Run) -> None:
    """With virtual_clock, Python's clocks show the kernel's time, and a sleep takes virtual time only."""
    text = """
import time
from mpi4py import MPI
begin = time.perf_counter()
time.sleep(1000)
passed = time.perf_counter() - begin
assert passed == round(passed) > 0
assert time.monotonic_ns() % 1_000_000_000 == 0
assert time.time() > 1e9
try:
    time.sleep(-1)
except ValueError:
    pass
else:
    raise AssertionError
"""
    with fake_kernel.started(virtual_clock=True) as processes:
        kernel = run(text, 1, processes)
    assert [call.nbytes for _, call in kernel.log if call.op == LiveOp.SLEEP] == [10**12]


def test_calls_that_fail_do_what_they_do_in_the_library(run: Run) -> None:
    """An invalid source is refused by its rank; behind a message that is too long, Waitall keeps its requests."""
    text = """
from mpi4py import MPI
comm, statuses = MPI.COMM_WORLD, [MPI.Status() for _ in range(3)]
rank, other = comm.rank, 1 - comm.rank

def error(call, *args):
    try:
        call(*args)
    except MPI.Exception as error:
        return error.Get_error_class()

def told():
    return [(each.source, each.tag) for each in statuses]

for call in (comm.Sendrecv, comm.Isendrecv):
    assert error(call, bytes(8), other, 0, bytearray(8), 99) == MPI.ERR_RANK
    assert error(call, bytes(8), 99, 0, bytearray(8), other) == MPI.ERR_RANK
for call in (comm.Sendrecv_replace, comm.Isendrecv_replace):
    assert error(call, bytearray(8), other, 0, 99) == MPI.ERR_RANK
heard = []
comm.Set_errhandler(MPI.Comm.Create_errhandler(lambda _, code: heard.append(MPI.Get_error_class(code))))
comm.Sendrecv(bytes(8), other, 0, bytearray(8), 99)
assert heard == [MPI.ERR_RANK]
comm.Set_errhandler(MPI.ERRORS_RETURN)
if rank == 0:
    for begin in range(0, 20, 10):
        for tag, size in enumerate((16, 8, 8)):
            comm.Send(bytes(size), 1, begin + tag)
else:
    for begun in (
        [comm.Irecv(bytearray(8), 0, tag) for tag in range(3)],
        [comm.Recv_init(bytearray(8), 0, 10 + tag) for tag in range(3)],
    ):
        if isinstance(begun[0], MPI.Prequest):
            MPI.Prequest.Startall(begun)
        assert error(MPI.Request.Waitall, begun, statuses) == MPI.ERR_IN_STATUS
        assert [MPI.Get_error_class(each.error) for each in statuses[1:]] == [MPI.ERR_PENDING] * 2
        kept = told()
        assert kept[0][0] == 0 and kept[1:] == [(MPI.ANY_SOURCE, MPI.ANY_TAG)] * 2, kept
        MPI.Request.Waitall(begun, statuses)
        assert told() == [kept[1], (0, kept[0][1] + 1), (0, kept[0][1] + 2)]
"""
    run(text, 2)
