"""A program of two ranks that makes every point-to-point call of mpi4py; the tests compare recorded and live times.

Each case is a function of the two ranks' communicator; rank 0 sends and rank 1 receives unless the case says otherwise.
The result of each call depends on the program alone: where a test or probe must find a message, the message was sent
several barriers before; where it must find none, the message is sent only after a later barrier.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

SIZE = 1000
#: A tag that no message has.
NEVER = 99
Case = Callable[[Any, Any], None]
CASES: dict[str, Case] = {}
KEPT: list[bytearray] = []
_UPPER_SENDS, _LOWER_SENDS = ("Send", "Bsend", "Ssend", "Rsend"), ("send", "bsend", "ssend")
_UPPER_ISENDS, _LOWER_ISENDS = ("Isend", "Ibsend", "Issend", "Irsend"), ("isend", "ibsend", "issend")


def case(function: Case) -> Case:
    """Add a case to the list."""
    CASES[function.__name__] = function
    return function


def main() -> None:
    """Run the cases named on the command line, or all: without delay, with a late sender, and with a late receiver."""
    from mpi4py import MPI  # noqa: PLC0415 - the tests read the list of cases without MPI

    MPI.Attach_buffer(bytearray(1 << 20))
    for name in sys.argv[1:] or CASES:
        comm = MPI.COMM_WORLD.Dup()
        for late in (-1, 0, 1):
            if comm.rank == late:
                delay(comm)
            CASES[name](MPI, comm)
            settle(comm)
        comm.Free()
    MPI.Detach_buffer()


def delay(comm: Any) -> None:
    """Let virtual time pass on one rank: each probe that finds nothing takes the receive delay."""
    for _ in range(20):
        assert not comm.Iprobe(1 - comm.rank, NEVER)


def settle(comm: Any) -> None:
    """Wait until all messages have arrived, both in reality and in virtual time."""
    for _ in range(6):
        comm.Barrier()


def data(value: int = 0) -> bytearray:
    """Return a buffer of SIZE bytes that all have this value."""
    return bytearray([value]) * SIZE


def room() -> bytearray:
    """Return a buffer that is large enough for the pickle of such a buffer."""
    return bytearray(2 * SIZE)


def sent_by(comm: Any, name: str, tag: int) -> Any:
    """Send to rank 1 by the call with that name, and return the result of the call."""
    return getattr(comm, name)(data(tag), 1, tag)


@case
def blocking(_mpi: Any, comm: Any) -> None:
    """Blocking sends of all modes; every second message is received from any source."""
    for tag, name in enumerate(_UPPER_SENDS + _LOWER_SENDS):
        lower = name in _LOWER_SENDS
        ready = None
        if comm.rank == 1 and name == "Rsend":
            ready = comm.Irecv(data(), 0, tag)
        comm.Barrier()
        if comm.rank == 0:
            sent_by(comm, name, tag)
        elif ready is not None:
            ready.Wait()
        elif lower:
            assert (comm.recv(source=0, tag=tag) if tag % 2 else comm.recv()) == data(tag)
        else:
            comm.Recv(data(), *((0, tag) if tag % 2 else ()))


@case
def nonblocking(_mpi: Any, comm: Any) -> None:
    """Nonblocking sends of all modes; every second message is received from any source."""
    for tag, name in enumerate(_UPPER_ISENDS + _LOWER_ISENDS):
        lower = name in _LOWER_ISENDS
        received = None
        if comm.rank == 1:
            source = {"source": 0, "tag": tag} if tag % 2 else {}
            received = (comm.irecv if lower else comm.Irecv)(room(), **source)
        comm.Barrier()
        request = received or sent_by(comm, name, tag)
        delay(comm)
        getattr(request, "wait" if lower else "Wait")()


@case
def to_nobody(mpi: Any, comm: Any) -> None:
    """Calls with null partners, with messages from a rank to itself, and with null requests."""
    null = mpi.PROC_NULL
    comm.Send(data(), null)
    comm.send(data(), null)
    comm.Recv(data(), null)
    comm.Isend(data(), null).Wait()
    comm.Irecv(data(), null).Wait()
    comm.Sendrecv(data(), null, 0, data(), null, 0)
    comm.Sendrecv(data(), 1 - comm.rank, 0, data(), 1 - comm.rank, 0)
    comm.Sendrecv(data(), 0 if comm.rank else null, 0, data(), null if comm.rank else 1, 0)
    comm.Isendrecv(data(), 0 if comm.rank else null, 0, data(), null if comm.rank else 1, 0).Wait()
    comm.Probe(null)
    assert comm.Iprobe(null)
    comm.Mprobe(null).Recv(data())
    comm.Mprobe(null).Irecv(data()).Wait()
    persistent = comm.Send_init(data(), null)
    persistent.Start()
    persistent.Wait()
    persistent.Free()
    own = comm.Isend(data(), comm.rank, 5)
    comm.Recv(data(), comm.rank, 5)
    own.Wait()
    mpi.Request.Waitall([mpi.REQUEST_NULL])
    assert mpi.Request.Testany([mpi.REQUEST_NULL])[1]


@case
def both_ways(_mpi: Any, comm: Any) -> None:
    """Calls that send and receive at once."""
    other = 1 - comm.rank
    comm.Sendrecv(data(), other, 1, data(), other, 1)
    comm.Sendrecv_replace(data(), other, 2, other, 2)
    assert comm.sendrecv(data(3), other, 3, None, other, 3) == data(3)
    comm.Isendrecv(data(), other, 4, data(), other, 4).Wait()
    request = comm.Isendrecv_replace(data(), other, 5, other, 5)
    delay(comm)
    request.Wait()


@case
def probed(mpi: Any, comm: Any) -> None:
    """Probes that block, probes that find a message and probes that find none; a receive of any kind follows."""
    for tag, name in enumerate(("Probe", "probe", "Iprobe", "iprobe")):
        if comm.rank == 1 and name.lower() == "iprobe":
            assert not getattr(comm, name)(0, tag)
            assert not getattr(comm, name)()
        comm.Barrier()
        request = sent_by(comm, "Isend", tag) if comm.rank == 0 else mpi.REQUEST_NULL
        if name.lower() == "iprobe":
            settle(comm)
        if comm.rank == 1:
            assert getattr(comm, name)(*((0, tag) if tag % 2 else ())) in {None, True}
            delay(comm)
            comm.Recv(data(), 0, tag)
        request.Wait()


@case
def matched(mpi: Any, comm: Any) -> None:
    """Matched probes of all kinds, then a matched receive of any kind, immediately or after a delay."""
    kinds = product(("Probe", "probe", "Iprobe", "iprobe"), (comm, mpi.Message), ("Recv", "Irecv"), (False, True))
    for tag, (name, of, receive, pause) in enumerate(kinds):
        lower = name.islower()
        find = partial(getattr(of, name), comm) if of is mpi.Message else getattr(comm, _matched(name))
        if comm.rank == 1 and name.lower() == "iprobe":
            assert find(0, tag) is None
        comm.Barrier()
        request = mpi.REQUEST_NULL if comm.rank else sent_by(comm, "isend" if lower else "Isend", tag)
        if name.lower() == "iprobe":
            settle(comm)
        if comm.rank == 1:
            message = find(*((0, tag) if tag % 3 else ()))
            if pause:
                delay(comm)
            received = getattr(message, receive.lower())() if lower else getattr(message, receive)(data())
            request = received if receive == "Irecv" else request
        if pause:
            delay(comm)
        request.wait() if lower else request.Wait()


def _matched(name: str) -> str:
    """Return the name of the matched probe that corresponds to a probe."""
    return {"Probe": "Mprobe", "probe": "mprobe", "Iprobe": "Improbe", "iprobe": "improbe"}[name]


@case
def persistent(mpi: Any, comm: Any) -> None:
    """Persistent sends of all modes and persistent receives, started by Start and by Startall."""
    for tag, name in enumerate(("Send_init", "Bsend_init", "Ssend_init", "Rsend_init")):
        wanted = (0, tag) if tag % 2 else ()
        request = comm.Recv_init(data(), *wanted) if comm.rank else sent_by(comm, name, tag)
        for start in (request.Start, lambda request=request: mpi.Prequest.Startall([request])):
            if comm.rank == 1:
                start()
            comm.Barrier()
            if comm.rank == 0:
                start()
            delay(comm)
            request.Wait()
        request.Free()


@case
def partitioned(_mpi: Any, comm: Any) -> None:
    """A partitioned message, with each call that marks partitions as ready; it is sent when all are ready."""
    request = comm.Precv_init(data(), 4, 0, 3) if comm.rank else comm.Psend_init(data(), 4, 1, 3)
    for _ in range(2):
        request.Start()
        if comm.rank == 0:
            request.Pready(3)
            request.Pready_range(0, 1)
            delay(comm)
            request.Pready_list([2])
        settle(comm)
        if comm.rank == 1:
            while not all(request.Parrived(part) for part in range(4)):
                pass
        request.Wait()
    request.Free()


def _two(comm: Any, lower: bool, tag: int) -> list[Any]:
    """Return two receives on rank 1, or the first of two sends on rank 0, which sends the second at rank 1's signal."""
    if comm.rank == 1:
        receive = comm.irecv if lower else comm.Irecv
        return [receive(room(), 0, tag), receive(room(), 0, tag + 1)]
    return [sent_by(comm, "isend" if lower else "Isend", tag)]


