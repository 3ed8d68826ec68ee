"""Communication patterns: trees over the ranks of a communicator, and powers of two. Independent of sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field


def doublings(size: int) -> list[int]:
    """Return 1, 2, 4, …: the powers of two below ``size``."""
    return [1 << k for k in range((size - 1).bit_length())]


def core_size(size: int) -> int:
    """Return the largest power of two not above ``size``."""
    return 1 << (size.bit_length() - 1)


def is_power_of_two(size: int) -> bool:
    """Tell whether ``size`` is a power of two."""
    return size & (size - 1) == 0


@dataclass(frozen=True, slots=True)
class Node:
    """One rank's place in a tree.

    Attributes:
        parent: Its parent; ``None`` for the root.
        children: Its children, in the order in which a broadcast serves them.
    """

    parent: int | None
    children: tuple[int, ...]


def _placed(root: int, size: int, parent: int | None, children: Sequence[int]) -> Node:
    """Return the node with this parent and these children, counted from the root, without children beyond the size."""
    return Node(
        None if parent is None else (parent + root) % size,
        tuple((child + root) % size for child in children if child < size),
    )


def knomial(rank: int, root: int, size: int, radix: int) -> Node:
    """Return a rank's place in the k-nomial tree: the biggest subtrees first.

    Counted from the root, a rank's parent is found by clearing its lowest nonzero digit in base ``radix``.
    """
    place = (rank - root) % size
    stride = 1
    while stride < size and place % (stride * radix) == 0:
        stride *= radix
    parent = place - place % (stride * radix) if place else None
    children: list[int] = []
    while stride > 1:
        stride //= radix
        children += [place + stride * digit for digit in range(1, radix)]
    return _placed(root, size, parent, children)


def binomial(rank: int, root: int, size: int) -> Node:
    """Return a rank's place in the binomial tree: the biggest subtrees first."""
    return knomial(rank, root, size, 2)


def binomial_extent(rank: int, root: int, size: int) -> int:
    """Return the number of ranks in a rank's binomial subtree: the rank and those that follow it in the circle."""
    place = (rank - root) % size
    return min(place & -place, size - place) if place else size


def binomial_doubling(rank: int, root: int, size: int) -> Node:
    """Return a rank's place in the binomial tree whose edges double in length: the nearest child first.

    Counted from the root, a rank's parent is found by clearing its highest bit.
    """
    place = (rank - root) % size
    parent = place - core_size(place) if place else None
    return _placed(root, size, parent, [place + bit for bit in doublings(size) if bit > place])


def swapped(tree: Callable[[int, int, int], Node], rank: int, root: int, size: int) -> Node:
    """Return a rank's place in a tree with rank 0 as root, after rank 0 and the root have been swapped.

    Source: Open MPI 5.0.10, RANK2VRANK of coll/libnbc.
    """

    def exchanged(member: int) -> int:
        return {0: root, root: 0}.get(member, member)

    node = tree(exchanged(rank), 0, size)
    return Node(None if node.parent is None else exchanged(node.parent), tuple(map(exchanged, node.children)))


def in_order_binary(rank: int, size: int) -> Node:
    """Return a rank's place in the binary tree for reductions in the order of ranks: its root is the last rank.

    The root of any range of ranks is its last; the lower half below it is the second child's, the rest the first's.
    Source: Open MPI 5.0.10, ompi_coll_base_topo_build_in_order_bintree.
    """
    first, last, parent = 0, size - 1, None
    while rank != last:
        middle = first + (last - first + 1) // 2
        parent = last
        if rank < middle:
            last = middle - 1
        else:
            first, last = middle, last - 1
    below = last - first
    second = first + (below + 1) // 2 - 1
    children = (last - 1, second) if below > 1 else (last - 1,) if below else ()
    return Node(parent, children)


def binary(rank: int, root: int, size: int) -> Node:
    """Return a rank's place in the complete binary tree that Open MPI builds, filled level by level.

    Level l begins at place 2^l - 1; the children of a place are 2^l and 2·2^l places further on.
    """
    place = (rank - root) % size
    width = core_size(place + 1)
    parent = width // 2 - 1 + (place - width + 1) % (width // 2) if place else None
    return _placed(root, size, parent, (place + width, place + 2 * width))


