"""The trace at a target: its head, its remarks, and its contents."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import clue
from clue.errors import UsageError
from clue.extrapolation import Family, Made, RefusedError, extrapolate, kept, making
from clue.extrapolation.kept import _makers, kept_extrapolation
from tests.extrapolation.families import Ring, ring, saved

GRID = tuple((size, ranks) for size in (8, 16) for ranks in (2, 4))


@pytest.fixture
def pattern(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the pattern of recordings of a ring, with the stand-in for inference."""
    monkeypatch.setattr(making, "infer", Ring)
    monkeypatch.setenv("CLUE_CACHE", str(tmp_path / "cache"))
    return saved(tmp_path, GRID)


def test_a_trace_says_how_far_it_is_from_what_was_recorded(pattern: str) -> None:
    """The factors are 40 / 16 and 64 / 4; the head has the command at the target, and all warnings as notes."""
    made = clue.extrapolate(pattern, size=40, ranks=64)
    assert (made.factor.size, made.factor.ranks) == (2.5, 16.0)
    assert made.trace.ranks == 64
    assert made.trace.head.arguments == ("--n", "40")
    assert made.warnings[0] == (
        "extrapolated to size 40 on 64 ranks from 4 recordings, of sizes up to 16 on up to 4 ranks: 2.5 times the size,"
        " 16 times the ranks"
    )
    assert "bursts of ring.py:3 differ by 3 %" in made.warnings
    assert made.trace.head.notes[: len(made.warnings)] == made.warnings
    np.testing.assert_array_equal(made.trace.ops.nbytes, ring(40, 64).ops.nbytes)


def test_local_sizes_are_held_against_those_that_were_recorded(pattern: str) -> None:
    """Recorded n / P range from 8 / 4 to 16 / 2; the target's 40 / 64 lies below, and 40² / 64 = 25 within n² / P."""
    first, second, third = clue.extrapolate(pattern, size=40, ranks=64).local
    assert (first.target, first.low, first.high, first.inside) == (0.625, 2.0, 8.0, False)
    assert (second.target, second.low, second.high, second.inside) == (25.0, 16.0, 128.0, True)
    assert (third.target, third.inside) == (1000.0, True)
    assert [each.name for each in (first, second)] == ["size / ranks", "size^2 / ranks"]


def test_repeats_saved_before_are_gone(pattern: str, tmp_path: Path) -> None:
    """A trace without repeats replaces one that was saved with two."""
    made, target = clue.extrapolate(pattern, size=40, ranks=64), tmp_path / "big.clue"
    replace(made, repeats=(made.trace, made.trace)).save(target)
    assert replace(made, repeats=()).save(target) == (target,)
    assert [path.name for path in tmp_path.glob("big*")] == ["big.clue"]


