"""The reference implementation: folds a sequence of symbols into loops, online, in nearly linear time.

The symbols read so far form a stack: each entry is a symbol or a loop, with a repetition count. The key of a symbol is
the symbol; the key of a loop stands for the keys of its body, so the same loop may have different counts at different
places. A new entry

1. joins the entry before it if both have the same key, or the entry of this key that ends the last iteration there;
2. otherwise, if it completes the body of a known loop, becomes an iteration of the longest such loop;
3. otherwise, if it completes a repetition, becomes a loop of two iterations with the shortest such period, known from
   now on.

The result of a step is again a new entry. Inner loops are therefore found before outer ones, and the stack never
contains an adjacent repetition. The symbols are then read again with the innermost loops known, then also with the
loops around these, and so on while the number of entries falls. This finds loops whose first occurrence has one
iteration.

A repetition at the end of the stack with a period from 2^k to 2^(k+1) ends with 2^k keys that also occurred a period
earlier. As the stack has no other repetition, any two occurrences of the same 2^k keys are at least 2^k apart, so only
their latest earlier occurrence can be a period away. For every entry, log(stack) places are examined. ``fold.hpp``
takes the same steps.
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

#: A symbol, or ``~number`` of a loop's body.
_Key = int
_Keys = tuple[_Key, ...]


@dataclass(slots=True)
class _Entry:
    """An entry of the stack; ``inside`` holds the entries of a loop's iterations, in order."""

    key: _Key
    count: int
    inside: list[_Entry] = field(default_factory=list)


def fold(symbols: npt.NDArray[np.int32]) -> Place:
    """Return a sequence of symbols as a program of loops that expands to it.

    Args:
        symbols: Symbols, numbers from 0 on, shape (ops,).
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
    """The stack and the known loops."""

    def __init__(self) -> None:
        self.bodies: list[_Keys] = []
        #: Nesting depth of each loop, itself included.
        self._levels: list[int] = []
        self._numbers: dict[_Keys, int] = {}
        #: Lengths of the bodies that end with a key, negated so that the longest comes first.
        self._lengths: defaultdict[_Key, list[int]] = defaultdict(list)
        self._stack: list[_Entry] = []
        #: Ends, on the stack, of occurrences of the same 2^k keys.
        self._ends: defaultdict[_Keys, list[int]] = defaultdict(list)

    def forget(self, level: int) -> None:
        """Remove loops above a nesting depth."""
        kept = [number for number in self._numbers.values() if self._levels[number] <= level]
        self._numbers, self._lengths = {}, defaultdict(list)
        for number in kept:
            self._know(number)

    def read(self, symbols: npt.NDArray[np.int32]) -> list[_Entry]:
        """Read symbols from the first on; return the final stack."""
        for symbol in symbols.tolist():
            new: _Entry | None = _Entry(symbol, 1)
            while new is not None:
                new = self._add(new)
        return self._take(len(self._stack))

    def _add(self, entry: _Entry) -> _Entry | None:
        """Take one step; return the entry that it makes, if any."""
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
        """Return the entry with this key at the end of the stack, or at the end of the last iteration there, if any."""
        entry = self._stack[-1] if self._stack else None
        while entry is not None and entry.key != key:
            entry = entry.inside[-1] if entry.inside else None
        return entry

    def _loop(self, length: int) -> _Key:
        """Return the key of the loop over the last ``length`` keys, which is known from now on."""
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
        """Remove ``count`` entries from the end of the stack and return them."""
        taken = self._stack[len(self._stack) - count :]
        for _ in range(count):
            for keys in self._endings():
                self._ends[keys].pop()
            self._stack.pop()
        return taken

    def _keys(self, count: int, end: int = 0) -> _Keys:
        """Return the last ``count`` keys of the stack, not counting its last ``end`` keys."""
        last = len(self._stack) - end
        return tuple(entry.key for entry in self._stack[last - count : last])

    def _endings(self) -> list[_Keys]:
        """Return the last 1, 2, 4, … keys."""
        return [self._keys(1 << power) for power in range(len(self._stack).bit_length())]

    def _known(self) -> int:
        """Return the length of the longest known body at the end of the stack, or 0."""
        lengths = (-each for each in self._lengths[self._stack[-1].key] if -each <= len(self._stack))
        return next((length for length in lengths if self._keys(length) in self._numbers), 0)

    def _period(self) -> int:
        """Return the shortest period of a repetition at the end of the stack, or 0."""
        end = len(self._stack)
        for keys in self._endings():
            *_, earlier, _ = (-end, *self._ends[keys])
            period = end - earlier
            near = len(keys) <= period < 2 * len(keys) and 2 * period <= end
            if near and self._keys(period) == self._keys(period, period):
                return period
        return 0


def _program(entries: Sequence[_Entry], bodies: Sequence[_Keys]) -> Place:
    """Return the entries of the stack as places."""
    return Place(LOOP, np.ones(1, np.int64), tuple(_place([entry], bodies) for entry in entries))


def _place(entries: Sequence[_Entry], bodies: Sequence[_Keys]) -> Place:
    """Return as one place all entries, of one key, that are ever reached there."""
    counts, key = np.array([entry.count for entry in entries], np.int64), entries[0].key
    if key >= 0:
        return Place(key, counts)
    length = len(bodies[~key])
    inside = [each for entry in entries for each in entry.inside]
    return Place(LOOP, counts, tuple(_place(inside[slot::length], bodies) for slot in range(length)))
