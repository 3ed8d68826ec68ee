"""The benchmark of extrapolation: comparison op by op, the rival model, the table and the page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.accuracy.extrapolate import __main__ as command
from benchmarks.accuracy.extrapolate import cases, pmnf, tables
from benchmarks.accuracy.extrapolate.cases import MACHINES, TARGETS, Target
from benchmarks.accuracy.extrapolate.experiment import Recorder, predicted
from benchmarks.accuracy.extrapolate.structure import difference
from clue.extrapolation import Family, Refusal, RefusedError, making
from clue.extrapolation.plan import wanted
from clue.trace import TraceBuilder
from tests.extrapolation.families import Ring, ring

RING = Target(Path("ring.py"), 40, ("--n", "{size}"), 8)
POINTS = [(size, ranks) for size in (64, 128, 256) for ranks in (2, 4, 8, 16)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the ring's recordings for 8 ranks; inference is replaced by a known program."""
    monkeypatch.setattr(making, "infer", Ring)
    found = tmp_path / "8-ranks-1-times-smaller"
    for size in (8, 16):
        for ranks in (2, 4, 6):
            ring(size, ranks).save(found / f"ring-{size}-{ranks}.clue")
    for name, seconds in (("ring-40-8", 1e-3), ("ring-40-8.2", 1.05e-3), ("ring-40-8.3", 0.8e-3)):
        ring(40, 8, seconds).save(found / "truth" / f"{name}.clue")
    return found


def test_the_rival_finds_what_is_of_its_form() -> None:
    """The rival finds models of its own form: 1 + n^2 / P microseconds, and 1 + 5 log P."""
    found = pmnf.fit([(size, ranks, 1.0 + 1e-6 * size**2 / ranks) for size, ranks in POINTS])
    assert found(1024, 64) == pytest.approx(1.0 + 1e-6 * 1024**2 / 64, rel=1e-6)
    found = pmnf.fit([(size, ranks, 1.0 + 5.0 * (ranks.bit_length() - 1)) for size, ranks in POINTS])
    assert found(1024, 64) == pytest.approx(31.0, rel=1e-6)
    assert found.terms == (pmnf.Term(0.0, 0, 0.0, 1),)


def test_a_constant_is_fitted_by_a_constant() -> None:
    """A constant is fitted without terms."""
    assert pmnf.fit([(size, ranks, 2.0) for size, ranks in POINTS]).terms == ()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda trace: trace[1].send(0, 9, tag=1), "nbytes 9 instead of 8"),
        (lambda trace: trace[1].send(0, 8, tag=2), "tag 2 instead of 1"),
        (lambda trace: trace[1].send(1, 8, tag=1), "peer 1 instead of 0"),
        (lambda trace: (trace[1].send(0, 8, tag=1), trace[1].send(0, 8)), "2 ops instead of 1"),
    ],
)
def test_every_field_counts(change, said: str) -> None:  # type: ignore[no-untyped-def]
    """A different size, tag, partner or number of ops is reported; different bursts are not."""
    built = []
    for each in (change, lambda trace: trace[1].send(0, 8, tag=1)):
        trace = TraceBuilder(2)
        each(trace)
        built.append(trace.build())
    assert said in difference(*built)
    assert difference(ring(8, 2, 1.0), ring(8, 2, 2.0)) == ""


def test_a_target_is_held_against_the_truth(folder: Path) -> None:
    """On three machines the structure is exact and the error 0, and two of three runs lie within 10 %."""
    found = list(predicted(RING, Recorder(folder, lambda _: None)))
    assert [each.machine for each in found] == list(MACHINES)
    assert {each.structure for each in found} == {"exact"}
    for each in found:
        assert each.error == pytest.approx(0.0, abs=1e-12)
        assert each.recordings == 6
        assert each.covered == pytest.approx(2 / 3)
        assert each.low < each.truth < each.high


def test_the_table_comes_back_and_the_page_tells_goals(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The command uses existing recordings; its table is read back; a refused program is in the table and the page."""
    refused = replace(RING, script=Path("odd.py"))
    for name in ("8-2", "16-4"):
        ring(int(name.split("-")[0]), int(name.split("-")[1]), program="odd.py").save(folder / f"odd-{name}.clue")
    for name in ("", ".2", ".3"):
        ring(40, 8).save(folder / "truth" / f"odd-40-8{name}.clue")

    def infer(family: Family, *_: object) -> Ring:
        if family.program == "odd.py":
            raise RefusedError((Refusal("odd.py:3 Send", "sizes must follow a rule, got others"),), family.name)
        return Ring(family)

    monkeypatch.setattr(making, "infer", infer)
    monkeypatch.setattr(command, "TARGETS", (RING, refused))
    output = tmp_path / "table.csv"
    monkeypatch.setattr("sys.argv", ["extrapolate", str(tmp_path), "--ranks", "8", "-o", str(output)])
    assert command.main() == 0
    read = tables.read_csv(output)
    assert [(each.program, each.machine) for each in read] == [*(("ring", name) for name in MACHINES), ("odd", "")]
    assert read[0].truth == pytest.approx(read[0].predicted)
    page = output.with_suffix(".md").read_text()
    assert "| structure exact, others refused by site | 9 of 12 | 1 of 2 |" in page
    assert "refused: site odd.py:3 Send sizes must follow a rule, got others" in page
    assert "| makespan: mean absolute error | ≤ 8 % | 0.0% |" in page


def test_recordings_for_other_targets_are_kept_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recordings for targets of an eighth of the size, or on 16 ranks, are not taken for those of the study."""
    folders = []
    for more in ("", "--smaller 8", "--ranks 16"):
        monkeypatch.setattr("sys.argv", ["extrapolate", str(tmp_path), *more.split()])
        folders.append(command._folder(command._arguments()))
    assert folders == [tmp_path, tmp_path / "64-ranks-8-times-smaller", tmp_path / "16-ranks-1-times-smaller"]


def test_targets_have_programs_and_plans() -> None:
    """Each target has a script; its plan has at most half the size and a quarter of the ranks, apart from 27 ranks."""
    for target in TARGETS:
        assert target.script.is_file()
        plan = wanted(target.size, target.ranks).values()
        assert max(each.size for each in plan) <= target.size * 0.55
        assert max(each.ranks for each in plan if each.ranks != 27) * 4 == target.ranks
    assert all(len(cases.machine(name).nodes) * 4 == cases.RANKS for name in MACHINES)
