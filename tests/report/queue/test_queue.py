"""Queues as text, JSON, CSV and picture."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from typing import Any

from clue.purchase import Criterion, Ranking
from clue.purchase.queue.arrivals import Taken
from clue.purchase.queue.figures import Figures
from clue.purchase.queue.mix import Policy
from clue.purchase.queue.replications import QueueOutcome
from clue.report.queue.plot import draw_waiting
from clue.report.queue.text import figures_of, how_queued
from clue.report.ranking.document import ranking_document
from clue.report.ranking.tables import ranking_csv
from clue.report.ranking.text import ranking_text
from tests.report.cases import ranking, rendered
from tests.report.pictures import faults, points, texts

FIGURES = Figures(7200.0, 60.0, 36000.0, 12.5, 0.8, 12.8, 0.01)
ERRORS = Figures(600.0, 6.0, 3600.0, 1.5, 0.01, 0.64, 0.001)
CURVE = ((0.1, 60.0), (0.5, 3600.0), (0.9, 36000.0))


def queue(**fields: object) -> QueueOutcome:
    """Return a queue of 64 nodes with round figures."""
    known = QueueOutcome(
        policy=Policy.BACKFILL,
        nodes=64,
        load=0.8,
        capacity=0.95,
        most=0.012,
        figures=FIGURES,
        errors=ERRORS,
        counted=4500,
        left_out=500,
        replications=10,
        classes=("solver",),
        takes=({0: Taken(4, 900.0), 8: Taken(1, 3000.0)},),
        curve=CURVE,
    )
    return replace(known, **fields)  # type: ignore[arg-type]


def queued() -> Ranking:
    """Return a ranking whose first option has a queue and whose second option's queue grows without bound."""
    first = replace(ranking().entries[3], queue=queue(), parts={Criterion.WAITING: 7200.0, Criterion.SSP: 2.0})
    second = replace(ranking().entries[1], queue=queue(figures=None, errors=None, load=1.37, curve=()))
    weighted = {Criterion.WAITING: (2.0, "s"), Criterion.SSP: (0.5, "Tflop/s")}
    entries = (first, replace(second, parts=first.parts))
    return replace(ranking(), entries=entries, weighted=weighted)


def test_a_queue_as_text() -> None:
    """The text has a line per queue, and the weighted criteria; a queue without end shows its load but no waiting."""
    shown = rendered(ranking_text(queued()))
    cheap = next(line for line in shown.splitlines() if line.startswith("Cheap") and "12.8" in line)
    assert cheap.split() == [
        "Cheap",
        "0.8",
        "80.0%",
        "12.8",
        "of",
        "64",
        "2",
        "h",
        "±",
        "10",
        "min",
        "60",
        "s",
        "10",
        "h",
        "12.5",
        "36",
        "43.2",
    ]
    fine = next(line for line in shown.splitlines() if line.startswith("Fine") and "1.37" in line)
    assert fine.split() == ["Fine", "1.37", *"–" * 7, "43.2"]
    assert "Queue: EASY backfilling; means over 10 replications of 4,500 jobs each, after 500 that" in shown
    assert "2 × waiting" in shown and "0.5 × ssp" in shown and "2 Tflop/s" in shown


def test_large_slowdowns_have_no_exponent() -> None:
    """A mean slowdown of 12,345 has all its digits."""
    shown = [text for text, _ in figures_of(queue(figures=replace(FIGURES, slowdown=12_345.0)))]
    assert shown[5] == "12,345"


def test_jobs_that_are_given_are_queued_once() -> None:
    """Jobs with given times are simulated once, so the description mentions no standard errors."""
    once = replace(ranking().entries[3], queue=queue(errors=None, left_out=0, replications=1, policy=Policy.FCFS))
    told = how_queued(replace(ranking(), entries=(once,)))
    assert told.startswith("Queue: first come, first served; 4,500 jobs, once. used: share of the nodes' time")
    assert how_queued(ranking()) == ""


