"""Bursts of computation: CPU time, regions, threads and memory, and the head's description of the recording."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys

import pytest

import virtual_layer
from clue.trace import Flag, Op, Trace
from tests.classes import SLOW
from tests.virtual_layer.conftest import PREAMBLE, Recorded
from tests.virtual_layer.rows import calls, named, rows


@pytest.fixture(scope="module")
def working(recorded: Recorded) -> Trace:
    """Return the trace of a program that computes, sleeps, declares regions and fills memory."""
    return recorded("""
        import numpy as np
        import time, virtual_layer
        def compute(seconds):
            end = time.thread_time() + seconds
            while time.thread_time() < end:
                pass
        comm.Barrier()
        compute(0.2)
        comm.Barrier()
        time.sleep(0.3)
        comm.Barrier()
        with virtual_layer.region("outer", flops=1e9):
            compute(0.05)
            comm.Barrier()
            with virtual_layer.region("inner"):
                compute(0.1)
            compute(0.05)
        with virtual_layer.region("outer", flops=2e9):
            pass
        compute(0.05)
        MPI.Prequest.Startall([])
        comm.send(list(range(300000)), 1) if rank == 0 else comm.recv()
        if rank == 1:
            big = np.ones(16_000_000)
        comm.Barrier()
        compute(0.1)
        """)


def test_burst_is_cpu_time(working: Trace) -> None:
    """A burst contains CPU time, not sleep."""
    barriers = named(working, 0, "Barrier")
    assert barriers[1].cpu == pytest.approx(0.2, abs=0.02)
    assert barriers[2].cpu < 0.02


def test_starting_no_requests_keeps_the_burst(working: Trace) -> None:
    """Startall of an empty list costs nothing, but the burst before it counts."""
    (row,) = named(working, 0, "Startall")
    assert row.op is Op.LOCAL
    assert row.cpu == pytest.approx(0.05, abs=0.02)


def test_regions_divide_bursts(working: Trace) -> None:
    """A burst belongs to the innermost region; entering or leaving a region ends a burst."""
    inside = [row for row in rows(working, 0) if row.region and row.cpu > 0.01]
    assert [(row.op, row.region) for row in inside[:3]] == [
        (Op.BARRIER, "outer"),
        (Op.COMPUTE, "inner"),
        (Op.COMPUTE, "outer"),
    ]
    assert [row.cpu for row in inside[:3]] == pytest.approx([0.05, 0.1, 0.05], abs=0.02)


def test_declared_operations_add_up(working: Trace) -> None:
    """Declared operations are summed by region and rank."""
    outer = working.head.regions.index("outer")
    assert [dict(head.flops) for head in working.head.rank_heads] == [{outer: 3e9}] * 2


def test_last_burst_and_pickling_count(working: Trace) -> None:
    """Computation after the last call is kept, and pickling counts as computation of the sender and the receiver."""
    assert rows(working, 0)[-1].op is Op.COMPUTE
    assert rows(working, 0)[-1].cpu == pytest.approx(0.1, abs=0.02)
    assert named(working, 0, "send")[0].cpu > 0.001
    after = calls(working, 1).index(named(working, 1, "recv")[0]) + 1
    assert calls(working, 1)[after].cpu > 0.001


def test_what_arrives_is_unpickled_after_the_call(recorded: Recorded) -> None:
    """To pickle an object takes 50 ms, to unpickle it 100 ms, to reduce two 200 ms; work on what arrives comes after.

    A reduction begins with a copy: each rank pickles and unpickles its own object. Then rank 1 sends its copy to
    rank 0.
    """
    trace = recorded(
        """
        def first(left, right):
            compute(0.2)
            return left
        slow = Slow()
        comm.gather(slow)
        comm.Barrier()
        comm.sendrecv(slow, other, source=other)
        comm.Barrier()
        comm.bcast(slow)
        comm.Barrier()
        comm.reduce(slow, first)
        comm.Barrier()
        """,
        preamble=PREAMBLE + SLOW,
    )
    for rank, before, after in (
        (0, [0.05, 0.05, 0.05, 0.15], [0.2, 0.1, 0.1, 0.3]),
        (1, [0.05, 0.05, 0.0, 0.2], [0.0, 0.1, 0.1, 0.0]),
    ):
        made = [named(trace, rank, name)[0].cpu for name in ("gather", "sendrecv", "bcast", "reduce")]
        assert made == pytest.approx(before, abs=0.02)
        assert [row.cpu for row in named(trace, rank, "Barrier")] == pytest.approx(after, abs=0.02)


def test_head_describes_the_recording(working: Trace) -> None:
    """The head states MPI, Python, clock, settings and overhead; each rank has its own peak memory."""
    head = working.head
    assert "MPI" in head.mpi or "MPICH" in head.mpi
    assert head.python.startswith("3.")
    assert "CPU" in head.clock
    assert head.settings.get("OMP_NUM_THREADS", os.environ.get("OMP_NUM_THREADS")) is not None
    assert 0 < head.overhead < 1e-3
    assert head.recorded.startswith("20")
    first, second = head.rank_heads
    assert second.peak_memory - first.peak_memory == pytest.approx(128e6, rel=0.2)
    assert first.wall > 0.8 * first.cpu


def test_other_threads_are_told(recorded: Recorded) -> None:
    """The work of threads that do not call MPI is in no burst, and the trace notes this."""
    trace = recorded(
        """
        import threading, time
        def work():
            while time.thread_time() < 0.5:
                pass
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        comm.Barrier()
        """,
        1,
    )
    assert any("threads" in note for note in trace.head.notes)


def test_region_without_recording_does_nothing() -> None:
    """A program with regions also runs without recording, and importing the layer imports neither numpy nor mpi4py."""
    with virtual_layer.region("phase", flops=1.0), virtual_layer.region("inner"):
        pass
    text = "import sys, virtual_layer; print('numpy' in sys.modules, 'mpi4py' in sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", text],
        capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert answer.stdout.split() == ["False", "False"]


def test_calls_from_several_threads(recorded: Recorded) -> None:
    """The calls of all threads are recorded, in the order in which they end."""
    trace = recorded("""
        import numpy as np
        import threading
        def talk(tag):
            for _ in range(50):
                comm.Sendrecv(np.ones(8), other, tag, np.zeros(8), other, tag)
        threads = [threading.Thread(target=talk, args=(tag,)) for tag in (1, 2)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        """)
    for rank in (0, 1):
        sent = [row.tag for row in calls(trace, rank) if row.op is Op.ISEND]
        assert (sent.count(1), sent.count(2)) == (50, 50)
    assert any("threads called MPI" in note for note in trace.head.notes)


def test_threads_compute_before_their_first_call(recorded: Recorded) -> None:
    """A thread's computation before its first call is a burst, even if it has the ID of a thread that has ended."""
    trace = recorded(
        """
        import threading, time
        def work(seconds):
            while time.thread_time() < seconds:
                pass
            comm.Barrier()
        for seconds in (0.1, 0.15, 0.05):
            thread = threading.Thread(target=work, args=(seconds,))
            thread.start()
            thread.join()
        """,
        1,
    )
    assert [row.cpu for row in named(trace, 0, "Barrier")] == pytest.approx([0.1, 0.15, 0.05], abs=0.02)
    assert [note for note in trace.head.notes if "thread" in note] == [
        "rank 0: 4 threads called MPI: their calls are replayed one after the other, as they ended: a replay or a "
        "skeleton may wait for ever"
    ]


def test_forked_processes_are_not_recorded(recorded: Recorded) -> None:
    """Regions in a process that the program forked write no rows, although it shares the rows of its parent."""
    trace = recorded("""
        import multiprocessing, virtual_layer
        def work(_):
            with virtual_layer.region("chunk"):
                return sum(range(100_000))
        with multiprocessing.get_context("fork").Pool(1) as pool:
            for _ in range(5):
                pool.map(work, [0])
                comm.Barrier()
                comm.Allreduce(eight, room)
        """)
    for each in (0, 1):
        assert [row.call for row in calls(trace, each)] == ["Barrier", "Allreduce"] * 5
    assert trace.head.regions == ("",)


def test_processes_that_compute_are_told(recorded: Recorded) -> None:
    """The work of a process that the program started is in no burst, and the trace notes how much it is."""
    trace = recorded(
        """
        import multiprocessing, time
        def work():
            while time.process_time() < 0.5:
                pass
        started = multiprocessing.get_context("fork").Process(target=work)
        started.start()
        started.join()
        comm.Barrier()
        """,
        1,
    )
    (note,) = (note for note in trace.head.notes if "processes that the program started" in note)
    words = re.fullmatch("rank 0: processes that the program started used (.*) s of CPU time, which no burst.*", note)
    assert words is not None
    assert 0.45 < float(words[1]) < 0.7
    assert sum(row.cpu for row in rows(trace, 0)) < 0.2


def test_too_many_regions_are_told(recorded: Recorded) -> None:
    """Regions beyond the number that a trace can tell apart are outside any, and the trace notes how many there are."""
    trace = recorded(
        """
        import virtual_layer, virtual_layer.recorder
        virtual_layer.recorder.MOST_REGIONS = 3
        for name in "abcadb":
            with virtual_layer.region(name):
                comm.Barrier()
        """,
        1,
    )
    assert [row.region for row in named(trace, 0, "Barrier")] == ["a", "b", "", "a", "", "b"]
    assert "rank 0: 2 times a region began whose name is not kept: at most 65,535 are told apart" in trace.head.notes


@pytest.mark.parametrize("flops", [math.nan, math.inf, -1.0])
def test_operations_must_be_a_number_that_can_be_summed(flops: float) -> None:
    """Operations that no trace can contain are an error at once, which names the region."""
    with (
        pytest.raises(ValueError, match=f"region 'solve': flops must be finite and not negative, got {flops:g}"),
        virtual_layer.region("solve", flops=flops),
    ):
        pass


@pytest.mark.parametrize(("name", "kind"), [(3, "int"), (None, "NoneType")])
def test_names_of_regions_must_be_text(name: object, kind: str) -> None:
    """A name that no trace can contain is an error at once, with or without a recorder."""
    told = f"region {name}: name must be text, got {kind}"
    with pytest.raises(TypeError, match=told), virtual_layer.region(name):  # type: ignore[arg-type]
        pass


def test_floats_may_stand_for_ranks_and_tags(recorded: Recorded) -> None:
    """A rank or a tag that is a whole number may be a float, as mpi4py takes it."""
    trace = recorded("""
        comm.Send(eight, dest=size / 2, tag=3.0) if rank == 0 else comm.Recv(room, source=0.0)
        comm.Bcast(eight, root=size / 2)
        """)
    (sent,), (received,) = named(trace, 0, "Send"), named(trace, 1, "Recv")
    assert (sent.op, sent.peer, sent.tag) == (Op.SEND, 1, 3)
    assert (received.op, received.peer) == (Op.RECV, 0)
    assert [(row.op, row.peer) for row in named(trace, 0, "Bcast")] == [(Op.BCAST, 1)]


def test_callbacks_belong_to_the_call(recorded: Recorded) -> None:
    """MPI calls that a user-defined operation makes within a collective are part of the collective."""
    trace = recorded("""
        import numpy as np
        def add(left, right, datatype):
            MPI.COMM_SELF.Iprobe()
            np.frombuffer(right, "d")[:] += np.frombuffer(left, "d")
        comm.Allreduce(eight, room, MPI.Op.Create(add, commute=True))
        assert room[0] == 2
        comm.Barrier()
        """)
    assert [row.call for row in calls(trace, 0)] == ["Allreduce", "Barrier"]


def test_regions_within_a_call_belong_to_the_call(recorded: Recorded) -> None:
    """A region that the function of a reduction enters divides no burst: its 0.2 s count once, after the call."""
    trace = recorded("""
        import time, virtual_layer
        def compute(seconds):
            end = time.thread_time() + seconds
            while time.thread_time() < end:
                pass
        def add(left, right):
            with virtual_layer.region("add"):
                compute(0.2)
            return left + right
        comm.Barrier()
        compute(0.1)
        assert comm.reduce(1, add) == (None if rank else 2)
        comm.Barrier()
        """)
    assert not any(row.region for row in rows(trace, 0))
    assert sum(row.cpu for row in named(trace, 0, "reduce")) == pytest.approx(0.1, abs=0.02)
    assert sum(row.cpu for row in named(trace, 0, "Barrier")) == pytest.approx(0.2, abs=0.02)


def test_operations_within_a_call_do_not_count(recorded: Recorded) -> None:
    """Rank 0 reduces, in a region of three operations whose time is not in the region; the five outside count."""
    trace = recorded("""
        import virtual_layer
        def add(left, right):
            with virtual_layer.region("sum", flops=3):
                return left + right
        with virtual_layer.region("sum", flops=5):
            pass
        assert comm.reduce(1, add) == (None if rank else 2)
        """)
    assert [head.flops for head in trace.head.rank_heads] == [{1: 5.0}, {1: 5.0}]


def test_late_initialisation(recorded: Recorded) -> None:
    """A program that initialises MPI itself is recorded from then on."""
    trace = recorded(
        """
        import mpi4py
        mpi4py.rc.initialize = False
        from mpi4py import MPI
        assert not MPI.Is_initialized()
        MPI.Init_thread()
        MPI.COMM_WORLD.Barrier()
        MPI.Finalize()
        """,
        preamble="",
    )
    assert [row.call for row in calls(trace, 1)] == ["Barrier", "Finalize"]


def test_without_settings(recorded: Recorded) -> None:
    """A program that deletes mpi4py's settings is recorded: the defaults hold."""
    deleted = "import mpi4py, sys\ndel mpi4py.rc, sys.modules['mpi4py.rc']\n"
    trace = recorded("MPI.COMM_WORLD.allreduce(1)", preamble=f"{deleted}from mpi4py import MPI\n")
    assert {row.call for row in calls(trace, 1)} == {"allreduce"}


def test_what_is_not_modelled_is_named(recorded: Recorded) -> None:
    """File operations are recorded with name and time only; packing is recorded with its bytes."""
    trace = recorded("""
        import numpy as np
        import os, tempfile
        name = comm.bcast(os.path.join(tempfile.gettempdir(), f"clue-test-{os.getpid()}"))
        file = MPI.File.Open(comm, name, MPI.MODE_CREATE | MPI.MODE_RDWR | MPI.MODE_DELETE_ON_CLOSE)
        file.Write_at_all(64 * rank, eight)
        file.Iread_at(0, room).Wait()
        file.Close()
        packed = bytearray(100)
        at = MPI.DOUBLE.Pack(eight, packed, 0, comm)
        MPI.DOUBLE.Unpack(packed, 0, room, comm)
        """)
    named_only = [row.call for row in calls(trace, 0) if row.op is Op.OTHER]
    assert named_only == ["File.Open", "File.Write_at_all", "File.Iread_at", "Wait", "File.Close"]
    assert all(row.took > 0 for row in calls(trace, 0) if row.op is Op.OTHER)
    assert [row.nbytes for row in calls(trace, 0) if row.op is Op.PACK] == [64, 64]


def test_only_waits_for_what_is_not_modelled_are_left_out(recorded: Recorded) -> None:
    """Waits for messages are modelled; only waits for file operations count as left out.

    A wait for both becomes two ops, of which the first has the time.
    """
    trace = recorded("""
        import numpy as np
        import os, tempfile
        name = comm.bcast(os.path.join(tempfile.gettempdir(), f"clue-test-{os.getpid()}"))
        file = MPI.File.Open(comm, name, MPI.MODE_CREATE | MPI.MODE_RDWR | MPI.MODE_DELETE_ON_CLOSE)
        for tag in range(5):
            requests = [comm.Irecv(np.zeros(8), other, tag), comm.Isend(eight, other, tag)]
            for request in requests:
                request.Wait()
        comm.Mprobe(MPI.PROC_NULL).Irecv(np.zeros(8)).Wait()
        file.Iwrite_at(64 * rank, eight).Wait()
        file.Iwrite_at(64 * rank, eight).Wait()
        write = file.Iwrite_at(64 * rank, eight)
        MPI.Request.Waitall([write, comm.Irecv(np.zeros(8), other, 9), comm.Isend(eight, other, 9)])
        file.Close()
        """)
    waits = [row for row in named(trace, 0, "Wait") if row.op is Op.OTHER]
    assert [row.op for row in named(trace, 0, "Wait")] == [Op.WAIT] * 11 + [Op.OTHER] * 2
    both = named(trace, 0, "Waitall")
    assert [(row.op, len(row.extras), row.flags) for row in both] == [
        (Op.WAIT, 2, Flag(0)),
        (Op.OTHER, 0, Flag.CONTINUED),
    ]
    assert both[0].took > 0 == both[1].took
    left_out = trace.left_out()
    took = sum(row.took for rank in (0, 1) for row in named(trace, rank, "Wait") if row.op is Op.OTHER)
    assert left_out["Wait"] == (2 * len(waits), pytest.approx(took))
    assert left_out["Waitall"] == (2, 0.0)


def test_a_program_imports_what_it_needs_itself() -> None:
    """Importing the layer does not import numpy's random modules: their 10 ms belong to the program's first burst."""
    said = "import sys, virtual_layer.__main__; print(*sorted({'hashlib', 'random', 'secrets'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
