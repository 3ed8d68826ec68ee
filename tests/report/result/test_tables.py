"""Simulations as CSV, LaTeX and Markdown."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clue.report.result.tables import result_csv, result_latex, result_markdown
from clue.uncertainty import Sampled, Sampling
from clue.units import format_time
from tests.report.cases import many_ranks, read, result


def test_csv_of_a_result_has_all_ranks_with_all_digits() -> None:
    """Values have all digits, and the column names have units."""
    third = replace(result().ranks[1], wait=1 / 3)
    text = result_csv(replace(result(), ranks=(result().ranks[0], third)))
    assert text.splitlines()[0] == "rank,node,finish (s),compute (s),communicate (s),wait (s)"
    assert text.splitlines()[1] == "0,0,4.0,2.0,1.0,1.0"
    assert float(read(text)[1]["wait (s)"]) == 1 / 3
    assert len(read(result_csv(many_ranks(100)))) == 100


def test_latex_of_a_result_has_all_ranks() -> None:
    """The file lists all ranks, even where the terminal shows a summary."""
    lines = result_latex(many_ranks(100), "many").splitlines()
    assert len(lines) == 2 + 5 + 4 + 100 + 2
    whole = ["makespan: 100 s", "ranks: 100", "ops: 0", "messages: 10,000 (10 MB)", "engine: reference"]
    assert lines[2:7] == [f"% Whole run: {each}" for each in whole]
    assert "\\addlinespace" not in lines


def test_markdown_of_a_result_has_all_ranks_and_warnings() -> None:
    """All times have one unit, as in the terminal."""
    lines = result_markdown(result(), "ping_pong").splitlines()
    assert lines[0] == r"**ping\_pong**"
    assert lines[2].startswith("| rank | node | finish (s) |")
    assert lines[4] == "| 0 | 0 | 4.0000 | 2.0000 | 1.0000 | 1.0000 | 50.0% |"
    assert lines[-1] == "- pair: no contention is stated"
    assert lines[7:10] == ["Whole run:", "", "- makespan: 4 s"]


def test_tables_of_a_result_have_its_interval() -> None:
    """The interval and the reasons for its width are beside the makespan, as in the terminal."""
    noisy = Sampled(Sampling(99), np.linspace(3.51, 4.49, 99), 4.0, reasons=("± 9% by 3 recordings",))
    interval = f"80 % interval: {format_time(noisy.spread.low)} to {format_time(noisy.spread.high)}, median 4 s"
    assert f"- {interval} (99 samples, seed 0)\n- its width: ± 9% by" in result_markdown(result(), "pair", noisy)
    assert f"% Whole run: {interval} (99" in result_latex(result(), "pair", noisy)
