"""The choice of algorithms, and the schedules that ``lower`` returns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.collectives import (
    ALGORITHMS,
    COLLECTIVE_NAMES,
    LIBRARIES,
    NAMES_BY_OP,
    Collective,
    Manner,
    Round,
    default_choice,
    lower,
    neighbor,
)
from clue.errors import UsageError
from clue.trace import COLLECTIVES, Op
from tests.collectives.execution import execute
from tests.collectives.strategies import regular


def test_every_op_has_a_name() -> None:
    """Each collective op except neighbourhood exchanges has the name of a collective."""
    assert set(NAMES_BY_OP) == COLLECTIVES - {Op.NEIGHBOR}
    assert set(NAMES_BY_OP.values()) == set(COLLECTIVE_NAMES)


def test_every_collective_can_be_chosen() -> None:
    """There are at least two algorithms for each collective."""
    assert all(len(algorithms) >= 2 for algorithms in ALGORITHMS.values())


@given(
    st.sampled_from(LIBRARIES),
    st.sampled_from(COLLECTIVE_NAMES),
    st.integers(0, 2**31),
    st.integers(1, 10_000),
    st.builds(Manner, *[st.booleans()] * 4, st.sampled_from([1, 4, 8, 16, 1000]), st.booleans()),
)
def test_default_choices_exist(library: str, name: str, nbytes: int, size: int, manner: Manner) -> None:
    """A library's default choice is an algorithm in the catalogue, however the collective is called."""
    assert default_choice(library, Collective(name, size, (nbytes,), manner=manner)) in ALGORITHMS[name]


def test_unknown_names_are_told() -> None:
    """A wrong library, collective or algorithm is an error that lists the right ones."""
    with pytest.raises(UsageError, match="library must be one of mpich, mpich-flat, openmpi, got 'lam'"):
        default_choice("lam", Collective("bcast", 2, (0,)))
    with pytest.raises(UsageError, match=r"name must be one of barrier, bcast, .* got 'broadcast'"):
        default_choice("mpich", Collective("broadcast", 2, (0,)))
    with pytest.raises(
        UsageError, match="algorithm of scan must be one of recursive_doubling, linear, node_leaders, got 'ring'"
    ):
        lower(regular("scan", 4, 8), 0, "ring")
    with pytest.raises(UsageError, match=r"name must be one of .* got 'broadcast'"):
        lower(regular("broadcast", 4, 8), 0, "ring")


def test_repeats_are_the_same_object() -> None:
    """A second call of ``lower`` with an equal collective returns the schedule built before."""
    first = lower(regular("allreduce", 16, 800), 3, "ring")
    assert lower(regular("allreduce", 16, 800), 3, "ring") is first


def test_long_schedules_share_their_rounds() -> None:
    """A ring of 1,024 equal blocks repeats one round object 1,023 times."""
    plan = lower(regular("allgather", 1024, 8), 5, "ring")
    assert len(plan) == 1023
    assert len({id(step) for step in plan}) == 1


def test_barriers_move_nothing_and_still_happen() -> None:
    """A barrier has rounds although it has no bytes."""
    assert lower(regular("barrier", 2, 0), 0, "dissemination") == (Round(((1, 0),), (1,)),)


def test_neighbours_exchange_at_once() -> None:
    """Sends and receives of a neighbourhood collective make one round, without null neighbours."""
    #          n_out dests      sizes        n_in sources
    entries = (3, 1, -1, 2, 100, 100, 300, 2, -1, 2)
    assert neighbor(entries) == (Round(((1, 100), (2, 300)), (2,)),)
    assert neighbor((0, 0)) == ()
    assert neighbor((1, -1, 8, 1, -1)) == ()


def test_neighbours_on_a_ring_match() -> None:
    """Three ranks on a ring, each sending to both neighbours, all end by rendezvous."""
    plans = [neighbor((2, (r + 1) % 3, (r - 1) % 3, 8, 8, 2, (r - 1) % 3, (r + 1) % 3)) for r in range(3)]
    assert execute(plans).received == [16, 16, 16]


