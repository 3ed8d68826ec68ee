"""Comparisons with jobs and queues from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.commands import run

pytestmark = pytest.mark.usefixtures("folder")

#: Each job takes two nodes for half a second: a load of about 0.5 on two nodes and 0.25 on four.
QUEUED = "jobs: {pp: {per_month: 2628000}}\nqueue: {jobs: 500, replications: 3}\n"


def change(text: str, criterion: str = "waiting") -> None:
    """Write a comparison that is ranked by the given criterion and has further text."""
    Path("q.yaml").write_text(
        f"{text}criterion: {criterion}\n" + Path("which.yaml").read_text().replace("budget: 2000 EUR\n", "")
    )


def test_options_are_ranked_by_waiting(capsys: pytest.CaptureFixture[str]) -> None:
    """Options are ranked by mean waiting time, as text, JSON, CSV and picture."""
    change(QUEUED)
    status, out, err = run(capsys, "simulate", "q.yaml", "--csv", "q.csv", "--plots", "plots")
    assert status == 0
    assert "ranked by waiting (lower is better)" in out and "Queue: EASY backfilling; means over 3 replications" in out
    assert "run times of jobs are those on an empty machine" in " ".join(out.split())
    assert "queue waiting (s)" in Path("q.csv").read_text()
    assert "plots/waiting.png" in err
    _, out, _ = run(capsys, "simulate", "q.yaml", "--json")
    first, second = json.loads(out)["ranking"]
    assert (first["option"], second["option"]) == ("four", "two")
    assert first["queue"]["load"] == pytest.approx(second["queue"]["load"] / 2, rel=0.01)
    assert first["score"] == first["queue"]["waiting"] < second["queue"]["waiting"]


def test_an_accounting_file_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    """Two jobs are submitted at once: on two nodes the second waits, on four it does not; a bad line has status 2."""
    log = "JobName|Submit|NNodes|Timelimit|Elapsed\n" + "pp|2026-01-05T09:00:00|2|10:00|05:00\n" * 2
    Path("sacct.txt").write_text(log)
    change("jobs: {pp: {}}\nqueue: {accounting: sacct.txt}\n")
    status, out, _ = run(capsys, "simulate", "q.yaml", "--json")
    first, second = json.loads(out)["ranking"]
    assert (status, first["option"], first["score"]) == (0, "four", 0.0)
    assert second["score"] == pytest.approx(0.2500, abs=1e-3)
    Path("sacct.txt").write_text(log.replace("|2|", "|two|", 1))
    status, _, err = run(capsys, "simulate", "q.yaml")
    assert (status, err) == (2, 'clue: sacct.txt:2:1: NNodes must be a whole number above 0, got "two"\n')


@pytest.mark.parametrize(
    ("criterion", "more", "option", "said"),
    [
        ("waiting", "", "--samples 9", "--samples must go with a criterion without a queue, got waiting"),
        (
            "weighted",
            "weighted: {slowdown: 1}\n",
            "--sampled",
            "--sampled must go with a criterion without a queue",
        ),
        (
            "slowdown",
            "",
            "--explain",
            "--explain must go with a criterion that is neither weighted nor of a queue",
        ),
        ("weighted", "weighted: {points: 1}\n", "--explain", "--explain must go with a criterion that is neither"),
    ],
)
def test_what_goes_with_no_queue_is_refused(
    capsys: pytest.CaptureFixture[str], criterion: str, more: str, option: str, said: str
) -> None:
    """Samples, parts and explanations of a ranking by a queue are refused with status 2 and a reason."""
    change(QUEUED + more, criterion)
    status, _, err = run(capsys, "simulate", "q.yaml", *option.split())
    assert status == 2 and said in err


def test_a_queue_without_end_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """On a queue that grows without bound no option is ranked: status 1, with the reason and the nearest option."""
    change(QUEUED.replace("2628000", "26280000"))
    status, out, err = run(capsys, "simulate", "q.yaml")
    assert status == 1
    assert "the queue grows without bound" in err
    assert "none of the options meets it; the nearest is four with" in " ".join(out.split())


def test_a_comparison_with_jobs_is_inspected(capsys: pytest.CaptureFixture[str]) -> None:
    """The submitted jobs are shown as text and as JSON."""
    change(QUEUED)
    _, out, _ = run(capsys, "inspect", "q.yaml")
    assert "2,628,000" in out and "as in the ranking" in out and "1 × run" in out
    _, out, _ = run(capsys, "inspect", "q.yaml", "--json")
    assert json.loads(out)["jobs"]["classes"]["pp"]["per_month"] == pytest.approx(2_628_000)
