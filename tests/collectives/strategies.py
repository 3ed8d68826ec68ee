"""Random collectives: every name, 1 to 33 ranks, any root, equal or uneven sizes."""

from __future__ import annotations

from hypothesis import strategies as st

from clue.collectives import ALGORITHMS, BY_NODES, Collective
from clue.kernel.model.costs import numbered

#: All algorithms in the catalogue: a new one is tested without a change here.
EVERY = [(name, algorithm) for name, algorithms in ALGORITHMS.items() for algorithm in algorithms]

#: Collectives whose ranks may contribute different amounts.
UNEVEN = {"gatherv", "scatterv", "allgatherv", "alltoallv", "reduce_scatter"}

SIZES = range(1, 34)

_BYTES = st.one_of(st.integers(1, 5000), st.sampled_from([1, 64, 131072, 131073, 300_000]))


@st.composite
def shared_nodes(draw: st.DrawFn, size: int) -> tuple[int, ...]:
    """Draw the nodes of ranks: one node each, block, cyclic or random."""
    per_node = draw(st.integers(1, size))
    way = draw(st.sampled_from(("alone", "block", "cyclic", "random")))
    if way == "random":
        some = draw(st.lists(st.integers(0, per_node), min_size=1, max_size=11))
        return numbered([some[rank * rank % len(some)] for rank in range(size)])
    nodes = {"alone": range(size), "block": [rank // per_node for rank in range(size)]}
    return numbered(nodes.get(way, [rank % per_node for rank in range(size)]))


@st.composite
def collectives(draw: st.DrawFn, name: str) -> Collective:
    """Draw a collective of this name that moves at least a byte (barriers: none)."""
    size = draw(st.integers(SIZES[0], SIZES[-1]))
    root = draw(st.integers(0, size - 1))
    if name in UNEVEN:
        blocks = st.one_of(st.just(0), st.integers(0, 3000))
        count = size * size if name == "alltoallv" else size
        # A few values are drawn and repeated, as long lists are slow to draw.
        pattern = draw(st.lists(blocks, min_size=1, max_size=17).filter(any))
        return Collective(name, size, tuple(pattern[i % len(pattern)] for i in range(count)), root)
    nbytes = 0 if name == "barrier" else draw(_BYTES)
    nodes = draw(shared_nodes(size)) if name in BY_NODES else ()
    return Collective(name, size, (nbytes,) * size, root, nodes=nodes)


def regular(name: str, size: int, nbytes: int, root: int = 0) -> Collective:
    """Return a collective whose sizes are all equal."""
    return Collective(name, size, (nbytes,) * (size * size if name == "alltoallv" else size), root)
