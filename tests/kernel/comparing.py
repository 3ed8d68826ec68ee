"""Comparison of results: two simulations agree if their figures are equal to the last bit."""

from __future__ import annotations

from clue.result import Result


def same_figures(got: Result, expected: Result) -> None:
    """Check that two results with traffic have the same figures for every rank and region."""
    assert got.ranks == expected.ranks
    assert got.makespan == expected.makespan
    assert got.compute_by_region == expected.compute_by_region
    assert got.traffic is not None and expected.traffic is not None
    assert (got.traffic.messages == expected.traffic.messages).all()
    assert (got.traffic.nbytes == expected.traffic.nbytes).all()
