"""Writing SimGrid's time-independent traces: one file of actions per rank, and the file that lists them.

The format is that of ``smpirun -replay`` in SimGrid 3.32 (src/smpi/internals/smpi_replay.cpp): ``RANK ACTION
ARGUMENTS``, sizes in bytes (``init`` without argument), computation in flops. A ``wait`` names its request by source,
destination and tag and takes the oldest match; the only communicator is that of all ranks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence

from clue.collectives import Collective
from clue.errors import UsageError
from clue.formats.plain import Branch, Compute, Plain, Poll, Sleep, Step, Transfer, Wait, Whole, free_tags, plain
from clue.formats.remarks import Remarks, Written, hints_at_blanks
from clue.formats.ti_actions import FLOPS_PER_SECOND
from clue.trace import Op, Trace

#: SimGrid 3.32 stores bytes in an int.
_LARGEST = 2**31 - 1
_TOO_LARGE = "2 GiB or more, which SimGrid 3.32 cannot count"
#: Collectives whose list of sizes SimGrid adds up; that of an alltoallv is written with its sums.
_ADDED_UP = frozenset({Op.GATHERV, Op.SCATTERV, Op.ALLGATHERV, Op.REDUCE_SCATTER})
#: A request as a ``wait`` names it: source, destination, tag.
Key = tuple[int, int, int]


def write_ti(
    trace: Trace,
    name: str,
    *,
    flops_per_second: float = FLOPS_PER_SECOND,
    lower: bool = False,
    library: str = "mpich",
) -> Written:
    """Write a trace as time-independent traces.

    Args:
        trace: The trace.
        name: File name of the list; actions go to ``NAME.0``, ``NAME.1``, … in the same folder.
        flops_per_second: Speed at which CPU seconds become flops.
        lower: Whether to write all collectives as messages; otherwise only those without an action.
        library: MPI library whose default algorithms lower the collectives.

    Raises:
        UsageError: If time-independent traces cannot represent the program.
    """
    if not flops_per_second > 0:
        raise UsageError(f"flops per second must be above 0, got {flops_per_second}")
    remarks = Remarks()
    program = plain(trace, library, remarks, keep=frozenset() if lower else frozenset(_COLLECTIVES))
    keys = _Keys(program, remarks)
    files = {name: "".join(f"{name}.{rank}\n" for rank in range(len(program.steps)))}
    for rank, steps in enumerate(program.steps):
        lines = _Actions(program, rank, flops_per_second, keys, remarks).lines(steps)
        files[f"{name}.{rank}"] = "".join(f"{rank} {line}\n" for line in lines)
    hints = [
        f"computation is written at {flops_per_second:g} flop/s of CPU time",
        f"run smpirun in the folder of {name}, where it looks for the files of ranks",
        *hints_at_blanks(name, "-replay"),
    ]
    if any(isinstance(step, Whole) for steps in program.steps for step in steps):
        hints.append("SimGrid chooses the algorithms of collectives; with --lower they are messages, by those of clue")
    return Written(files, remarks.lines, tuple(hints))


def _serial(steps: Sequence[Step]) -> Iterator[Step]:
    """Yield steps, with the steps of nonblocking collectives in sequence: the actions of a rank are sequential."""
    for step in steps:
        if isinstance(step, Branch):
            yield from step.steps
        else:
            yield step


class _Keys:
    """Tags under which waits find their requests.

    If a program does not wait for the messages of a channel in the order in which it started them, each message of the
    channel gets a separate tag.
    """

    def __init__(self, program: Plain, remarks: Remarks) -> None:
        self._shuffled: set[Key] = set()
        self._free: Iterator[int] = iter(())
        for rank, steps in enumerate(program.steps):
            self._find_shuffled(rank, steps)
        self._own: dict[tuple[Key, int], int] = {}
        if self._shuffled:
            self._free = free_tags(
                {step.tag for steps in program.steps for step in _serial(steps) if isinstance(step, Transfer)}
            )
            remarks.count(
                "channel has messages|channels have messages",
                "waited for out of order; each message gets a tag",
                len(self._shuffled),
            )

    def _find_shuffled(self, rank: int, steps: Sequence[Step]) -> None:
        waiting: dict[Key, deque[int]] = {}
        of: dict[int, Key] = {}
        for step in _serial(steps):
            if isinstance(step, Transfer) and not step.blocking:
                of[step.request] = key = key_of(rank, step)
                waiting.setdefault(key, deque()).append(step.request)
            elif isinstance(step, Wait):
                left = {request for request in step.requests if request in of}
                for key in {of[request] for request in left}:
                    queue = waiting[key]
                    while queue and queue[0] in left:
                        left.remove(queue.popleft())
                self._shuffled.update(of[request] for request in left)

    def tag(self, key: Key, serial: int) -> int:
        """Return the tag of the n-th message of a channel."""
        if key not in self._shuffled:
            return key[2]
        tag = self._own.get((key, serial))
        if tag is None:
            tag = self._own[key, serial] = next(self._free)
        return tag


def key_of(rank: int, message: Transfer) -> Key:
    """Return source, destination and tag of a rank's message."""
    return (rank, message.peer, message.tag) if message.sends else (message.peer, rank, message.tag)


