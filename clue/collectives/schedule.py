"""The form of every collective algorithm: for each rank, rounds of sends, receives and reductions."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Round:
    """One step of a rank: post all receives, start all sends in order, wait for all, then combine or copy.

    Attributes:
        sends: ``(peer, nbytes)`` in order; the rank is blocked for the send delay of each in turn.
        receives: Peers to receive one message each from, in this order; the sender knows the size. Messages
            between two ranks within one collective match in order.
        reduced: Bytes combined after the receives, at the machine's time per byte.
    """

    sends: tuple[tuple[int, int], ...] = ()
    receives: tuple[int, ...] = ()
    reduced: int = 0


#: All rounds of one rank, in order.
Schedule = tuple[Round, ...]


class Manner(NamedTuple):
    """How a collective is called, as far as this decides the algorithm that libraries choose.

    Attributes:
        nonblocking: Whether the call is nonblocking or persistent.
        in_place: Whether the receive buffer is also the send buffer.
        predefined: Whether the operation of a reduction is predefined by MPI.
        commutative: Whether it commutes.
        element: Bytes of an element of the datatype, 0 if they are not known.
        block: Whether a reduce_scatter is a Reduce_scatter_block.
    """

    nonblocking: bool = False
    in_place: bool = False
    predefined: bool = True
    commutative: bool = True
    element: int = 0
    block: bool = False


#: A blocking call, with a predefined operation on elements of unknown size.
PLAIN = Manner()
#: Bytes of an element that libraries are assumed to go by if they are not known.
_USUAL_ELEMENT = 8


@dataclass(frozen=True, slots=True)
class Collective:
    """One collective operation on a communicator of ``size`` ranks.

    Attributes:
        name: ``"bcast"``, ``"allreduce"``, … (see :data:`clue.collectives.COLLECTIVE_NAMES`).
        size: Ranks in the communicator.
        root: Its root, if it has one.
        sizes: Bytes by rank as :mod:`clue.trace.ops` defines ``nbytes``: all equal for the regular ones,
            one block per rank for the v-variants; for alltoallv ``size·size`` entries, one row per sender.
        manner: How it is called.
        nodes: Node of each rank, numbered by first appearance; empty if each rank has a separate node, or if nodes are
            unknown.
    """

    name: str
    size: int
    sizes: tuple[int, ...]
    root: int = 0
    manner: Manner = PLAIN
    nodes: tuple[int, ...] = ()
    _hash: int = field(default=0, init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        # Every rank looks up the collective, which has a size for every rank; so the hash is computed only once.
        if not self._hash:
            object.__setattr__(self, "_hash", hash(self._fields))
        return self._hash

    def __reduce__(self) -> tuple[object, ...]:
        # Hashes of strings differ between processes.
        return Collective, self._fields

    @property
    def _fields(self) -> tuple[object, ...]:
        return self.name, self.size, self.sizes, self.root, self.manner, self.nodes

    @property
    def mean_size(self) -> int:
        """Mean size, bytes, rounded down: it decides the algorithm if ranks contribute differently."""
        return sum(self.sizes) // len(self.sizes)

    @property
    def whole_size(self) -> int:
        """Size of a block for each rank, all together, bytes: the mean is not rounded before."""
        return sum(self.sizes) * self.size // len(self.sizes)

    @property
    def element(self) -> int:
        """Bytes of an element; 8 if they are not known."""
        return self.manner.element or _USUAL_ELEMENT

    @property
    def elements(self) -> int:
        """Mean size in elements."""
        return self.mean_size // self.element

    @property
    def unit(self) -> int:
        """Bytes that are never cut: an element; 1 if its size is not known, or does not divide the vector."""
        element = self.manner.element
        return element if element and self.sizes[0] % element == 0 else 1

    @property
    def shares_nodes(self) -> bool:
        """Whether some ranks are known to be on one node."""
        return len(set(self.nodes)) < len(self.nodes)

    @property
    def lies_node_by_node(self) -> bool:
        """Whether ranks are on several nodes, numbered node by node, and some share a node."""
        return self.shares_nodes and self.nodes[-1] > 0 and all(a <= b for a, b in pairwise(self.nodes))

    @property
    def is_regular(self) -> bool:
        """Whether all sizes are equal."""
        return self.sizes.count(self.sizes[0]) == len(self.sizes)
