"""Rounds and times of the algorithms against the formulas of the literature (Thakur, Rabenseifner, Gropp 2005)."""

from collections.abc import Callable
from math import ceil

import pytest

from clue.collectives import Collective
from clue.collectives.trees import binomial_extent
from tests.collectives.execution import Cost, execute, reduced, schedules
from tests.collectives.strategies import SIZES, regular

A, B, G = 1000.0, 2.0, 0.5  # latency, time per byte, time per byte combined; their sums are exact
COST = Cost(A, B, G)


def log2_up(p: int) -> int:
    """Return ⌈log2 p⌉."""
    return (p - 1).bit_length()


def log2_down(p: int) -> int:
    """Return ⌊log2 p⌋."""
    return p.bit_length() - 1


def folded(rounds: int, p: int) -> int:
    """Return the number of rounds, plus one before and one after if p is no power of two."""
    return rounds if p == 1 << log2_down(p) else rounds + 2


ROUNDS: dict[tuple[str, str], Callable[[int], int]] = {
    ("barrier", "dissemination"): log2_up,
    ("barrier", "recursive_doubling"): lambda p: folded(log2_down(p), p),
    ("barrier", "binomial"): lambda p: 2 * log2_up(p),
    ("barrier", "double_ring"): lambda p: 4 if p > 1 else 0,
    ("barrier", "linear"): lambda p: 2 if p > 1 else 0,
    ("bcast", "binomial"): log2_up,
    ("bcast", "scatter_ring_allgather"): lambda p: log2_up(p) + p - 1,
    ("bcast", "chain"): lambda p: min(2, p - 1),
    ("bcast", "linear"): lambda p: min(1, p - 1),
    ("bcast", "binomial_at_once"): lambda p: min(1 + (p > 3), p - 1),
    ("bcast", "binomial_doubling"): lambda p: min(1 + (p > 3), p - 1),
    ("bcast", "binomial_swapped"): lambda p: min(1 + (p > 3), p - 1),
    ("reduce", "binomial"): log2_up,
    ("reduce", "binomial_swapped"): log2_up,
    ("reduce", "binomial_to_first"): log2_up,
    ("reduce", "chain_in_fragments"): lambda p: min(2, p - 1),
    ("reduce", "linear"): lambda p: p - 1,
    ("allreduce", "recursive_doubling"): lambda p: folded(log2_down(p), p),
    ("allreduce", "reduce_scatter_allgather"): lambda p: folded(2 * log2_down(p), p),
    ("allreduce", "ring"): lambda p: 2 * (p - 1),
    ("allreduce", "reduce_bcast"): lambda p: log2_up(p) + min(1, p - 1),
    ("allreduce", "linear"): lambda p: p if p > 1 else 0,
    ("allreduce", "rabenseifner"): lambda p: 2 * log2_down(p) + (0 if p == 1 << log2_down(p) else 3),
    ("scan", "recursive_doubling"): log2_up,
    ("exscan", "recursive_doubling"): log2_up,
    ("scan", "linear"): lambda p: min(2, p - 1),
    ("gather", "binomial"): log2_up,
    ("scatter", "binomial"): log2_up,
    ("gather", "linear"): lambda p: min(1, p - 1),
    ("scatter", "linear"): lambda p: min(1, p - 1),
    ("gather", "linear_in_turn"): lambda p: p - 1,
    ("scatter", "linear_in_turn"): lambda p: p - 1,
    ("gather", "linear_sync"): lambda p: max(3, p) if p > 1 else 0,
    ("allgather", "linear"): lambda p: min(1, p - 1),
    ("allgather", "recursive_doubling"): log2_up,
    ("allgather", "bruck"): log2_up,
    ("allgather", "ring"): lambda p: p - 1,
    ("allgather", "neighbor_exchange"): lambda p: p - 1 if p % 2 else p // 2,
    ("alltoall", "bruck"): log2_up,
    ("alltoall", "pairwise"): lambda p: p - 1,
    ("alltoall", "pairwise_shifted"): lambda p: p - 1,
    ("alltoall", "linear"): lambda p: min(1, p - 1),
    ("alltoall", "pairwise_sendrecv_replace"): lambda p: p - 1,
    ("alltoall", "in_place"): lambda p: p - 1,
    ("alltoall", "scattered"): lambda p: min(ceil(p / 32), p - 1),
    ("reduce_scatter", "pairwise"): lambda p: p - 1,
    ("reduce_scatter", "ring"): lambda p: p - 1,
    ("reduce_scatter", "recursive_halving"): lambda p: folded(log2_down(p), p),
}


