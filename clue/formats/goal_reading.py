"""Reading GOAL schedules: each rank's graph of operations becomes a sequence of clue's ops where that is exact.

A rank of clue does one thing after the other: it computes, starts messages, and waits. A graph is such a sequence if
every operation comes after everything that the rank has computed or waited for before it. Operations that may begin at
the same time, on the one processor of a rank, begin with the messages, in the order of the file. Whatever else may
happen side by side, on several processors or because it depends on another wait, is refused with its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from clue.errors import UsageError
from clue.formats.columns import RankColumns, RankOps, trace_of
from clue.formats.remarks import Converted, Remarks
from clue.trace import Op

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


@dataclass(slots=True, eq=False)
class _Operation:
    """One operation of a rank.

    Attributes:
        line: Its line in the file.
        op: ``ISEND``, ``IRECV``, or ``COMPUTE``.
        peer: Partner of a message.
        tag: Its tag.
        amount: Bytes, or nanoseconds.
        requires: What must have ended before it.
        irequires: What must have started before it.
        followers: What depends on it.
        position: Its place in the sequence, once it has one.
        request: Request of a message under way.
        ended: Whether the sequence has waited for it.
    """

    line: int
    op: Op
    peer: int
    tag: int
    amount: int
    requires: list[_Operation] = field(default_factory=list)
    irequires: list[_Operation] = field(default_factory=list)
    followers: list[_Operation] = field(default_factory=list)
    position: int = -1
    request: int = -1
    ended: bool = False


def read_goal(path: Path) -> Converted:
    """Read a GOAL schedule.

    Raises:
        UsageError: If it is missing, breaks the form, or has a rank that is no sequence of clue's ops.
    """
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: schedule must be readable text, got {error}") from None
    remarks = Remarks()
    schedules = _parse(path, text, remarks)
    ranks = [_Sequence(path, rank, operations).ops() for rank, operations in enumerate(schedules)]
    trace = trace_of(ranks, path.name, ["read from a GOAL schedule", *remarks.lines])
    return Converted(trace, remarks.lines)


def _parse(path: Path, text: str, remarks: Remarks) -> list[list[_Operation]]:
    parser = _Parser(path, remarks)
    text = _COMMENT.sub(lambda match: "\n" * match[0].count("\n"), text)
    for number, line in enumerate(text.split("\n"), 1):
        for part in line.split(";"):
            if part := part.strip():
                parser.take(number, part)
    return parser.finish()


class _Parser:
    """Lines becoming operations."""

    def __init__(self, path: Path, remarks: Remarks) -> None:
        self._path, self._remarks = path, remarks
        self._ranks: dict[int, list[_Operation]] = {}
        self._size = 0
        self._here: list[_Operation] | None = None
        self._labels: dict[str, _Operation] = {}
        self._dependencies: list[tuple[int, str, str, str]] = []

    def take(self, number: int, line: str) -> None:
        """Take one line."""
        found = _LINE.fullmatch(line)
        if found is None:
            raise self._fault(number, f"line must be one of GOAL's, got {line!r}")
        if found["ranks"] is not None:
            self._size = int(found["ranks"])
        elif found["rank"] is not None:
            self._begin(number, int(found["rank"]))
        elif self._here is None:
            raise self._fault(number, f"operation must be within a rank, got {line!r}")
        elif found["end"] is not None:
            self._end()
        elif found["kind"] is not None:
            self._dependencies.append((number, found["later"], found["kind"], found["earlier"]))
        else:
            self._operation(number, found)

    def finish(self) -> list[list[_Operation]]:
        """Return all ranks' operations."""
        if self._here is not None:
            raise UsageError(f"{self._path}: last rank must end with a bracket, got the end of the file")
        if not self._size:
            raise UsageError(f"{self._path}: schedule must begin with num_ranks, got none")
        return [self._ranks.get(rank, []) for rank in range(self._size)]

    def _begin(self, number: int, rank: int) -> None:
        if self._here is not None:
            raise self._fault(number, f"rank before must end with a bracket, got rank {rank}")
        if rank >= self._size or rank in self._ranks:
            raise self._fault(number, f"rank must be a new one below num_ranks ({self._size}), got {rank}")
        self._here = self._ranks[rank] = []

    def _operation(self, number: int, found: re.Match[str]) -> None:
        assert self._here is not None
        if found["cpu"] not in {None, "0"}:
            raise self._fault(number, f"operation must be on cpu 0: a rank of clue has one, got cpu {found['cpu']}")
        if found["nic"] not in {None, "0"}:
            self._remarks.count("operations name a network interface, which is left out")
        if found["calc"] is not None:
            operation = _Operation(number, Op.COMPUTE, 0, 0, int(found["calc"]))
        else:
            operation = self._message(number, found)
        self._here.append(operation)
        if found["label"] is not None:
            self._labels[found["label"]] = operation

    def _message(self, number: int, found: re.Match[str]) -> _Operation:
        peer, tag = int(found["peer"]), int(found["tag"] or 0)
        if not 0 <= peer < self._size or tag < 0:
            raise self._fault(
                number,
                f"message must name its partner, from 0 to {self._size - 1}, and a tag: clue takes a wildcard only "
                f"with what it matched, got {found[0]!r}",
            )
        op = Op.ISEND if found["verb"] == "send" else Op.IRECV
        return _Operation(number, op, peer, tag, int(found["nbytes"]))

    def _end(self) -> None:
        for number, later, kind, earlier in self._dependencies:
            after, before = self._labels.get(later), self._labels.get(earlier)
            if after is None or before is None:
                unknown = later if after is None else earlier
                raise self._fault(number, f"dependency must be between labels of the rank, got {unknown}")
            (after.requires if kind == "requires" else after.irequires).append(before)
            before.followers.append(after)
        self._here = None
        self._labels.clear()
        self._dependencies.clear()

    def _fault(self, number: int, text: str) -> UsageError:
        return UsageError(f"{self._path}:{number}: {text}")