def test_null_blocks_of_a_total_exchange_are_not_sent() -> None:
    """In an alltoallv with empty blocks, only rank 0 sends, and only to rank 2; its own block is not sent."""
    sizes = (5, 0, 7) + (0,) * 6
    collective = Collective("alltoallv", 3, sizes)
    for algorithm in set(ALGORITHMS["alltoallv"]) - {"pairwise_sendrecv_replace"}:
        assert lower(collective, 0, algorithm) == (Round(((2, 7),)),)
        assert lower(collective, 1, algorithm) == ()
        assert lower(collective, 2, algorithm) == (Round((), (0,)),)


def test_a_pipelined_ring_sends_pieces_and_skips_empty_blocks() -> None:
    """Blocks of 70,000, 0 and 10 B: a rank passes on one piece a step; an empty block is a step without a message."""
    collective = Collective("allgatherv", 3, (70_000, 0, 10), manner=Manner(element=1))
    whole, rest = 32_768, 70_000 - 2 * 32_768
    assert lower(collective, 0, "pipelined_ring") == (
        Round(((1, whole),), (2,)), Round(((1, whole),)), Round(((1, rest),)), Round(((1, 10),))
    )  # fmt: skip
    assert lower(collective, 1, "pipelined_ring") == (
        Round((), (0,)), Round(((2, whole),), (0,)), Round(((2, whole),), (0,)), Round(((2, rest),), (0,))
    )  # fmt: skip
    assert lower(collective, 2, "pipelined_ring") == (Round(((0, 10),)), *[Round((), (1,))] * 3)


def test_pieces_of_a_pipelined_ring() -> None:
    """Pieces are whole elements, at least one; blocks up to 32 KiB are whole; nonblocking calls do not cut equal ones.

    Of 128 MiB there are 1,024 pieces.
    """

    def sent(sizes: tuple[int, ...], **how: bool | int) -> list[int]:
        rounds = lower(Collective("allgatherv", len(sizes), sizes, manner=Manner(**how)), 0, "pipelined_ring")  # type: ignore[arg-type]
        return [nbytes for each in rounds for _, nbytes in each.sends]

    assert sent((90_000, 0), element=12) == [32_760, 32_760, 24_480]
    assert sent((90_000, 0), element=40_000) == [40_000, 40_000, 10_000]
    assert sent((32_768, 0)) == [32_768]
    assert sent((40_000, 40_000)) == [32_768, 7_232]
    assert sent((40_000, 40_000), nonblocking=True) == [40_000]
    assert sent((40_004, 40_004), nonblocking=True) == [40_004]  # 10,001 elements of 4 B, which traces do not tell
    assert sent((1 << 27, 0)) == [1 << 17] * 1024


def bytes_sent(name: str, algorithm: str, nbytes: int, size: int, rank: int, **how: bool | int) -> list[int]:
    """Return the bytes of each message of a rank, in order."""
    collective = Collective(name, size, (nbytes,) * size, manner=Manner(**how))  # type: ignore[arg-type]
    return [nbytes for each in lower(collective, rank, algorithm) for _, nbytes in each.sends]


def test_mpich_cuts_reductions_between_elements() -> None:
    """Three elements of 8 B on two ranks: blocks of 16 and 8 B; 8 and 16 B if the call is nonblocking.

    Bytes are cut if elements are not known, or do not divide the vector: 12 and 12 B of 24, 10 and 10 B of 20.
    """
    halving = "reduce_scatter_allgather"
    assert [bytes_sent("allreduce", halving, 24, 2, rank, element=8) for rank in (0, 1)] == [[8, 16], [16, 8]]
    assert bytes_sent("allreduce", halving, 24, 2, 0, element=8, nonblocking=True) == [16, 8]
    assert bytes_sent("allreduce", halving, 24, 2, 0) == [12, 12]
    assert bytes_sent("allreduce", halving, 20, 2, 0, element=8) == [10, 10]
    # Seven elements on four ranks: 2, 2, 2, 1 or 1, 1, 1, 4. Rank 3 gives blocks 0 and 1, then 2, and at last 3.
    assert bytes_sent("reduce", "reduce_scatter_gather", 56, 4, 3, element=8) == [32, 16, 8]
    assert bytes_sent("reduce", "reduce_scatter_gather", 56, 4, 3, element=8, nonblocking=True) == [16, 8, 32]


