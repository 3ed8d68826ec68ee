"""Reading GOAL schedules: each rank's graph of operations becomes a sequence of clue's ops if this is exact.

A rank in clue does one thing after the other: it computes, starts messages, and waits. A graph is such a sequence if
every operation depends on everything that the rank has computed or waited for before it. If several operations may
begin at the same time on the single processor of a rank, messages come first: sends before receives, each in the order
of the file. Any other concurrency, on several processors or because of another wait, is refused with its place.

LogGOPSim posts a receive at no cost and charges its overhead when the message has arrived; an Irecv in clue is charged
when it is posted. Receives during which the rank does nothing else therefore become blocking ones, in the order of the
file, if this cannot delay a sender: the messages are short, and the ranks do not deadlock on any machine.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from clue.errors import ReplayError, UsageError
from clue.files import read_bytes
from clue.formats.growing import LONGEST, GrowingRank
from clue.formats.remarks import Converted, Remarks
from clue.formats.words import DIGITS, LARGEST_FILE, unreadable
from clue.kernel import simulate
from clue.machine import MOST_RANKS, Curve, Link, Machine, Network, NodeType
from clue.trace import Op, Trace
from clue.trace.builder import RankColumns, trace_of
from clue.trace.meaning import LARGEST_TAG

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_LABEL = r"(?P<label>[A-Za-z]\w*)"
_LINE = re.compile(
    rf"""num_ranks\s+(?P<ranks>\d+)
      | rank\s+(?P<rank>\d+)\s*\{{
      | (?P<end>\}})
      | (?:{_LABEL}\s*:\s*)? (?:
            calc\s+(?P<calc>\d+)
          | (?P<verb>send|recv)\s+(?P<nbytes>\d+)\s*b\s+(?:to|from)\s+(?P<peer>-?\d+)(?:\s+tag\s+(?P<tag>-?\d+))?
        ) (?:\s+cpu\s+(?P<cpu>\d+))? (?:\s+nic\s+(?P<nic>\d+))?
      | (?P<later>[A-Za-z]\w*)\s+(?P<kind>i?requires)\s+(?P<earlier>[A-Za-z]\w*)""",
    re.VERBOSE,
)

#: Words of ``l1: calc 5`` and of ``l1: send 5b to 1 tag 0``.
_SHORTEST, _MESSAGE = 3, 7
_DEPENDENCIES = frozenset({"requires", "irequires"})
_WAYS = frozenset({"to", "from"})
#: Bits of an operation's number.
_HALF = 32
#: Digits of the longest number that is read.
_MOST_DIGITS = 18
_VERBS = {"send": int(Op.ISEND), "recv": int(Op.IRECV)}
_COMPUTE, _ISEND, _IRECV = int(Op.COMPUTE), int(Op.ISEND), int(Op.IRECV)
#: Default eager limit of LogGOPSim (its S): the longest message sent before its receive is posted, bytes.
_SHORT = 65_535


@dataclass(slots=True, eq=False)
class _Graph:
    """The operations of one rank, in the order of the file, by number.

    Attributes:
        line: Line in the file.
        op: ``ISEND``, ``IRECV``, or ``COMPUTE``.
        peer: Partner of a message.
        tag: Its tag.
        amount: Bytes, or nanoseconds.
        requires: Pairs of an operation and one that must have ended before it.
        irequires: Pairs of an operation and one that must have started before it.
    """

    line: list[int] = field(default_factory=list)
    op: list[int] = field(default_factory=list)
    peer: list[int] = field(default_factory=list)
    tag: list[int] = field(default_factory=list)
    amount: list[int] = field(default_factory=list)
    requires: list[int] = field(default_factory=list)
    irequires: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.line)

    def add(self, line: int, op: int, peer: int, tag: int, amount: int) -> None:
        """Add an operation."""
        self.line.append(line)
        self.op.append(op)
        self.peer.append(peer)
        self.tag.append(tag)
        self.amount.append(amount)


def read_goal(path: Path) -> Converted:
    """Read a GOAL schedule.

    Raises:
        UsageError: If it is missing or malformed, or a rank is not a sequence of clue's ops.
    """
    try:
        text = read_bytes(path, most=LARGEST_FILE).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error, "schedule") from None
    remarks = Remarks()
    graphs = _parse(path, text, remarks)
    ranks, blocked = _sequences(path, graphs, blocking=True)
    if blocked and not _ends(trace_of(ranks, path.name)):
        ranks, blocked = _sequences(path, graphs, blocking=False)
    remarks.count(
        "receive that may come in any order is|receives that may come in any order are",
        "taken in that of the file; where messages come in another, a rank is late by up to one receive overhead each",
        blocked,
    )
    remarks.count(
        "receive is started before the rank waits for it; its overhead is paid when it is|"
        "receives are started before the rank waits for them; their overhead is paid when they are",
        "posted, in LogGOPSim when the message is there",
        sum(int((rank.columns["op"] == _IRECV).sum()) for rank in ranks if len(rank)),
    )
    return Converted(trace_of(ranks, path.name, notes=["read from a GOAL schedule", *remarks.lines]), remarks.lines)


def _sequences(path: Path, graphs: list[_Graph], *, blocking: bool) -> tuple[list[RankColumns], int]:
    """Return each rank's ops, and the number of receives that block in the file's order because any order is valid."""
    nothing = GrowingRank().finish()
    ranks, blocked = [], 0
    for rank, graph in enumerate(graphs):
        sequence = _Sequence(path, rank, graph, blocking=blocking) if len(graph) else None
        ranks.append(sequence.ops() if sequence else nothing)
        blocked += sequence.blocked if sequence else 0
    return ranks, blocked


def _ends(trace: Trace) -> bool:
    """Tell whether a program ends if every send waits for its receive; if so, it ends on every machine."""
    link = Link(Curve.line(0.0), Curve.line(0.0), 0.0, 0)
    machine = Machine("strict", (NodeType("node"),) * trace.ranks, Network(link, link))
    try:
        simulate(trace, machine)
    except ReplayError:
        return False
    return True


def _parse(path: Path, text: str, remarks: Remarks) -> list[_Graph]:
    parser = _Parser(path, remarks)
    text = _COMMENT.sub(lambda match: "\n" * match[0].count("\n"), text)
    for number, line in enumerate(text.split("\n"), 1):
        for part in line.split(";") if ";" in line else (line,):
            parser.take(number, part)
    return parser.finish()


class _Parser:
    """Translates lines to operations."""

    def __init__(self, path: Path, remarks: Remarks) -> None:
        self._path, self._remarks = path, remarks
        self._ranks: dict[int, _Graph] = {}
        self._size = self._size_line = 0
        self._here: _Graph | None = None
        self._labels: dict[str, int] = {}
        #: Dependencies whose labels were not known when they were read.
        self._open: list[tuple[int, str, str, str]] = []

    def take(self, number: int, line: str) -> None:
        """Read one line: the usual forms directly, any other by the general pattern."""
        words = line.split()
        if words and not self._take_usual(number, words):
            self._take_any(number, line.strip())

    def finish(self) -> list[_Graph]:
        """Return the operations of all ranks."""
        if self._here is not None:
            raise UsageError(f"{self._path}: last rank must end with a bracket, got the end of the file")
        if not self._size:
            raise UsageError(f"{self._path}: schedule must begin with num_ranks, got none")
        missing = next((rank for rank in range(self._size) if rank not in self._ranks), None)
        if missing is not None:
            rule = "num_ranks must be the number of ranks in the file"
            raise self._fault(self._size_line, f"{rule}, got {self._size} without rank {missing}")
        return [self._ranks[rank] for rank in range(self._size)]

    def _take_usual(self, number: int, words: list[str]) -> bool:
        """Read ``l2 requires l1``, ``l1: calc 5``, ``l1: send 5b to 1 tag 0``, ``… cpu 0``; false for other lines."""
        here, count = self._here, len(words)
        if here is None or count < _SHORTEST:
            return False
        if words[1] in _DEPENDENCIES and count == _SHORTEST:
            self._depend(number, *words)
            return True
        if words[-2] == "cpu" and words[-1] == "0":
            count -= 2
        label, verb, amount = words[0], words[1], words[2]
        if label[-1] != ":" or not label[:-1].isidentifier():
            return False
        if label[:-1] in self._labels or len(amount) > DIGITS:
            return False
        if verb == "calc" and count == _SHORTEST and amount.isdecimal():
            here.add(number, _COMPUTE, 0, 0, int(amount))
        elif verb in _VERBS and count == _MESSAGE and self._is_message(words):
            here.add(number, _VERBS[verb], int(words[4]), int(words[6]), int(amount[:-1]))
        else:
            return False
        self._labels[label[:-1]] = len(here) - 1
        return True

    def _is_message(self, words: list[str]) -> bool:
        _, _, nbytes, way, peer, tag, number = words[:_MESSAGE]
        return (
            nbytes[-1] == "b"
            and nbytes[:-1].isdecimal()
            and way in _WAYS
            and tag == "tag"
            and number.isdecimal()
            and peer.isdecimal()
            and len(number) < DIGITS
            and len(peer) < DIGITS
            and int(number) <= LARGEST_TAG
            and int(peer) < self._size
        )

    def _take_any(self, number: int, line: str) -> None:
        found = _LINE.fullmatch(line)
        if found is None:
            raise self._fault(number, f"line must be one of GOAL's, got {line!r}")
        if found["ranks"] is not None:
            self._begin_all(number, found["ranks"])
        elif found["rank"] is not None:
            self._begin(number, found["rank"])
        elif self._here is None:
            raise self._fault(number, f"operation must be within a rank, got {line!r}")
        elif found["end"] is not None:
            self._end()
        elif found["kind"] is not None:
            self._depend(number, found["later"], found["kind"], found["earlier"])
        else:
            self._operation(number, found, self._here)

    def _begin_all(self, number: int, ranks: str) -> None:
        if self._size:
            raise self._fault(number, f"num_ranks must appear once, got it again after line {self._size_line}")
        size = _whole(ranks)
        if not 1 <= size <= MOST_RANKS:
            raise self._fault(number, f"num_ranks must be from 1 to {MOST_RANKS}, got {ranks}")
        self._size, self._size_line = size, number

    def _begin(self, number: int, named: str) -> None:
        rank = _whole(named)
        if self._here is not None:
            raise self._fault(number, f"rank before must end with a bracket, got rank {named}")
        if rank >= self._size or rank in self._ranks:
            raise self._fault(number, f"rank must be a new one below num_ranks ({self._size}), got {named}")
        self._here = self._ranks[rank] = _Graph()

    def _operation(self, number: int, found: re.Match[str], here: _Graph) -> None:
        if found["cpu"] not in {None, "0"}:
            raise self._fault(number, f"operation must be on cpu 0: a rank of clue has one, got cpu {found['cpu']}")
        if found["nic"] not in {None, "0"}:
            self._remarks.count("operation names|operations name", "a network interface, which is left out")
        label, known = found["label"], self._labels.get(found["label"])
        if known is not None:
            raise self._fault(
                number, f"label must be a new one of the rank, got {label}, as in line {here.line[known]}"
            )
        if found["calc"] is not None:
            here.add(number, _COMPUTE, 0, 0, self._at_most(number, LONGEST, "calc", "ns", found["calc"]))
        else:
            nbytes = self._at_most(number, 10**DIGITS - 1, "size", "B", found["nbytes"])
            here.add(number, _VERBS[found["verb"]], *self._ends_of(number, found), nbytes)
        if label is not None:
            self._labels[label] = len(here) - 1

    def _at_most(self, number: int, most: int, what: str, unit: str, digits: str) -> int:
        value = _whole(digits)
        if value > most:
            raise self._fault(number, f"{what} must be at most {most} {unit}, got {digits}")
        return value

    def _ends_of(self, number: int, found: re.Match[str]) -> tuple[int, int]:
        """Return partner and tag of a message."""
        peer, tag = _whole(found["peer"]), _whole(found["tag"] or "0")
        if tag > LARGEST_TAG:
            raise self._fault(number, f"tag must be at most {LARGEST_TAG}, got {found['tag']}")
        if not 0 <= peer < self._size or tag < 0:
            raise self._fault(
                number,
                f"message must name its partner, from 0 to {self._size - 1}, and a tag: clue takes a wildcard only "
                f"with what it matched, got {found[0]!r}",
            )
        return peer, tag

    def _depend(self, number: int, later: str, kind: str, earlier: str) -> None:
        after, before = self._labels.get(later), self._labels.get(earlier)
        if after is None or before is None or self._here is None:
            self._open.append((number, later, kind, earlier))
        else:
            (self._here.requires if kind == "requires" else self._here.irequires).extend((after, before))

    def _end(self) -> None:
        pending, self._open = self._open, []
        for each in pending:
            self._depend(*each)
        for number, later, _, earlier in self._open:
            unknown = earlier if later in self._labels else later
            raise self._fault(number, f"dependency must be between labels of the rank, got {unknown}")
        self._here = None
        self._labels.clear()

    def _fault(self, number: int, text: str) -> UsageError:
        return UsageError(f"{self._path}:{number}: {text}")


def _whole(text: str) -> int:
    """Return a whole number; overlong numbers become a value above every limit."""
    digits = text.lstrip("-0")
    value = int(digits or "0") if len(digits) <= _MOST_DIGITS else 10**_MOST_DIGITS
    return -value if text[0] == "-" else value


class _Sequence:
    """Translates the graph of one rank to a sequence of ops.

    Attributes:
        blocked: Number of receives that block in the order of the file because any order is allowed.
    """

    def __init__(self, path: Path, rank: int, graph: _Graph, *, blocking: bool) -> None:
        self.blocked = 0
        self._path, self._rank, self._graph, self._blocking = path, rank, graph, blocking
        self._ops = GrowingRank()
        requires, irequires = _pairs(graph.requires), _pairs(graph.irequires)
        self._requires, self._enders = _Edges(requires, len(graph)), _Edges(requires[:, ::-1], len(graph))
        self._irequires, self._starters = _Edges(irequires, len(graph)), _Edges(irequires[:, ::-1], len(graph))
        #: By operation: number of required operations that have not ended; number of dependencies that have not begun.
        self._unended = self._requires.counts()
        self._unbegun = [sum(both) for both in zip(self._unended, self._irequires.counts(), strict=True)]
        #: Operations whose dependencies have all begun: those that need not wait, and those that must, in order.
        self._messages: list[int] = []
        self._bursts: list[int] = []
        self._waiting: dict[int, None] = {}
        #: By operation: its place in the sequence, its request, and whether it has ended.
        self._position = [-1] * len(graph)
        self._request = [-1] * len(graph)
        self._ended = bytearray(len(graph))
        self._next = 0
        #: The last computation or wait of the rank, and its position in the sequence.
        self._last: list[int] = []
        self._last_at = -1
        self._computed = 0

    def ops(self) -> RankColumns:
        """Return the ops.

        Raises:
            UsageError: If the graph is not a sequence.
        """
        for each, unbegun in enumerate(self._unbegun):
            if not unbegun:
                self._make_ready(each)
        while self._messages or self._bursts or self._waiting:
            if self._messages:
                self._start_messages()
            elif self._bursts:
                self._compute()
            else:
                self._wait_for_least()
        if -1 in self._position:
            raise self._fault(self._position.index(-1), "must not depend on itself")
        # A rank ends when all its operations have.
        self._wait([each for each, request in enumerate(self._request) if request >= 0 and not self._ended[each]])
        return self._ops.finish()

    def _make_ready(self, operation: int) -> None:
        if self._unended[operation]:
            self._waiting[operation] = None
        else:
            (self._bursts if self._graph.op[operation] == _COMPUTE else self._messages).append(operation)

    def _start_messages(self) -> None:
        """Start every message that does not have to wait."""
        graph = self._graph
        # Posting takes no time in LogGOPSim, and a send never waits for incoming messages.
        free = sorted(self._messages, key=lambda each: (graph.op[each] == _IRECV, each))
        self._messages = []
        for each in free:
            self._check_order(each)
            op = graph.op[each]
            amount = graph.amount[each] if op == _ISEND else 0
            self._request[each] = self._ops.start(op, graph.peer[each], graph.tag[each], amount)
            self._place(each)

    def _compute(self) -> None:
        """Add all computation that may begin now, one after the other."""
        free, self._bursts = sorted(self._bursts), []
        for each in free:
            self._check_order(each)
            self._computed += self._graph.amount[each]
            if self._computed > LONGEST:
                raise self._fault(each, f"must keep the rank's computation at most {LONGEST} ns, got {self._computed}")
            self._ops.burst += self._graph.amount[each]
            self._end(each)
            self._place(each)
        self._come_to(free)

    def _wait_for_least(self) -> None:
        """Wait for the requirements of the operation that has fewest open ones."""
        first = min(self._waiting, key=self._unended.__getitem__)
        self._check_order(first)
        self._wait([each for each in self._requires.of(first) if not self._ended[each]])

    def _wait(self, operations: list[int]) -> None:
        if not operations:
            return
        # A wait for the message started just before is a blocking one.
        if len(operations) == 1 and self._position[operations[0]] == self._next - 1:
            self._ops.block()
        else:
            last = self._last_receives(operations)
            self._ops.block(len(last))
            self._ops.wait([self._request[each] for each in operations if each not in last])
            self.blocked += len(last) if len(last) > 1 else 0
        for each in operations:
            self._end(each)
        self._come_to(operations)

    def _last_receives(self, operations: list[int]) -> set[int]:
        """Return the receives that may block: short ones in any order, with no operation begun after them."""
        last: set[int] = set()
        # irequires in a file stand for nonblocking calls, in that order.
        if not self._blocking or any(self._irequires.of(each) or self._starters.of(each) for each in operations):
            return last
        for each in sorted(operations, key=self._position.__getitem__, reverse=True):
            short = self._graph.op[each] == _IRECV and self._graph.amount[each] <= _SHORT
            if not short or self._position[each] != self._next - 1 - len(last):
                break
            last.add(each)
        return last

    def _come_to(self, operations: list[int]) -> None:
        self._last, self._last_at = operations, self._next
        self._next += 1

    def _place(self, operation: int) -> None:
        """Count an operation as begun."""
        self._position[operation] = self._next
        self._next += 1
        unbegun = self._unbegun
        for followers in (self._enders.of(operation), self._starters.of(operation)):
            for each in followers:
                unbegun[each] -= 1
                if not unbegun[each]:
                    self._make_ready(each)

    def _end(self, operation: int) -> None:
        """Count an operation as ended."""
        self._ended[operation] = True
        for each in self._enders.of(operation):
            self._unended[each] -= 1
            if not self._unended[each] and each in self._waiting:
                del self._waiting[each]
                self._make_ready(each)

    def _check_order(self, operation: int) -> None:
        """Check that an operation comes after the last wait or computation."""
        position, last_at, requires = self._position, self._last_at, self._requires.of(operation)
        for each in requires:
            if position[each] > last_at:
                return
        for each in self._irequires.of(operation):
            if position[each] > last_at:
                return
        if requires != self._last and not set(self._last) <= set(requires):
            line = max(self._graph.line[last] for last in self._last)
            raise self._fault(
                operation,
                f"must come after line {line}, which the rank has computed or waited for by then: a rank of clue does "
                "one thing after the other",
            )

    def _fault(self, operation: int, rule: str) -> UsageError:
        return UsageError(f"{self._path}:{self._graph.line[operation]}: operation of rank {self._rank} {rule}")


class _Edges:
    """Pairs of numbers, grouped by the first number, in order."""

    __slots__ = ("_bounds", "_seconds")

    def __init__(self, pairs: npt.NDArray[np.int64], count: int) -> None:
        order = np.argsort(pairs[:, 0], kind="stable")
        self._seconds: list[int] = pairs[order, 1].tolist()
        self._bounds = [0, *np.cumsum(np.bincount(pairs[:, 0], minlength=count)).tolist()]

    def of(self, first: int) -> list[int]:
        """Return the second numbers of the pairs with this first number."""
        return self._seconds[self._bounds[first] : self._bounds[first + 1]]

    def counts(self) -> list[int]:
        """Return the number of pairs with each first number."""
        return [end - begin for begin, end in pairwise(self._bounds)]


def _pairs(flat: list[int]) -> npt.NDArray[np.int64]:
    """Return pairs without duplicates, each at its first position."""
    pairs: npt.NDArray[np.int64] = np.array(flat, np.int64).reshape(-1, 2)
    code = pairs[:, 0] << _HALF | pairs[:, 1]
    first = np.sort(np.unique(code, return_index=True)[1])
    return np.take(pairs, first, axis=0)
