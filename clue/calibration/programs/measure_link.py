"""Measure a link between two ranks: ``mpiexec -n 2 python -m clue.calibration.programs.measure_link SETTINGS``.

Clocks of different computers are never compared. These quantities are measured, by rank 0 unless stated otherwise:

========= ============================================================================================================
one way   half a round trip
blocked   the time of the sending call in a round trip; the other rank is in its receive
call      the call of a nonblocking send, followed by a wait; the other rank is in its receive, and answers
gap       a window of nonblocking sends, begun when their receives are posted, and its empty answer, per message
both      the same for windows in both directions at once, between two computers only, per message of both
receive   by rank 1: a receive whose message the library has taken, because a later one of the same sender has been
          received; not measured if even an empty message waits for its receive
exchange  a send and a receive, which the other rank makes at the same time; not measured in the same case
eager     whether the sender of a message whose receive is posted late waits for it: by doubling sizes, then by
          bisection
taken     whether such a sender still waits if the receiver's rank meanwhile makes other MPI calls; if not, it waited
          for an acknowledgement by the library, and the message is eager
in calls  whether a sender that waits for a late receive also waits if the receive is posted early but its rank then
          makes no MPI call for the same time
reads     whether a message whose sender would wait for its receive also arrives if its sender's rank makes no MPI call
          for that time: the receiver then reads the data
reduction the time per byte in which a rank combines two vectors, without any message
========= ============================================================================================================

Sizes are measured repeatedly in turns, so that a disturbance affects all of them a little rather than one of them much,
until the median of each has the requested precision, or time is up. Prints JSON lines (see
:mod:`clue.calibration.launching`).
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from mpi4py import MPI

from clue.calibration.measurement import Estimate, median_of
from clue.calibration.programs.measure_reduction import combining
from clue.calibration.programs.output import alone, plain, put

_EMPTY = bytearray(0)
#: Window of a stream: largest number of messages, largest total in bytes, and smallest number of messages.
_WINDOW, _WINDOW_BYTES, _LEAST_WINDOW = 64, 8 << 20, 4
#: Target duration of a turn of one size, seconds; a few messages may take longer.
_TURN = 0.02
_LEAST_SAMPLES, _MOST_SAMPLES, _LEAST_A_TURN, _LEAST_TURNS = 7, 20_000, 3, 3
#: Shares of the time for round trips, streams, and the search of the eager limit; the rest is for receives.
_FOR_ROUND_TRIPS, _FOR_STREAMS, _FOR_EAGER = 0.55, 0.3, 0.1
#: Lateness of a receive: seconds after the start of its send, or multiple of the usual send time; number of trials.
_LATE, _LATE_TIMES, _LATE_TRIALS = 0.02, 4.0, 5
#: Size below which a message takes about as long as an empty one on any link, bytes.
_LATENCY_ONLY = 1024
#: Sizes of messages that both ranks stream at once, bytes.
_BOTH_WAYS = (1 << 16, 1 << 20)
_PING, _STREAM, _BOTH, _RECEIVE, _EXCHANGE, _WAIT, _EARLY, _POLL, _ABSENT, _CALL, _END = range(11)


@dataclass
class Progress:
    """Reports progress now and then.

    Attributes:
        limit: Longest duration of the measurement, seconds.
        begin: Start time.
        told: Time of the last report.
    """

    limit: float
    begin: float = field(default_factory=time.monotonic)
    told: float = 0.0

    def tell(self, what: str) -> None:
        """Report progress, unless there has just been a report."""
        now = time.monotonic()
        if now - self.told > 0.2:
            self.told = now
            put({"progress": what, "done": min(self.limit, now - self.begin), "total": self.limit})


# --- both ranks: one function for each kind of exchange ---


def ping(comm: MPI.Comm, size: int, count: int, buffer: bytearray) -> tuple[list[float], list[float]]:
    """Make round trips; return, on rank 0, half of each and the time of its send, seconds."""
    message = [memoryview(buffer)[:size], MPI.BYTE]
    halves, blocked = [], []
    clock, send, receive = time.perf_counter_ns, comm.Send, comm.Recv
    if comm.rank:
        for _ in range(count + 1):
            receive(message, 0, 1)
            send(message, 0, 1)
        return [], []
    for _ in range(count + 1):
        start = clock()
        send(message, 1, 1)
        sent = clock()
        receive(message, 1, 1)
        halves.append((clock() - start) * 0.5e-9)
        blocked.append((sent - start) * 1e-9)
    # The first round trip is a warm-up.
    return halves[1:], blocked[1:]


def calls(comm: MPI.Comm, size: int, count: int, buffer: bytearray) -> list[float]:
    """Begin sends, and wait for each and its empty answer; return, on rank 0, the times of the calls, seconds."""
    message = [memoryview(buffer)[:size], MPI.BYTE]
    times = []
    for _ in range(count + 1):
        if comm.rank:
            comm.Recv(message, 0, 11)
            comm.Send(_EMPTY, 0, 11)
            continue
        start = time.perf_counter_ns()
        request = comm.Isend(message, 1, 11)
        times.append((time.perf_counter_ns() - start) * 1e-9)
        request.Wait()
        comm.Recv(_EMPTY, 1, 11)
    return times[1:]


def stream(comm: MPI.Comm, size: int, count: int, buffer: bytearray) -> list[float]:
    """Send windows of messages, each answered by an empty one; return, on rank 0, the time of each, seconds."""
    window = window_of(size)
    view = memoryview(buffer)
    slots = [[view[k * size : (k + 1) * size], MPI.BYTE] for k in range(window)]
    times = []
    for _ in range(count + 1):
        if comm.rank:
            requests = [comm.Irecv(slot, 0, 2) for slot in slots]
            comm.Send(_EMPTY, 0, 3)
            MPI.Request.Waitall(requests)
            comm.Send(_EMPTY, 0, 3)
        else:
            comm.Recv(_EMPTY, 1, 3)
            start = time.perf_counter_ns()
            MPI.Request.Waitall([comm.Isend(slots[0], 1, 2) for _ in range(window)])
            comm.Recv(_EMPTY, 1, 3)
            times.append((time.perf_counter_ns() - start) * 1e-9)
    return times[1:]


def both_ways(comm: MPI.Comm, size: int, count: int, buffer: bytearray) -> list[float]:
    """Send windows of messages in both directions at once; return the time of each on this rank, seconds."""
    other, window = 1 - comm.rank, window_of(size)
    view = memoryview(buffer)
    slots = [[view[k * size : (k + 1) * size], MPI.BYTE] for k in range(1, window)]
    outgoing = [view[:size], MPI.BYTE]
    times = []
    for _ in range(count + 1):
        requests = [comm.Irecv(slot, other, 13) for slot in slots]
        comm.Sendrecv(_EMPTY, other, 14, _EMPTY, other, 14)
        start = time.perf_counter_ns()
        MPI.Request.Waitall(requests + [comm.Isend(outgoing, other, 13) for _ in slots])
        comm.Sendrecv(_EMPTY, other, 15, _EMPTY, other, 15)
        times.append((time.perf_counter_ns() - start) * 1e-9)
    return times[1:]


def window_of(size: int) -> int:
    """Return the window of a stream of messages of a size."""
    return max(_LEAST_WINDOW, min(_WINDOW, _WINDOW_BYTES // max(size, 1)))


def receives(comm: MPI.Comm, size: int, count: int, buffer: bytearray) -> list[float]:
    """Receive messages that have arrived; return, on rank 0, the time of each receive on rank 1, seconds."""
    message = [memoryview(buffer)[:size], MPI.BYTE]
    times = []
    for _ in range(count + 1):
        if comm.rank:
            comm.Recv(_EMPTY, 0, 5)
            start = time.perf_counter_ns()
            comm.Recv(message, 0, 4)
            times.append((time.perf_counter_ns() - start) * 1e-9)
            comm.Send(_EMPTY, 0, 5)
        else:
            comm.Send(message, 1, 4)
            comm.Send(_EMPTY, 1, 5)
            comm.Recv(_EMPTY, 1, 5)
    gathered: list[float] = comm.bcast(times[1:], root=1)
    return gathered


def exchanges(comm: MPI.Comm, size: int, count: int, buffer: bytearray) -> list[float]:
    """Let both ranks send at once, then receive; return the times of both on this rank, seconds."""
    outgoing, incoming = [memoryview(buffer)[:size], MPI.BYTE], [bytearray(size), MPI.BYTE]
    times = []
    for _ in range(count + 1):
        start = time.perf_counter_ns()
        comm.Send(outgoing, 1 - comm.rank, 12)
        comm.Recv(incoming, 1 - comm.rank, 12)
        times.append((time.perf_counter_ns() - start) * 1e-9)
    return times[1:]


def late_receive(comm: MPI.Comm, size: int, late: float, buffer: bytearray, how: int) -> float:
    """Receive late; return the time of the send, on rank 0, seconds.

    With ``_EARLY`` the receive is posted before its send begins, and completed late. With ``_POLL`` the receiver's rank
    meanwhile makes MPI calls that have nothing to do with the message. With ``_WAIT`` it makes none.
    """
    message = [memoryview(buffer)[:size], MPI.BYTE]
    if comm.rank:
        request = comm.Irecv(message, 0, 7) if how == _EARLY else None
        comm.Send(_EMPTY, 0, 6)
        begin = time.perf_counter() + late
        while how == _POLL and time.perf_counter() < begin:
            comm.Iprobe(0, 9)
        time.sleep(max(0.0, begin - time.perf_counter()))
        if request is None:
            comm.Recv(message, 0, 7)
        else:
            request.Wait()
        return 0.0
    comm.Recv(_EMPTY, 1, 6)
    start = time.perf_counter_ns()
    comm.Send(message, 1, 7)
    return (time.perf_counter_ns() - start) * 1e-9


def absent_sender(comm: MPI.Comm, size: int, late: float, buffer: bytearray) -> float:
    """Send to a waiting receive, then make no call for a time; return the time of the receive, seconds."""
    message = [memoryview(buffer)[:size], MPI.BYTE]
    took = 0.0
    if comm.rank:
        comm.Send(_EMPTY, 0, 16)
        start = time.perf_counter_ns()
        comm.Recv(message, 0, 17)
        took = (time.perf_counter_ns() - start) * 1e-9
    else:
        comm.Recv(_EMPTY, 1, 16)
        request = comm.Isend(message, 1, 17)
        time.sleep(late)
        request.Wait()
    return float(comm.bcast(took, root=1))


def serve(comm: MPI.Comm, buffer: bytearray) -> None:
    """Serve the requests of rank 0 on rank 1, until the last one."""
    while True:
        what, size, count = comm.bcast(None, root=0)
        if what == _END:
            return
        if what == _PING:
            ping(comm, size, count, buffer)
        elif what == _STREAM:
            stream(comm, size, count, buffer)
        elif what == _BOTH:
            both_ways(comm, size, count, buffer)
        elif what == _RECEIVE:
            receives(comm, size, count, buffer)
        elif what == _EXCHANGE:
            exchanges(comm, size, count, buffer)
        elif what == _CALL:
            calls(comm, size, count, buffer)
        elif what == _ABSENT:
            absent_sender(comm, size, count, buffer)
        else:
            late_receive(comm, size, count, buffer, what)


# --- rank 0: the course of the measurement ---


class LinkProbe:
    """The link as rank 0 measures it: requests exchanges with rank 1, and keeps the samples.

    Args:
        comm: Both ranks.
        buffer: The data to send, as long as the longest window.
        precision: Requested half width of the confidence interval, relative to the median.
        confidence: Confidence of that interval.
        progress: Reports the progress.
    """

    def __init__(
        self, comm: MPI.Comm, buffer: bytearray, precision: float, confidence: float, progress: Progress
    ) -> None:
        self._comm = comm
        self._buffer = buffer
        self._precision = precision
        self._confidence = confidence
        self._progress = progress
        self.halves: dict[int, list[float]] = {}
        self.blocked: dict[int, list[float]] = {}
        self.windows: dict[int, list[float]] = {}
        self.both: dict[int, list[float]] = {}
        self.calls: dict[int, list[float]] = {}

    def _ask(self, what: int, size: int, count: float) -> None:
        self._comm.bcast((what, size, count), root=0)

    def round_trips(self, size: int, count: int) -> None:
        """Make round trips of a size."""
        self._ask(_PING, size, count)
        halves, blocked = ping(self._comm, size, count, self._buffer)
        self.halves.setdefault(size, []).extend(halves)
        self.blocked.setdefault(size, []).extend(blocked)

    def streams(self, size: int, count: int) -> None:
        """Send windows of a size."""
        self._ask(_STREAM, size, count)
        self.windows.setdefault(size, []).extend(stream(self._comm, size, count, self._buffer))

    def both_ways(self, size: int, count: int) -> None:
        """Send windows of a size in both directions at once."""
        self._ask(_BOTH, size, count)
        self.both.setdefault(size, []).extend(both_ways(self._comm, size, count, self._buffer))

    def nonblocking(self, size: int, count: int) -> None:
        """Begin sends of a size, one by one."""
        self._ask(_CALL, size, count)
        self.calls.setdefault(size, []).extend(calls(self._comm, size, count, self._buffer))

    def receive(self, size: int, count: int) -> Estimate:
        """Return the time of a receive of a message that the library has taken."""
        self._ask(_RECEIVE, size, count)
        return median_of(receives(self._comm, size, count, self._buffer), self._confidence)

    def exchange(self, size: int, count: int) -> Estimate:
        """Return the time in which both ranks send and receive."""
        self._ask(_EXCHANGE, size, count)
        return median_of(exchanges(self._comm, size, count, self._buffer), self._confidence)

    def sender_waits(self, size: int, how: int = _WAIT) -> bool:
        """Tell whether a sender waits for its late receive, by the majority of trials.

        Other processes may delay either rank, so that a send seems to wait, or begins late itself.
        ``how`` is that of :func:`late_receive`.
        """
        blocked = median_of(self.blocked[size]).value if size in self.blocked else self.usual(size)
        late = max(_LATE, _LATE_TIMES * blocked)

        def waits() -> bool:
            self._ask(how, size, late)
            return late_receive(self._comm, size, late, self._buffer, how) > late / 2

        return _usually(waits)

    def reads(self, size: int) -> bool:
        """Tell whether a receiver gets its message while its sender's rank makes no call, by the majority of trials."""
        late = max(_LATE, _LATE_TIMES * self.usual(size))

        def arrives() -> bool:
            self._ask(_ABSENT, size, late)
            return absent_sender(self._comm, size, late, self._buffer) < late / 2

        return _usually(arrives)

    def usual(self, size: int) -> float:
        """Estimate the time of a message of a size from the sizes measured so far."""
        larger = min((known for known in self.halves if known >= size), default=max(self.halves))
        return median_of(self.halves[larger]).value

    def end(self) -> None:
        """Release rank 1."""
        self._ask(_END, 0, 0)

    # --- turns ---

    def first_turn(self, sizes: Sequence[int], budget: float) -> list[int]:
        """Measure each size briefly; return the sizes whose messages are not too long for the available time."""
        usable: list[int] = []
        for size in sorted(sizes):
            # Times grow at most in proportion to size. Those of a few bytes are latency, which does not grow: on a busy
            # computer, where ranks wait for a processor, 8 B in 0.3 ms say nothing about 1 KiB.
            growth = max(1.0, size / max(usable[-1], _LATENCY_ONLY)) if usable else 0.0
            expected = self.usual(size) * growth if usable else 0.0
            if 2 * expected * (_LEAST_SAMPLES + 1) > budget / 4:
                break
            self._progress.tell(f"first round trips of {size} B")
            self.round_trips(size, _LEAST_A_TURN)
            usable.append(size)
        return usable

    def until_precise(self, sizes: Sequence[int], deadline: float, streams: bool) -> None:
        """Measure sizes in turns until each has the precision, or time is up."""
        samples = self.windows if streams else self.halves
        what = "streams" if streams else "round trips"
        open_sizes, turns = list(sizes), 0
        while open_sizes and time.monotonic() < deadline:
            turns += 1
            for size in open_sizes:
                known = samples.get(size)
                each = median_of(known).value * (1 if streams else 2) if known else self._first_guess(size, streams)
                count = max(_LEAST_A_TURN, min(int(_TURN / each), 1000))
                if time.monotonic() + each * count > deadline and known and len(known) >= _LEAST_A_TURN:
                    continue
                self._progress.tell(f"{what} of {size} B")
                (self.streams if streams else self.round_trips)(size, count)
            if turns >= _LEAST_TURNS:
                open_sizes = [size for size in open_sizes if not self._precise(samples.get(size, []))]

    def _first_guess(self, size: int, streams: bool) -> float:
        return self.usual(size) * (window_of(size) if streams else 2)

    def _precise(self, samples: Sequence[float]) -> bool:
        if len(samples) < _LEAST_SAMPLES:
            return False
        return len(samples) >= _MOST_SAMPLES or median_of(samples, self._confidence).spread <= self._precision

    def eager_limit(self, sizes: Sequence[int], deadline: float) -> tuple[int | None, int | None]:
        """Return the largest size whose sender does not wait for its receive and the smallest whose sender does."""
        eager: int | None = None
        for size in sorted(sizes):
            if time.monotonic() > deadline:
                return eager, None
            self._progress.tell(f"late receives of {size} B")
            if self.sender_waits(size) and self.sender_waits(size):
                return self._narrowed(eager, size, deadline)
            eager = size
        return eager, None

    def _narrowed(self, eager: int | None, waits: int, deadline: float) -> tuple[int | None, int]:
        """Bisect between a size that does not wait and one that does, as far as the trials agree."""
        if eager is None:
            return None, waits
        low, high = eager, waits
        while high - low > 1 and time.monotonic() < deadline:
            middle = (low + high) // 2
            self._progress.tell(f"late receives of {middle} B")
            if self.sender_waits(middle):
                high = middle
            else:
                low = middle
        agreed = self.sender_waits(high) and not self.sender_waits(low)
        return (low, high) if agreed else (eager, waits)

    def taken(self, sizes: Sequence[int], deadline: float) -> tuple[int | None, int | None]:
        """Return the largest of some sizes that the receiver's library takes without their receive; the smallest not.

        The sender of such a message waits for an acknowledgement by the library, which a rank gives in any MPI call.
        """
        taken: int | None = None
        for size in sorted(sizes):
            if time.monotonic() > deadline:
                break
            self._progress.tell(f"late receives of {size} B, between other calls")
            if self.sender_waits(size, _POLL):
                return taken, size
            taken = size
        return taken, None

    def arriving(self, eager: int | None) -> int | None:
        """Return the size, 8 or 0 B, of a message that arrives without its receive; ``None`` if neither does.

        A receive of any other message must not be timed behind a later one: its sender would wait for ever.

        Args:
            eager: Largest size whose sender is known not to wait for its receive; ``None``: unknown, or all wait.
        """
        for size in (8, 0):
            if (eager is not None and size <= eager) or not self.sender_waits(size, _POLL):
                return size
        return None


