"""Weak scaling by a closed form: a stencil is recorded on up to 16 ranks and extrapolated to 1,024."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.accuracy.extrapolate import weak
from clue.recording import Launch, Request, recordings_of


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use a separate cache for the tests' recordings."""
    monkeypatch.setenv("CLUE_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("dimensions", [1, 2])
def test_the_closed_form_is_what_the_program_does(dimensions: int) -> None:
    """The closed form equals the recording on 6 ranks, op by op, and reports a changed tag.

    Size 20 is not divided evenly by 6, 3 or 2 rows.
    """
    ((trace, *_),) = recordings_of([Request(Launch(weak.PROGRAM, ("20", str(dimensions)), 6))], 1)
    assert weak.difference(trace, 20, dimensions) == ""
    tags = trace.ops.tag.copy()
    tags[trace.head.offsets[3] + 4] += 1
    other = replace(trace, ops=replace(trace.ops, tag=tags))
    assert weak.difference(other, 20, dimensions).startswith("rank 3, op 4: [(<Op.ISEND")


@pytest.mark.parametrize(("dimensions", "ranks"), [(1, (2, 4, 6)), (2, (4, 6, 8, 16))])
def test_a_thousand_ranks_are_exact(dimensions: int, ranks: tuple[int, ...]) -> None:
    """All ops of 1,024 ranks equal the closed form, extrapolated from at most 16 ranks."""
    found = weak.outcome(weak.family(dimensions, ranks=ranks), dimensions)
    assert (found.structure, found.recordings) == ("exact", len(ranks) + 3)
    assert found.size == (32 * 1024 if dimensions == 1 else 32 * 32)
    assert found.ops == 1024 * (10 * (6 * dimensions + 1) + 3)
