"""A buyer's further questions on the command line, answered as text, JSON and CSV."""

from __future__ import annotations

import csv
import json
from io import StringIO
from pathlib import Path

import pytest

from tests.cli.commands import run

pytestmark = pytest.mark.usefixtures("folder")
ASKED = """\
name: asked
criterion: total_cost
service_life: 1 year
pareto: [total_cost, makespan]
workloads: {pp: {program: {trace: pingpong.clue}, ranks: 2, deadline: 1 h}}
options:
  two: {machine: pair.yaml, price: 1800 EUR}
  four: {machine: pair.yaml, nodes: 4, price: 1900 EUR}
  rented: {machine: pair.yaml, with: {node_types: {host: {price: null}}}, cost: {cloud: {price: 3.60 EUR/h}}}
"""


def test_all_questions_are_answered(capsys: pytest.CaptureFixture[str]) -> None:
    """Two nodes are cheapest, 100 EUR more gain nothing, and renting breaks even at a utilisation of 1,800 / 63,072."""
    Path("asked.yaml").write_text(ASKED)
    status, out, err = run(capsys, "simulate", "asked.yaml", "--next", "100", "--answers", "answers.csv")
    assert status == 0
    told = " ".join(out.split())
    assert "The cheapest that meets every deadline is two: 1,800 EUR." in told
    assert "two and rented cost the same, 1,800 EUR, where runs keep two busy for 2.9% of its life; rented" in told
    assert "100 EUR more on two (1,800 EUR) gains nothing: the best of 1 step is four instead for 100 EUR." in told
    assert "wrote answers.csv" in err
    assert "only a header" not in err
    rows = list(csv.DictReader(StringIO(Path("answers.csv").read_text(encoding="utf-8"))))
    assert [row["question"] for row in rows] == [
        "cheapest that meets every deadline",
        "where more money goes",
        "break-even utilisation",
        "break-even utilisation",
    ]
    assert float(rows[2]["figure"]) == pytest.approx(1800 / 63_072)
    document = json.loads(run(capsys, "simulate", "asked.yaml", "--json", "--next", "100 EUR")[1])
    assert document["cheapest_in_time"] == {"option": "two", "total_cost": {"amount": 1800.0, "currency": "EUR"}}
    (step,) = document["next"]["steps"]
    assert (step["what"], step["gain_per_unit"]) == ("four instead", pytest.approx(-1.0))
    assert document["break_even"][0]["utilisation"] == pytest.approx(1800 / 63_072)
    assert document["pareto"] == ["two"]


def test_what_is_not_asked_is_not_told(capsys: pytest.CaptureFixture[str]) -> None:
    """A comparison that asks none of these questions has none of their keys; a warning says that the CSV is empty."""
    status, out, err = run(capsys, "simulate", "which.yaml", "--json", "--answers", "none.csv")
    assert status == 0
    assert "clue: warning: none.csv: no answers, only a header: ask by a deadline" in err
    assert not {"cheapest_in_time", "next", "break_even"} & set(json.loads(out))
    assert len(Path("none.csv").read_text().splitlines()) == 1


def test_money_in_a_strange_currency_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """``--next`` in a currency other than that of the prices is refused with status 2."""
    status, _, err = run(capsys, "simulate", "which.yaml", "--next", "5 USD")
    assert status == 2
    assert "next must be in EUR" in err