def _usually(happens: Callable[[], bool]) -> bool:
    """Tell whether most of some trials succeed."""
    votes = [0, 0]
    while 2 * max(votes) < _LATE_TRIALS:
        votes[happens()] += 1
    return votes[True] > votes[False]


def measure(comm: MPI.Comm, settings: dict[str, float | list[int]], hosts: list[str]) -> dict[str, object] | None:
    """Measure the link between two ranks, which run on these hosts; return the result on rank 0."""
    sizes = [int(size) for size in settings["sizes"]]  # type: ignore[union-attr]
    limit = float(settings["time"])  # type: ignore[arg-type]
    buffer = bytearray(max(window_of(size) * size for size in sizes))
    if comm.rank:
        serve(comm, buffer)
        return None
    progress = Progress(limit)
    confidence = float(settings["confidence"])  # type: ignore[arg-type]
    link = LinkProbe(comm, buffer, float(settings["precision"]), confidence, progress)  # type: ignore[arg-type]
    usable = link.first_turn(sizes, limit * _FOR_ROUND_TRIPS)
    eager, waits = link.eager_limit(usable, time.monotonic() + limit * _FOR_EAGER)
    larger = [size for size in usable if waits is not None and size >= waits]
    taken, refused = link.taken(larger, time.monotonic() + limit * _FOR_EAGER)
    in_calls = None if waits is None else link.sender_waits(waits, _EARLY)
    # Libraries may send the first few bytes beyond the limit in another way, as MPICH 5 does.
    beyond = next((size for size in larger if waits is not None and size >= 2 * waits), waits)
    reads = link.reads(beyond) if beyond is not None and in_calls else None
    corners = [size for size in (eager, waits) if size is not None and size not in usable and size <= usable[-1]]
    usable = sorted([*usable, *corners])
    link.until_precise(usable, progress.begin + limit * (_FOR_EAGER + _FOR_ROUND_TRIPS), streams=False)
    small = link.arriving(eager)
    often = 500 if small is not None and link.usual(small) < 1e-3 else 50
    receive = None if small is None else link.receive(small, often)
    exchange = None if small is None else link.exchange(small, often)
    for size in usable:
        progress.tell(f"calls of nonblocking sends of {size} B")
        link.nonblocking(size, max(_LEAST_SAMPLES, min(int(_TURN / link.usual(size)), 100)))
    affordable = [size for size in usable if 4 * link.usual(size) * window_of(size) < limit * _FOR_STREAMS / 4]
    link.until_precise(affordable, progress.begin + limit, streams=True)
    if hosts[0] != hosts[1]:
        for size in set(_BOTH_WAYS).intersection(affordable):
            progress.tell(f"streams of {size} B in both directions")
            link.both_ways(size, _LEAST_SAMPLES)
    link.end()
    progress.tell("combining vectors")
    return {
        "reduction": plain(combining(confidence)),
        "rows": rows(link, confidence),
        "both": [
            {
                "size": size,
                "gap": plain(median_of([each / (2 * (window_of(size) - 1)) for each in times], confidence)),
                "window": window_of(size) - 1,
            }
            for size, times in sorted(link.both.items())
        ],
        "receive": None if receive is None else plain(receive),
        "exchange": None if exchange is None else plain(exchange),
        "eager": eager,
        "waits": waits,
        "taken": taken,
        "refused": refused,
        "in_calls": in_calls,
        "reads": reads,
        "hosts": hosts,
        "mpi": " ".join(MPI.Get_library_version().strip("\0\n ").splitlines()[0].split()),
        "left_out": [size for size in sizes if size not in link.halves],
    }


