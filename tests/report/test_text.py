"""Tables for the terminal at 100 columns."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from clue.report.machine.text import machine_text
from clue.report.ranking.text import ranking_text
from clue.report.result.text import result_text
from clue.report.shared.warnings import warnings_text
from clue.report.trace.text import trace_text
from clue.uncertainty import Sampled, Sampling, Spread
from tests.report.cases import (
    by_makespan,
    machine,
    ranking,
    rendered,
    result,
    trace,
)


@pytest.mark.parametrize("width", [60, 80, 100])
def test_no_line_is_wider_than_asked(width: int) -> None:
    """Tables shrink to the given width."""
    for text in (ranking_text(ranking()), ranking_text(by_makespan()), machine_text(machine()), trace_text(trace())):
        assert max(map(len, rendered(text, width).splitlines())) <= width


def test_warnings_are_told_once() -> None:
    """Equal warnings are one line, and no warnings give no block."""
    assert rendered(warnings_text(["a: b", "a: b", "c: d"])) == "Warnings\n- a: b\n- c: d"
    assert warnings_text([]) is None


def test_packages_are_light_until_used() -> None:
    """Importing tables and documents loads neither rich, numpy nor matplotlib, so that the command starts fast."""
    heavy = "{'rich', 'numpy', 'matplotlib'} & set(sys.modules)"
    subjects = ("machine", "ranking", "result", "scenario", "trace")
    light = [f"clue.report.{subject}.{form}" for subject in subjects for form in ("document", "text")]
    light += ["clue.report.ranking.tables", "clue.report.result.tables", "clue.report.timeline"]
    script = f"import sys, {', '.join(light)}; sys.exit(bool({heavy}))"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_a_sampled_result_and_ranking_show_their_intervals() -> None:
    """Results show the 10th and 90th percentiles of 9 samples, 3.6 to 4.4 s; rankings, score and probability."""
    sampling = Sampling(9, 7)
    shown = rendered(result_text(result(), sampled=Sampled(sampling, np.linspace(3.6, 4.4, 9), 4.0, reasons=("why",))))
    assert "3.6 s to 4.4 s, median 4 s (9 samples, seed 7)" in shown
    assert "its width" in shown and "why" in shown
    spread = Spread(90.0, 95.0, 100.0)
    entries = tuple(replace(each, spread=spread, best=0.25) if each.score else each for each in ranking().entries)
    shown = rendered(ranking_text(replace(ranking(), entries=entries, sampling=sampling)))
    assert "90.0 to 100.0" in shown
    assert "25%" in shown
    assert "9 samples of the stated noise (seed 7)" in shown
