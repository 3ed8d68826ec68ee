"""Collectives while a program runs: the sizes that each member knows, and which payload goes to which member."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from clue.collectives import Collective, Manner
from clue.errors import ReplayError
from clue.kernel.model.costs import Costs, placed
from clue.kernel.model.program import MANNERS, Row, collective_of, manner_of
from clue.machine import AlgorithmChoice
from clue.trace import PROC_NULL, ROOTED, Op

#: Collectives of which each member knows its own size, and only the root knows all.
_PARTLY_KNOWN = frozenset({Op.GATHERV, Op.SCATTERV})
#: Their names.
SIZES_AT_ROOT = frozenset(op.name.lower() for op in _PARTLY_KNOWN)
_PREFIX = frozenset({Op.SCAN, Op.EXSCAN})
_REDUCED_FOR_ALL = frozenset({Op.ALLREDUCE, Op.REDUCE_SCATTER})
_GATHERED = frozenset({Op.GATHER, Op.GATHERV, Op.REDUCE})
_SCATTERED = frozenset({Op.SCATTER, Op.SCATTERV})
_GATHERED_BY_ALL = frozenset({Op.ALLGATHER, Op.ALLGATHERV, Op.COMM})
_EXCHANGED = frozenset({Op.ALLTOALL, Op.ALLTOALLV})
#: Algorithms in which only the root has to know more than its own size.
_LINEAR = frozenset({"linear", "linear_in_turn", "linear_sync"})


@lru_cache(maxsize=4096)
def _regular(op: int, root: int, nbytes: int, size: int, manner: Manner) -> Collective:
    return collective_of(op, root, np.full(size, nbytes, np.int64).tobytes(), manner)


def _manner(row: Row) -> Manner:
    return manner_of(row.flags & MANNERS, row.tag)


def _one_of(row: Row, position: int) -> Collective:
    """Return an irregular collective as far as this member knows it; its own part depends on nothing else."""
    size = len(row.members)
    if row.op == Op.ALLTOALLV:
        sizes = [0] * (size * size)
        sizes[position::size] = row.entries[size:]
        sizes[position * size : (position + 1) * size] = row.entries[:size]
    else:
        sizes = [0] * size
        sizes[position] = row.nbytes
    return Collective(Op(row.op).name.lower(), size, tuple(sizes), max(row.peer, 0), _manner(row))


def _algorithm(row: Row, known: Collective, costs: Costs, nodes: tuple[int, ...]) -> str:
    """Return the algorithm that all members agree on, from what one of them knows."""
    if known.name == "alltoallv":
        return costs.algorithm(Collective("alltoallv", known.size, (row.nbytes,), manner=known.manner))
    choice = costs.machine.network.collectives.get(known.name)
    if choice is not None and known.name in SIZES_AT_ROOT:
        return linear_of(choice)
    return costs.algorithm(known, nodes)  # no library chooses by sizes that only the root knows


def linear_of(choice: AlgorithmChoice) -> str:
    """Return the algorithm of a collective whose sizes only the root knows: the stated one, if it needs no sizes.

    A member of a tree would have to know the sizes of those below it.
    """
    stated = choice.algorithms
    return next(iter(stated)) if len(stated) == 1 and stated <= _LINEAR else "linear"


@dataclass(slots=True, eq=False)
class Meeting:
    """One collective of a communicator.

    Attributes:
        row: The call of the first member to arrive.
        algorithm: Its algorithm.
        payloads: Payload by member, once the member has arrived.
        neighbors: Entries of a neighbourhood collective, likewise.
        come: Number of members that have arrived.
        told: Number of members that have had their answer.
        prefixes: Reductions that members have made: the number of payloads, and the result.
    """

    row: Row
    algorithm: str
    payloads: list[Any]
    neighbors: list[tuple[int, ...]]
    come: int = 0
    told: int = 0
    prefixes: dict[int, Any] = field(default_factory=dict)

    @classmethod
    def begin(cls, row: Row) -> Meeting:
        """Begin a collective with its first member."""
        size = len(row.members)
        return cls(row, "", [None] * size, [()] * size)

    def join(self, row: Row, position: int, payload: Any) -> None:
        """Let a member join.

        Raises:
            ReplayError: If it makes another call than the others, or names another root.
        """
        if row.op != self.row.op:
            raise ReplayError(
                f"members of a communicator must make the same collective calls: rank {row.members[position]} makes "
                f"{Op(row.op).name} where another one makes {Op(self.row.op).name}"
            )
        if row.op in ROOTED and row.peer != self.row.peer:
            raise ReplayError(
                f"members of a communicator must name the same root: rank {row.members[position]} names {row.peer} in "
                f"its {Op(row.op).name} where another one names {self.row.peer}"
            )
        self.payloads[position] = payload
        self.neighbors[position] = row.entries
        self.come += 1

    def collective(self, row: Row, position: int, costs: Costs, nodes: tuple[int, ...]) -> Collective:
        """Return the collective as this member knows it; the first member's call decides the algorithm.

        Args:
            row: The call.
            position: The member's position in the communicator.
            costs: Costs on the machine.
            nodes: The numbered nodes of all members.
        """
        if row.op == Op.ALLTOALLV:
            known = _one_of(row, position)
        elif row.entries:
            known = collective_of(row.op, row.peer, np.array(row.entries, np.int64).tobytes(), _manner(row))
        elif row.op in _PARTLY_KNOWN:
            known = _one_of(row, position)
        else:
            known = _regular(row.op, row.peer, row.nbytes, len(row.members), _manner(row))
        if not self.algorithm:
            self.algorithm = _algorithm(row, known, costs, nodes)
        return placed(known, self.algorithm, nodes)

    # -- who gets what ------------------------------------------------------------------------------------

    def answer(self, op: int, position: int, serial: int) -> Any:
        """Return the answer to a member whose part has ended."""
        self.told += 1
        if op in _REDUCED_FOR_ALL:
            return self._reduction(serial, len(self.payloads)) if self.come == len(self.payloads) else None
        if op in _PREFIX:
            return self._prefix(op, position, serial)
        return self._data(op, position)

    def _data(self, op: int, position: int) -> Any:
        root = self.row.peer
        if op == Op.BCAST:
            return None if position == root else self.payloads[root]
        if op in _GATHERED:
            return self.payloads if position == root else None
        if op in _SCATTERED:
            return None if self.payloads[root] is None else self.payloads[root][position]
        if op in _GATHERED_BY_ALL:
            return self.payloads
        if op in _EXCHANGED:
            return [None if each is None else each[position] for each in self.payloads]
        return self._from_neighbors(position) if op == Op.NEIGHBOR else None

    def _from_neighbors(self, position: int) -> list[Any]:
        """Return the payloads of the incoming edges; the k-th of several edges from a rank brings its k-th payload."""
        entries = self.neighbors[position]
        sources = entries[2 + 2 * entries[0] :]
        seen: dict[int, int] = {}
        came: list[Any] = []
        for source in sources:
            if source == PROC_NULL or self.payloads[source] is None:
                came.append(None)
                continue
            nth = seen[source] = seen.get(source, -1) + 1
            theirs = self.neighbors[source]
            edges = [i for i, dest in enumerate(theirs[1 : 1 + theirs[0]]) if dest == position]
            came.append(self.payloads[source][edges[nth]])
        return came

    def _prefix(self, op: int, position: int, serial: int) -> Any:
        upto = position + (op == Op.SCAN)
        if not upto or any(payload is None for payload in self.payloads[:upto]):
            return None
        return self._reduction(serial, upto)

    def _reduction(self, serial: int, upto: int) -> tuple[int, Any, list[Any]]:
        """Return the reduction of the first payloads as far as it is done, and the payloads still to reduce."""
        done = max((each for each in self.prefixes if each <= upto), default=0)
        return serial, self.prefixes.get(done), self.payloads[done:upto]

    def reduced(self, position: int, result: Any) -> None:
        """Store the result of a member's reduction for the other members."""
        op = self.row.op
        upto = position + (op == Op.SCAN) if op in _PREFIX else len(self.payloads)
        self.prefixes[upto] = result

    @property
    def is_over(self) -> bool:
        """Whether all members have had their answer."""
        return self.told == len(self.payloads)
