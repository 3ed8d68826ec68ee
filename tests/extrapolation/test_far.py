"""Targets so far away that a trace cannot state what they take: clear errors instead of numbers that overflow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from clue.errors import UsageError
from clue.extrapolation import Family, RefusedError, extrapolate
from clue.trace import TraceBuilder
from tests.extrapolation.families import IN_LOOP


def family(folder: Path, seconds: Callable[[int, int], float], nbytes: Callable[[int, int], int], peak: int) -> Family:
    """Return recordings of a ring, three times round, whose ranks need 1 MB of memory and a multiple of n²."""
    for size in (8, 12, 20, 32):
        for ranks in (2, 3, 4, 6):
            built = TraceBuilder(ranks, "ring.py")
            for rank, own in enumerate(built):
                own.at(IN_LOOP)
                for _ in range(3):
                    own.compute(seconds(size, ranks))
                    own.sendrecv((rank + 1) % ranks, nbytes(size, ranks), (rank - 1) % ranks)
            trace = built.build()
            heads = tuple(replace(each, peak_memory=10**6 + peak * size**2) for each in trace.head.rank_heads)
            head = replace(trace.head, arguments=("--n", str(size)), rank_heads=heads)
            replace(trace, head=head).save(folder / f"ring-{size}-{ranks}.clue")
    return Family.open(str(folder / "ring-{size}-{ranks}.clue"))


@pytest.mark.parametrize(
    ("nbytes", "rule"), [(lambda n, _: n * n, "n·n"), (lambda n, p: n * n // p, "(1·n·n) // P")], ids=["square", "tile"]
)
def test_sizes_beyond_64_bits_are_refused(nbytes: Callable[[int, int], int], rule: str, tmp_path: Path) -> None:
    """n² fits into 63 bits for n = 3·10⁷, with 9·10¹⁴ B, and not for n = 7·10⁹, where 64 bits would hold 1.2·10¹⁹."""
    small = family(tmp_path, lambda *_: 1e-6, nbytes, 0)
    made = extrapolate(small, size=30_000_000, ranks=8).trace
    assert set(made.ops.nbytes.tolist()) - {0} == {nbytes(30_000_000, 8)}
    with pytest.raises(RefusedError) as caught:
        extrapolate(small, size=7_000_000_000, ranks=8)
    assert f"got forms that are not: {rule} is no integer of up to 63 bits there" in str(caught.value)


def test_times_beyond_a_trace_are_refused(tmp_path: Path) -> None:
    """Bursts of n³ / P ns, 3 on each rank: 3 n³ ns together exceed the 146 years of a trace from n = 1.2·10⁶ on."""
    small = family(tmp_path, lambda n, p: 1e-9 * n**3 / p, lambda *_: 8, 0)
    assert extrapolate(small, size=600_000, ranks=8).trace.bursts.sum() == pytest.approx(6.48e17, rel=0.1)
    with pytest.raises(UsageError, match=r"computation of all ranks at size 100000000 .* at most 4\.61e\+09 s, got up"):
        extrapolate(small, size=100_000_000, ranks=8)


def test_memory_beyond_a_trace_is_refused(tmp_path: Path) -> None:
    """A peak of 1 MB and 2000 n² B is 80 GB at n = 6324, and 2·10¹⁹ B, beyond 9 PB, at n = 10⁸."""
    small = family(tmp_path, lambda *_: 1e-6, lambda *_: 8, 2000)
    heads = extrapolate(small, size=6324, ranks=8).trace.head.rank_heads
    assert heads[0].peak_memory == pytest.approx(1e6 + 2000 * 6324**2)
    with pytest.raises(
        UsageError, match=r"memory of a rank at size 100000000 on 8 ranks must be at most 9\.007 PB, got 20 EB"
    ):
        extrapolate(small, size=100_000_000, ranks=8)


def test_more_ranks_than_ops_fit_into_memory_are_refused(tmp_path: Path) -> None:
    """A program on 10¹⁸ ranks has at least as many ops; 10⁷ are written out."""
    small = family(tmp_path, lambda *_: 1e-6, lambda *_: 8, 0)
    with pytest.raises(UsageError, match="ranks of a program to be made must be at most 10,000,000, got 1,000,000,000"):
        extrapolate(small, size=8, ranks=10**18)
