"""Reading SimGrid's time-independent traces: what each action means in clue's ops.

Actions as in SimGrid 3.32 (src/smpi/internals/smpi_replay.cpp). Sizes there count elements: of the datatype whose
number stands at the end of the line, or of the default one that ``init`` sets, 8 B with an argument and 1 B without.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from clue.errors import TraceError, UsageError
from clue.formats.columns import RankColumns, trace_of
from clue.formats.remarks import Converted, Remarks
from clue.trace import Flag, Op

#: Bytes of SimGrid's datatypes by number, from DOUBLE (0) to COUNT (59), on 64-bit Linux.
_BYTES = (
    8, 4, 1, 2, 8, 4, 1, 8, 1, 1, 2, 4, 8, 8, 16, 4, 1, 1, 2, 4, 8, 1, 2, 4, 8, 8, 16, 32, 8, 8,
    8, 16, 16, 8, 8, 8, 16, 16, 4, 4, 8, 16, 8, 16, 16, 4, 2, 4, 8, 16, 32, 1, 8, 16, 32, 0, 0, 1, 8, 8,
)  # fmt: skip
_CONTINUED = int(Flag.CONTINUED)
Words = list[str]


def read_ti(path: Path, *, flops_per_second: float) -> Converted:
    """Read time-independent traces.

    Args:
        path: A file that lists one file of actions per rank, or one for all of them.
        flops_per_second: Speed at which flops become CPU seconds.

    Raises:
        UsageError: If a file is missing or an action is not one.
        TraceError: If a partner is not there.
    """
    if not flops_per_second > 0:
        raise UsageError(f"flops per second must be above 0, got {flops_per_second}")
    actions = _actions(path)
    remarks = Remarks()
    ranks = [_RankReader(rank, len(actions), flops_per_second, remarks) for rank in range(len(actions))]
    for reader, (file, lines) in zip(ranks, actions, strict=True):
        reader.read(file, lines)
    note = f"read from SimGrid's time-independent traces at {flops_per_second:g} flop/s"
    trace = trace_of([reader.columns for reader in ranks], path.name, [note, *remarks.lines])
    return Converted(trace, remarks.lines)


Numbered = Iterable[tuple[int, Words]]


def _actions(path: Path) -> list[tuple[Path, Numbered]]:
    """Return each rank's actions, with the file and the number of each line."""
    files = [path.parent / words[0] for _, words in _lines(path)]
    if not files:
        raise UsageError(f"{path}: list must name a file of actions for each rank, got none")
    if len(files) > 1:
        return [(file, _of_rank(file, str(rank))) for rank, file in enumerate(files)]
    return _merged(files[0])


def _of_rank(file: Path, rank: str) -> Iterator[tuple[int, Words]]:
    """Yield a rank's lines of its own file; SimGrid passes over others too."""
    return ((number, words) for number, words in _lines(file) if words[0] == rank)


def _merged(file: Path) -> list[tuple[Path, Numbered]]:
    by_rank: dict[int, list[tuple[int, Words]]] = {}
    for number, words in _lines(file):
        if not words[0].isdecimal():
            raise UsageError(f"{file}:{number}: line must begin with a rank, got {words[0]!r}")
        by_rank.setdefault(int(words[0]), []).append((number, words))
    return [(file, by_rank.get(rank, [])) for rank in range(max(by_rank, default=-1) + 1)]


def _lines(file: Path) -> Iterator[tuple[int, Words]]:
    try:
        with file.open() as stream:
            for number, line in enumerate(stream, 1):
                words = line.split()
                if words and not words[0].startswith("#"):
                    yield number, words
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: file must be readable text, got {error}") from None