def test_open_mpi_cuts_between_elements() -> None:
    """Seven elements of 8 B. Rabenseifner: 3 and 4 of them, then 1 and 2, and 2 and 2. Ring: 2, 2, 2, 1.

    On three ranks the first two combine 3 and 4 beforehand; rank 1 sends rank 0 its 4 in the end.
    """
    for name, after in (("allreduce", [16, 32]), ("reduce", [16])):
        assert bytes_sent(name, "rabenseifner", 56, 4, 3, element=8) == [24, 16, *after]
        assert bytes_sent(name, "rabenseifner", 56, 3, 1, element=8) == [24, 32]
    # Rank 0 sends blocks 0, 3, 2, then 1, 0, 3; nonblocking, one block further on.
    assert bytes_sent("allreduce", "ring", 56, 4, 0, element=8) == [16, 8, 16, 16, 16, 8]
    assert bytes_sent("allreduce", "ring", 56, 4, 0, element=8, nonblocking=True) == [16, 16, 8, 16, 16, 16]
    # Three elements on four ranks: recursive doubling; nonblocking, the ring with an empty block.
    assert bytes_sent("allreduce", "ring", 24, 4, 0, element=8) == [24, 24]
    assert bytes_sent("allreduce", "ring", 24, 4, 3, element=8, nonblocking=True) == [8, 0, 8, 8, 8, 0]


def test_open_mpi_cuts_broadcasts_and_fragments_between_elements() -> None:
    """Three elements of 8 B in halves of 16 and 8 B, or in blocks of 8 B on four ranks; 2,500 in three fragments."""
    assert bytes_sent("bcast", "split_binary", 24, 3, 0, element=8) == [16, 8]
    assert bytes_sent("bcast", "scatter_doubling_allgather", 24, 4, 0, element=8) == [8, 8, 8, 16]
    assert bytes_sent("bcast", "scatter_recursive_doubling_allgather", 24, 4, 0, element=8) == [12, 6, 6, 12]
    assert bytes_sent("reduce", "chain_in_fragments", 20_000, 2, 1, element=8) == [6_664, 6_664, 6_672]


def test_linear_total_exchanges_have_the_order_of_open_mpi() -> None:
    """Rank 1 of 4: a blocking alltoall sends to those before it; all other calls go through the ranks from 0."""
    mine = ((0, 8), (2, 8), (3, 8))
    assert lower(regular("alltoall", 4, 8), 1, "linear") == (Round((mine[0], mine[2], mine[1]), (2, 3, 0)),)
    nonblocking = Collective("alltoall", 4, (8,) * 4, manner=Manner(nonblocking=True))
    assert lower(nonblocking, 1, "linear") == (Round(mine, (0, 2, 3)),)
    assert lower(Collective("alltoallv", 4, (8,) * 16), 1, "linear") == (Round(mine, (0, 2, 3)),)
    assert lower(regular("allgather", 4, 8), 1, "linear") == (Round(mine, (0, 2, 3)),)


def test_pairwise_exchanges_of_open_mpi_are_shifted() -> None:
    """Rank 1 of 4 sends to 2, 3, 0 and receives from 0, 3, 2; MPICH's partners differ in bits: 0, 3, 2."""
    shifted = [(each.sends[0][0], each.receives[0]) for each in lower(regular("alltoall", 4, 8), 1, "pairwise_shifted")]
    assert shifted == [(2, 0), (3, 3), (0, 2)]
    assert [each.receives for each in lower(regular("alltoall", 4, 8), 1, "pairwise")] == [(0,), (3,), (2,)]


def test_a_total_exchange_in_place_without_data_sends_empty_messages() -> None:
    """A rank does not know whether the others have data, so MPICH exchanges with all; other algorithms send nothing."""
    nothing = Collective("alltoallv", 3, (0,) * 9)
    assert lower(nothing, 2, "pairwise_sendrecv_replace") == (Round(((0, 0),), (0,)), Round(((1, 0),), (1,)))
    assert lower(nothing, 2, "scattered") == ()