@case
def waited_for(mpi: Any, comm: Any) -> None:
    """Each call that waits for some of several requests, when one message has arrived and the other is not yet sent."""
    of = mpi.Request
    for number, name in enumerate(("Waitany", "waitany", "Waitsome", "waitsome")):
        lower, tag = name.islower(), 2 * number
        requests = _two(comm, lower, tag)
        if comm.rank == 1:
            getattr(of, name)(requests)
            comm.Send(data(), 0, NEVER - 1)
            delay(comm)
            of.waitall(requests) if lower else of.Waitall(requests)
        else:
            of.waitall(requests) if lower else of.Waitall(requests)
            comm.Recv(data(), 1, NEVER - 1)
            sent_by(comm, "send" if lower else "Send", tag + 1)


@case
def tested(mpi: Any, comm: Any) -> None:
    """Each call that tests or inspects requests, first when no message is there, then when all are."""
    of, tag = mpi.Request, 0
    several = ("Testany", "Testall", "Testsome", "Get_status_any", "Get_status_all", "Get_status_some")
    for upper in ("Test", "Get_status", *several):
        for name in (upper, upper.lower()):
            tag += 2
            requests = [] if comm.rank == 0 else [_receive(comm, name, tag), _receive(comm, name, tag + 1)]
            for request in () if upper in several else requests:
                getattr(request, name)()
            if upper in several:
                getattr(of, name)(requests or [mpi.REQUEST_NULL])
            comm.Barrier()
            if comm.rank == 0:
                requests = [sent_by(comm, "isend" if name.islower() else "Isend", each) for each in (tag, tag + 1)]
            settle(comm)
            _look(of, name, requests)
            if name.islower():
                of.waitall(requests)
            else:
                of.Waitall(requests)


