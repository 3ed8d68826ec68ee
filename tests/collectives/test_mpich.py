"""MPICH's choice of algorithms: its thresholds, and the other properties of a call that it depends on.

The figures are those of MPICH 5.0.1, maint/tuning/coll/mpir/generic.json and ch4/generic.json.
"""

import pytest

from clue.collectives import Collective, Manner, default_choice

KIB = 1024
#: Reductions by a user-defined operation, and by one that does not commute.
OWN, IN_ORDER = {"predefined": False}, {"predefined": False, "commutative": False}


def choice(name: str, nbytes: int, size: int, **how: bool | int) -> str:
    """Return the algorithm chosen for a collective of equal blocks."""
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
        ("alltoall", 256, 8, "scattered"),  # always for 8 or fewer ranks, whatever the rule says
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
    """Nonblocking collectives have their own thresholds.

    An iallreduce changes at 2,048 B, far above a blocking one; an ibcast at 12,288 B, one byte before a blocking one.
    """
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
    """For 32 KiB on 8 ranks, the choice depends on the operation (user-defined, commutative) and on in-place data."""
    assert choice(name, 32 * KIB, 8, nonblocking=nonblocking, **how) == algorithm


def test_uneven_or_odd_blocks_in_order_are_doubled() -> None:
    """A reduce-scatter in order is halved only with equal blocks on a power of two ranks, otherwise doubled."""
    assert choice("reduce_scatter", 64, 7, **IN_ORDER) == "recursive_doubling"
    uneven = Collective("reduce_scatter", 4, (8, 8, 8, 16), manner=Manner(predefined=False, commutative=False))
    assert default_choice("mpich", uneven) == "recursive_doubling"


@pytest.mark.parametrize(
    ("name", "blocks", "algorithm"),
    [
        ("reduce_scatter", (174_768, 174_760, 174_760), "pairwise"),
        ("reduce_scatter", (174_767, 174_760, 174_760), "recursive_halving"),
        ("allgatherv", (27_312, 27_304, 27_304), "pipelined_ring"),
        ("allgatherv", (27_311, 27_304, 27_304), "bruck"),
    ],
)
def test_uneven_blocks_count_by_their_sum(name: str, blocks: tuple[int, ...], algorithm: str) -> None:
    """Blocks of 524,288 B in all are long for Reduce_scatter, and of 81,920 B for Allgatherv, however uneven."""
    assert default_choice("mpich", Collective(name, 3, blocks)) == algorithm


@pytest.mark.parametrize(("element", "fewest"), [(1, 16), (8, 128), (16, 256), (1000, 16_000)])
def test_vectors_are_cut_between_elements(element: int, fewest: int) -> None:
    """On 16 ranks, an allreduce needs 16 elements of any size to be cut into blocks."""
    assert choice("allreduce", fewest - element, 16, element=element) == "recursive_doubling"
    assert choice("allreduce", fewest, 16, element=element) == "reduce_scatter_allgather"


def test_one_rule_counts_elements_for_bytes() -> None:
    """Ireduce_scatter_block of 8 blocks is long from 524,288 elements in all; other calls are from as many bytes."""
    block = {"block": True, "element": 8}
    assert choice("reduce_scatter", 8 * 64 * KIB - 8, 8, nonblocking=True, **block) == "recursive_halving"
    assert choice("reduce_scatter", 8 * 64 * KIB, 8, nonblocking=True, **block) == "pairwise"
    assert choice("reduce_scatter", 64 * KIB, 8, **block) == "pairwise"
    assert choice("reduce_scatter", 64 * KIB, 8, nonblocking=True) == "pairwise"


#: Nodes of eight ranks: two of four in block and in cyclic placement, one of all eight, and seven of which one has two.
BLOCK, CYCLIC, ONE, PAIR = (0, 0, 0, 0, 1, 1, 1, 1), (0, 1) * 4, (0,) * 8, (0, 0, 1, 2, 3, 4, 5, 6)


