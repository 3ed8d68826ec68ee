"""Which algorithm MPICH and Open MPI choose by default. Rules only; the algorithms stand elsewhere.

MPICH: the rules built into MPICH 4 and 5 for any network (CVARs of the same meaning give most figures). Left
out is what belongs to shared memory or to a communicator's nodes: every communicator is taken as flat.

Open MPI: the fixed rules of ``coll/tuned`` since 4.1, condensed. They come from measurements and jump about;
here neighbouring bands of a few sizes are merged into the choice that prevails around them, and variants that
move about the same messages count as one: ``linear_sync`` as linear, ``segmented_ring`` as ring,
``split_binary_tree`` and ``in-order_binary`` as binary, ``butterfly`` as recursive_halving. These rules never
segment a message. Collectives without fixed rules (scan, exscan, gatherv, scatterv) take the linear ones.

All operations are taken as commutative and built in. Where a rule counts elements, they have 8 B.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from clue.collectives.trees import core_size, is_power_of_two
from clue.errors import UsageError

_ELEMENT = 8

# MPICH's thresholds in bytes, and the CVAR that documents each.
_BCAST_SHORT = 12288  # BCAST_SHORT_MSG_SIZE
_BCAST_LONG = 524288  # BCAST_LONG_MSG_SIZE
_BCAST_MIN_PROCS = 8  # BCAST_MIN_PROCS
_REDUCE_SHORT = 2048  # REDUCE_SHORT_MSG_SIZE
#: So the built-in rules; ALLREDUCE_SHORT_MSG_SIZE (2048) is read by other variants only.
_ALLREDUCE_SHORT = 8
_ALLGATHER_SHORT = 81920  # ALLGATHER_SHORT_MSG_SIZE, of all blocks together
_ALLGATHER_LONG = 524288  # ALLGATHER_LONG_MSG_SIZE, of all blocks together
_ALLTOALL_SHORT = 256  # ALLTOALL_SHORT_MSG_SIZE
_ALLTOALL_MEDIUM = 32768  # ALLTOALL_MEDIUM_MSG_SIZE
_REDUCE_SCATTER_LONG = 524288  # REDUCE_SCATTER_COMMUTATIVE_LONG_MSG_SIZE, of all blocks together

Rule = Callable[[int, int], str]


def _bcast(nbytes: int, size: int) -> str:
    if nbytes <= _BCAST_SHORT or size < _BCAST_MIN_PROCS:
        return "binomial"
    if nbytes <= _BCAST_LONG and is_power_of_two(size):
        return "scatter_recursive_doubling_allgather"
    return "scatter_ring_allgather"


def _has_too_few_elements(nbytes: int, size: int) -> bool:
    return nbytes // _ELEMENT < core_size(size)


def _reduce(nbytes: int, size: int) -> str:
    short = nbytes <= _REDUCE_SHORT or _has_too_few_elements(nbytes, size)
    return "binomial" if short else "reduce_scatter_gather"


def _allreduce(nbytes: int, size: int) -> str:
    short = nbytes <= _ALLREDUCE_SHORT or _has_too_few_elements(nbytes, size)
    return "recursive_doubling" if short else "reduce_scatter_allgather"


def _allgather(nbytes: int, size: int) -> str:
    if is_power_of_two(size):
        return "recursive_doubling" if nbytes * size < _ALLGATHER_LONG else "ring"
    return "bruck" if nbytes * size < _ALLGATHER_SHORT else "ring"


def _alltoall(nbytes: int, size: int) -> str:
    if nbytes <= _ALLTOALL_SHORT and size >= 8:
        return "bruck"
    return "scattered" if nbytes <= _ALLTOALL_MEDIUM else "pairwise"


def _reduce_scatter(nbytes: int, size: int) -> str:
    return "recursive_halving" if nbytes * size < _REDUCE_SCATTER_LONG else "pairwise"


def _always(name: str) -> Rule:
    return lambda _nbytes, _size: name


_MPICH: Mapping[str, Rule] = {
    "barrier": _always("dissemination"),
    "bcast": _bcast,
    "reduce": _reduce,
    "allreduce": _allreduce,
    "scan": _always("recursive_doubling"),
    "exscan": _always("recursive_doubling"),
    "gather": _always("binomial"),
    "gatherv": _always("linear"),
    "scatter": _always("binomial"),
    "scatterv": _always("linear"),
    "allgather": _allgather,
    "allgatherv": _allgather,
    "alltoall": _alltoall,
    "alltoallv": _always("scattered"),
    "reduce_scatter": _reduce_scatter,
}

#: Size of the communicator below which a row counts, with (bytes below which a choice counts, algorithm).
Bands = tuple[tuple[float, tuple[tuple[float, str], ...]], ...]

_MORE = math.inf
_KIB = 1024


def _only(name: str) -> tuple[tuple[float, str], ...]:
    return ((_MORE, name),)


_OPENMPI: Mapping[str, Bands] = {
    "barrier": (
        (4, _only("recursive_doubling")),
        (8, _only("linear")),
        (64, _only("recursive_doubling")),
        (256, _only("dissemination")),
        (512, _only("binomial")),
        (1024, _only("dissemination")),
        (4096, _only("binomial")),
        (_MORE, _only("dissemination")),
    ),
    "bcast": (
        (4, ((512, "chain"), (32 * _KIB, "linear"), (512 * _KIB, "chain"), (_MORE, "binary"))),
        (8, ((2 * _KIB, "binary"), (8 * _KIB, "binomial"), (1024 * _KIB, "linear"), (_MORE, "chain"))),
        (16, ((4 * _KIB, "knomial"), (16 * _KIB, "binary"), (32 * _KIB, "binomial"), (_MORE, "linear"))),
        (
            32,
            (
                (4 * _KIB, "knomial"),
                (1024 * _KIB, "binomial"),
                (_MORE, "scatter_recursive_doubling_allgather"),
            ),
        ),
        (64, ((2 * _KIB, "binomial"), (_MORE, "knomial"))),
        (128, _only("knomial")),
        (256, ((64 * _KIB, "binary"), (_MORE, "knomial"))),
        (1024, _only("knomial")),
        (2048, ((512 * _KIB, "knomial"), (_MORE, "scatter_recursive_doubling_allgather"))),
        (_MORE, ((256 * _KIB, "knomial"), (_MORE, "scatter_recursive_doubling_allgather"))),
    ),
    "reduce": (
        (4, ((256 * _KIB, "linear"), (_MORE, "chain"))),
        (8, ((4 * _KIB, "binary"), (64 * _KIB, "chain"), (1024 * _KIB, "binomial"), (_MORE, "linear"))),
        (16, ((8 * _KIB, "binary"), (_MORE, "binomial"))),
        (32, ((4 * _KIB, "binary"), (_MORE, "binomial"))),
        (_MORE, _only("binomial")),
    ),
    "allreduce": (
        (4, ((16 * _KIB, "recursive_doubling"), (256 * _KIB, "ring"), (_MORE, "reduce_scatter_allgather"))),
        (16, ((8 * _KIB, "recursive_doubling"), (_MORE, "reduce_scatter_allgather"))),
        (32, ((4 * _KIB, "recursive_doubling"), (_MORE, "reduce_scatter_allgather"))),
        (64, ((128, "ring"), (_MORE, "reduce_scatter_allgather"))),
        (128, ((256 * _KIB, "recursive_doubling"), (_MORE, "reduce_scatter_allgather"))),
        (
            256,
            (
                (128 * _KIB, "reduce_bcast"),
                (256 * _KIB, "recursive_doubling"),
                (_MORE, "reduce_scatter_allgather"),
            ),
        ),
        (512, ((4 * _KIB, "reduce_bcast"), (_MORE, "reduce_scatter_allgather"))),
        (
            _MORE,
            (
                (2 * _KIB, "reduce_bcast"),
                (16 * _KIB, "recursive_doubling"),
                (_MORE, "reduce_scatter_allgather"),
            ),
        ),
    ),
    "scan": ((_MORE, _only("linear")),),
    "exscan": ((_MORE, _only("linear")),),
    "gather": (
        (4, ((128 * _KIB, "binomial"), (_MORE, "linear"))),
        (8, ((_KIB, "binomial"), (8 * _KIB, "linear"), (32 * _KIB, "binomial"), (_MORE, "linear"))),
        (_MORE, _only("binomial")),
    ),
    "gatherv": ((_MORE, _only("linear")),),
    "scatter": (
        (4, _only("linear")),
        (8, ((8 * _KIB, "binomial"), (_MORE, "linear"))),
        (32, ((16 * _KIB, "binomial"), (_MORE, "linear"))),
        (_MORE, ((512, "binomial"), (_MORE, "linear"))),
    ),
    "scatterv": ((_MORE, _only("linear")),),
    "allgather": (
        (32, _only("recursive_doubling")),
        (64, ((_KIB, "recursive_doubling"), (64 * _KIB, "neighbor_exchange"), (_MORE, "ring"))),
        (128, ((512, "recursive_doubling"), (64 * _KIB, "neighbor_exchange"), (_MORE, "ring"))),
        (512, ((_KIB, "recursive_doubling"), (128 * _KIB, "neighbor_exchange"), (_MORE, "ring"))),
        (1024, ((2 * _KIB, "recursive_doubling"), (_MORE, "neighbor_exchange"))),
        (_MORE, ((4 * _KIB, "recursive_doubling"), (_MORE, "neighbor_exchange"))),
    ),
    "allgatherv": (
        (3, _only("ring")),
        (
            8,
            ((256, "gather_bcast"), (16 * _KIB, "neighbor_exchange"), (256 * _KIB, "bruck"), (_MORE, "ring")),
        ),
        (16, ((_KIB, "gather_bcast"), (_MORE, "bruck"))),
        (32, ((128, "gather_bcast"), (256 * _KIB, "bruck"), (_MORE, "ring"))),
        (64, ((256, "gather_bcast"), (8 * _KIB, "bruck"), (_MORE, "ring"))),
        (128, ((256, "gather_bcast"), (4 * _KIB, "bruck"), (_MORE, "ring"))),
        (256, ((_KIB, "bruck"), (64 * _KIB, "neighbor_exchange"), (_MORE, "ring"))),
        (512, ((_KIB, "bruck"), (_MORE, "ring"))),
        (1024, ((4 * _KIB, "bruck"), (1024 * _KIB, "neighbor_exchange"), (_MORE, "ring"))),
        (_MORE, ((4 * _KIB, "bruck"), (_MORE, "neighbor_exchange"))),
    ),
    "alltoall": (
        (3, _only("pairwise")),
        (16, _only("linear")),
        (64, ((512, "bruck"), (_MORE, "linear"))),
        (512, ((_KIB, "bruck"), (256 * _KIB, "linear"), (_MORE, "pairwise"))),
        (1024, ((512, "bruck"), (256 * _KIB, "linear"), (_MORE, "pairwise"))),
        (_MORE, ((_KIB, "bruck"), (_MORE, "linear"))),
    ),
    "alltoallv": (
        (4, _only("pairwise")),
        (64, _only("linear")),
        (128, _only("pairwise")),
        (256, _only("linear")),
        (1024, _only("pairwise")),
        (_MORE, _only("linear")),
    ),
    # By the bytes of all blocks together.
    "reduce_scatter": (
        (4, _only("ring")),
        (32, ((256 * _KIB, "recursive_halving"), (_MORE, "ring"))),
        (64, ((64, "reduce_scatterv"), (512 * _KIB, "recursive_halving"), (_MORE, "ring"))),
        (512, ((256, "reduce_scatterv"), (_MORE, "recursive_halving"))),
        (_MORE, ((512, "reduce_scatterv"), (_MORE, "recursive_halving"))),
    ),
}


def _openmpi(name: str, nbytes: int, size: int) -> str:
    weight = nbytes * size if name == "reduce_scatter" else nbytes
    by_bytes = next(choices for below, choices in _OPENMPI[name] if size < below)
    return next(algorithm for below, algorithm in by_bytes if weight < below)


#: Libraries whose default choices are known.
LIBRARIES = ("mpich", "openmpi")


def default_choice(library: str, name: str, nbytes: int, size: int) -> str:
    """Return the algorithm that a library chooses by default.

    Args:
        library: ``"mpich"`` or ``"openmpi"``.
        name: Name of the collective.
        nbytes: Bytes as :mod:`clue.trace.ops` defines them for it; for irregular ones a typical block.
        size: Ranks in the communicator.

    Raises:
        UsageError: If the library or the collective is unknown.
    """
    if library not in LIBRARIES:
        raise UsageError(f"collectives: library must be one of {', '.join(LIBRARIES)}, got {library!r}")
    if name not in _MPICH:
        raise UsageError(f"collectives: name must be one of {', '.join(_MPICH)}, got {name!r}")
    return _MPICH[name](nbytes, size) if library == "mpich" else _openmpi(name, nbytes, size)