def _receive(comm: Any, name: str, tag: int) -> Any:
    receive = comm.irecv if name.islower() else comm.Irecv
    return receive(room(), 0, tag) if tag % 4 else receive(room(), tag=tag)


def _look(of: Any, name: str, requests: list[Any]) -> None:
    """Test completed requests; test twice where each test completes one of several."""
    if name.lower() in {"test", "get_status"}:
        for request in requests:
            found = getattr(request, name)()
            assert found if name != "test" else found[0]
        return
    for _ in range(2):
        found = getattr(of, name)(requests)
        assert found is not False and found != [] and found != (of.__mro__[0], False)


@case
def cancelled(mpi: Any, comm: Any) -> None:
    """Cancelled receives: without a message, already completed, persistent, and freed without a wait."""
    for name in ("Cancel", "cancel"):
        for source in (1 - comm.rank, mpi.ANY_SOURCE):
            request = comm.Irecv(data(), source, NEVER)
            delay(comm)
            getattr(request, name)()
            request.Wait()
    starting = comm.Recv_init(data(), 1 - comm.rank, NEVER)
    starting.Start()
    starting.Cancel()
    starting.Wait()
    starting.Free()
    request = comm.Irecv(data(), 0, 1) if comm.rank else sent_by(comm, "Isend", 1)
    settle(comm)
    if comm.rank == 1:
        request.Cancel()
    request.Wait()
    looked_at = comm.Irecv(data(), 1 - comm.rank, NEVER)
    looked_at.Cancel()
    while not looked_at.Get_status():
        delay(comm)
    looked_at.Wait()
    KEPT.append(data())
    nobody_waits = comm.Irecv(KEPT[-1], 1 - comm.rank, NEVER)
    nobody_waits.Cancel()
    nobody_waits.Free()


@case
def freed(_mpi: Any, comm: Any) -> None:
    """Requests that are freed before they complete; they complete at the latest at the end of the program."""
    for tag, name in enumerate(("Free", "free")):
        # The library may access the buffer until the end of the program.
        KEPT.append(data())
        request = comm.Irecv(KEPT[-1], 0, tag) if comm.rank == 1 else comm.Isend(KEPT[-1], 1, tag)
        getattr(request, name)()


@case
def buffers(mpi: Any, comm: Any) -> None:
    """Buffers for buffered sends: of the process, of a communicator and of a session."""
    session = mpi.Session.Init()
    for of in (comm, session):
        of.Attach_buffer(bytearray(10_000))
        of.Flush_buffer()
        of.Iflush_buffer().Wait()
        of.Detach_buffer()
    session.Finalize()
    mpi.Flush_buffer()
    mpi.Iflush_buffer().Wait()


@case
def generalized(mpi: Any, comm: Any) -> None:
    """Generalized requests, which the program completes itself; until then, tests find nothing."""
    for name in ("Complete", "complete"):
        request = mpi.Grequest.Start()
        request.Test()
        request.test()
        request.Get_status()
        arrived = comm.irecv(None, 1 - comm.rank)
        comm.isend(0, 1 - comm.rank).wait()
        for several in ([request], [request, mpi.REQUEST_NULL]):
            for call in ("all", "any", "some"):
                for looks in ("Test", "test", "Get_status_", "get_status_"):
                    getattr(mpi.Request, looks + call)(several)
        mpi.Request.Testall([request, arrived])
        arrived.wait()
        getattr(request, name)()
        request.Wait()


if __name__ == "__main__":
    main()
