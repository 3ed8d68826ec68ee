"""All algorithms by collective and name, and the functions that return a rank's schedule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial

from clue.collectives import (
    allgather,
    allreduce,
    alltoall,
    barrier,
    bcast,
    by_nodes,
    composed,
    mpich,
    openmpi,
    reduce,
    reduce_scatter,
    scan,
)
from clue.collectives import gather_scatter as gs
from clue.collectives.rounds import at_once
from clue.collectives.rules import Rule
from clue.collectives.schedule import Collective, Schedule
from clue.errors import UsageError
from clue.trace.ops import PROC_NULL, Op

#: A pure function from a collective and one rank of it to that rank's rounds.
Algorithm = Callable[[Collective, int], Schedule]


def _part(choose: Rule, collective: Collective, rank: int) -> Schedule:
    """Lower a part of a composed collective by the algorithm that a rule chooses."""
    return _lowered(collective, rank, choose(collective))


_OPENMPI, _MPICH = partial(_part, openmpi.choose), partial(_part, mpich.choose_flat)

#: Algorithms that depend on the nodes of a collective's ranks.
BY_NODES: Mapping[str, Mapping[str, Algorithm]] = {
    "barrier": {"node_leaders": partial(by_nodes.barrier, _MPICH)},
    "bcast": {
        "node_leaders": partial(by_nodes.bcast, _MPICH),
        "root_node_first": partial(by_nodes.bcast_root_node_first, _MPICH),
    },
    "reduce": {
        "node_leaders": partial(by_nodes.reduce, _MPICH),
        "root_node_last": partial(by_nodes.reduce_root_node_last, _MPICH),
    },
    "allreduce": {"node_leaders": partial(by_nodes.allreduce, _MPICH)},
    "scan": {"node_leaders": partial(by_nodes.scan, _MPICH)},
}


_GATHERS: Mapping[str, Algorithm] = {
    "binomial": gs.gather_binomial,
    "linear": gs.gather_linear,
    "linear_in_turn": gs.gather_linear_in_turn,
    "linear_sync": gs.gather_linear_sync,
}
_SCATTERS: Mapping[str, Algorithm] = {
    "binomial": gs.scatter_binomial,
    "linear": gs.scatter_linear,
    "linear_in_turn": gs.scatter_linear_in_turn,
}
_ALLGATHERS: Mapping[str, Algorithm] = {
    "recursive_doubling": allgather.recursive_doubling,
    "bruck": allgather.bruck,
    "ring": allgather.ring,
    "neighbor_exchange": allgather.neighbor_exchange,
    "linear": allgather.linear,
    "gather_bcast": partial(composed.allgatherv, _OPENMPI),
}
_ALLTOALLS: Mapping[str, Algorithm] = {
    "linear": alltoall.linear,
    "scattered": alltoall.scattered,
    "pairwise": alltoall.pairwise,
    "pairwise_shifted": alltoall.pairwise_shifted,
    "pairwise_sendrecv_replace": alltoall.pairwise_sendrecv_replace,
    "in_place": alltoall.in_place,
}

#: Algorithms by the name of the collective and the name of the algorithm.
ALGORITHMS: Mapping[str, Mapping[str, Algorithm]] = {
    "barrier": {
        "dissemination": barrier.dissemination,
        "recursive_doubling": barrier.recursive_doubling,
        "binomial": barrier.binomial,
        "double_ring": barrier.double_ring,
        "linear": barrier.linear,
        **BY_NODES["barrier"],
    },
    "bcast": {
        "binomial": bcast.binomial,
        "scatter_recursive_doubling_allgather": bcast.scatter_recursive_doubling_allgather,
        "binomial_at_once": bcast.binomial_at_once,
        "binomial_doubling": bcast.binomial_doubling,
        "binomial_swapped": bcast.binomial_swapped,
        "scatter_ring_allgather": bcast.scatter_ring_allgather,
        "scatter_doubling_allgather": bcast.scatter_doubling_allgather,
        "overlong_scatter_ring_allgather": bcast.overlong_scatter_ring_allgather,
        "overlong_scatter_recursive_doubling_allgather": bcast.overlong_scatter_recursive_doubling_allgather,
        "knomial": bcast.knomial,
        "binary": bcast.binary,
        "split_binary": bcast.split_binary,
        "chain": bcast.chain,
        "pipeline": bcast.pipeline,
        "linear": bcast.linear,
        **BY_NODES["bcast"],
    },
    "reduce": {
        "binomial": reduce.binomial,
        "binomial_swapped": reduce.binomial_swapped,
        "binomial_to_first": reduce.binomial_to_first,
        "reduce_scatter_gather": reduce.reduce_scatter_gather,
        "rabenseifner": reduce.rabenseifner,
        "binary": reduce.binary,
        "in_order_binary": reduce.in_order_binary,
        "chain": reduce.chain,
        "chain_in_fragments": reduce.chain_in_fragments,
        "pipeline": reduce.pipeline,
        "linear": reduce.linear,
        **BY_NODES["reduce"],
    },
    "allreduce": {
        "recursive_doubling": allreduce.recursive_doubling,
        "reduce_scatter_allgather": allreduce.reduce_scatter_allgather,
        "rabenseifner": allreduce.rabenseifner,
        "ring": allreduce.ring,
        "reduce_bcast": allreduce.reduce_bcast,
        "nonoverlapping": partial(composed.allreduce, _OPENMPI),
        "linear": allreduce.linear,
        **BY_NODES["allreduce"],
    },
    "scan": {"recursive_doubling": scan.recursive_doubling, "linear": scan.linear, **BY_NODES["scan"]},
    "exscan": {"recursive_doubling": scan.exclusive_recursive_doubling, "linear": scan.exclusive_linear},
    "gather": _GATHERS,
    "gatherv": _GATHERS,
    "scatter": _SCATTERS,
    "scatterv": _SCATTERS,
    "allgather": _ALLGATHERS,
    "allgatherv": {**_ALLGATHERS, "pipelined_ring": allgather.pipelined_ring},
    "alltoall": {"bruck": alltoall.bruck, **_ALLTOALLS},
    "alltoallv": _ALLTOALLS,
    "reduce_scatter": {
        "recursive_halving": reduce_scatter.recursive_halving,
        "pairwise": reduce_scatter.pairwise,
        "ring": reduce_scatter.ring,
        "reduce_scatterv": reduce_scatter.reduce_scatterv,
        "noncommutative": reduce_scatter.noncommutative,
        "recursive_doubling": reduce_scatter.recursive_doubling,
        "butterfly": reduce_scatter.butterfly,
        "nonoverlapping": partial(composed.reduce_scatter, _OPENMPI),
        "reduce_then_scatter": partial(composed.reduce_scatter_block, _OPENMPI),
    },
}

#: Name of each op's collective. A communicator constructor costs as much as a small allreduce. Neighbourhood
#: collectives have no name, because they have only one algorithm: see :func:`neighbor`.
NAMES_BY_OP: Mapping[Op, str] = {
    **{Op[name.upper()]: name for name in ALGORITHMS},
    Op.COMM: "allreduce",
}
COLLECTIVE_NAMES: tuple[str, ...] = tuple(ALGORITHMS)

#: Schedules kept. A program repeats the same few collectives; each takes one entry per rank.
_KEPT = 1 << 15


def lower(collective: Collective, rank: int, algorithm: str) -> Schedule:
    """Return the rounds of one rank. Repeated calls are cheap.

    Collectives that move no data have no rounds, because the libraries return at once. Exceptions are barriers, and
    MPICH's alltoallv in place, in which a rank does not know whether others have data.

    Args:
        collective: The collective operation.
        rank: The rank, within the communicator.
        algorithm: Its name in :data:`ALGORITHMS`.

    Raises:
        UsageError: If the collective has no such algorithm.
    """
    if collective.name == "alltoallv":
        # Looking up size·size figures would take longer than writing a schedule of size messages.
        return _lowered(collective, rank, algorithm)
    return _remembered(collective, rank, algorithm)


def lower_all(collective: Collective, algorithm: str) -> list[Schedule]:
    """Return the rounds of every rank, by rank. Results are not cached: the keys would take ranks² time.

    Raises:
        UsageError: If the collective has no such algorithm.
    """
    return [_lowered(collective, rank, algorithm) for rank in range(collective.size)]


def _lowered(collective: Collective, rank: int, algorithm: str) -> Schedule:
    known = ALGORITHMS.get(collective.name)
    if known is None:
        raise UsageError(f"collectives: name must be one of {', '.join(ALGORITHMS)}, got {collective.name!r}")
    if algorithm not in known:
        raise UsageError(
            f"collectives: algorithm of {collective.name} must be one of {', '.join(known)}, got {algorithm!r}"
        )
    if collective.size == 1 or not (_sends_empty_messages(collective, algorithm) or any(collective.sizes)):
        return ()
    return known[algorithm](collective, rank)


def _sends_empty_messages(collective: Collective, algorithm: str) -> bool:
    """Return whether messages are sent even if there are no data."""
    return collective.name == "barrier" or (collective.name, algorithm) == ("alltoallv", "pairwise_sendrecv_replace")


_remembered = lru_cache(maxsize=_KEPT)(_lowered)


def neighbor(entries: Sequence[int]) -> Schedule:
    """Return the rounds of one rank's neighbourhood collective: everything at once, as in both libraries.

    Args:
        entries: ``n_out, dests…, sizes…, n_in, sources…`` as :mod:`clue.trace.ops` defines them. Null
            neighbours of a Cartesian grid are skipped.
    """
    outgoing = entries[0]
    dests, sizes = entries[1 : 1 + outgoing], entries[1 + outgoing : 1 + 2 * outgoing]
    sources = entries[2 + 2 * outgoing : 2 + 2 * outgoing + entries[1 + 2 * outgoing]]
    sends = tuple((dest, nbytes) for dest, nbytes in zip(dests, sizes, strict=True) if dest != PROC_NULL)
    receives = tuple(source for source in sources if source != PROC_NULL)
    return (at_once(sends, receives),) if sends or receives else ()
