"""Lines of a time-independent trace: words become checked numbers, for all lines of an action at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clue.errors import UsageError
from clue.formats.growing import LONGEST
from clue.formats.remarks import Remarks
from clue.formats.ti_actions import NAMES, NOWHERE, Action, actions
from clue.formats.words import DIGITS, Integers, Lines, Mask, Names
from clue.trace import Op
from clue.trace.meaning import LARGEST, LARGEST_TAG
from clue.units import count_of

Doubles = npt.NDArray[np.float64]
#: Largest number of faults told of one file.
_MOST_FAULTS = 20
#: Bytes of SimGrid's datatypes by number, from DOUBLE (0) to COUNT (59), on 64-bit Linux.
_BYTES = np.array([
    8, 4, 1, 2, 8, 4, 1, 8, 1, 1, 2, 4, 8, 8, 16, 4, 1, 1, 2, 4, 8, 1, 2, 4, 8, 8, 16, 32, 8, 8,
    8, 16, 16, 8, 8, 8, 16, 16, 4, 4, 8, 16, 8, 16, 16, 4, 2, 4, 8, 16, 32, 1, 8, 16, 32, 0, 0, 1, 8, 8,
])  # fmt: skip
_ACTION = 1
#: Datatypes after the sizes of an allgatherv: of what is sent, and of what is received.
_DATATYPES = 2
_WHOLE = f"must be a whole number of at most {DIGITS} digits"
_NOT_NEGATIVE = "must not be negative"
_NOBODY = "a line without a partner (MPI_PROC_NULL) must be left out"
_WILD_TAG = ": wildcards do not say what they matched"
_WILD_SOURCE = f"{_WILD_TAG}, and {_NOBODY}"
_DERIVED = ": these traces do not have the sizes of derived datatypes"
_NAMES = Names(NAMES)
_CODES = {name: code for code, name in enumerate(NAMES)}


@dataclass(frozen=True, slots=True, eq=False)
class ActionLines:
    """The lines of a rank, followed by an additional ``waitall``; shape (lines + 1,) except for ``sent``.

    Attributes:
        code: The action, as an index of ``NAMES``.
        op: The op that represents it; 0 if there is none, or if it depends on other lines.
        peer: Partner or root.
        source: Rank from which a ``sendRecv`` receives.
        tag: The tag.
        nbytes: The size.
        request: A number for the source, destination and tag that name a request of the rank; -1 if the rank cannot
            have such a request.
        before: Computation before the op, ns.
        after: Computation after it, ns.
        sent: Bytes that each ``alltoallv`` sends to each rank, shape (those lines, ranks).
    """

    code: Integers
    op: Integers
    peer: Integers
    source: Integers
    tag: Integers
    nbytes: Integers
    request: Integers
    before: Integers
    after: Integers
    sent: Integers

    def are(self, *names: str) -> Mask:
        """Tell which lines have these actions."""
        those: Mask = self.code == _CODES[names[0]]
        for name in names[1:]:
            those |= self.code == _CODES[name]
        return those


def understand(lines: Lines, rank: int, size: int, flops_per_second: float, remarks: Remarks) -> ActionLines:
    """Read all lines of a rank.

    Args:
        lines: The lines.
        rank: The rank.
        size: Number of ranks.
        flops_per_second: Speed at which flops become CPU seconds.
        remarks: Collects remarks on changes.

    Raises:
        UsageError: With all lines that break a rule, at most 20 of them in words.
    """
    return _Reader(lines, rank, size, 1e9 / flops_per_second, remarks).read()


class Faults:
    """The lines that break rules, each with the first rule that it breaks."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._bad = np.zeros(len(lines), np.bool_)
        self._told: dict[int, str] = {}

    def note(self, lines: Integers, rule: str, got: Callable[[int], object], why: str = "") -> None:
        """Record lines that break a rule, in order; ``got`` returns what is wrong in one of them."""
        self._bad[lines] = True
        for line in lines[:_MOST_FAULTS].tolist():
            self._told.setdefault(line, f"{rule}, got {got(line)}{why}")

    def tell(self) -> None:
        """Raise the error, if any."""
        if self._told:
            first = sorted(self._told)[:_MOST_FAULTS]
            more = int(self._bad.sum()) - len(first)
            told = [f"{self._lines.place(line)}: {self._told[line]}" for line in first]
            raise UsageError(
                [*told, *([f"{self._lines.text.file}: and {count_of(more, 'more fault')}"] if more else [])]
            )


