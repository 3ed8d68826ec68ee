"""The algorithms that MPICH chooses: the rules built into MPICH 4 and 5 for any network, and those of its device ch4.

If ranks share nodes, some collectives are composed of one among nodes and one within each (:mod:`.by_nodes`). All
others, and the parts of these, are chosen as if every rank had a separate node. The algorithms for shared memory within
a node are left out: MPICH uses them only in programs of one thread, and mpi4py requests several (MPI_THREAD_MULTIPLE).
Persistent collectives follow the nonblocking rules.
Source: MPICH 5.0.1, maint/tuning/coll/{mpir,ch4}/generic.json, which its build compiles in, and csel.c in
src/mpi/coll/src, which reads them; CVARs of the same meaning give most figures.
"""

from __future__ import annotations

from collections.abc import Mapping

from clue.collectives.rules import Rule, always
from clue.collectives.schedule import Collective
from clue.collectives.trees import core_size, is_power_of_two

# Thresholds in bytes, and the CVAR that documents each.
_BCAST_SHORT = 12288  # BCAST_SHORT_MSG_SIZE
_BCAST_LONG = 524288  # BCAST_LONG_MSG_SIZE
_BCAST_MIN_PROCS = 8  # BCAST_MIN_PROCS
_REDUCE_SHORT = 2048  # REDUCE_SHORT_MSG_SIZE
#: According to the rules; ALLREDUCE_SHORT_MSG_SIZE (2048) applies to nonblocking calls only.
_ALLREDUCE_SHORT, _IALLREDUCE_SHORT = 8, 2048
_ALLGATHER_SHORT = 81920  # ALLGATHER_SHORT_MSG_SIZE, of all blocks together
_ALLGATHER_LONG = 524288  # ALLGATHER_LONG_MSG_SIZE, of all blocks together
#: According to the rules; ALLTOALL_SHORT_MSG_SIZE (256) applies to blocking calls only.
_ALLTOALL_SHORT, _IALLTOALL_SHORT = 256, 2048
#: The rules say "fewer than 8", but MPIR_Csel_search reads this condition as "8 or fewer".
_ALLTOALL_FEW = 8
_ALLTOALL_MEDIUM = 32768  # ALLTOALL_MEDIUM_MSG_SIZE
_REDUCE_SCATTER_LONG = 524288  # REDUCE_SCATTER_COMMUTATIVE_LONG_MSG_SIZE, of all blocks together


def _bcast(collective: Collective) -> str:
    nbytes, size = collective.mean_size, collective.size
    if size < _BCAST_MIN_PROCS or nbytes <= _BCAST_SHORT:
        return "binomial"
    if nbytes <= _BCAST_LONG and is_power_of_two(size):
        return "scatter_recursive_doubling_allgather"
    return "scatter_ring_allgather"


def _ibcast(collective: Collective) -> str:
    nbytes, size = collective.mean_size, collective.size
    if size < _BCAST_MIN_PROCS or nbytes < _BCAST_SHORT:
        return "binomial_at_once"
    if nbytes < _BCAST_LONG and is_power_of_two(size):
        return "overlong_scatter_recursive_doubling_allgather"
    return "overlong_scatter_ring_allgather"


def _is_divisible(collective: Collective) -> bool:
    """Tell whether MPICH cuts a vector into blocks: with a predefined operation, and enough elements."""
    return collective.manner.predefined and collective.elements >= core_size(collective.size)


def _reduce(collective: Collective) -> str:
    if collective.mean_size > _REDUCE_SHORT and _is_divisible(collective):
        return "reduce_scatter_gather"
    return "binomial" if collective.manner.commutative else "binomial_to_first"


def _allreduce(short: int) -> Rule:
    def rule(collective: Collective) -> str:
        if collective.mean_size > short and _is_divisible(collective):
            return "reduce_scatter_allgather"
        return "recursive_doubling"

    return rule


def _allgather(collective: Collective) -> str:
    total = collective.whole_size
    ring = "pipelined_ring" if collective.name == "allgatherv" else "ring"
    if is_power_of_two(collective.size):
        return "recursive_doubling" if total < _ALLGATHER_LONG else ring
    return "bruck" if total < _ALLGATHER_SHORT else ring