class _RankReader:
    """One rank's actions becoming ops. Methods take the arguments of an action, as words."""

    def __init__(self, rank: int, size: int, flops_per_second: float, remarks: Remarks) -> None:
        self.columns = RankColumns()
        self._rank, self._size, self._remarks = rank, size, remarks
        self._nanoseconds_per_flop = 1e9 / flops_per_second
        self._default = 1
        #: Open requests by the words that a wait names them by: source, destination, tag.
        self._open: dict[tuple[int, int, int], deque[int]] = {}

    def read(self, file: Path, lines: Numbered) -> None:
        """Read all actions."""
        for number, words in lines:
            try:
                _ACTIONS[words[1]](self, words[2:])
            except (KeyError, IndexError, ValueError, TraceError) as error:
                raise UsageError(f"{file}:{number}: {self._fault(words, error)}") from None
        left = [request for requests in self._open.values() for request in requests]
        self._remarks.count("requests are waited for by no action; ranks wait for them at their end", len(left))
        self.columns.wait(sorted(left))

    def _fault(self, words: Words, error: Exception) -> str:
        if len(words) < 2 or words[1] not in _ACTIONS:
            return f"action must be one of {', '.join(_ACTIONS)}, got {' '.join(words)!r}"
        if isinstance(error, TraceError):
            return str(error)
        return f"action {words[1]} must have its numbers, got {' '.join(words)!r}"

    # -- words ---------------------------------------------------------------------------------------------

    def _partner(self, word: str) -> int:
        partner = int(word)
        if not 0 <= partner < self._size:
            raise TraceError(f"partner must be a rank from 0 to {self._size - 1}, got {partner}")
        return partner

    def _tag(self, word: str) -> int:
        tag = int(word)
        if tag < 0:
            raise TraceError(f"tag must be at least 0, got {tag}: wildcards do not say what they matched")
        return tag

    def _bytes(self, words: Words, at: int) -> int:
        """Return the size of an element: of the datatype at that place of the line, if there is one."""
        return _BYTES[int(words[at])] if at < len(words) else self._default

    def _sizes(self, words: Words, unit: int) -> list[int]:
        if len(words) != self._size:
            raise IndexError
        return [int(word) * unit for word in words]

    def _compute(self, flops: str) -> None:
        self.columns.burst += round(float(flops) * self._nanoseconds_per_flop)

    # -- actions -------------------------------------------------------------------------------------------

    def init(self, words: Words) -> None:
        """Set the default datatype."""
        self._default = 8 if words else 1

    def nothing(self, _words: Words) -> None:
        """Do nothing, as SimGrid does."""

    def communicator(self, _words: Words) -> None:
        """Pass over, as SimGrid does."""
        self._remarks.count("actions make communicators, of which these traces say no more; they are left out")

    def compute(self, words: Words) -> None:
        """Add to the burst before the next op."""
        self._compute(words[0])

    def sleep(self, words: Words) -> None:
        """Take it as computation: clue's ops have no idle time."""
        self._remarks.count("sleeps are taken as computation")
        self.columns.burst += round(float(words[0]) * 1e9)

    def send(self, words: Words) -> None:
        """Send."""
        self.columns.add(Op.SEND, self._partner(words[0]), self._tag(words[1]), int(words[2]) * self._bytes(words, 3))

    def recv(self, words: Words) -> None:
        """Receive."""
        self.columns.add(Op.RECV, self._partner(words[0]), self._tag(words[1]))

    def isend(self, words: Words) -> None:
        """Start a send."""
        dest, tag = self._partner(words[0]), self._tag(words[1])
        request = self.columns.start(Op.ISEND, dest, tag, int(words[2]) * self._bytes(words, 3))
        self._open.setdefault((self._rank, dest, tag), deque()).append(request)

    def irecv(self, words: Words) -> None:
        """Start a receive."""
        source, tag = self._partner(words[0]), self._tag(words[1])
        self._open.setdefault((source, self._rank, tag), deque()).append(self.columns.start(Op.IRECV, source, tag))

    def sendrecv(self, words: Words) -> None:
        """Exchange: both tags are 0."""
        dest, source = self._partner(words[1]), self._partner(words[3])
        receive = self.columns.start(Op.IRECV, source, 0)
        send = self.columns.start(Op.ISEND, dest, 0, int(words[0]) * self._bytes(words, 4), _CONTINUED)
        self.columns.wait((receive, send), _CONTINUED)

    def wait(self, words: Words) -> None:
        """Wait for the oldest request of that name; if there is none, a test has caught it."""
        requests = self._open.get((int(words[0]), int(words[1]), int(words[2])))
        if requests:
            self.columns.wait((requests.popleft(),))
        else:
            self._remarks.count("waits have no request left to wait for and are left out")

    def wait_all(self, _words: Words) -> None:
        """Wait for all open requests."""
        requests = sorted(request for each in self._open.values() for request in each)
        self._open.clear()
        self.columns.wait(requests)

    def test(self, words: Words) -> None:
        """Take it as having found nothing: the trace does not say, and the request stays open for its wait."""
        source, dest, tag = map(int, words[:3])
        if self._open.get((source, dest, tag)):
            self._remarks.count("tests are taken as having found nothing")
            self.columns.add(Op.POLL, source if dest == self._rank else dest, tag)

    def barrier(self, _words: Words) -> None:
        """Wait for all."""
        self.columns.add(Op.BARRIER)

    def bcast(self, words: Words) -> None:
        """Broadcast."""
        self.columns.add(Op.BCAST, self._root(words, 1), nbytes=int(words[0]) * self._bytes(words, 2))

    def reduce(self, words: Words) -> None:
        """Reduce; the computation follows, as in SimGrid."""
        self.columns.add(Op.REDUCE, self._root(words, 2), nbytes=int(words[0]) * self._bytes(words, 3))
        self._compute(words[1])

    def gather(self, words: Words) -> None:
        """Gather equal blocks."""
        self.columns.add(Op.GATHER, self._root(words, 2), nbytes=int(words[0]) * self._bytes(words, 3))

    def scatter(self, words: Words) -> None:
        """Scatter equal blocks."""
        self.columns.add(Op.SCATTER, self._root(words, 2), nbytes=int(words[1]) * self._bytes(words, 4))

    def gatherv(self, words: Words) -> None:
        """Gather blocks of any size."""
        after = 1 + self._size
        self._sizes(words[1:after], 1)
        self.columns.add(Op.GATHERV, self._root(words, after), nbytes=int(words[0]) * self._bytes(words, after + 1))

    def scatterv(self, words: Words) -> None:
        """Scatter blocks of any size."""
        after = 1 + self._size
        block = self._sizes(words[: self._size], 1)[self._rank]
        self.columns.add(Op.SCATTERV, self._root(words, after), nbytes=block * self._bytes(words, after + 1))

    def alltoall(self, words: Words) -> None:
        """Exchange equal blocks."""
        self.columns.add(Op.ALLTOALL, nbytes=int(words[0]) * self._bytes(words, 2))

    def alltoallv(self, words: Words) -> None:
        """Exchange blocks of any size."""
        self._sizes(words[2 + self._size : 2 + 2 * self._size], 1)
        unit = self._bytes(words, 2 + 2 * self._size)
        self.columns.add_list(Op.ALLTOALLV, self._sizes(words[1 : 1 + self._size], unit))

    def allgather(self, words: Words) -> None:
        """Gather equal blocks everywhere."""
        self.columns.add(Op.ALLGATHER, nbytes=int(words[0]) * self._bytes(words, 2))

    def allgatherv(self, words: Words) -> None:
        """Gather blocks of any size everywhere; displacements may follow, without datatypes."""
        after = 1 + self._size
        self._sizes(words[1:after], 1)
        datatypes = len(words) - after in {1, 2, 2 + self._size}
        unit = self._bytes(words, after) if datatypes else self._default
        self.columns.add(Op.ALLGATHERV, nbytes=int(words[0]) * unit)

    def reduce_scatter(self, words: Words) -> None:
        """Reduce and scatter; the computation follows."""
        unit = self._bytes(words, self._size + 1)
        self.columns.add(Op.REDUCE_SCATTER, nbytes=self._sizes(words[: self._size], unit)[self._rank])
        self._compute(words[self._size])

    def _root(self, words: Words, at: int) -> int:
        return self._partner(words[at]) if at < len(words) else 0