class _Reader:
    """Converts lines to numbers. Methods take the lines of one action and return the valid ones."""

    def __init__(self, lines: Lines, rank: int, size: int, nanoseconds_per_flop: float, remarks: Remarks) -> None:
        self._lines, self._rank, self._size, self._remarks = lines, rank, size, remarks
        self._nanoseconds_per_flop = nanoseconds_per_flop
        self._actions = actions(rank, size)
        self._faults = Faults(lines)
        self._code = self._find_codes()
        self._default = self._find_default()
        columns = np.zeros((8, len(self._code)), np.int64)
        self._op, self._peer, self._source, self._tag, self._nbytes, self._request, self._before, self._after = columns
        self._sent = np.zeros((0, size), np.int64)

    def read(self) -> ActionLines:
        """Return the content of the lines."""
        code = self._code[:-1]
        for each in np.unique(code[code >= 0]).tolist():
            self._take(NAMES[each], np.flatnonzero(code == each))
        self._add_up()
        self._faults.tell()
        return ActionLines(
            code=self._code,
            op=self._op,
            peer=self._peer,
            source=self._source,
            tag=self._tag,
            nbytes=self._nbytes,
            request=self._request,
            before=self._before,
            after=self._after,
            sent=self._sent,
        )

    def _find_codes(self) -> Integers:
        codes = np.append(self._lines.which(_ACTION, _NAMES), _CODES["waitall"])
        unknown = np.flatnonzero(codes[:-1] < 0)
        # Traces of SMPI can have thousands of these lines: the list is told once.
        for those, rule in ((unknown[:1], f"one of {', '.join(NAMES)}"), (unknown[1:], "one that SimGrid replays")):
            self._faults.note(those, f"action must be {rule}", lambda line: repr(" ".join(self._lines.words(line))))
        return codes

    def _find_default(self) -> Integers:
        """Return the bytes of an element without datatype, by line: the last ``init`` decides."""
        init = self._code[:-1] == _CODES["init"]
        last = np.maximum.accumulate(np.where(init, np.arange(len(init)), -1))
        return np.where((last >= 0) & (self._lines.count[last] > _ACTION + 1), 8, 1)

    def _add_up(self) -> None:
        """Check that the rank's total computation fits a whole number of nanoseconds."""
        total = np.cumsum(self._before.astype(np.float64) + self._after)[:-1]
        rule = f"rank must compute for at most {LONGEST:g} ns altogether"
        self._faults.note(np.flatnonzero(total > LONGEST)[:1], rule, lambda line: f"{total[line]:g} ns")

    def _take(self, name: str, at: Integers) -> None:
        """Read all lines of an action."""
        action = self._actions[name]
        at = self._keep_long(name, action.words - _ACTION - 1, at)
        self._tell_of_further_words(action, at)
        for word in action.lists:
            at = self._list(word, at, "size", self._size)
            values = self._lines.listed(at, word, self._size)[0].reshape(-1, self._size)
            for rank in np.flatnonzero((values < 0).any(axis=0)).tolist():
                self._keep(at, values[:, rank] >= 0, f"size {_NOT_NEGATIVE}", word + rank)
            at = at[(values >= 0).all(axis=1)]
        at = self._take_partner(action, at)
        at = self._take_size(action, at)
        if action.op is not None:
            self._op[at] = action.op
        if action.flops != NOWHERE:
            at, burst = self._burst(action.flops, at, "flops", self._nanoseconds_per_flop)
            (self._before if action.op is None else self._after)[at] = burst
        if name in _MORE:
            _MORE[name](self, at)

    def _keep_long(self, name: str, numbers: int, at: Integers) -> Integers:
        """Return the lines with this number of words after the action."""
        there = self._lines.count[at] - _ACTION - 1
        rule = f"{name} must have {count_of(numbers, 'number')} after it"
        self._faults.note(at[there < numbers], rule, lambda line: self._lines.count[line] - _ACTION - 1)
        return at[there >= numbers]

    def _tell_of_further_words(self, action: Action, at: Integers) -> None:
        """Remark on lines that go on after the last word of their action."""
        words = (
            "line goes on after the last word of its action; the rest is|"
            "lines go on after the last words of their actions; the rest is"
        )
        self._remarks.count(words, "left out", int((self._lines.count[at] > action.most).sum()) if action.most else 0)

    def _keep(self, at: Integers, good: Mask, rule: str, word: int, why: str = "") -> Integers:
        """Record the word at this position on the invalid lines; return the valid lines."""
        self._faults.note(at[~good], rule, lambda line: self._lines.words(line)[word], why)
        return at[good]

    def _whole(self, word: int, at: Integers, what: str) -> tuple[Integers, Integers]:
        """Return a whole number from each line, and which lines have it."""
        values, good = self._lines.whole(at, word)
        return self._keep(at, good, f"{what} {_WHOLE}", word), values[good]

    def _size_at(self, word: int, at: Integers) -> tuple[Integers, Integers]:
        """Return the size on each line, which may be written as 1e6, and which lines have one."""
        values, good = self._lines.real(at, word)
        good &= (values == np.rint(values)) & (np.abs(values) < 10**DIGITS)
        return self._keep(at, good, f"size {_WHOLE}", word), values[good].astype(np.int64)

    def _list(self, word: int, at: Integers, what: str, length: int) -> Integers:
        """Return the lines that have a list of whole numbers from this word on."""
        if not self._lines.listed(at, word, length)[1].all():
            for each in range(word, word + length):
                at, _ = self._whole(each, at, what)
        return at

    def _times(self, word: int, at: Integers, what: str, nanoseconds: float) -> tuple[Integers, Doubles]:
        """Return times in nanoseconds; ``nanoseconds`` is the length of the figures' unit."""
        values, good = self._lines.real(at, word)
        at, values = self._keep(at, good, f"{what} must be a finite number", word), values[good]
        return self._keep(at, values >= 0, f"{what} {_NOT_NEGATIVE}", word), values[values >= 0] * nanoseconds

    def _burst(self, word: int, at: Integers, what: str, nanoseconds: float) -> tuple[Integers, Integers]:
        """Return the lengths of bursts in whole nanoseconds, as :meth:`_times` does."""
        at, values = self._times(word, at, what, nanoseconds)
        good = values < LONGEST
        at = self._keep(at, good, f"{what} must be computation of less than {LONGEST:g} ns", word)
        return at, np.rint(values[good]).astype(np.int64)

    def _rank_at(self, word: int, at: Integers, what: str, below: str = "") -> tuple[Integers, Integers]:
        """Return a rank from each line, and which lines have it; ``below`` explains why none is below 0."""
        at, ranks = self._whole(word, at, what)
        low, high = ranks >= 0, ranks < self._size
        rule = f"{what} must be a rank from 0 to {self._size - 1}"
        self._keep(at, low, rule, word, below)
        self._keep(at, high, rule, word)
        return at[low & high], ranks[low & high]

    def _take_partner(self, action: Action, at: Integers) -> Integers:
        """Read partner, tag and root."""
        if action.peer != NOWHERE:
            receives = action.op in {Op.RECV, Op.IRECV}
            at, ranks = self._rank_at(action.peer, at, "partner", _WILD_SOURCE if receives else f": {_NOBODY}")
            self._peer[at] = ranks
        if action.tag != NOWHERE:
            at, tags = self._whole(action.tag, at, "tag")
            low, high = tags >= 0, tags <= LARGEST_TAG
            self._keep(at, low, "tag must be at least 0", action.tag, _WILD_TAG)
            self._keep(at, high, f"tag must be at most {LARGEST_TAG}", action.tag)
            at = at[low & high]
            self._tag[at] = tags[low & high]
        if action.root != NOWHERE:
            there = self._lines.has(at, action.root)
            named, ranks = self._rank_at(action.root, at[there], "root")
            self._peer[named] = ranks
            at = np.union1d(at[~there], named)
        return at

    def _take_size(self, action: Action, at: Integers) -> Integers:
        """Read the size."""
        if action.size == NOWHERE:
            return at
        at, values = self._size_at(action.size, at)
        at, values = self._keep(at, values >= 0, f"size {_NOT_NEGATIVE}", action.size), values[values >= 0]
        unit, good = self._unit(action, at)
        self._nbytes[at] = values * unit
        return self._keep_typed(action, at, good)

    def _keep_typed(self, action: Action, at: Integers, good: Mask) -> Integers:
        rule = f"datatype must be a number from 0 to {len(_BYTES) - 1}"
        self._faults.note(at[~good], rule, lambda line: self._kind(action, self._lines.words(line)))
        return at[good]

    @staticmethod
    def _kind(action: Action, words: Sequence[str]) -> str:
        """Return the datatype of a line, and why it has no size."""
        kind = words[action.datatype if len(words) > action.datatype else action.sender]
        return kind + (_DERIVED if kind == "-1" else "")

    def _unit(self, action: Action, at: Integers) -> tuple[Integers, Mask]:
        """Return the bytes of an element on each line, and which lines have a valid datatype."""
        ends_before = (action.sender != NOWHERE) & ~self._lines.has(at, action.datatype)
        word = np.where(ends_before, action.sender, action.datatype)
        there = self._lines.count[at] > word
        if action.op is Op.ALLGATHERV:
            # Displacements may follow the sizes instead of two datatypes, or after them: one for each rank.
            further = self._lines.count[at] - action.datatype
            there &= (further <= _DATATYPES) | (further > self._size)
        kind, good = self._lines.whole(at, word)
        good &= (kind >= 0) & (kind < len(_BYTES))
        return np.where(there, _BYTES[np.where(good, kind, 0)], self._default[at]), good | ~there

    def take_sleep(self, at: Integers) -> None:
        """Read how long the rank sleeps, which is the size of its op, ns."""
        at, times = self._times(2, at, "seconds", 1e9)
        good = times <= LARGEST
        at = self._keep(at, good, f"seconds must be at most {LARGEST} ns", 2)
        self._nbytes[at] = np.rint(times[good]).astype(np.int64)

    def take_communicator(self, at: Integers) -> None:
        """Skip the lines, as SimGrid does."""
        words = (
            "action makes a communicator whose members these traces do not state and is|"
            "actions make communicators whose members these traces do not state and are"
        )
        self._remarks.count(words, "left out; collectives on such communicators are replayed on all ranks", len(at))

    def take_isend(self, at: Integers) -> None:
        """Name a request."""
        self._request[at] = self._request_name(np.full(len(at), self._rank), self._peer[at], self._tag[at])

    def take_irecv(self, at: Integers) -> None:
        """Name a request."""
        self._request[at] = self._request_name(self._peer[at], np.full(len(at), self._rank), self._tag[at])

    def take_wait(self, at: Integers) -> None:
        """Name the request to wait for."""
        at = self._list(2, at, "source, destination and tag of a request", 3)
        self._request[at] = self._request_name(*self._lines.listed(at, 2, 3)[0].T)

    def take_test(self, at: Integers) -> None:
        """Name the request to test, and its partner."""
        self.take_wait(at)
        (source, dest, tag), here = self._lines.listed(at, 2, 3)[0].T, self._request[at] >= 0
        self._peer[at] = np.where(here, np.where(dest == self._rank, source, dest), 0)
        self._tag[at] = np.where(here, tag, 0)

    def take_sendrecv(self, at: Integers) -> None:
        """Also read the source; both tags are 0."""
        at, ranks = self._rank_at(5, at, "source", _WILD_SOURCE)
        self._source[at] = ranks

    def take_allgatherv(self, at: Integers) -> None:
        """Check that there is a displacement for each rank, if there are any."""
        further = self._lines.count[at] - self._actions["allgatherv"].datatype
        least = np.where(further > self._size, _DATATYPES + self._size, self._size)
        rule = f"allgatherv must have {count_of(self._size, 'displacement')} after its sizes and datatypes, if any"
        few = at[(further > _DATATYPES) & (further < least)]
        self._faults.note(few, rule, lambda line: repr(" ".join(self._lines.words(line))))

    def take_alltoallv(self, at: Integers) -> None:
        """Read the sizes sent to each rank."""
        action = self._actions["alltoallv"]
        unit, good = self._unit(action, at)
        at, unit = self._keep_typed(action, at, good), unit[good]
        self._sent = self._lines.listed(at, action.lists[0], self._size)[0] * unit[:, None]

    def _request_name(self, source: Integers, dest: Integers, tag: Integers) -> Integers:
        """Return a number for source, destination and tag of a rank's request; -1 if it cannot have such a request."""
        sends = source == self._rank
        other = np.where(sends, dest, source)
        possible = (sends | (dest == self._rank)) & (other >= 0) & (other < self._size)
        possible &= (tag >= 0) & (tag <= LARGEST_TAG)
        return np.where(possible, (tag * self._size + other) * 2 + sends, -1)


#: Further steps for some actions.
_MORE: Mapping[str, Callable[[_Reader, Integers], None]] = {
    "sleep": _Reader.take_sleep,
    "comm_size": _Reader.take_communicator,
    "comm_split": _Reader.take_communicator,
    "comm_dup": _Reader.take_communicator,
    "isend": _Reader.take_isend,
    "irecv": _Reader.take_irecv,
    "wait": _Reader.take_wait,
    "test": _Reader.take_test,
    "sendRecv": _Reader.take_sendrecv,
    "allgatherv": _Reader.take_allgatherv,
    "alltoallv": _Reader.take_alltoallv,
}