def test_a_queue_as_json() -> None:
    """The document has times in seconds, rates per second, standard errors, the jobs' runs and the curve."""
    document: Any = ranking_document(queued())
    first, second = document["ranking"]
    assert first["queue"] == {
        "policy": "backfill",
        "nodes": 64,
        "load": 0.8,
        "capacity": 0.95,
        "most_throughput": 0.012,
        "waiting": 7200.0,
        "waiting_median": 60.0,
        "waiting_95": 36000.0,
        "slowdown": 12.5,
        "utilisation": 0.8,
        "unused_nodes": 12.8,
        "throughput": 0.01,
        "standard_errors": {
            "waiting": 600.0,
            "waiting_median": 6.0,
            "waiting_95": 3600.0,
            "slowdown": 1.5,
            "utilisation": 0.01,
            "unused_nodes": 0.64,
            "throughput": 0.001,
        },
        "jobs": 4500,
        "left_out": 500,
        "replications": 10,
        "grows_without_end": False,
        "jobs_take": {"solver": {"best": {"nodes": 4, "run": 900.0}, "8": {"nodes": 1, "run": 3000.0}}},
        "curve": [{"load": load, "waiting": waiting} for load, waiting in CURVE],
    }
    assert second["queue"]["grows_without_end"] is True and "waiting" not in second["queue"]
    assert first["weighted"] == {"waiting": 7200.0, "ssp": 2.0}
    assert document["weighted"] == {
        "waiting": {"weight": 2.0, "unit": "s"},
        "ssp": {"weight": 0.5, "unit": "Tflop/s"},
    }
    assert "queue" not in ranking_document(ranking())["ranking"][3]  # type: ignore[index]


def test_a_queue_as_csv() -> None:
    """Columns have units in their names, and unknown figures are empty."""
    rows = list(csv.DictReader(io.StringIO(ranking_csv(queued()))))
    assert (rows[0]["queue load"], rows[0]["queue waiting (s)"], rows[0]["queue unused nodes"]) == (
        "0.8",
        "7200.0",
        "12.8",
    )
    assert rows[0]["queue standard error of waiting (s)"] == "600.0"
    assert rows[0]["queue throughput at most (1/s)"] == "0.012"
    assert rows[0]["weighted ssp (Tflop/s)"] == "2.0"
    assert (rows[-1]["queue load"], rows[-1]["queue waiting (s)"]) == ("1.37", "")


def test_waiting_over_load_is_drawn() -> None:
    """Each option with a curve is drawn, in a common unit, and its stated load is marked."""
    drawn = draw_waiting(queued())
    assert drawn is not None
    curve, stated = drawn.axes[0].lines
    assert points(curve) == [[0.1, 60 / 3600], [0.5, 1.0], [0.9, 10.0]]
    assert points(stated) == [[0.8, 2.0]]
    assert faults(drawn) == []
    assert any("mean waiting (h)" in text for text in texts(drawn))
    assert draw_waiting(ranking()) is None


def test_waiting_over_load_says_how_many_options_have_no_line() -> None:
    """Of nine options, of which eight have a curve, seven are drawn; a picture of all says nothing."""
    first = replace(ranking().entries[3], queue=queue())
    several = tuple(replace(first, option=f"option {i}", position=i + 1) for i in range(8))
    last = replace(first, option="last", position=9, queue=queue(curve=()))
    for entries, told in (((*several, last), " (7 of 9 options)"), (several[:7], "")):
        drawn = draw_waiting(replace(ranking(), entries=entries))
        assert drawn is not None
        assert f"which-cluster: waiting over load{told}" in texts(drawn)


def test_queues_that_grow_without_end_are_drawn() -> None:
    """If all queues grow without bound at the stated load of 1.2, only the curve is drawn, up to a load of 1."""
    endless = replace(ranking().entries[3], queue=queue(figures=None, errors=None, load=1.2, capacity=0.93))
    drawn = draw_waiting(replace(ranking(), entries=(endless,)))
    assert drawn is not None
    (curve,) = drawn.axes[0].lines
    assert points(curve) == [[0.1, 60 / 3600], [0.5, 1.0], [0.9, 10.0]]
    assert drawn.axes[0].get_xlim() == (0.0, 1.0)
