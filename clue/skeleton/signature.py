"""The signature of an application: its events as symbols, folded into loops (Sodhi, Subhlok, Xu, section 4.2).

Every cluster of events is a symbol; waits are told apart by their call and by how many requests they name. Computation
between events is no symbol. The compression ratio is Q = events / symbols that are left, of all ranks together, where the
paper takes one rank for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from clue.skeleton.clustering import Clusters
from clue.skeleton.events import NONE, SENDS, Events, Integers
from clue.structure.loops import Place, fold, signature, split
from clue.trace import COLLECTIVES, ROOTED, Op
from clue.units import format_size

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True, eq=False)
class Signature:
    """What all ranks do, in loops of symbols.

    Attributes:
        events: The events it was made of.
        programs: Each rank's loops.
        first: Of each symbol of a rank the row of an event that it stands for.
    """

    events: Events
    programs: tuple[Place, ...]
    first: tuple[Integers, ...]

    @property
    def length(self) -> int:
        """How many events there are, on all ranks, computations left out."""
        return sum(place.iterations for place in self._symbols())

    @property
    def symbols(self) -> int:
        """How many symbols are left of them."""
        return sum(1 for _ in self._symbols())

    @property
    def ratio(self) -> float:
        """Q, the compression ratio; 1 without any events."""
        return self.length / max(self.symbols, 1) if self.length else 1.0

    def _symbols(self) -> Iterator[Place]:
        return (place for program in self.programs for place in program.walk() if not place.is_loop)

    def written(self, rank: int = 0) -> str:
        """Return what a rank does as the literature writes it, ``a [(b)^2 g]^3``; :meth:`legend` tells the letters."""
        return signature(self.programs[rank], list(map(_letters, range(len(self.first[rank])))))

    def legend(self, rank: int = 0) -> dict[str, str]:
        """Return what each letter of a rank stands for: ``Isend(1, 360 B)``."""
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


def signature_of(events: Events, clusters: Clusters) -> Signature:
    """Fold events into loops, rank by rank."""
    ops, own = events.trace.ops, events.unit != NONE
    named = np.bincount(events.named.row, minlength=len(ops))
    cluster = np.where(own, clusters.of[np.where(own, events.unit, 0)] if events.units else 0, -1 - named)
    calls = int(ops.call.max(initial=0)) + 1
    symbol = ((cluster - cluster.min(initial=0)) * (max(Op) + 1) + ops.op) * calls + ops.call
    rows = np.flatnonzero(ops.op != Op.COMPUTE)
    found = [_folded(symbol, rows[a:b]) for a, b in pairwise(np.searchsorted(rows, events.trace.head.offsets).tolist())]
    return Signature(events, tuple(program for program, _ in found), tuple(first for _, first in found))


def _folded(symbol: Integers, rows: Integers) -> tuple[Place, Integers]:
    """Fold the events of a rank; returns its loops, and a row of each symbol, as they first appear."""
    _, first, which = np.unique(symbol[rows], return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty(len(first), np.int32)
    number[order] = np.arange(len(first))
    return split(fold(number[which.ravel()])), rows[first[order]]


def _letters(number: int) -> str:
    """Return a, b, …, z, aa, ab, …"""
    return (_letters(number // 26 - 1) if number >= 26 else "") + _LETTERS[number % 26]