def choice_on(nodes: tuple[int, ...], name: str, nbytes: int, **how: bool | int) -> str:
    """Return the algorithm chosen for ranks on these nodes."""
    collective = Collective(name, len(nodes), (nbytes,) * len(nodes), manner=Manner(**how), nodes=nodes)  # type: ignore[arg-type]
    return default_choice("mpich", collective)


@pytest.mark.parametrize("nodes", [BLOCK, CYCLIC, ONE, PAIR])
@pytest.mark.parametrize(
    ("name", "nbytes", "how", "algorithm"),
    [
        ("barrier", 0, {}, "node_leaders"),
        ("barrier", 0, {"nonblocking": True}, "dissemination"),
        ("bcast", 12 * KIB - 1, {}, "node_leaders"),
        ("bcast", 12 * KIB, {}, "root_node_first"),
        ("bcast", 512 * KIB - 1, {}, "root_node_first"),
        ("bcast", 512 * KIB, {}, "scatter_recursive_doubling_allgather"),  # as without shared nodes
        ("bcast", 512 * KIB + 1, {}, "scatter_ring_allgather"),
        ("bcast", 512 * KIB, {"nonblocking": True}, "node_leaders"),
        ("reduce", 2048, {}, "root_node_last"),
        ("reduce", 2049, {}, "node_leaders"),
        ("reduce", 2049, {"nonblocking": True}, "root_node_last"),
        ("reduce", 2048, IN_ORDER, "binomial_to_first"),
        ("reduce", 2048, {**IN_ORDER, "nonblocking": True}, "binomial_to_first"),
        ("allreduce", 2049, {"nonblocking": True}, "reduce_scatter_allgather"),
        ("allreduce", 64, IN_ORDER, "recursive_doubling"),
        ("exscan", 64, {}, "recursive_doubling"),
        ("allgather", 64, {}, "recursive_doubling"),
    ],
)
def test_shared_nodes_have_rules_of_their_own(
    nodes: tuple[int, ...], name: str, nbytes: int, how: dict[str, bool], algorithm: str
) -> None:
    """If any two ranks share a node, even on a single node, these rules apply."""
    assert choice_on(nodes, name, nbytes, **how) == algorithm


@pytest.mark.parametrize("nonblocking", [False, True])
def test_some_rules_ask_how_nodes_lie(*, nonblocking: bool) -> None:
    """A scan goes by nodes only if ranks are placed node by node, a blocking allreduce only on several nodes."""
    chosen = [choice_on(nodes, "scan", 64, nonblocking=nonblocking) for nodes in (BLOCK, PAIR, CYCLIC, ONE)]
    assert chosen == ["node_leaders"] * 2 + ["recursive_doubling"] * 2
    assert choice_on(BLOCK, "allreduce", 8) == choice_on(CYCLIC, "allreduce", 2**20) == "node_leaders"
    assert (choice_on(ONE, "allreduce", 8), choice_on(ONE, "allreduce", 64)) == (
        "recursive_doubling",
        "reduce_scatter_allgather",
    )


def test_broadcasts_to_other_numbers_of_ranks() -> None:
    """Broadcasts to fewer than 8 ranks go by leaders at any size; 9 ranks, no power of two, use a ring above 12 KiB."""
    assert choice_on((0, 0, 1, 1), "bcast", 2**20) == "node_leaders"
    nine = (*BLOCK, 1)
    assert choice_on(nine, "bcast", 12 * KIB - 1) == "node_leaders"
    assert choice_on(nine, "bcast", 12 * KIB + 1) == "scatter_ring_allgather"


def test_ranks_that_share_no_node_are_chosen_for_as_ever() -> None:
    """If each rank has a node of its own, the choice is the same as with unknown nodes."""
    for name in ("barrier", "bcast", "reduce", "allreduce", "scan"):
        assert choice_on(tuple(range(8)), name, 1000) == choice(name, 1000, 8)