@pytest.mark.parametrize(("name", "algorithm"), ROUNDS)
def test_rounds(name: str, algorithm: str) -> None:
    """For 1 to 33 ranks, the rank with the most rounds has the textbook number."""
    for size in SIZES:
        rounds = max(len(plan) for plan in schedules(regular(name, size, 3300), algorithm))
        assert rounds == ROUNDS[name, algorithm](size), size


# Here n is the size of the vector or, for gathers, scatters and total exchanges, of all blocks of one rank: p·block.
TIMES: dict[tuple[str, str], Callable[[int, int], float]] = {
    ("barrier", "dissemination"): lambda p, _n: log2_down(p) * A,
    ("barrier", "recursive_doubling"): lambda p, _n: log2_down(p) * A,
    ("barrier", "binomial"): lambda p, _n: 2 * log2_down(p) * A,
    ("barrier", "double_ring"): lambda p, _n: 2 * p * A,
    ("bcast", "binomial"): lambda p, n: log2_down(p) * (A + n * B),
    ("bcast", "linear"): lambda p, n: (p - 1) * (A + n * B),
    ("bcast", "binomial_at_once"): lambda p, n: log2_down(p) * (A + n * B),
    ("bcast", "binomial_doubling"): lambda p, n: log2_down(p) * (A + n * B),
    ("bcast", "binomial_swapped"): lambda p, n: log2_down(p) * (A + n * B),
    ("bcast", "scatter_doubling_allgather"): lambda p, n: 2 * log2_down(p) * A + 2 * (p - 1) * n / p * B,
    ("bcast", "chain"): lambda p, n: (p - 1) * (A + n * B),
    ("bcast", "scatter_ring_allgather"): lambda p, n: (log2_down(p) + p - 1) * A + 2 * (p - 1) * n / p * B,
    ("bcast", "scatter_recursive_doubling_allgather"): lambda p, n: 2 * log2_down(p) * A + 2 * (p - 1) * n / p * B,
    ("reduce", "binomial"): lambda p, n: log2_down(p) * (A + n * B + n * G),
    ("reduce", "linear"): lambda p, n: (p - 1) * (A + n * B + n * G),
    ("reduce", "chain"): lambda p, n: (p - 1) * (A + n * B + n * G),
    ("reduce", "reduce_scatter_gather"): lambda p, n: 2 * log2_down(p) * A + (p - 1) * n / p * (2 * B + G),
    ("reduce", "rabenseifner"): lambda p, n: 2 * log2_down(p) * A + (p - 1) * n / p * (2 * B + G),
    ("reduce", "binomial_swapped"): lambda p, n: log2_down(p) * (A + n * B + n * G),
    ("reduce", "binomial_to_first"): lambda p, n: log2_down(p) * (A + n * B + n * G),
    ("allreduce", "recursive_doubling"): lambda p, n: log2_down(p) * (A + n * B + n * G),
    ("allreduce", "reduce_scatter_allgather"): lambda p, n: 2 * log2_down(p) * A + (p - 1) * n / p * (2 * B + G),
    ("allreduce", "rabenseifner"): lambda p, n: 2 * log2_down(p) * A + (p - 1) * n / p * (2 * B + G),
    ("allreduce", "linear"): lambda p, n: (p - 1) * (2 * A + 2 * n * B + n * G),
    ("allreduce", "ring"): lambda p, n: 2 * (p - 1) * A + (p - 1) * n / p * (2 * B + G),
    ("allreduce", "reduce_bcast"): lambda p, n: log2_down(p) * (2 * A + 2 * n * B + n * G),
    ("scan", "recursive_doubling"): lambda p, n: log2_down(p) * (A + n * B + 2 * n * G),
    ("scan", "linear"): lambda p, n: (p - 1) * (A + n * B + n * G),
    ("gather", "binomial"): lambda p, n: log2_down(p) * A + (p - 1) * n / p * B,
    ("scatter", "binomial"): lambda p, n: log2_down(p) * A + (p - 1) * n / p * B,
    ("scatter", "linear"): lambda p, n: (p - 1) * (A + n / p * B),
    ("scatter", "linear_in_turn"): lambda p, n: (p - 1) * (A + n / p * B),
    ("gather", "linear_sync"): lambda p, n: (p - 1) * (2 * A + n / p * B) + A,
    ("allgather", "linear"): lambda p, n: (p - 1) * (A + n / p * B),
    ("allgather", "recursive_doubling"): lambda p, n: log2_down(p) * A + (p - 1) * n / p * B,
    ("allgather", "bruck"): lambda p, n: log2_down(p) * A + (p - 1) * n / p * B,
    ("allgather", "ring"): lambda p, n: (p - 1) * (A + n / p * B),
    ("allgather", "neighbor_exchange"): lambda p, n: p // 2 * A + (p - 1) * n / p * B,
    ("alltoall", "bruck"): lambda p, n: log2_down(p) * (A + n / 2 * B),
    ("alltoall", "pairwise"): lambda p, n: (p - 1) * (A + n / p * B),
    ("alltoall", "pairwise_shifted"): lambda p, n: (p - 1) * (A + n / p * B),
    ("alltoall", "linear"): lambda p, n: (p - 1) * (A + n / p * B),
    ("alltoall", "pairwise_sendrecv_replace"): lambda p, n: (2 * p - 3) * (A + n / p * B),
    ("alltoall", "in_place"): lambda p, n: (p - 1) * (A + n / p * B),
    ("reduce_scatter", "recursive_halving"): lambda p, n: log2_down(p) * A + (p - 1) * n / p * (B + G),
    ("reduce_scatter", "noncommutative"): lambda p, n: log2_down(p) * A + (p - 1) * n / p * (B + G),
    ("reduce_scatter", "recursive_doubling"): lambda p, n: (
        log2_down(p) * A + (log2_down(p) - (p - 1) / p) * n * (B + G)
    ),
    ("reduce_scatter", "butterfly"): lambda p, n: (
        log2_down(p) * A + (p - 1) * n / p * (B + G) + (A + n / p * B) * (p > 2)
    ),
    ("reduce_scatter", "pairwise"): lambda p, n: (p - 1) * A + (p - 1) * n / p * (B + G),
    ("reduce_scatter", "ring"): lambda p, n: (p - 1) * A + (p - 1) * n / p * (B + G),
}
OF_BLOCKS = {"gather", "scatter", "allgather", "alltoall", "reduce_scatter"}


