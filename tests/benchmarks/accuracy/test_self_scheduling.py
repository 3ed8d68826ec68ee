"""Comparing the lines of the study: which is fastest, and where two lines cross."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks.accuracy.self_scheduling import __main__ as command
from benchmarks.accuracy.self_scheduling import real
from benchmarks.accuracy.self_scheduling.comparing import crossings, curves, fastest
from benchmarks.accuracy.self_scheduling.lines import SS, VRP_DYNAMIC, VRP_SS
from benchmarks.accuracy.self_scheduling.real import Answer, middle
from benchmarks.accuracy.self_scheduling.times import Time, write


def test_lines_cross_between_sizes() -> None:
    """A line 1 below at 100 and 3 above at 200 crosses at 125; back at 300 by as much, it crosses at 250."""
    assert crossings({100: 1, 200: 5, 300: 0}, {100: 2, 200: 2, 300: 3}) == [125, 250]


def test_touching_is_no_crossing() -> None:
    """Lines that are equal at one size, and in the same order before and after, do not cross."""
    assert crossings({1: 1, 2: 2, 3: 1}, {1: 2, 2: 2, 3: 2}) == []


def test_lines_by_machine_and_kind() -> None:
    """Lines have live runs of the requested machine only."""
    times = [
        Time("live", "a", "SS", 10, 4, 2.0),
        Time("replay", "a", "SS", 10, 4, 3.0),
        Time("live", "b", "SS", 10, 4, 4.0),
    ]
    assert curves(times, "a") == {"SS": {10: 2.0}}
    assert fastest({"SS": {10: 2.0}, "GSS": {10: 1.0}}, 10) == "GSS"


def test_the_models_of_the_paper_cross_where_it_says() -> None:
    """By the paper's equations 15 to 17, VRP-SS is fastest from n = 1115 on, and at 2500 others take 60 % longer."""
    assert VRP_SS.by_paper(1115) == pytest.approx(SS.by_paper(1115), rel=0.05)
    assert VRP_SS.by_paper(1000) > SS.by_paper(1000)
    assert VRP_SS.by_paper(1200) < SS.by_paper(1200)
    assert [line.by_paper(2500) / VRP_SS.by_paper(2500) for line in (SS, VRP_DYNAMIC)] == pytest.approx(
        [1.6, 1.6], abs=0.06
    )


def test_what_a_run_says_is_read() -> None:
    """Seconds and rows are read from the line that the program prints, among other lines."""
    said = Answer.read("warning\nmatrix_product strategy=ss n=9 chunks=3 rows=[4, 5] seconds=1.250000\n")
    assert said == Answer(1.25, (4, 5))


def test_the_middle_of_some_runs() -> None:
    """Of three runs the median counts, of two the faster."""
    one, two, three = (Answer(seconds, ()) for seconds in (1.0, 2.0, 3.0))
    assert middle([three, one, two]) == two
    assert middle([two, one]) == one


def test_tables_are_of_the_named_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tables are made from the file that --results names; the largest size is the last one, whatever the order."""
    own, measured = tmp_path / "own.json", [Time("live", "cluster", "SS", 250, 4, 2.0)]
    sizes: list[Sequence[int]] = []

    def measure(asked: Sequence[int]) -> list[Time]:
        sizes.append(asked)
        return measured

    monkeypatch.setattr(command, "_measure", measure)
    monkeypatch.setattr(command, "tables", lambda times: [f"{each.seconds}" for each in times])
    monkeypatch.setattr(command, "_draw", lambda *_: [])
    monkeypatch.setattr("sys.argv", ["self_scheduling", "--sizes", "500", "250", "--results", str(own)])
    command.main()
    write([Time("live", "cluster", "SS", 250, 4, 3.0)], own)
    monkeypatch.setattr("sys.argv", ["self_scheduling", "--again", "--results", str(own)])
    command.main()
    assert sizes == [[250, 500]]
    assert capsys.readouterr().out == "2.0\n3.0\n"


def test_an_error_is_that_of_the_times_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of runs of 10 and 12 s the faster is shown; a prediction of 11 s is 10 % more."""
    runs = [Answer(12.0, (1, 2)), Answer(10.0, (2, 1))]
    monkeypatch.setattr(real, "Calibrator", lambda *_: SimpleNamespace(calibrated=lambda machine: machine))
    monkeypatch.setattr(real, "describe", lambda _: [])
    monkeypatch.setattr(real, "real", lambda *_: {real.TRIALS[0]: runs})
    monkeypatch.setattr(real, "live", lambda *_: (Answer(11.0, (3, 0)), None))
    monkeypatch.setattr(real, "replayed", lambda *_: 12.5)
    lines = list(real.page(1600, 2))
    assert "| SS | 10.0 (10.0 to 12.0) | 11.0 | +10.0% | 12.5 | 2, 1 | 3, 0 |" in lines
    assert any(line.startswith("\nMean absolute error 10.0%") for line in lines)