class _Actions:
    """Converts the steps of one rank to lines."""

    def __init__(self, program: Plain, rank: int, flops_per_second: float, keys: _Keys, remarks: Remarks) -> None:
        self._program, self._rank, self._keys, self._remarks = program, rank, keys, remarks
        self._flops_per_nanosecond = flops_per_second * 1e-9
        self._serials: dict[tuple[bool, Key], int] = {}
        self._open: dict[int, Key] = {}

    def lines(self, steps: Sequence[Step]) -> Iterator[str]:
        """Yield the actions."""
        yield "init"
        for step in steps:
            if isinstance(step, Transfer):
                yield self._message(step)
            elif isinstance(step, Compute):
                yield f"compute {self._flops(step.nanoseconds)}"
            elif isinstance(step, Sleep):
                yield f"sleep {step.nanoseconds / 1e9!r}"
            elif isinstance(step, Wait):
                yield from self._wait(step.requests)
            elif isinstance(step, Whole):
                yield self._collective(step)
            elif isinstance(step, Poll):
                yield from self._test(step)
            else:
                yield from self._in_line(step)
        yield "finalize"

    def _flops(self, nanoseconds: int) -> str:
        flops = nanoseconds * self._flops_per_nanosecond
        return str(int(flops)) if flops.is_integer() else repr(flops)

    def _message(self, message: Transfer) -> str:
        channel = key_of(self._rank, message)
        serial = self._serials.get((message.sends, channel), 0)
        self._serials[message.sends, channel] = serial + 1
        tag = self._keys.tag(channel, serial)
        if not message.blocking:
            self._open[message.request] = (channel[0], channel[1], tag)
        nbytes = self._program.nbytes(self._rank, message)
        if nbytes > _LARGEST:
            self._remarks.count("side of a message has|sides of messages have", _TOO_LARGE)
        return f"{_NAMES[message.sends, message.blocking]} {message.peer} {tag} {nbytes}"

    def _collective(self, whole: Whole) -> str:
        line = _COLLECTIVES[whole.op](whole.collective, self._rank)
        # SimGrid adds up the sizes of a list, in an int, too.
        total = sum(whole.collective.sizes) if whole.op in _ADDED_UP else 0
        if max([total, *map(int, line.split()[1:])]) > _LARGEST:
            self._remarks.count("call of a rank to a collective has|calls of ranks to collectives have", _TOO_LARGE)
        return line

    def _wait(self, requests: Sequence[int]) -> Iterator[str]:
        known = [request for request in requests if request in self._open]
        if len(known) > 1 and len(known) == len(self._open):
            self._open.clear()
            yield "waitall"
        else:
            yield from self._waits(known)

    def _test(self, poll: Poll) -> Iterator[str]:
        """Yield a test if no other request has its name: SimGrid puts a tested request back at the end of the queue."""
        key = (poll.peer, self._rank, poll.tag)
        if list(self._open.values()).count(key) == 1:
            yield f"test {key[0]} {key[1]} {key[2]}"
        else:
            self._remarks.count(
                "Test or probe that found nothing has no request to name and is|"
                "Tests or probes that found nothing have no request to name and are",
                "left out",
            )

    def _in_line(self, branch: Branch) -> Iterator[str]:
        self._remarks.count(
            "call of a rank to a nonblocking collective is written as a blocking one|"
            "calls of ranks to nonblocking collectives are written as blocking ones"
        )
        for step in branch.steps:
            if isinstance(step, Transfer):
                yield self._message(step)
            else:
                yield from self._waits(step.requests)

    def _waits(self, requests: Sequence[int]) -> Iterator[str]:
        """Yield waits one by one, so that other open requests of the program stay open."""
        for request in requests:
            source, dest, tag = key = self._open[request]
            if source == dest and next(each for each, name in self._open.items() if name == key) != request:
                self._remarks.count(
                    "wait for a message of a rank to itself names|waits for messages of a rank to itself name",
                    "receive and send alike",
                )
            del self._open[request]
            yield f"wait {source} {dest} {tag}"


