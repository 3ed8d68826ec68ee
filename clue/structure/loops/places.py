"""Places of a program: symbols and loops as a tree, with a repetition count for each time a place is reached.

A place is reached once in every iteration of the loop around it. It then repeats its symbol or its body as often as its
entry in ``counts`` says. ``a [(b)^2 g]^3`` is::

    loop, counts [1]            the program itself, which is run once
      a, counts [1]
      loop, counts [3]
        b, counts [2, 2, 2]
        g, counts [1, 1, 1]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from clue.trace.columns import within

Integers: TypeAlias = npt.NDArray[np.int64]
#: The symbol of a loop.
LOOP = -1


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A symbol or a loop of a program.

    Attributes:
        symbol: The symbol, or ``LOOP``.
        counts: Number of repetitions, at least 1, each time that it is reached: shape (times reached,).
        body: Body of the loop, in order; empty for a symbol.
    """

    symbol: int
    counts: Integers
    body: tuple[Place, ...] = field(default=())

    @property
    def is_loop(self) -> bool:
        """Whether it is a loop."""
        return self.symbol == LOOP

    @property
    def iterations(self) -> int:
        """Total number of repetitions of its symbol or body."""
        return int(self.counts.sum())

    def walk(self) -> Iterator[Place]:
        """Yield this place and all places in it, in preorder."""
        yield self
        for place in self.body:
            yield from place.walk()


@dataclass(frozen=True, slots=True, eq=False)
class Flat:
    """A tree of places as arrays, in preorder: the result of the C++ library.

    Attributes:
        symbols: Symbol of each place, ``LOOP`` for a loop.
        children: Number of places in the body of each.
        reached: How often each is reached.
        counts: Counts of all places, concatenated.
    """

    symbols: Integers
    children: Integers
    reached: Integers
    counts: Integers

    @classmethod
    def of(cls, program: Place) -> Flat:
        """Flatten a tree."""
        places = list(program.walk())
        columns = [(place.symbol, len(place.body), len(place.counts)) for place in places]
        symbols, children, reached = np.array(columns, np.int64).reshape(-1, 3).T
        return cls(symbols, children, reached, np.concatenate([place.counts for place in places]))

    def repeated(self) -> list[int]:
        """Return the total number of repetitions of each place's symbol or body."""
        repeated: list[int] = _sums(self.counts, self.reached).tolist()
        return repeated

    def tree(self) -> Place:
        """Return the tree."""
        ends = np.cumsum(self.reached)
        begins = ends - self.reached
        rows = zip(*(column.tolist() for column in (self.symbols, self.children, begins, ends)), strict=True)

        def place() -> Place:
            symbol, children, begin, end = next(rows)
            return Place(symbol, self.counts[begin:end], tuple([place() for _ in range(children)]) if children else ())

        return place()


def positions(program: Place) -> list[tuple[Place, Integers]]:
    """Return each place that is a symbol, with the positions of its ops within the program, in order."""
    return _located(program)[0]


def iterations(program: Place) -> list[tuple[Place, Integers, Integers]]:
    """Return the loops, outer ones first, with the first op and the number of ops of each repetition."""
    return [each for each in _located(program)[1] if (each[0].counts > 1).any()]


def _located(program: Place) -> tuple[list[tuple[Place, Integers]], list[tuple[Place, Integers, Integers]]]:
    """Return symbols and loops with their positions."""
    sizes = {}

    def measure(place: Place) -> Integers:
        """Return the number of its ops each time that it is reached."""
        if not place.is_loop:
            return place.counts
        inner = [measure(each) for each in place.body]
        sizes[place] = inner
        return _sums(np.sum(inner, axis=0), place.counts)

    found: list[tuple[Place, Integers]] = []
    loops: list[tuple[Place, Integers, Integers]] = []

    def locate(place: Place, begins: Integers) -> None:
        """Find the positions of its ops, given the positions at which it begins each time that it is reached."""
        if not place.is_loop:
            at = np.repeat(begins, place.counts) + within(place.counts)
            found.append((place, at))
            loops.append((place, at, np.ones_like(at)))
            return
        lengths = np.sum(sizes[place], axis=0)
        before = np.cumsum(lengths) - lengths
        firsts = np.cumsum(place.counts) - place.counts
        begin = np.repeat(begins - before[firsts], place.counts) + before
        loops.append((place, begin, lengths))
        for each, size in zip(place.body, sizes[place], strict=True):
            locate(each, begin)
            begin = begin + size

    if program.body:
        measure(program)
        locate(program, np.zeros(1, np.int64))
    return found, loops


def _sums(values: Integers, counts: Integers) -> Integers:
    """Return the sums of consecutive groups of ``counts`` values, none of them empty."""
    return np.add.reduceat(values, np.cumsum(counts) - counts) if len(counts) else counts


def split(program: Place) -> Place:
    """Move surplus repetitions at the end of a loop behind it: ``[a (b)^1,1,1,2]^4`` becomes ``[a b]^4 b``.

    Folding joins further repetitions to the end of the last iteration: it cannot know whether they belong to the loop.
    """
    return replace(program, body=tuple(each for place in program.body for each in _split(place)))


def _split(place: Place) -> tuple[Place, ...]:
    """Return a place without its surplus repetitions, followed by these repetitions, if any, as another place."""
    if not place.is_loop:
        return (place,)
    place = split(place)
    # The chain of last places down to a symbol, and at which of its repetitions a run of the outermost loop ends.
    chain, last = [place], np.cumsum(place.counts) - 1
    while (end := chain[-1].body[-1]).is_loop:
        chain.append(end)
        last = np.cumsum(end.counts)[last] - 1
    others = np.delete(end.counts, last)
    if not len(others) or (others != others[0]).any() or (end.counts[last] <= others[0]).any():
        return (place,)
    more = end.counts[last] - others[0]
    shorter = replace(end, counts=np.full(len(end.counts), others[0]))
    for around in reversed(chain):
        shorter = replace(around, body=(*around.body[:-1], shorter))
    return shorter, replace(end, counts=more)


def signature(program: Place, names: Sequence[str]) -> str:
    """Write a program as the literature does: ``a [(b)^2 g]^3``. Counts that vary are listed."""
    return " ".join(_written(place, names) for place in program.body)


def _written(place: Place, names: Sequence[str]) -> str:
    counts = list(dict.fromkeys(place.counts.tolist()))
    power = "" if counts == [1] else f"^{','.join(map(str, counts))}"
    if place.is_loop:
        inner = " ".join(_written(each, names) for each in place.body)
        return f"[{inner}]{power}" if power else inner
    return f"({names[place.symbol]}){power}" if power else names[place.symbol]