class _Sequence:
    """One rank's graph becoming a sequence of ops."""

    def __init__(self, path: Path, rank: int, operations: Sequence[_Operation]) -> None:
        self._path, self._rank, self._operations = path, rank, operations
        self._ops = RankColumns()
        self._position = 0
        #: What the rank has last computed or waited for, and where in the sequence that was.
        self._last: list[_Operation] = []
        self._last_at = -1
        self._missing = {id(each): len(each.requires) + len(each.irequires) for each in operations}
        self._ready = [each for each in operations if not self._missing[id(each)]]

    def ops(self) -> RankOps:
        """Return the ops.

        Raises:
            UsageError: If the graph is no sequence.
        """
        while self._ready:
            if not self._start_messages() and not self._compute():
                self._wait_for_least()
        left = [each for each in self._operations if each.position < 0]
        if left:
            raise self._fault(left[0], "must not depend on itself")
        # A rank ends when all its operations have.
        self._wait([each for each in self._operations if each.request >= 0 and not each.ended])
        return self._ops.finish()

    def _start_messages(self) -> bool:
        """Start every message that need not wait; tells whether there was one."""
        free = [each for each in self._ready if each.op is not Op.COMPUTE and not _unended(each)]
        for each in self._in_order(free):
            each.request = self._ops.start(each.op, each.peer, each.tag, each.amount if each.op is Op.ISEND else 0)
            self._place(each)
        return bool(free)

    def _compute(self) -> bool:
        """Compute all that may begin now, one after the other; tells whether there was any."""
        free = list(self._in_order([each for each in self._ready if not _unended(each)]))
        for each in free:
            self._ops.burst += each.amount
            each.ended = True
            self._place(each)
        if free:
            self._come_to(free)
        return bool(free)

    def _wait_for_least(self) -> None:
        """Wait for what the operation with the fewest open requirements needs."""
        first = min(self._ready, key=lambda each: len(_unended(each)))
        next(self._in_order([first]))
        self._wait(_unended(first))

    def _wait(self, operations: Sequence[_Operation]) -> None:
        if not operations:
            return
        # A wait for the message started just before is a blocking one.
        if len(operations) == 1 and operations[0].position == self._position - 1:
            self._ops.block()
        else:
            self._ops.wait([each.request for each in operations])
        for each in operations:
            each.ended = True
        self._come_to(operations)

    def _come_to(self, operations: Sequence[_Operation]) -> None:
        self._last, self._last_at = list(operations), self._position
        self._position += 1

    def _place(self, operation: _Operation) -> None:
        operation.position = self._position
        self._position += 1
        self._ready.remove(operation)
        for follower in operation.followers:
            self._missing[id(follower)] -= 1
            if not self._missing[id(follower)]:
                self._ready.append(follower)

    def _in_order(self, operations: Sequence[_Operation]) -> Iterator[_Operation]:
        """Yield operations in the order of the file, all of which come after the last wait or computation."""
        for each in sorted(operations, key=lambda each: each.line):
            if not self._comes_after_last(each):
                raise self._fault(
                    each,
                    f"must come after line {max(last.line for last in self._last)}, which the rank has computed or "
                    "waited for by then: a rank of clue does one thing after the other",
                )
            yield each

    def _comes_after_last(self, operation: _Operation) -> bool:
        if any(each.position > self._last_at for each in (*operation.requires, *operation.irequires)):
            return True
        required = set(map(id, operation.requires))
        return all(id(each) in required for each in self._last)

    def _fault(self, operation: _Operation, rule: str) -> UsageError:
        return UsageError(f"{self._path}:{operation.line}: operation of rank {self._rank} {rule}")


def _unended(operation: _Operation) -> list[_Operation]:
    """Return what an operation requires and the rank has not waited for yet, without repetition."""
    return list({id(each): each for each in operation.requires if not each.ended}.values())