_NAMES = {(True, True): "send", (True, False): "isend", (False, True): "recv", (False, False): "irecv"}


def _listed(sizes: Sequence[int]) -> str:
    return " ".join(map(str, sizes))


def _alltoallv(collective: Collective, rank: int) -> str:
    size = collective.size
    sent = collective.sizes[rank * size : (rank + 1) * size]
    received = collective.sizes[rank::size]
    return f"alltoallv {sum(sent)} {_listed(sent)} {sum(received)} {_listed(received)}"


#: A line for each kept collective of one rank. Reductions have no computation, because clue's traces do not store it.
_COLLECTIVES: Mapping[Op, Callable[[Collective, int], str]] = {
    Op.BARRIER: lambda _c, _rank: "barrier",
    Op.BCAST: lambda c, rank: f"bcast {c.sizes[rank]} {c.root}",
    Op.REDUCE: lambda c, rank: f"reduce {c.sizes[rank]} 0 {c.root}",
    Op.ALLREDUCE: lambda c, rank: f"allreduce {c.sizes[rank]} 0",
    Op.SCAN: lambda c, rank: f"scan {c.sizes[rank]} 0",
    Op.EXSCAN: lambda c, rank: f"exscan {c.sizes[rank]} 0",
    Op.GATHER: lambda c, rank: f"gather {c.sizes[rank]} {c.sizes[rank]} {c.root}",
    Op.GATHERV: lambda c, rank: f"gatherv {c.sizes[rank]} {_listed(c.sizes)} {c.root}",
    Op.SCATTER: lambda c, rank: f"scatter {c.sizes[rank]} {c.sizes[rank]} {c.root}",
    Op.SCATTERV: lambda c, rank: f"scatterv {_listed(c.sizes)} {c.sizes[rank]} {c.root}",
    Op.ALLGATHER: lambda c, rank: f"allgather {c.sizes[rank]} {c.sizes[rank]}",
    Op.ALLGATHERV: lambda c, rank: f"allgatherv {c.sizes[rank]} {_listed(c.sizes)}",
    Op.ALLTOALL: lambda c, rank: f"alltoall {c.sizes[rank]} {c.sizes[rank]}",
    Op.ALLTOALLV: _alltoallv,
    Op.REDUCE_SCATTER: lambda c, _rank: f"reducescatter {_listed(c.sizes)} 0",
}