def rows(link: LinkProbe, confidence: float) -> list[dict[str, object]]:
    """Return the measurements by size, as values for JSON."""
    found = []
    for size in sorted(link.halves):
        row: dict[str, object] = {"size": size, "one_way": plain(median_of(link.halves[size], confidence))}
        row["blocked"] = plain(median_of(link.blocked[size], confidence))
        if size in link.calls:
            row["call"] = plain(median_of(link.calls[size], confidence))
        if size in link.windows:
            row["window"] = window = window_of(size)
            row["gap"] = plain(median_of([time / window for time in link.windows[size]], confidence))
        found.append(row)
    return found


def main() -> None:
    """Measure and print."""
    comm = MPI.COMM_WORLD
    if comm.size != 2:
        if comm.rank == 0:
            put({"error": f"ranks must be 2, got {comm.size}{alone(comm.size)}"})
        return
    settings = json.loads(sys.argv[1])
    hosts = comm.allgather(MPI.Get_processor_name())
    if settings["apart"] and hosts[0] == hosts[1]:
        if comm.rank == 0:
            put({"error": f"ranks must be on two computers for {settings['apart']}, got both on {hosts[0]}"})
        return
    result = measure(comm, settings, hosts)
    if result is not None:
        put({"result": result})


if __name__ == "__main__":
    main()