def chain(rank: int, root: int, size: int) -> Node:
    """Return a rank's place in the chain that starts at the root and goes up."""
    place = (rank - root) % size
    return _placed(root, size, place - 1 if place else None, (place + 1,))


@dataclass(frozen=True, slots=True)
class Fold:
    """How MPICH reduces any number of ranks to a power of two, the *core*.

    The first ranks pair up, (0, 1), (2, 3), …: in each pair, one rank sends its data to the other and stays passive.

    Attributes:
        size: Ranks in the communicator.
        keeper: Which rank of a pair stays active: 1 the odd one (allreduce, reduce_scatter), 0 the even one (reduce).
        core: Number of active ranks, a power of two.
        pairs: Pairs folded into one rank each.
    """

    size: int
    keeper: int = 1
    core: int = field(init=False)
    pairs: int = field(init=False)

    def __post_init__(self) -> None:
        # A hot path: this saves time.
        object.__setattr__(self, "core", core_size(self.size))
        object.__setattr__(self, "pairs", self.size - self.core)

    def partner(self, rank: int) -> int | None:
        """Return the partner in a folded pair; ``None`` if the rank is in no pair."""
        return rank ^ 1 if rank < 2 * self.pairs else None

    def stands_by(self, rank: int) -> bool:
        """Tell whether the rank sends away its data and stays passive."""
        return rank < 2 * self.pairs and rank % 2 != self.keeper

    def number(self, rank: int) -> int:
        """Return the number within the core of a rank, or of the active rank of its pair."""
        return rank // 2 if rank < 2 * self.pairs else rank - self.pairs

    def rank(self, number: int) -> int:
        """Return the rank that has a number within the core."""
        return 2 * number + self.keeper if number < self.pairs else number + self.pairs


@dataclass(frozen=True, slots=True)
class Doubling:
    """One step of recursive doubling among any number of ranks: two subtrees of ranks exchange their data.

    Attributes:
        partner: Rank in the other subtree, or ``None`` if that is too small to have one.
        own: Ranks of this rank's own subtree: the first, and the first beyond.
        other: Ranks of the other subtree, the same.
        passed_on_from: Rank that forwards the other subtree's data instead, if any.
        passed_on_to: Ranks to which this rank forwards them.
    """

    partner: int | None
    own: tuple[int, int]
    other: tuple[int, int]
    passed_on_from: int | None
    passed_on_to: tuple[int, ...]


def doubling_steps(rank: int, size: int) -> Iterator[Doubling]:
    """Yield the steps of recursive doubling; unless the size is a power of two, subtrees forward received data.

    Source: MPICH 5.0.1, MPIR_Reduce_scatter_intra_recursive_doubling; Open MPI 5.0.10,
    ompi_coll_base_bcast_intra_scatter_allgather.
    """
    for span in doublings(size):
        own, other = rank & -span, (rank ^ span) & -span
        informed = size - own - span  # ranks of the own subtree that have a partner
        came, to = None, []
        for bit in reversed(doublings(span)) if other + span > size else ():
            peer, tree = rank ^ bit, rank & -(2 * bit)
            if rank < tree + informed <= peer:
                to.append(peer)
            elif peer < tree + informed <= rank:
                came = peer
        partner = rank ^ span if rank ^ span < size else None
        yield Doubling(
            partner, (own, min(own + span, size)), (min(other, size), min(other + span, size)), came, tuple(to)
        )


@dataclass(frozen=True, slots=True)
class Halving:
    """One step of recursive halving: a range of blocks is split with a partner.

    Attributes:
        partner: The partner's number in the core.
        bit: The bit in which the two numbers differ.
        kept: First block kept, and the first beyond.
        given: First block given away, and the first beyond.
    """

    partner: int
    bit: int
    kept: tuple[int, int]
    given: tuple[int, int]


def halvings(number: int, core: int, bits: Sequence[int]) -> Iterator[Halving]:
    """Yield the steps in which a member of the core halves its range from all blocks to one, a bit at a time."""
    low, high = 0, core
    for bit in bits:
        middle = (low + high) // 2
        lower, upper = (low, middle), (middle, high)
        kept, given = (upper, lower) if number & bit else (lower, upper)
        yield Halving(number ^ bit, bit, kept, given)
        low, high = kept
