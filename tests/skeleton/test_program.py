"""Programs generated from skeletons make the skeleton's calls: they are run and recorded again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from clue.skeleton import construct
from clue.trace import Flag, Op, Trace, TraceBuilder
from clue.trace.ops import COLLECTIVES
from tests.skeleton.programs import repeatable
from tests.skeleton.running import calls_of, compiled, document_of, exchanged_of, mpicc, ran, recorded, written

pytest.importorskip("mpi4py.MPI", reason="mpi4py and an MPI library must be there", exc_type=ImportError)

#: Cases by number of ranks. Those of one number are one program: starting MPI takes longer than any of them.
CASES: dict[int, list[Callable[[TraceBuilder], None]]] = {}


def case(ranks: int) -> Callable[[Callable[[TraceBuilder], None]], Callable[[TraceBuilder], None]]:
    """Return a decorator that registers a function that fills a builder of this many ranks."""

    def keep(fill: Callable[[TraceBuilder], None]) -> Callable[[TraceBuilder], None]:
        CASES.setdefault(ranks, []).append(fill)
        return fill

    return keep


def together(ranks: int) -> Trace:
    """Return the trace of all cases of a number of ranks, one after the other."""
    built = TraceBuilder(ranks, "app.py")
    for fill in CASES[ranks]:
        fill(built)
    return built.build()


@case(4)
def portions(built: TraceBuilder) -> None:
    """Tasks go to ranks in turn, in unequal portions; each round begins with rank 1, wherever the last one ended."""
    first, *others = built
    for _ in range(3):
        turns = iter(zip((1, 2, 3, 1, 2), (7, 6, 5, 4, 3), strict=True))
        for portion in (3, 1, 1):
            for _ in range(portion):
                taker, task = next(turns)
                first.send(taker, 50, tag=task)
                others[taker - 1].recv(0, tag=task)
            others[0].send(0, 8)
            first.recv(1)
        for own in built:
            own.collective(Op.BARRIER)


@case(2)
def sends(built: TraceBuilder) -> None:
    """Sends in each mode, blocking and nonblocking; probes; matched receives."""
    one, other = built
    for i in range(6):
        for flags in (Flag(0), Flag.SYNCHRONOUS, Flag.BUFFERED):
            one.send(1, 100 + i, tag=i, flags=flags)
            other.recv(0, tag=i)
            request = one.isend(1, 7, tag=3, flags=flags)
            taken = other.irecv(0, tag=3)
            one.wait(request)
            other.wait(taken)
    for flags in (Flag(0), Flag.NONBLOCKING):
        one.send(1, 5000, tag=9)
        other.add(Op.PROBE, peer=0, tag=9)
        other.add(Op.MPROBE, peer=0, tag=9, request=100 + flags)
        other.add(Op.MRECV, request=100 + flags, flags=flags)
        if flags:
            other.wait(100 + flags)


@case(3)
def waits(built: TraceBuilder) -> None:
    """Waits for all requests, for single ones, and for the older of two."""
    for rank, own in enumerate(built):
        right, left = (rank + 1) % 3, (rank - 1) % 3
        for i in range(5):
            taken = [own.irecv(left, tag=tag) for tag in range(4)]
            sent = [own.isend(right, 10 * i + tag, tag=tag) for tag in range(4)]
            own.wait(taken[1], taken[3])
            own.wait(taken[0])
            own.wait(taken[2], *sent)
        last = own.irecv(left, tag=60)
        before = own.irecv(left, tag=50)
        for i in range(5):
            after = own.irecv(left, tag=51 + i)
            own.send(right, 3, tag=50 + i)
            own.wait(before)
            before = after
        own.send(right, 3, tag=55)
        own.send(right, 4, tag=60)
        own.wait(before, last)


@case(4)
def exchanges(built: TraceBuilder) -> None:
    """Exchanges around a ring, along a line that ends with PROC_NULL, and with changing partners."""
    for rank, own in enumerate(built):
        for i in range(4):
            own.sendrecv((rank + 1) % 4, 8 * (i + 1), (rank - 1) % 4, 1, 1)
            up, down = rank - 1, rank + 1 if rank < 3 else -1
            own.sendrecv(up, 100, down)
            own.sendrecv(down, 100, up)
            own.sendrecv(rank ^ (1 + i % 3), 64 + rank % 2, rank ^ (1 + i % 3), 4, 4)
            request = own.irecv((rank + i) % 4, tag=i)
            own.send((rank - i) % 4, 20, tag=i, flags=Flag.BUFFERED)
            own.wait(request)


@case(4)
def roles(built: TraceBuilder) -> None:
    """A master and workers, which make different calls with different sizes and partners."""
    master, *workers = built
    for i in range(3):
        for rank in (2, 1, 3):
            master.recv(rank, tag=rank)
            master.send(rank, (11, 5, 17)[i], tag=i)
        for rank, own in enumerate(workers, 1):
            own.compute(1e-6)
            own.send(0, (300, 20, 1000)[rank - 1] + i * i, tag=rank)
            own.recv(0, tag=i)
    for own in built:
        own.collective(Op.BARRIER)


@case(4)
def communicators(built: TraceBuilder) -> None:
    """Communicators of rows, columns, single ranks and a group, with ranks in different orders."""
    rows = [built.communicator((0, 1), "Split"), built.communicator((3, 2), "Split")]
    columns = [built.communicator((2, 0), "Split"), built.communicator((1, 3), "Split")]
    alone = [built.communicator((rank,), "SELF") for rank in range(4)]
    three = built.communicator((3, 0, 1), "Create group!")
    for rank, own in enumerate(built):
        row, column = rows[rank // 2], columns[rank % 2]
        here = {row: ((0, 1), (3, 2))[rank // 2].index(rank), column: ((2, 0), (1, 3))[rank % 2].index(rank)}
        for i in range(3):
            for comm in (row, column):
                own.sendrecv(1 - here[comm], 40, 1 - here[comm], 2, 2, comm)
                own.collective(Op.ALLREDUCE, 16, comm=comm, element=8)
                own.collective(Op.BCAST, 24, root=1, comm=comm, element=4)
            own.collective(Op.COMM, comm=(row, column)[i % 2])
        own.collective(Op.ALLGATHER, 12, comm=alone[rank])
        if rank != 2:
            own.collective(Op.GATHER, 12, root=2, comm=three)


@case(3)
def collectives(built: TraceBuilder) -> None:
    """Each collective call, blocking and not, with different element sizes, in place and with user operations."""
    for rank, own in enumerate(built):
        for op in (Op.BARRIER, Op.GATHER, Op.SCATTER, Op.ALLGATHER, Op.ALLTOALL):
            own.collective(op, 0 if op == Op.BARRIER else 36, root=1 if op in (Op.GATHER, Op.SCATTER) else 0)
            own.wait(own.icollective(op, 0 if op == Op.BARRIER else 36))
        own.collective(Op.ALLGATHER, 8, flags=Flag.IN_PLACE)
        own.collective(Op.ALLTOALL, 8, flags=Flag.IN_PLACE)
        for op in (Op.BCAST, Op.REDUCE, Op.ALLREDUCE, Op.SCAN, Op.EXSCAN):
            for element in (1, 2, 4, 8, 16):
                own.collective(op, 48, root=2 if op in (Op.BCAST, Op.REDUCE) else 0, element=element)
                own.wait(own.icollective(op, 48, element=element))
        own.collective(Op.ALLREDUCE, 80, element=8, flags=Flag.IN_PLACE)
        own.collective(Op.ALLREDUCE, 80, element=8, flags=Flag.USER_DEFINED)
        own.collective(Op.REDUCE, 80, element=8, flags=Flag.USER_DEFINED | Flag.NONCOMMUTATIVE)
        for i in range(4):
            own.collective(Op.REDUCE_SCATTER, 24, element=4 if i % 2 else 8, flags=Flag.BLOCK)
            own.collective(Op.REDUCE_SCATTER, 8 * rank + 8 * i, element=8)
            for op in (Op.GATHERV, Op.SCATTERV, Op.ALLGATHERV):
                own.collective(op, 10 * rank + i, root=1 if op != Op.ALLGATHERV else 0)
            sizes = [100 * rank + 10 * other + i * i for other in range(3)]
            own.collective(Op.ALLTOALLV, sum(sizes), extras=sizes)
            own.wait(own.icollective(Op.ALLTOALLV, 6, extras=(1, 2, 3)))
            own.wait(own.icollective(Op.ALLGATHERV, 5 + rank))


@case(4)
def neighbours(built: TraceBuilder) -> None:
    """Neighbourhood collectives with different neighbours and sizes on each rank, blocking and nonblocking."""
    for rank, own in enumerate(built):
        dests, sources = [each for each in range(4) if each > rank], [each for each in range(4) if each < rank]
        for i in range(3):
            sizes = [100 * each + rank + i for each in dests]
            entries = (len(dests), *dests, *sizes, len(sources), *sources)
            own.collective(Op.NEIGHBOR, extras=entries)
            request = own.icollective(Op.NEIGHBOR, extras=entries)
            other = own.irecv((rank + 1) % 4)
            own.send((rank - 1) % 4, 10)
            own.wait(request, other)


@case(1)
def torus(built: TraceBuilder) -> None:
    """A neighbourhood collective of a rank with many edges to itself, as on a periodic grid of one place."""
    for own in built:
        own.collective(Op.NEIGHBOR, extras=(*(32, *(0,) * 32), *(8,) * 32, *(32, *(0,) * 32)))


@case(2)
def naps(built: TraceBuilder) -> None:
    """Ranks sleep for a time that is a rule, and for one that is a case, of the rank; both sleep equally long."""
    for rank, own in enumerate(built):
        own.add(Op.SLEEP, nbytes=1_000_000 * (1 + rank))
        own.add(Op.SLEEP, nbytes=500_000)
        own.collective(Op.BARRIER)


@case(4)
def bits(built: TraceBuilder) -> None:
    """Messages along the bits of the rank, as lower-case scan sends them."""
    for rank, own in enumerate(built):
        for _ in range(3):
            again = Flag(0)
            for bit in (1, 2):
                flags = Flag.PICKLED | again
                if rank & bit:
                    own.send(rank ^ bit, 77, flags=flags)
                else:
                    own.recv(rank ^ bit, flags=flags)
                again = Flag.CONTINUED
            own.collective(Op.BARRIER)


@pytest.mark.parametrize("ranks", CASES)
def test_a_program_makes_the_calls_of_its_trace(ranks: int, tmp_path: Path) -> None:
    """The program makes the same calls as the trace, with the same partners, sizes and requests, in the same order."""
    trace = together(ranks)
    again = recorded(written(trace, tmp_path), ranks)
    assert calls_of(again, "program") == calls_of(trace)
    assert exchanged_of(again, "program") == exchanged_of(trace)


@pytest.mark.skipif(mpicc() is None, reason="a compiler of programs with MPI must be there")
@pytest.mark.parametrize("ranks", CASES)
def test_a_program_in_c_compiles_without_a_warning_and_runs(ranks: int, tmp_path: Path) -> None:
    """The C program of the same statements compiles without a warning and runs."""
    document = document_of(ran([str(compiled(together(ranks), tmp_path))], ranks, "--json", "--repeats", "2"))
    assert (document["skeleton"], document["ranks"], len(document["runs"])) == ("0123456789abcdef", ranks, 2)


@pytest.mark.parametrize("seed", range(6))
def test_skeletons_of_random_programs_run(seed: int, tmp_path: Path) -> None:
    """The program of a random skeleton makes its calls, apart from data in place, elements and impossible sizes."""
    trace = construct(repeatable(seed), scale=1 + seed % 3).trace
    again = recorded(written(trace, tmp_path), trace.ranks)
    assert [list(map(plainly, own)) for own in calls_of(again, "program")] == [
        list(map(plainly, own)) for own in calls_of(trace)
    ]
    assert exchanged_of(again, "program") == exchanged_of(trace)


@pytest.mark.skipif(mpicc() is None, reason="a compiler of programs with MPI must be there")
@pytest.mark.parametrize("seed", [0, 3, 4])
def test_skeletons_of_random_programs_run_in_c(seed: int, tmp_path: Path) -> None:
    """The C program of a random skeleton runs to its end, twice."""
    trace = construct(repeatable(seed), scale=1 + seed % 3).trace
    assert len(document_of(ran([str(compiled(trace, tmp_path))], trace.ranks, "--json", "--repeats", "2"))["runs"]) == 2


def line(times: int) -> Trace:
    """Return the skeleton of two ranks that exchange along a line, so that each makes half of every exchange."""
    built = TraceBuilder(2, "app.py")
    for rank, own in enumerate(built):
        for _ in range(times):
            own.sendrecv(-1 if rank else 1, 800, 0 if rank else -1)
    return construct(built.build(), scale=1).trace


def test_half_of_an_exchange_is_one_call_where_no_wait_lists_requests(tmp_path: Path) -> None:
    """On two ranks in a line, one rank only sends and the other only receives: no wait of the skeleton has a list."""
    trace = line(3)
    assert not len(trace.ops.extras)
    again = recorded(written(trace, tmp_path), 2)
    sent, received = calls_of(again, "program")
    assert sent == [(Op.SEND, Flag(0), (0, 1), 1, 0, 800)] * 3
    assert received == [(Op.RECV, Flag(0), (0, 1), 0, 0, 0)] * 3


@pytest.mark.skipif(mpicc() is None, reason="a compiler of programs with MPI must be there")
def test_half_of_an_exchange_is_one_call_in_c(tmp_path: Path) -> None:
    """The same program in C has one blocking call for each half, and runs."""
    done = ran([str(compiled(line(3), tmp_path))], 2, "--json")
    text = (tmp_path / "skeleton.c").read_text()
    assert "MPI_Send(" in text and "MPI_Recv(" in text
    assert document_of(done)["ranks"] == 2


def plainly(call: tuple[object, ...]) -> tuple[object, ...]:
    """Return a call without those details of collectives that random programs have but real ones cannot."""
    return (call[0], *call[2:4]) if call[0] in COLLECTIVES else call
