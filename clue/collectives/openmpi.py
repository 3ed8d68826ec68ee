"""The algorithms that Open MPI chooses: by the fixed rules of ``coll/tuned``, and by ``libnbc`` for nonblocking calls.

Source: Open MPI 5.0.10, ompi/mca/coll/tuned/coll_tuned_decision_fixed.c (the same since 4.1), and
ompi/mca/coll/libnbc/nbc_i*.c; ompi/mca/coll/base decides what is too small for an algorithm. Collectives without fixed
rules (scan, exscan, gatherv, scatterv) use ``coll/basic``. ``coll/han``, which takes nodes into account, is left out:
every communicator counts as flat.

The fixed rules never segment a message, so a pipeline is a chain, segmented_ring a ring, and linear_sync of alltoall is
linear. Between two ranks, all other algorithms are equal to two_proc.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from clue.collectives.rules import Rule, always
from clue.collectives.schedule import Collective
from clue.collectives.trees import core_size

#: Size, in bytes, below which a choice applies, and the chosen algorithm.
Choices = tuple[tuple[float, str], ...]
#: Number of ranks below which a row applies, and its choices.
Bands = tuple[tuple[float, Choices], ...]

_UNITS = {"K": 1024, "M": 1024 * 1024}


def _bands(text: str) -> Bands:
    """Read rows such as ``<8: ring <16 linear <8K chain``: of fewer than 8 ranks, ring below 16 B, and so on."""
    return tuple(_row(*row) for row in re.findall(r"(\S+):([^:]+?)(?=\s\S+:|\s*$)", text))


def _row(below: str, choices: str) -> tuple[float, Choices]:
    words = choices.split()
    limits = [_number(word) for word in words[1::2]]
    return _number(below), tuple(zip([*limits, math.inf], words[::2], strict=True))


def _number(word: str) -> float:
    digits, unit = word.removeprefix("<"), _UNITS.get(word[-1], 1)
    return math.inf if digits == "more" else int(digits.rstrip("KM")) * unit


_TUNED: Mapping[str, Bands] = {
    "barrier": _bands(
        """<4: recursive_doubling
        <8: linear
        <64: recursive_doubling
        <256: dissemination
        <512: binomial
        <1024: dissemination
        <4096: binomial
        more: dissemination"""
    ),
    "bcast": _bands(
        """<4: chain <32 binary <256 chain <512 knomial <1K linear <32K binary <128K chain <256K linear
            <512K binomial_doubling <1M binary
        <8: binary <64 binomial_doubling <128 binary <2K binomial_doubling <8K linear <1M chain
        <16: knomial <8 binary <64 knomial <4K binary <16K binomial_doubling <32K linear
        <32: knomial <4K binomial_doubling <1M scatter_doubling_allgather
        <64: binomial_doubling <2K knomial
        <128: knomial
        <256: binomial_doubling <2 binary <16K linear <32K binary <64K knomial
        <1024: knomial <16K split_binary <32K knomial
        <2048: knomial <512K scatter_doubling_allgather
        <4096: knomial <256K scatter_doubling_allgather
        more: knomial <8K binary <16K knomial <256K scatter_doubling_allgather"""
    ),
    "reduce": _bands(
        """<4: rabenseifner <8 binary <16 chain <32 linear <256K chain
        <8: binary <4K chain <64K binomial <256K linear <512K binomial <1M linear
        <16: binary <8K binomial
        <32: binary <4K binomial
        <256: binomial
        <512: binomial <8K in_order_binary <16K binomial
        <2048: binomial
        <4096: binomial <512 in_order_binary <1K binomial <8K in_order_binary <16K binomial
        more: binomial <16 in_order_binary <32 binomial <1K in_order_binary <2K binomial <8K in_order_binary
            <16K binomial"""
    ),
    "allreduce": _bands(
        """<4: ring <8 recursive_doubling <4K ring <8K recursive_doubling <16K ring <256K rabenseifner
        <8: ring <16 recursive_doubling <8K rabenseifner
        <16: recursive_doubling <8K rabenseifner
        <32: ring <64 recursive_doubling <4K rabenseifner
        <64: ring <128 rabenseifner
        <128: recursive_doubling <256K rabenseifner
        <256: nonoverlapping <128K recursive_doubling <256K rabenseifner
        <512: nonoverlapping <4K rabenseifner
        <2048: nonoverlapping <2K recursive_doubling <16K rabenseifner
        <4096: nonoverlapping <2K ring <4K recursive_doubling <16K rabenseifner
        more: nonoverlapping <2K ring <16K recursive_doubling <32K rabenseifner"""
    ),
    "gather": _bands(
        """<4: linear_sync <2 linear_in_turn <4 binomial <32K linear_in_turn <64K binomial <128K linear_sync
        <8: binomial <1K linear_in_turn <8K binomial <32K linear_in_turn <256K linear_sync
        <256: binomial
        <512: binomial <2K linear_in_turn <8K binomial
        more: binomial"""
    ),
    "scatter": _bands(
        """<4: linear <2 linear_in_turn <128K linear <256K linear_in_turn
        <8: binomial <2K linear_in_turn <4K binomial <8K linear_in_turn <32K linear <1M linear_in_turn
        <16: binomial <16K linear <1M linear_in_turn
        <32: binomial <16K linear_in_turn <32K linear
        <64: binomial <512 linear <8K binomial <16K linear
        more: binomial <512 linear"""
    ),
    "allgather": _bands(
        """<32: recursive_doubling
        <64: recursive_doubling <1K neighbor_exchange <64K ring
        <128: recursive_doubling <512 neighbor_exchange <64K ring
        <256: recursive_doubling <512 neighbor_exchange <128K ring <512K neighbor_exchange <1M ring
        <512: recursive_doubling <32 bruck <128 recursive_doubling <1K neighbor_exchange <128K ring <512K
            neighbor_exchange <1M ring
        <1024: recursive_doubling <64 bruck <256 recursive_doubling <2K neighbor_exchange
        <2048: recursive_doubling <4 bruck <8 recursive_doubling <16 bruck <32 recursive_doubling <256 bruck
            <512 recursive_doubling <4K neighbor_exchange
        <4096: bruck <32 recursive_doubling <128 bruck <512 recursive_doubling <4K neighbor_exchange
        more: recursive_doubling <2 bruck <8 recursive_doubling <16 bruck <512 recursive_doubling <4K
            neighbor_exchange"""
    ),
    "allgatherv": _bands(
        """<3: ring
        <8: gather_bcast <256 neighbor_exchange <4K ring <8K neighbor_exchange <16K bruck <256K neighbor_exchange
        <16: gather_bcast <1K bruck
        <32: gather_bcast <128 bruck <256K ring
        <64: gather_bcast <256 bruck <8K ring
        <128: gather_bcast <256 bruck <4K ring
        <256: bruck <1K neighbor_exchange <64K ring
        <512: bruck <1K ring
        <1024: bruck <512 gather_bcast <1K bruck <4K neighbor_exchange <1M ring
        more: bruck <4K neighbor_exchange"""
    ),
    "alltoall": _bands(
        """<3: pairwise_shifted
        <8: linear <512K pairwise_shifted <1M linear
        <16: linear
        <32: linear <4 bruck <512 linear
        <64: bruck <512 linear
        <256: bruck <1K linear <256K pairwise_shifted
        <512: bruck <1K linear <32K pairwise_shifted
        <1024: bruck <512 linear <256K pairwise_shifted
        <2048: bruck <512 linear
        <4096: bruck <1K linear
        more: bruck <2K linear"""
    ),
    "alltoallv": _bands(
        """<4: pairwise_shifted
        <64: linear
        <128: pairwise_shifted
        <256: linear
        <1024: pairwise_shifted
        more: linear"""
    ),
    # By the bytes of all blocks together.
    "reduce_scatter": _bands(
        """<4: ring <64K butterfly <128K ring
        <8: nonoverlapping <8 recursive_halving <256K ring
        <32: recursive_halving <256K ring
        <64: nonoverlapping <64 recursive_halving <2K butterfly <512K ring
        <128: nonoverlapping <256 recursive_halving <512 butterfly <2K recursive_halving <4K butterfly
        <256: nonoverlapping <256 recursive_halving <512 butterfly
        <512: nonoverlapping <256 recursive_halving <1K butterfly
        <1024: nonoverlapping <512 recursive_halving <2K butterfly <8K recursive_halving <16K butterfly
        <2048: nonoverlapping <512 recursive_halving <4K butterfly <16K recursive_halving <32K butterfly
        <4096: nonoverlapping <512 recursive_halving <4K butterfly
        more: nonoverlapping <1K recursive_halving <8K butterfly"""
    ),
}
#: Reduce_scatter_block, by the bytes of a block.
_REDUCE_SCATTER_BLOCK = _bands(
    """<4: recursive_doubling <4 butterfly <8 recursive_halving <16 butterfly <128 recursive_halving <256
        butterfly <4K recursive_halving <8K butterfly <128K reduce_then_scatter
    <8: recursive_halving <8 recursive_doubling <32 butterfly <256 recursive_halving <8K butterfly <16K
        recursive_halving <1M reduce_then_scatter
    <16: reduce_then_scatter <4 recursive_halving <32 butterfly <128 recursive_halving <512K reduce_then_scatter
        <4M butterfly
    <32: reduce_then_scatter <32 recursive_halving <512K reduce_then_scatter <2M recursive_halving <4M butterfly
    more: recursive_halving <4 reduce_then_scatter <16 butterfly <64K reduce_then_scatter <256K butterfly"""
)
#: Reductions with an operation that does not commute.
_IN_ORDER: Mapping[str, Bands] = {
    "reduce": _bands(
        """<4: in_order_binary <8 linear
        <8: linear
        <16: in_order_binary <1K linear <8K in_order_binary <16K linear <256K in_order_binary
        <128: in_order_binary
        <256: in_order_binary <512 linear <1K in_order_binary
        more: in_order_binary"""
    ),
    "allreduce": _bands(
        """<4: recursive_doubling <128K linear
        <8: recursive_doubling
        <16: recursive_doubling <1M nonoverlapping
        <128: recursive_doubling
        <256: nonoverlapping <128K recursive_doubling <512K nonoverlapping
        <512: nonoverlapping <4K recursive_doubling <512K nonoverlapping
        more: nonoverlapping <2K recursive_doubling"""
    ),
}


def _from(bands: Bands, size: int, nbytes: int) -> str:
    choices = next(row for below, row in bands if size < below)
    return next(algorithm for below, algorithm in choices if nbytes < below)


def _tuned(collective: Collective) -> str:
    """Return the choice of the fixed rules."""
    name, size, nbytes, manner = collective.name, collective.size, collective.mean_size, collective.manner
    if name == "reduce_scatter":
        return _reduce_scatter(collective)
    if not manner.commutative and name in _IN_ORDER:
        return _from(_IN_ORDER[name], size, nbytes)
    return _from(_TUNED[name], size, nbytes)


def _reduce_scatter(collective: Collective) -> str:
    size, manner = collective.size, collective.manner
    if manner.block:
        return _from(_REDUCE_SCATTER_BLOCK, size, collective.mean_size) if manner.commutative else "reduce_then_scatter"
    return _from(_TUNED["reduce_scatter"], size, collective.whole_size) if manner.commutative else "nonoverlapping"


def _is_too_small(collective: Collective, algorithm: str) -> bool:
    """Tell whether an algorithm leaves vectors with this few elements to another."""
    fewest = {
        "ring": collective.size,
        "rabenseifner": core_size(collective.size),
        "scatter_doubling_allgather": collective.size,
        "split_binary": 2,
    }
    return collective.elements < fewest.get(algorithm, 0)


#: Replacement of an algorithm if a vector has too few elements for it, by collective.
_INSTEAD: Mapping[tuple[str, str], str] = {
    ("allreduce", "ring"): "recursive_doubling",
    ("allreduce", "rabenseifner"): "linear",
    ("reduce", "rabenseifner"): "linear",
    ("bcast", "scatter_doubling_allgather"): "linear",
    ("bcast", "split_binary"): "chain",
}
#: coll/basic.
_BASIC: Mapping[str, str] = {
    "scan": "linear",
    "exscan": "linear",
    "gatherv": "linear_in_turn",
    "scatterv": "linear_in_turn",
}


def _blocking(collective: Collective) -> str:
    name = collective.name
    if name in _BASIC:
        return _BASIC[name]
    if collective.manner.in_place and name in {"alltoall", "alltoallv"}:
        return "in_place"
    algorithm = _tuned(collective)
    instead = _INSTEAD.get((name, algorithm))
    return instead if instead is not None and _is_too_small(collective, algorithm) else algorithm


# -- libnbc ------------------------------------------------------------------------------------------------------

_NBC_LONG = 65536
_NBC_LINEAR_BCAST = 4


def _ibcast(collective: Collective) -> str:
    return "linear" if collective.size <= _NBC_LINEAR_BCAST else "binomial_swapped"


def _ireduce(collective: Collective) -> str:
    size, commutative = collective.size, collective.manner.commutative
    if not commutative:
        return "binomial_to_first"
    if size > 2 and collective.elements >= core_size(size):
        return "rabenseifner"
    return "binomial_swapped" if size > 4 or collective.mean_size < _NBC_LONG else "chain_in_fragments"


def _iallreduce(collective: Collective) -> str:
    manner = collective.manner
    if collective.size < 4 or collective.mean_size < _NBC_LONG or not manner.commutative or manner.in_place:
        return "reduce_bcast"
    return "rabenseifner" if collective.elements >= core_size(collective.size) else "ring"


def _ialltoall(collective: Collective) -> str:
    return "in_place" if collective.manner.in_place else "linear"


_NONBLOCKING: Mapping[str, Rule] = {
    "barrier": always("dissemination"),
    "bcast": _ibcast,
    "reduce": _ireduce,
    "allreduce": _iallreduce,
    "scan": always("linear"),
    "exscan": always("linear"),
    "gather": always("linear"),
    "gatherv": always("linear"),
    "scatter": always("linear"),
    "scatterv": always("linear"),
    "allgather": always("linear"),
    "allgatherv": always("linear"),
    "alltoall": _ialltoall,
    "alltoallv": _ialltoall,
    "reduce_scatter": always("reduce_scatterv"),
}


def choose(collective: Collective) -> str:
    """Return the algorithm that Open MPI chooses."""
    return _NONBLOCKING[collective.name](collective) if collective.manner.nonblocking else _blocking(collective)
