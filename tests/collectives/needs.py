"""Requirements of each collective, by any algorithm: data flow between ranks, and the bytes that each rank needs."""

from __future__ import annotations

from collections.abc import Callable

from clue.collectives import Collective


def _all(c: Collective, _rank: int) -> set[int]:
    return set(range(c.size))


def _from_root(c: Collective, rank: int) -> set[int]:
    return {c.root} if c.sizes[rank] else set()


def _at_root(c: Collective, rank: int) -> set[int]:
    return {r for r in range(c.size) if c.sizes[r]} if rank == c.root else set()


def _contributors(c: Collective, _rank: int) -> set[int]:
    return {r for r in range(c.size) if c.sizes[r]}


def _column(c: Collective, rank: int) -> set[int]:
    return {s for s in range(c.size) if c.sizes[s * c.size + rank]}


#: Ranks that a rank must have heard of in the end.
HEARD: dict[str, Callable[[Collective, int], set[int]]] = {
    "barrier": _all,
    "bcast": _from_root,
    "reduce": _at_root,
    "allreduce": _all,
    "scan": lambda _c, rank: set(range(rank + 1)),
    "exscan": lambda _c, rank: set(range(rank)),
    "gather": _at_root,
    "gatherv": _at_root,
    "scatter": _from_root,
    "scatterv": _from_root,
    "allgather": _contributors,
    "allgatherv": _contributors,
    "alltoall": _all,
    "alltoallv": _column,
    "reduce_scatter": lambda c, rank: _all(c, rank) if c.sizes[rank] else set(),
}


def _unless_root(c: Collective, rank: int) -> int:
    return 0 if rank == c.root else c.sizes[rank]


def _others(c: Collective, rank: int) -> int:
    return sum(c.sizes) - c.sizes[rank]


def _others_if_root(c: Collective, rank: int) -> int:
    return _others(c, rank) if rank == c.root else 0


def _own_if_several(c: Collective, rank: int) -> int:
    return c.sizes[rank] if c.size > 1 else 0


def _own_column(c: Collective, rank: int) -> int:
    return sum(c.sizes[s * c.size + rank] for s in range(c.size) if s != rank)


#: Bytes that a rank must receive at least.
RECEIVED: dict[str, Callable[[Collective, int], int]] = {
    "barrier": lambda _c, _rank: 0,
    "bcast": _unless_root,
    "reduce": lambda c, rank: _own_if_several(c, rank) if rank == c.root else 0,
    "allreduce": _own_if_several,
    "scan": lambda c, rank: c.sizes[rank] if rank else 0,
    "exscan": lambda c, rank: c.sizes[rank] if rank else 0,
    "gather": _others_if_root,
    "gatherv": _others_if_root,
    "scatter": _unless_root,
    "scatterv": _unless_root,
    "allgather": _others,
    "allgatherv": _others,
    "alltoall": _others,
    "alltoallv": _own_column,
    "reduce_scatter": _own_if_several,
}

#: Algorithms by which every rank receives exactly these bytes.
FRUGAL = {
    *(("bcast", algorithm) for algorithm in ("binomial", "knomial", "binary", "chain", "pipeline", "linear")),
    ("bcast", "split_binary"),
    *(("bcast", algorithm) for algorithm in ("binomial_at_once", "binomial_doubling", "binomial_swapped")),
    *((name, "linear") for name in ("gather", "gatherv", "scatter", "scatterv", "scan", "exscan")),
    *((name, "linear_in_turn") for name in ("gather", "gatherv", "scatter", "scatterv")),
    *((name, "linear_sync") for name in ("gather", "gatherv")),
    *(
        (name, algorithm)
        for name in ("allgather", "allgatherv")
        for algorithm in ("recursive_doubling", "bruck", "ring", "neighbor_exchange", "linear")
    ),
    *(
        (name, algorithm)
        for name in ("alltoall", "alltoallv")
        for algorithm in (
            "linear",
            "scattered",
            "pairwise",
            "pairwise_shifted",
            "pairwise_sendrecv_replace",
            "in_place",
        )
    ),
    ("allgatherv", "pipelined_ring"),
}


#: Algorithms that send data which their sender does not have and no receiver uses.
OVERLONG = {
    ("bcast", "overlong_scatter_ring_allgather"),
    ("bcast", "overlong_scatter_recursive_doubling_allgather"),
}

#: Collectives that only move data; each rank has the same data for all others.
MOVING = {"bcast", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv"}


def held_at_first(c: Collective, rank: int) -> int:
    """Return the bytes that a rank holds when a collective of :data:`MOVING` begins."""
    if c.name.startswith(("gather", "allgather")):
        return c.sizes[rank]
    payload = c.sizes[0] if c.name == "bcast" else sum(c.sizes)
    return payload if rank == c.root else 0


def combined(c: Collective) -> int:
    """Return the bytes that a reduction without repeated work combines: (p - 1)·n, where n is the whole vector."""
    return (c.size - 1) * (sum(c.sizes) if c.name == "reduce_scatter" else c.sizes[0])


#: Algorithms that repeat work to save messages.
REPEATING = {
    *((name, "node_leaders") for name in ("allreduce", "scan")),
    *((name, "recursive_doubling") for name in ("allreduce", "scan", "exscan", "reduce_scatter")),
    # This is recursive doubling, unless blocks are equal and the number of ranks is a power of two.
    ("reduce_scatter", "noncommutative"),
}
