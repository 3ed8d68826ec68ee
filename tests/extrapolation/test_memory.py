"""Extrapolated memory of a rank."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

import clue
from clue.extrapolation import Family, Recording, making
from clue.extrapolation.memory import peak_memory
from tests.extrapolation.families import Ring, ring

KEYS = [(size, ranks) for size in (8, 16, 32) for ranks in (2, 4, 6)]


def family(peak: Callable[[int, int], float], keys: Sequence[tuple[int, int]] = KEYS) -> Family:
    """Return recordings whose first rank has this peak memory, and the other ranks none."""
    found = []
    for size, ranks in keys:
        trace = ring(size, ranks)
        first, *others = trace.head.rank_heads
        heads = (
            replace(first, peak_memory=round(peak(size, ranks))),
            *(replace(each, peak_memory=0) for each in others),
        )
        found.append(Recording(size, ranks, (replace(trace, head=replace(trace.head, rank_heads=heads)),)))
    return Family.of(found, "ring")


@pytest.mark.parametrize(
    ("peak", "expected", "grows"),
    [
        (lambda n, p: 1e8 + 8000 * n**2 / p, 1e8 + 8000 * 64**2 / 16, "size^2 / ranks"),
        (lambda n, p: 1e8 + 8000 * n / p, 1e8 + 8000 * 64 / 16, "size / ranks"),
        (lambda n, p: 1e8 + 8000 * n**3 / p, 1e8 + 8000 * 64**3 / 16, "size^3 / ranks"),
        (lambda n, _: 1e8 + 8000 * n**2, 1e8 + 8000 * 64**2, "size^2"),
        (lambda *_: 1e8, 1e8, ""),
        (lambda n, p: 1e8 - 8000 * n / p, 1e8 - 8000 * 8 / 6, ""),
    ],
)
def test_peaks_grow_as_the_recorded_ones_did(peak: Callable[[int, int], float], expected: float, grows: str) -> None:
    """A constant and 8,000 bytes of one form are found; peaks that do not grow give the largest recorded one."""
    found, form = peak_memory(family(peak), 64, 16)
    assert (found, form) == (pytest.approx(expected, rel=1e-6), grows)


def test_a_single_size_shows_no_growth_with_size() -> None:
    """Of one size on 2, 4 and 6 ranks, peaks that do not grow with a rank's share give the largest of them."""
    peaks = {2: 1.00e8, 4: 1.01e8, 6: 1.03e8}
    found = family(lambda _, ranks: peaks[ranks], [(16, ranks) for ranks in peaks])
    assert peak_memory(found, 16, 32) == (1.03e8, "")


def test_without_peaks_nothing_is_known() -> None:
    """Recordings without peaks, such as those of other recorders, give no memory."""
    assert peak_memory(family(lambda *_: 0), 64, 16) == (0.0, "")


def test_a_trace_that_is_made_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """All ranks of the generated trace have the same peak, and a warning explains it."""
    monkeypatch.setattr(making, "infer", Ring)
    made = clue.extrapolate(family(lambda n, p: 1e8 + 8e6 * n**2 / p), size=64, ranks=16)
    assert [each.peak_memory for each in made.trace.head.rank_heads] == pytest.approx([2.148e9] * 16)
    assert "a rank is taken to need 2.148 GB of memory: peaks of recordings grow with size^2 / ranks" in made.warnings