def _reduction(op: Op) -> Callable[[_RankReader, Words], None]:
    """Return the action of a reduction without root."""

    def action(reader: _RankReader, words: Words) -> None:
        nbytes = int(words[0]) * reader._bytes(words, 2)
        reader.columns.add(op, nbytes=nbytes)
        reader._compute(words[1])

    return action


_ACTIONS: dict[str, Callable[[_RankReader, Words], None]] = {
    "init": _RankReader.init,
    "finalize": _RankReader.nothing,
    "location": _RankReader.nothing,
    "comm_size": _RankReader.communicator,
    "comm_split": _RankReader.communicator,
    "comm_dup": _RankReader.communicator,
    "send": _RankReader.send,
    "isend": _RankReader.isend,
    "recv": _RankReader.recv,
    "irecv": _RankReader.irecv,
    "test": _RankReader.test,
    "sendRecv": _RankReader.sendrecv,
    "wait": _RankReader.wait,
    "waitall": _RankReader.wait_all,
    "barrier": _RankReader.barrier,
    "bcast": _RankReader.bcast,
    "reduce": _RankReader.reduce,
    "allreduce": _reduction(Op.ALLREDUCE),
    "alltoall": _RankReader.alltoall,
    "alltoallv": _RankReader.alltoallv,
    "gather": _RankReader.gather,
    "scatter": _RankReader.scatter,
    "gatherv": _RankReader.gatherv,
    "scatterv": _RankReader.scatterv,
    "allgather": _RankReader.allgather,
    "allgatherv": _RankReader.allgatherv,
    "reducescatter": _RankReader.reduce_scatter,
    "scan": _reduction(Op.SCAN),
    "exscan": _reduction(Op.EXSCAN),
    "compute": _RankReader.compute,
    "sleep": _RankReader.sleep,
}
