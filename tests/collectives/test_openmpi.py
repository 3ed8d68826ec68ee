"""Choices for Open MPI against its fixed decisions, point by point, and against libnbc's rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

import pytest

from clue.collectives import ALGORITHMS, Collective, Manner, default_choice
from clue.collectives.trees import core_size
from tests.collectives.openmpi_decisions import DECISIONS, NUMBERS

#: Sizes from 0 to 4 MiB: every power of two and its neighbours.
SIZES = sorted({0, 3, 5 * 1000, *(2**k + d for k in range(23) for d in (-1, 0, 1))})
KIB = 1024


def _rows(name: str) -> Iterator[tuple[float, list[tuple[float, int]]]]:
    for row in DECISIONS[name].split("\n"):
        ranks, _, steps = row.strip().partition(": ")
        if steps:
            words = (step.partition("<") for step in steps.split())
            yield _limit(ranks), [(_limit(nbytes), int(number)) for number, _, nbytes in words]


def _limit(text: str) -> float:
    return float(text) if text not in {"", "*"} else float("inf")


@lru_cache
def _row(name: str, size: int) -> list[tuple[float, int]]:
    return next(steps for ranks, steps in _rows(name) if size < ranks)


def decided(name: str, nbytes: int, size: int, *, in_order: bool = False) -> str:
    """Return the algorithm of the fixed decisions, by its name in the catalogue."""
    numbers = NUMBERS[name].split()
    row = _row(f"{name} in order" if in_order else name, size)
    return numbers[next(number for below, number in row if nbytes < below) - 1]


#: The fewest elements that Open MPI's functions can cut by number of ranks, and the algorithm used for fewer.
TOO_FEW: dict[tuple[str, str], tuple[Callable[[int], int], str]] = {
    ("allreduce", "ring"): (lambda size: size, "recursive_doubling"),
    ("allreduce", "rabenseifner"): (core_size, "linear"),
    ("reduce", "rabenseifner"): (core_size, "linear"),
    ("bcast", "scatter_doubling_allgather"): (lambda size: size, "linear"),
    ("bcast", "split_binary"): (lambda _: 2, "chain"),
}


def done(name: str, nbytes: int, size: int, element: int, *, in_order: bool = False) -> str:
    """Return the algorithm that Open MPI uses in the end, given the size of an element."""
    algorithm = decided(name, nbytes, size, in_order=in_order)
    fewest, instead = TOO_FEW.get((name, algorithm), (lambda _: 0, ""))
    return algorithm if nbytes // element >= fewest(size) else instead


@pytest.mark.long
@pytest.mark.parametrize("decision", DECISIONS)
def test_choices_are_the_fixed_decisions(decision: str) -> None:
    """For 2 to 512 ranks and some more, and sizes to 4 MiB, choices are the fixed decisions.

    With two ranks another algorithm may be chosen, whose messages are equal.
    """
    name, in_order = decision.removesuffix(" in order"), decision.endswith(" in order")
    manner = Manner(commutative=not in_order, element=1, block=name == "reduce_scatter_block")
    op = name.removesuffix("_block")
    for size in (*range(2, 513), 700, 1023, 1024, 2047, 2048, 4095, 4096, 10_000):
        for nbytes in SIZES if name not in {"barrier", "alltoallv"} else (8,):
            block = nbytes // size if name == "reduce_scatter" else nbytes
            collective = Collective(op, size, (block,), manner=manner)
            chosen = default_choice("openmpi", collective)
            weight = block * size if name == "reduce_scatter" else block
            expected = done(name, weight, size, 1, in_order=in_order)
            if chosen != expected:
                assert size == 2, (size, nbytes, chosen, expected)
                _assert_same(op, chosen, expected, nbytes)


def _assert_same(name: str, one: str, other: str, nbytes: int) -> None:
    """Check that two algorithms have the same schedules on two ranks."""
    collective = Collective(name, 2, (nbytes,) * (4 if name == "alltoallv" else 2))
    for rank in (0, 1):
        assert ALGORITHMS[name][one](collective, rank) == ALGORITHMS[name][other](collective, rank)


@pytest.mark.parametrize("element", [1, 4, 8, 16, 1000])
@pytest.mark.parametrize("name", ["bcast", "reduce", "allreduce"])
def test_few_elements_are_not_cut(name: str, element: int) -> None:
    """With too few elements to cut, another algorithm is chosen; this depends on elements, not on bytes."""
    for size in range(2, 65):
        for nbytes in SIZES:
            collective = Collective(name, size, (nbytes,), manner=Manner(element=element))
            assert default_choice("openmpi", collective) == done(name, nbytes, size, element)


@pytest.mark.parametrize(
    ("name", "nbytes", "size", "algorithm"),
    [
        ("allreduce", 8 * KIB - 1, 8, "recursive_doubling"),
        ("allreduce", 8 * KIB, 8, "rabenseifner"),
        ("barrier", 0, 16, "recursive_doubling"),
        ("barrier", 0, 64, "dissemination"),
        ("alltoall", 511, 32, "bruck"),
        ("allgather", 64 * KIB, 64, "ring"),
        ("reduce_scatter", 8 * KIB, 32, "butterfly"),  # 256 KiB in all
        ("reduce_scatter", 16 * KIB, 32, "ring"),
    ],
)
def test_some_choices_read_by_eye(name: str, nbytes: int, size: int, algorithm: str) -> None:
    """Some choices around thresholds of the fixed rules, read by hand."""
    assert default_choice("openmpi", Collective(name, size, (nbytes,))) == algorithm


def choice(name: str, nbytes: int, size: int, **how: bool | int) -> str:
    """Return the algorithm chosen for a nonblocking collective."""
    return default_choice("openmpi", Collective(name, size, (nbytes,), manner=Manner(nonblocking=True, **how)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "nbytes", "size", "how", "algorithm"),
    [
        ("barrier", 0, 5, {}, "dissemination"),
        ("bcast", 10**6, 4, {}, "linear"),
        ("bcast", 8, 5, {}, "binomial_swapped"),
        ("reduce", 8 * 8, 8, {}, "rabenseifner"),
        ("reduce", 8 * 7, 8, {}, "binomial_swapped"),
        ("reduce", 8 * 8, 8, {"commutative": False}, "binomial_to_first"),
        ("reduce", 64 * KIB - 8, 2, {}, "binomial_swapped"),
        ("reduce", 64 * KIB, 2, {}, "chain_in_fragments"),
        ("allreduce", 64 * KIB - 8, 8, {}, "reduce_bcast"),
        ("allreduce", 64 * KIB, 8, {}, "rabenseifner"),
        ("allreduce", 64 * KIB, 3, {}, "reduce_bcast"),
        ("allreduce", 64 * KIB, 8, {"in_place": True}, "reduce_bcast"),
        ("allreduce", 64 * KIB, 8, {"commutative": False}, "reduce_bcast"),
        ("allreduce", 64 * KIB, 8, {"element": 16 * KIB}, "ring"),
        ("gather", 8, 64, {}, "linear"),
        ("scatterv", 8, 64, {}, "linear"),
        ("allgather", 8, 64, {}, "linear"),
        ("alltoall", 8, 64, {}, "linear"),
        ("alltoall", 8, 64, {"in_place": True}, "in_place"),
        ("reduce_scatter", 8, 64, {}, "reduce_scatterv"),
        ("scan", 8, 64, {}, "linear"),
    ],
)
def test_nonblocking_ones_follow_libnbc(
    name: str, nbytes: int, size: int, how: dict[str, bool], algorithm: str
) -> None:
    """Nonblocking collectives follow the rules in ompi/mca/coll/libnbc/nbc_i*.c."""
    assert choice(name, nbytes, size, **how) == algorithm


def test_in_place_exchanges_have_an_algorithm_of_their_own() -> None:
    """In-place total exchanges of any size use their own algorithm; an in-place allreduce uses the usual one.

    Source: mca_coll_base_alltoall_intra_basic_inplace.
    """
    for name in ("alltoall", "alltoallv"):
        assert default_choice("openmpi", Collective(name, 8, (8,), manner=Manner(in_place=True))) == "in_place"
    assert default_choice("openmpi", Collective("allreduce", 8, (8,), manner=Manner(in_place=True))) == (
        default_choice("openmpi", Collective("allreduce", 8, (8,)))
    )
