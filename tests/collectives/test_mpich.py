"""Which algorithm MPICH chooses: its thresholds, and what else of a call it goes by.

The figures are those of MPICH 5.0.1, maint/tuning/coll/mpir/generic.json.
"""

import pytest

from clue.collectives import Collective, Manner, default_choice

KIB = 1024
#: A reduction by an operation of the program's own, and by one that does not commute.
OWN, IN_ORDER = {"predefined": False}, {"predefined": False, "commutative": False}


def choice(name: str, nbytes: int, size: int, **how: bool | int) -> str:
    """Return what is chosen for a collective of blocks of one size."""
    return default_choice("mpich", Collective(name, size, (nbytes,) * size, manner=Manner(**how)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "nbytes", "size", "algorithm"),
    [
        ("bcast", 12 * KIB, 64, "binomial"),
        ("bcast", 12 * KIB + 1, 64, "scatter_recursive_doubling_allgather"),
        ("bcast", 12 * KIB + 1, 63, "scatter_ring_allgather"),
        ("bcast", 512 * KIB + 1, 64, "scatter_ring_allgather"),
        ("bcast", 512 * KIB + 1, 7, "binomial"),
        ("allreduce", 8, 2, "recursive_doubling"),
        ("allreduce", 64, 8, "reduce_scatter_allgather"),
        ("allreduce", 64, 16, "recursive_doubling"),  # 8 numbers on 16 ranks
        ("reduce", 2048, 4, "binomial"),
        ("reduce", 2049, 4, "reduce_scatter_gather"),
        ("allgather", 80 * KIB // 10, 10, "ring"),
        ("allgather", 80 * KIB // 10 - 1, 10, "bruck"),
        ("allgather", 64 * KIB - 1, 8, "recursive_doubling"),
        ("allgather", 64 * KIB, 8, "ring"),
        ("alltoall", 256, 9, "bruck"),
        ("alltoall", 256, 8, "scattered"),  # of 8 or fewer, whatever the rule says
        ("alltoall", 257, 9, "scattered"),
        ("alltoall", 32 * KIB, 8, "scattered"),
        ("alltoall", 32 * KIB + 1, 8, "pairwise"),
        ("reduce_scatter", 64 * KIB, 8, "pairwise"),
        ("reduce_scatter", 64 * KIB - 1, 8, "recursive_halving"),
    ],
)
def test_blocking_ones_switch_where_the_rules_say(name: str, nbytes: int, size: int, algorithm: str) -> None:
    """The algorithm changes at the documented thresholds."""
    assert choice(name, nbytes, size) == algorithm


@pytest.mark.parametrize(
    ("name", "nbytes", "size", "algorithm"),
    [
        ("allreduce", 2048, 8, "recursive_doubling"),
        ("allreduce", 2049, 8, "reduce_scatter_allgather"),
        ("bcast", 12 * KIB - 1, 64, "binomial_at_once"),
        ("bcast", 12 * KIB, 64, "overlong_scatter_recursive_doubling_allgather"),
        ("bcast", 12 * KIB, 63, "overlong_scatter_ring_allgather"),
        ("bcast", 512 * KIB, 64, "overlong_scatter_ring_allgather"),
        ("bcast", 512 * KIB, 7, "binomial_at_once"),
        ("alltoall", 2048, 9, "bruck"),
        ("alltoall", 2049, 9, "scattered"),
        ("alltoall", 256, 8, "scattered"),
        ("barrier", 0, 8, "dissemination"),
        ("reduce", 2048, 4, "binomial"),
        ("reduce", 2049, 4, "reduce_scatter_gather"),
    ],
)
def test_nonblocking_ones_have_rules_of_their_own(name: str, nbytes: int, size: int, algorithm: str) -> None:
    """At 2,048 B, where a blocking allreduce has long changed; at 12,288 B, one byte before a blocking bcast does."""
    assert choice(name, nbytes, size, nonblocking=True) == algorithm


@pytest.mark.parametrize("nonblocking", [False, True])
@pytest.mark.parametrize(
    ("name", "how", "algorithm"),
    [
        ("allreduce", OWN, "recursive_doubling"),
        ("allreduce", IN_ORDER, "recursive_doubling"),
        ("reduce", OWN, "binomial"),
        ("reduce", IN_ORDER, "binomial_to_first"),
        ("reduce_scatter", OWN, "recursive_halving"),
        ("reduce_scatter", IN_ORDER, "noncommutative"),
        ("alltoall", {"in_place": True}, "pairwise_sendrecv_replace"),
        ("alltoallv", {"in_place": True}, "pairwise_sendrecv_replace"),
        ("allgather", {"in_place": True}, "recursive_doubling"),
    ],
)
def test_the_manner_of_a_call_decides(name: str, how: dict[str, bool], algorithm: str, *, nonblocking: bool) -> None:
    """Vectors of 32 KiB on 8 ranks: own operations are not cut, in place data are exchanged a pair at a time."""
    assert choice(name, 32 * KIB, 8, nonblocking=nonblocking, **how) == algorithm


def test_uneven_or_odd_blocks_in_order_are_doubled() -> None:
    """What does not commute is halved among a power of two with equal blocks alone."""
    assert choice("reduce_scatter", 64, 7, **IN_ORDER) == "recursive_doubling"
    uneven = Collective("reduce_scatter", 4, (8, 8, 8, 16), manner=Manner(predefined=False, commutative=False))
    assert default_choice("mpich", uneven) == "recursive_doubling"


@pytest.mark.parametrize(("element", "fewest"), [(1, 16), (8, 128), (16, 256), (1000, 16_000)])
def test_vectors_are_cut_between_elements(element: int, fewest: int) -> None:
    """With 16 ranks an allreduce needs 16 elements to be cut into blocks, whatever their size."""
    assert choice("allreduce", fewest - element, 16, element=element) == "recursive_doubling"
    assert choice("allreduce", fewest, 16, element=element) == "reduce_scatter_allgather"


def test_one_rule_counts_elements_for_bytes() -> None:
    """Ireduce_scatter_block of 8 blocks is long from 524,288 elements in all; the others are from as many bytes."""
    block = {"block": True, "element": 8}
    assert choice("reduce_scatter", 8 * 64 * KIB - 8, 8, nonblocking=True, **block) == "recursive_halving"
    assert choice("reduce_scatter", 8 * 64 * KIB, 8, nonblocking=True, **block) == "pairwise"
    assert choice("reduce_scatter", 64 * KIB, 8, **block) == "pairwise"
    assert choice("reduce_scatter", 64 * KIB, 8, nonblocking=True) == "pairwise"
