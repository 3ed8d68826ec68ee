"""The signature of an application: its events as symbols, folded into loops (Sodhi, Subhlok, Xu, section 4.2).

Every cluster of events is a symbol; waits differ by their call and by the number of requests they name. Computation
between events is not a symbol. The compression ratio is Q = events / remaining symbols, over all ranks; the paper takes
one rank for all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from clue.skeleton.clustering import Clusters
from clue.skeleton.events import NONE, SENDS, Events, Integers
from clue.structure.loops import Place, fold, signature, split
from clue.trace import COLLECTIVES, ROOTED, Op
from clue.units import format_size

#: Reciprocal of the share of a rank's events that is folded first, as a test, before all of them.
_PART = 8
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True, eq=False)
class Signature:
    """Events of all ranks as loops of symbols.

    Attributes:
        events: Events that it was made from.
        programs: Loops of each rank.
        first: For each symbol of a rank, the row of an event that it stands for.
        symbols: Number of symbols of all ranks together.
    """

    events: Events
    programs: tuple[Place, ...]
    first: tuple[Integers, ...]
    symbols: int

    @property
    def length(self) -> int:
        """Number of events on all ranks, without computations."""
        return int((self.events.trace.ops.op != Op.COMPUTE).sum())

    @property
    def ratio(self) -> float:
        """Q, the compression ratio; 1 without any events."""
        return self.length / self.symbols if self.symbols else 1.0

    def written(self, rank: int = 0) -> str:
        """Return a rank's loops in the usual notation, ``a [(b)^2 g]^3``; :meth:`legend` explains the letters."""
        return signature(self.programs[rank], list(map(_letters, range(len(self.first[rank])))))

    def legend(self, rank: int = 0) -> dict[str, str]:
        """Return the meaning of each letter of a rank: ``Isend(1, 360 B)``."""
        return {_letters(i): self._event(row) for i, row in enumerate(self.first[rank].tolist())}

    def _event(self, row: int) -> str:
        trace, ops = self.events.trace, self.events.trace.ops
        op, peer = Op(ops.op[row]), int(ops.peer[row])
        said = [str(peer)] if op in ROOTED or op in {*SENDS, Op.RECV, Op.IRECV, Op.PROBE, Op.MPROBE} else []
        if op in {*SENDS, *COLLECTIVES} - {Op.BARRIER, Op.COMM, Op.ALLTOALLV, Op.NEIGHBOR}:
            said.append(format_size(int(ops.nbytes[row])))
        return f"{trace.head.calls[ops.call[row]]}({', '.join(said)})"

    def __str__(self) -> str:
        return self.written()


def signature_of(events: Events, clusters: Clusters, most: float = math.inf) -> Signature | None:
    """Fold events into loops, rank by rank; ``None`` if more than ``most`` symbols remain."""
    rows, symbol = np.flatnonzero(events.trace.ops.op != Op.COMPUTE), _symbols(events, clusters)
    programs, firsts, symbols = list[Place](), list[Integers](), 0
    for a, b in pairwise(np.searchsorted(rows, events.trace.head.offsets).tolist()):
        numbers, first = _numbered(symbol[rows[a:b]])
        # Events without repetition take longest to fold, and a part of them shows that soon. A part may end within an
        # iteration of each loop around its end, and an iteration has no more symbols than the whole; fewer than two
        # iterations of the outermost loop are no loop of the part.
        size, loops = _size(split(fold(numbers[: len(numbers) // _PART])))
        if symbols + size / (2 + loops) > most:
            return None
        program = split(fold(numbers))
        symbols += _size(program)[0]
        if symbols > most:
            return None
        programs.append(program)
        firsts.append(rows[a:b][first])
    return Signature(events, tuple(programs), tuple(firsts), symbols)


def _symbols(events: Events, clusters: Clusters) -> Integers:
    """Return the number of each row's symbol."""
    ops, own = events.trace.ops, events.unit != NONE
    named = np.bincount(events.named.row, minlength=len(ops))
    cluster = np.where(own, clusters.of[np.where(own, events.unit, 0)] if events.units else 0, -1 - named)
    calls = int(ops.call.max(initial=0)) + 1
    symbols: Integers = ((cluster - cluster.min(initial=0)) * (max(Op) + 1) + ops.op) * calls + ops.call
    return symbols


def _numbered(symbols: Integers) -> tuple[npt.NDArray[np.int32], Integers]:
    """Number symbols in the order of their first appearance; also returns where each first appears."""
    _, first, which = np.unique(symbols, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty(len(first), np.int32)
    number[order] = np.arange(len(first))
    return number[which.ravel()], first[order].astype(np.int64)


def _size(program: Place) -> tuple[int, int]:
    """Count the symbols of a program, and the loops around its innermost symbol."""
    left, symbols, deepest = [(program, 0)], 0, 0
    while left:
        place, loops = left.pop()
        inner = [each for each in place.body if each.is_loop]
        symbols += len(place.body) - len(inner)
        deepest = max(deepest, loops)
        left += [(each, loops + 1) for each in inner]
    return symbols, deepest


def _letters(number: int) -> str:
    """Return the letters for a number: a, b, …, z, aa, ab and so on."""
    return (_letters(number // 26 - 1) if number >= 26 else "") + _LETTERS[number % 26]