@pytest.mark.parametrize(("name", "algorithm"), TIMES)
@pytest.mark.parametrize("size", [2, 4, 8, 16, 32])
def test_times_of_powers_of_two(name: str, algorithm: str, size: int) -> None:
    """With latency α, β per byte and γ per byte combined, powers of two ranks take exactly the published time."""
    n = 6400
    collective = regular(name, size, n // size if name in OF_BLOCKS else n)
    assert execute(schedules(collective, algorithm), COST).makespan == TIMES[name, algorithm](size, n)


@pytest.mark.parametrize("size", [3, 5, 6, 7, 12, 33])
@pytest.mark.parametrize(
    ("name", "algorithm"),
    [
        ("barrier", "dissemination"),
        ("allgather", "bruck"),
        ("allgather", "ring"),
        ("alltoall", "pairwise"),
        ("alltoall", "pairwise_shifted"),
        ("reduce_scatter", "pairwise"),
        ("reduce_scatter", "ring"),
    ],
)
def test_times_of_any_number_of_ranks(name: str, algorithm: str, size: int) -> None:
    """These algorithms keep their published time for any number of ranks, with ⌈log2 p⌉ for log2 p."""
    block = 60
    expected = TIMES[name, algorithm](size, size * block)
    if algorithm in {"dissemination", "bruck"}:
        expected += (log2_up(size) - log2_down(size)) * A
    assert execute(schedules(regular(name, size, block), algorithm), COST).makespan == expected


def test_a_long_block_is_on_its_way_in_several_places_of_a_ring() -> None:
    """1 MiB of one of 8 ranks passes 7 hops in 32 pieces of 32 KiB: 38 steps of a piece, not 7 of the whole."""
    blocks = (1 << 20, *[0] * 7)
    pieces = execute(schedules(Collective("allgatherv", 8, blocks), "pipelined_ring"), COST)
    assert pieces.makespan == 38 * (A + (1 << 15) * B)
    assert execute(schedules(Collective("allgatherv", 8, blocks), "ring"), COST).makespan == 7 * (A + (1 << 20) * B)


def test_fold_adds_a_hand_over_and_a_result() -> None:
    """Five ranks reduce as four: rank 0 first sends its vector to rank 1, which returns the result in the end."""
    n = 4000
    outcome = execute(schedules(regular("allreduce", 5, n), "recursive_doubling"), COST)
    assert outcome.finish[0] == (A + n * B + n * G) + 2 * (A + n * B + n * G) + (A + n * B)
    assert max(outcome.finish[2:]) == 3 * (A + n * B + n * G)


@pytest.mark.parametrize(("name", "per_byte"), [("bcast", B), ("reduce", B + G)])
@pytest.mark.parametrize("size", [2, 3, 8])
def test_pipelines_overlap_segments(name: str, per_byte: float, size: int) -> None:
    """A chain of p ranks and k segments of 128 KiB takes (p + k - 2) times one segment's time."""
    segment, k = 131072, 5
    outcome = execute(schedules(regular(name, size, k * segment), "pipeline"), COST)
    assert outcome.makespan == (size + k - 2) * (A + segment * per_byte)


def test_pipelines_of_long_messages_stay_simulable() -> None:
    """A pipeline of a gigabyte has 1,024 segments, not 8,000."""
    plans = schedules(regular("bcast", 4, 10**9), "pipeline")
    assert max(len(plan) for plan in plans) == 1025
    assert execute(plans, rendezvous=False).received == [0, 10**9, 10**9, 10**9]


@pytest.mark.parametrize("size", [3, 4, 12])
def test_ring_allreduce_moves_the_least_possible(size: int) -> None:
    """Each rank of a ring receives 2 (p - 1)/p n bytes."""
    n = 1200
    received = execute(schedules(regular("allreduce", size, n), "ring")).received
    assert received == [2 * (size - 1) * n // size] * size


@pytest.mark.parametrize("size", [2, 3, 4, 7, 12])
def test_ring_allreduce_of_uneven_blocks(size: int) -> None:
    """In a ring, a rank receives all blocks but its own while combining, then all but the next rank's; n = p·10 + 1."""
    blocks = [11] + [10] * (size - 1)
    n = sum(blocks)
    received = execute(schedules(regular("allreduce", size, n), "ring")).received
    assert received == [(n - blocks[rank]) + (n - blocks[(rank + 1) % size]) for rank in range(size)]


@pytest.mark.parametrize("algorithm", ["scatter_ring_allgather", "scatter_recursive_doubling_allgather"])
@pytest.mark.parametrize("size", [2, 3, 4, 7, 8, 16, 21])
@pytest.mark.parametrize("root", [0, 1])
def test_scattered_bcast_moves_each_block(algorithm: str, size: int, root: int) -> None:
    """A rank receives its subtree's blocks, then all blocks but its own; the last block is short."""
    n = 10 * size - 1
    blocks = [10] * (size - 1) + [9]
    received = execute(schedules(regular("bcast", size, n, root), algorithm)).received
    for rank in range(size):
        place = (rank - root) % size
        scattered = sum(blocks[place : place + binomial_extent(rank, root, size)]) if place else 0
        assert received[rank] == scattered + n - blocks[place]


@pytest.mark.parametrize("algorithm", ["binomial", "binary", "chain", "pipeline", "linear"])
@pytest.mark.parametrize("size", [2, 3, 8, 11])
def test_tree_reductions_send_each_vector_once(algorithm: str, size: int) -> None:
    """In a tree reduction, every rank but the root sends n bytes, whatever the segments."""
    n = 300_001
    messages = execute(schedules(regular("reduce", size, n, root=1), algorithm)).messages
    sent = [sum(m.nbytes for m in messages if m.source == rank) for rank in range(size)]
    assert sent == [n * (rank != 1) for rank in range(size)]


@pytest.mark.parametrize("size", SIZES)
def test_bruck_sends_a_block_on_for_each_bit_of_its_way(size: int) -> None:
    """For any number of ranks, Bruck sends a block that must go d ranks further once per set bit of d."""
    received = execute(schedules(regular("alltoall", size, 10), "bruck")).received
    assert received == [10 * sum(way.bit_count() for way in range(size))] * size


def test_prefixes_are_combined_apart() -> None:
    """In a scan of eight, rank 0 combines each message once, rank 7 each twice, rank 5 those of ranks 4 and 1 twice."""
    plans = schedules(regular("scan", 8, 10), "recursive_doubling")
    assert [[step.reduced for step in plans[rank]] for rank in (0, 5, 7)] == [[10] * 3, [20, 10, 20], [20] * 3]
    plans = schedules(regular("exscan", 8, 10), "recursive_doubling")
    assert [[step.reduced for step in plans[rank]] for rank in (0, 5, 7)] == [[10] * 3, [10, 10, 20], [10, 20, 20]]


@pytest.mark.parametrize("size", [2, 4, 8, 32])
def test_recursive_doubling_repeats_work(size: int) -> None:
    """Recursive doubling combines n log2 p bytes on each of p ranks."""
    assert reduced(schedules(regular("allreduce", size, 100), "recursive_doubling")) == size * log2_down(size) * 100


def test_exclusive_scan_combines_less() -> None:
    """On four ranks, the exclusive scan combines one vector less than the inclusive one on each rank but 0."""
    inclusive, exclusive = regular("scan", 4, 10), regular("exscan", 4, 10)
    less = reduced(schedules(inclusive, "recursive_doubling")) - reduced(schedules(exclusive, "recursive_doubling"))
    assert less == 3 * 10


def test_uneven_gather_by_hand() -> None:
    """Four ranks gather 0, 10, 20 and 30 B at rank 1: rank 2 sends 20 B, rank 3 sends 30 B, rank 0 sends nothing."""
    plans = schedules(Collective("gatherv", 4, (0, 10, 20, 30), root=1), "binomial")
    assert plans[2][0].sends == ((1, 20),)
    assert plans[3][0].sends == ((1, 30),)
    assert plans[0] == ()
    assert [step.receives for step in plans[1]] == [(2,), (3,)]


def test_overlong_scatter_by_hand() -> None:
    """With eight blocks of 10 B, rank 2 sends to rank 3 its block and the four after it, which rank 3 does not need."""
    plans = schedules(regular("bcast", 8, 80), "overlong_scatter_ring_allgather")
    scattered = [plan[0 if rank == 0 else 1].sends for rank, plan in enumerate(plans)]
    assert [scattered[rank] for rank in (0, 2, 4, 6)] == [
        ((4, 40), (2, 20), (1, 10)),
        ((3, 50),),
        ((6, 20), (5, 10)),
        ((7, 10),),
    ]


def test_split_bcast_by_hand() -> None:
    """Of 97 B on six ranks, odd ranks get the first 49 B, even ranks the rest; then pairs exchange their halves.

    The root sends the second half to the last rank, which has no partner.
    """
    plans = schedules(regular("bcast", 6, 97), "split_binary")
    assert [[step.sends for step in plan if step.sends] for plan in plans] == [
        [((1, 49),), ((2, 48),), ((5, 48),)],
        [((3, 49),), ((5, 49),), ((2, 49),)],
        [((4, 48),), ((1, 48),)],
        [((4, 49),)],
        [((3, 48),)],
        [],
    ]


def test_bcast_blocks_are_rounded_up() -> None:
    """97 B on 16 ranks are cut into 13 blocks of 7 B and one of 6 B: the scatter sends ranks 14 and 15 nothing."""
    plans = schedules(regular("bcast", 16, 97), "scatter_ring_allgather")
    assert plans[0][0].sends == ((8, 97 - 8 * 7),)
    assert len(plans[14]) == len(plans[15]) == 15
    assert len(plans[13]) == 16