def _alltoall(short: int) -> Rule:
    def rule(collective: Collective) -> str:
        if collective.manner.in_place:
            return "pairwise_sendrecv_replace"
        if collective.mean_size <= short and collective.size > _ALLTOALL_FEW:
            return "bruck"
        return "scattered" if collective.mean_size <= _ALLTOALL_MEDIUM else "pairwise"

    return rule


def _alltoallv(collective: Collective) -> str:
    return "pairwise_sendrecv_replace" if collective.manner.in_place else "scattered"


def _reduce_scatter(collective: Collective) -> str:
    manner = collective.manner
    if manner.commutative:
        # MPIR_Csel_search counts elements instead of bytes, for Ireduce_scatter_block only.
        in_elements = manner.block and manner.nonblocking
        total = collective.elements * collective.size if in_elements else collective.whole_size
        return "recursive_halving" if total < _REDUCE_SCATTER_LONG else "pairwise"
    regular = is_power_of_two(collective.size) and collective.is_regular
    return "noncommutative" if regular else "recursive_doubling"


#: Rules of blocking collectives by name.
BLOCKING: Mapping[str, Rule] = {
    "barrier": always("dissemination"),
    "bcast": _bcast,
    "reduce": _reduce,
    "allreduce": _allreduce(_ALLREDUCE_SHORT),
    "scan": always("recursive_doubling"),
    "exscan": always("recursive_doubling"),
    "gather": always("binomial"),
    "gatherv": always("linear"),
    "scatter": always("binomial"),
    "scatterv": always("linear"),
    "allgather": _allgather,
    "allgatherv": _allgather,
    "alltoall": _alltoall(_ALLTOALL_SHORT),
    "alltoallv": _alltoallv,
    "reduce_scatter": _reduce_scatter,
}
#: Rules of nonblocking and persistent ones. What MPICH calls recursive doubling for Ibarrier is dissemination.
NONBLOCKING: Mapping[str, Rule] = {
    **BLOCKING,
    "bcast": _ibcast,
    "allreduce": _allreduce(_IALLREDUCE_SHORT),
    "alltoall": _alltoall(_IALLTOALL_SHORT),
}


def _bcast_by_nodes(collective: Collective) -> str:
    nbytes, size = collective.mean_size, collective.size
    if size < _BCAST_MIN_PROCS or nbytes < _BCAST_SHORT:
        return "node_leaders"
    return "root_node_first" if nbytes < _BCAST_LONG and is_power_of_two(size) else _bcast(collective)


def _reduce_by_nodes(collective: Collective) -> str:
    if not collective.manner.commutative:
        return _reduce(collective)
    short = collective.manner.nonblocking or collective.mean_size <= _REDUCE_SHORT
    return "root_node_last" if short else "node_leaders"


def _allreduce_by_nodes(collective: Collective) -> str:
    composed = collective.manner.commutative and max(collective.nodes) > 0
    return "node_leaders" if composed else BLOCKING["allreduce"](collective)


def _scan_by_nodes(collective: Collective) -> str:
    return "node_leaders" if collective.lies_node_by_node else "recursive_doubling"


#: Rules if ranks share nodes.
BLOCKING_BY_NODES: Mapping[str, Rule] = {
    **BLOCKING,
    "barrier": always("node_leaders"),
    "bcast": _bcast_by_nodes,
    "reduce": _reduce_by_nodes,
    "allreduce": _allreduce_by_nodes,
    "scan": _scan_by_nodes,
}
#: The same for nonblocking and persistent ones.
NONBLOCKING_BY_NODES: Mapping[str, Rule] = {
    **NONBLOCKING,
    "bcast": always("node_leaders"),
    "reduce": _reduce_by_nodes,
    "scan": _scan_by_nodes,
}


def choose(collective: Collective) -> str:
    """Return the algorithm that MPICH chooses."""
    if not collective.shares_nodes:
        return choose_flat(collective)
    rules = NONBLOCKING_BY_NODES if collective.manner.nonblocking else BLOCKING_BY_NODES
    return rules[collective.name](collective)


def choose_flat(collective: Collective) -> str:
    """Return the algorithm that MPICH chooses as if each rank had a separate node: with MPIR_CVAR_NOLOCAL."""
    rules = NONBLOCKING if collective.manner.nonblocking else BLOCKING
    return rules[collective.name](collective)