def test_what_was_recorded_is_taken(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recorded target is used as it is, without inference."""
    monkeypatch.undo()
    made = clue.extrapolate(pattern, size=16, ranks=4)
    assert made.trace.path is not None and made.trace.path.name == "ring-16-4.clue"
    assert made.warnings == ()


def test_targets_below_what_was_recorded_are_warned_of(pattern: str) -> None:
    """Warnings name both a size and a number of ranks below the smallest recorded ones."""
    warnings = clue.extrapolate(pattern, size=4, ranks=1).warnings
    assert [each for each in warnings if "below the smallest" in each] == [
        "the size is below the smallest recorded one (8), where the program may behave differently",
        "the number of ranks is below the smallest recorded one (2), where the program may behave differently",
    ]


def test_what_follows_no_rule_is_refused_by_name(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error has exit status 1 and names the family and the call site."""

    def infer(family: Family, *_: object) -> Ring:
        why = "sizes must follow a rule in n, P, rank and iteration, got 3, 1, 4"
        raise RefusedError((clue.extrapolation.Refusal("cg.py:72 Alltoallv", why),), family.name)

    monkeypatch.setattr(making, "infer", infer)
    with pytest.raises(RefusedError) as caught:
        clue.extrapolate(pattern, size=40, ranks=64)
    assert caught.value.exit_status == 1
    assert str(caught.value) == (
        f"{pattern}: site cg.py:72 Alltoallv sizes must follow a rule in n, P, rank and iteration, got 3, 1, 4"
    )


def test_two_sizes_are_needed(tmp_path: Path) -> None:
    """A single recorded size is refused before inference."""
    with pytest.raises(UsageError, match="sizes that are recorded must be at least 2"):
        extrapolate(Family.open(saved(tmp_path, GRID[:2])), size=40, ranks=4)


def test_traces_that_were_made_are_kept(pattern: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kept trace is reused; it is generated again if a recording changes or if the kept one is damaged."""
    calls = []

    class Counted(Ring):
        def __init__(self, family: Family, *_: object) -> None:
            super().__init__(family)
            calls.append(family)

    monkeypatch.setattr(making, "infer", Counted)
    first, other, _ = kept_extrapolation(pattern, 40, 64)
    assert other.bursts.sum() > first.bursts.sum()
    assert first.path is not None and first.path.is_relative_to(tmp_path / "cache" / kept.FOLDER)
    assert kept_extrapolation(pattern, 40, 64)[0].path == first.path
    assert len(calls) == 1
    (first.path / "cpu.npy").write_bytes(b"")
    assert kept_extrapolation(pattern, 40, 64)[0].path == first.path
    assert len(calls) == 2
    kept_extrapolation(pattern, 40, 32)
    assert len(calls) == 3
    ring(8, 2, 2e-3).save(tmp_path / "ring-8-2.clue")
    assert kept_extrapolation(pattern, 40, 64)[0].path != first.path
    assert len(calls) == 4


def test_the_cache_tells_what_was_made(pattern: str) -> None:
    """The cache lists the kept trace and removes it."""
    from clue.cache import clear, items  # noqa: PLC0415 - of this test alone

    kept_extrapolation(pattern, 40, 64)
    (item,) = items(kept.FOLDER)
    assert item.path.name.startswith("ring-40-64-")
    assert [each.path for each in clear().removed] == [item.path]


def test_a_long_name_of_a_program_is_cut(pattern: str, tmp_path: Path) -> None:
    """A program whose name is as long as names can be has a kept trace."""
    for size, ranks in GRID:
        ring(size, ranks, program="r" * 252 + ".py").save(tmp_path / f"ring-{size}-{ranks}.clue")
    path = kept_extrapolation(pattern, 40, 64)[0].path
    assert path is not None and path.name.startswith("r" * 40 + "-40-64-")


def test_a_recording_is_not_kept_twice(pattern: str) -> None:
    """A recorded target is used where it is, without a copy."""
    (trace,) = kept_extrapolation(pattern, 16, 4)
    assert trace.path is not None and trace.path.name == "ring-16-4.clue"


def test_notes_of_a_trace_that_is_made_come_after_what_is_said_of_its_making(
    pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The trace's own notes follow the warnings, and no note appears twice."""

    class Noted(Ring):
        def generate(self, size: int, ranks: int) -> Made:
            made = super().generate(size, ranks)
            head = replace(made.trace.head, notes=("own", *made.remarks))
            return replace(made, trace=replace(made.trace, head=head))

    monkeypatch.setattr(making, "infer", Noted)
    notes = clue.extrapolate(pattern, size=40, ranks=64).trace.head.notes
    assert notes[-1] == "own" and len(set(notes)) == len(notes)


@pytest.mark.parametrize("package", ["extrapolation", "structure", "models", "trace", "uncertainty"])
def test_other_code_makes_other_traces(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kept trace depends on the code that makes it, and on the code that makes bursts of recordings comparable."""
    monkeypatch.setattr(kept, "_ROOT", tmp_path)
    code = tmp_path / package / "speed.py"
    code.parent.mkdir()
    code.write_text("USUAL = 1.1")
    before = _makers.__wrapped__()
    code.write_text("USUAL = 1.15")
    assert _makers.__wrapped__() != before
