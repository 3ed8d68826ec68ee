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
    assert sent((1 << 27, 0)) == [1 << 17] * 1024


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
