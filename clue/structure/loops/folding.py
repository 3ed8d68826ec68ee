"""The reference: folding a sequence of symbols into loops, on line, in near linear time.

What has been read stands on a stack: each entry is a symbol or a loop, and how often it is repeated there. A key says
which symbol it is, or a loop over which keys; so the same loop may be repeated so often here, and so often there. A new
entry

1. joins the one before it if both have the same key, or what ends the last iteration of the one before it;
2. else, if it ends the body of a known loop, the longest of them, becomes an iteration of it;
3. else, if what it ends stands twice, with the shortest such period, becomes a loop of two iterations, known from now.

What a step makes is a new entry in its turn. So inner loops come before those around them, and no keys ever stand twice
on the stack. Then symbols are read again with innermost loops known, again with the loops around these, and so on as
long as that leaves fewer entries: a loop that had a single iteration where it was first read is found then.

Whatever stands twice at the end of the stack with a period from 2^k to 2^(k+1) ends with 2^k keys that stood a period
earlier. As nothing else stands twice, only the latest place where they did can be a period away: any two places of the
same 2^k keys are 2^k apart. That makes log(stack) places to look at for every entry. ``fold.hpp`` takes the same steps.
"""

from __future__ import annotations

from bisect import insort
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

import numpy as np
import numpy.typing as npt

from clue.structure.loops.places import LOOP, Place

#: A symbol, or ``~`` the number of a loop's body.
_Key = int
_Keys = tuple[_Key, ...]


@dataclass(slots=True)
class _Entry:
    """Something on the stack; ``inside`` are the entries of a loop's iterations, one after the other."""

    key: _Key
    count: int
    inside: list[_Entry] = field(default_factory=list)


def fold(symbols: npt.NDArray[np.int32]) -> Place:
    """Return a sequence of symbols as a program of loops, whose expansion it is.

    Args:
        symbols: From 0 on, shape (ops,).
    """
    folding = _Folding()
    entries = folding.read(symbols)
    for level in count(1):
        folding.forget(level)
        again = folding.read(symbols)
        if len(again) >= len(entries):
            return _program(entries, folding.bodies)
        entries = again
    raise AssertionError("there are not ever fewer")


class _Folding:
    """The stack, and the loops that are known."""

    def __init__(self) -> None:
        self.bodies: list[_Keys] = []
        #: How many loops are nested in each, itself included.
        self._levels: list[int] = []
        self._numbers: dict[_Keys, int] = {}
        #: Lengths of the bodies that end with a key, negative: the longest first.
        self._lengths: defaultdict[_Key, list[int]] = defaultdict(list)
        self._stack: list[_Entry] = []
        #: Where the same 2^k keys end on the stack.
        self._ends: defaultdict[_Keys, list[int]] = defaultdict(list)

    def forget(self, level: int) -> None:
        """Know no more loops than those of so many levels."""
        kept = [number for number in self._numbers.values() if self._levels[number] <= level]
        self._numbers, self._lengths = {}, defaultdict(list)
        for number in kept:
            self._know(number)

    def read(self, symbols: npt.NDArray[np.int32]) -> list[_Entry]:
        """Read symbols from the first; returns what stands on the stack at the end."""
        for symbol in symbols.tolist():
            new: _Entry | None = _Entry(symbol, 1)
            while new is not None:
                new = self._add(new)
        return self._take(len(self._stack))

    def _add(self, entry: _Entry) -> _Entry | None:
        """Take one step; returns the entry that it makes, if any."""
        if joined := self._same(entry.key):
            joined.count += entry.count
            joined.inside += entry.inside
            return None
        self._stack.append(entry)
        for keys in self._endings():
            self._ends[keys].append(len(self._stack))
        if length := self._known():
            return _Entry(self._loop(length), 1, self._take(length))
        if period := self._period():
            return _Entry(self._loop(period), 2, self._take(2 * period))
        return None

    def _same(self, key: _Key) -> _Entry | None:
        """Return the entry of this key that ends the stack, or the last iteration of what ends it, if there is one."""
        entry = self._stack[-1] if self._stack else None
        while entry is not None and entry.key != key:
            entry = entry.inside[-1] if entry.inside else None
        return entry

    def _loop(self, length: int) -> _Key:
        """Return the key of the loop over the last keys, which is known from now on."""
        body = self._keys(length)
        if body not in self._numbers:
            self.bodies.append(body)
            self._levels.append(1 + max((self._levels[~key] for key in body if key < 0), default=0))
            self._know(len(self.bodies) - 1)
        return ~self._numbers[body]

    def _know(self, number: int) -> None:
        body = self.bodies[number]
        self._numbers[body] = number
        insort(self._lengths[body[-1]], -len(body))

    def _take(self, count: int) -> list[_Entry]:
        """Remove so many entries from the end of the stack and return them."""
        taken = self._stack[len(self._stack) - count :]
        for _ in range(count):
            for keys in self._endings():
                self._ends[keys].pop()
            self._stack.pop()
        return taken

    def _keys(self, count: int, end: int = 0) -> _Keys:
        """Return so many keys, the last but ``end``."""
        last = len(self._stack) - end
        return tuple(entry.key for entry in self._stack[last - count : last])

    def _endings(self) -> list[_Keys]:
        """Return the last 1, 2, 4, … keys."""
        return [self._keys(1 << power) for power in range(len(self._stack).bit_length())]

    def _known(self) -> int:
        """Return the length of the longest body that ends the stack, or 0."""
        lengths = (-each for each in self._lengths[self._stack[-1].key] if -each <= len(self._stack))
        return next((length for length in lengths if self._keys(length) in self._numbers), 0)

    def _period(self) -> int:
        """Return the shortest period of what stands twice at the end of the stack, or 0."""
        end = len(self._stack)
        for keys in self._endings():
            *_, earlier, _ = (-end, *self._ends[keys])
            period = end - earlier
            near = len(keys) <= period < 2 * len(keys) and 2 * period <= end
            if near and self._keys(period) == self._keys(period, period):
                return period
        return 0


def _program(entries: Sequence[_Entry], bodies: Sequence[_Keys]) -> Place:
    """Return what stood on the stack as places."""
    return Place(LOOP, np.ones(1, np.int64), tuple(_place([entry], bodies) for entry in entries))


def _place(entries: Sequence[_Entry], bodies: Sequence[_Keys]) -> Place:
    """Return entries of one key, all that are ever reached at a place."""
    counts, key = np.array([entry.count for entry in entries], np.int64), entries[0].key
    if key >= 0:
        return Place(key, counts)
    length = len(bodies[~key])
    inside = [each for entry in entries for each in entry.inside]
    return Place(LOOP, counts, tuple(_place(inside[slot::length], bodies) for slot in range(length)))
