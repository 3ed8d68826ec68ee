"""Queues and answers on the page of a ranking; sections without content are left out."""

from __future__ import annotations

from dataclasses import replace

from clue.purchase import Ranking
from clue.purchase.questions.answers import Answers, BreakEven, Cheapest, Nearest, Step, Steps
from clue.purchase.queue.figures import ClassFigures
from clue.report.answers.document import answer_rows, answers_document
from clue.report.page import ranking_page
from clue.report.page.content import content_of
from clue.report.page.parts import Lines, Picture, Section, Sheet
from clue.report.ranking.text import ranking_text
from clue.units import Money
from tests.report.cases import ranking, rendered
from tests.report.queue.test_queue import queue, queued
from tests.report.test_page import read, scenario

STEPS = Steps(
    "Cheap",
    Money(20_000, "ATS"),
    195.0,
    (
        Step("Cheaper + 1", "1 node more of <pc>", Money(5_000, "ATS"), 205.0, 10.0),
        Step("Cheap, fast", "network fast instead of slow", Money(18_000, "ATS"), 190.0, -5.0),
    ),
)
#: 100,000 + 20,000 u = 400,000 u at u = 100,000 / 380,000 = 26.3 %, where both cost 105,263.
CROSSING = BreakEven("Cheap", "Fine", 100 / 380, 0.9, 1e5, 2e4, 0.0, 4e5, "ATS")
NEVER = replace(CROSSING, own="Fine", cloud="Cheap", utilisation=None)


def asked(**answers: object) -> Ranking:
    """Return a ranking with these answers."""
    return replace(ranking(), answers=Answers(**answers))  # type: ignore[arg-type]


def with_queues() -> Ranking:
    """Return a ranking with a queue of two classes on its first option, and a queue without end on its second."""
    of = {"solver": ClassFigures(7200.0, 12.5), "other": ClassFigures(float("nan"), float("nan"))}
    whole = queued()
    first = queue(classes=("solver", "other"), takes=(*queue().takes, {0: queue().takes[0][0]}), by_class=of)
    return replace(whole, entries=(replace(whole.entries[0], queue=first), whole.entries[1]), weighted={})


def section(of: Ranking, name: str) -> Section | None:
    """Return a section of the page."""
    return content_of(of, scenario(), "clue", "clue 0.1").section(name)


def rows(found: Section | None) -> list[tuple[str, ...]]:
    """Return the texts of a table's rows."""
    assert isinstance(found, Sheet)
    return [tuple(cell.text for cell in row) for row in found.rows]


def test_a_page_without_queues_and_questions_says_nothing_of_them() -> None:
    """Without queues and answers, the page has no sections for them."""
    page = content_of(ranking(), scenario(), "clue", "clue 0.1")
    names = {each.name for each in page.sections}
    assert not names & {"queue", "jobs", "queue-waiting", "queue-nodes", "queue-load"}
    assert not names & {"cheapest", "steps", "steps-gain", "break-even", "break-even-use"}


def test_queues_by_option_and_by_class() -> None:
    """Tables and charts show waiting, use and load; a queue without end has no figures, and a caption says so."""
    (cheap, fine) = rows(section(with_queues(), "queue"))
    assert cheap == ("Cheap", "0.8", "80.0%", "12.8 of 64", "2 h ± 10 min", "60 s", "10 h", "12.5", "36", "43.2")
    assert fine == ("Fine", "1.37", *("–",) * 7, "43.2")
    table = section(with_queues(), "queue")
    assert isinstance(table, Sheet) and table.caption.endswith("because the queue grows without bound: Fine.")
    assert rows(section(with_queues(), "jobs")) == [
        ("Cheap", "solver", "as is best", "4", "15 min", "2 h", "12.5"),
        ("Cheap", "solver", "8", "1", "50 min", "2 h", "12.5"),
        ("Cheap", "other", "as is best", "4", "15 min", "–", "–"),
        ("Fine", "solver", "as is best", "4", "15 min", "–", "–"),
        ("Fine", "solver", "8", "1", "50 min", "–", "–"),
    ]
    for name, told in (
        ("queue-waiting", "Cheap: 2 h"),
        ("queue-nodes", "Cheap: 12.8 of 64 without a job"),
        ("queue-load", "faster or slower"),
    ):
        chart = section(with_queues(), name)
        assert isinstance(chart, Picture) and told in chart.words
    endless = replace(with_queues(), entries=(with_queues().entries[1],))
    assert section(endless, "queue-waiting") is None and section(endless, "queue") is not None


def test_the_cheapest_in_time_or_the_nearest() -> None:
    """The section names the cheapest option and its cost, or the nearest option for each deadline."""
    found = section(asked(cheapest=Cheapest("Fine", Money(298_500, "ATS"))), "cheapest")
    assert isinstance(found, Lines)
    assert found.lines == ("The cheapest that meets every deadline is Fine: 298,500 ATS.",)
    late = Cheapest("", nearest=(Nearest("small", 3600.0, "Cheap", 5400.0),))
    assert rows(section(asked(cheapest=late), "cheapest")) == [("small", "60 min", "Cheap", "90 min")]


def test_json_and_csv_list_the_limits_that_options_miss() -> None:
    """If each deadline is met by some option, but no option keeps all limits, both list what each option misses."""
    missed = (("Cheap", "a run must end within 4 s, got 6 s"), ("Fine", "total cost must be at most 1 ATS, got 2 ATS"))
    none = asked(cheapest=Cheapest("", missed=missed))
    assert answers_document(none)["cheapest_in_time"] == {
        "option": None,
        "nearest": [],
        "missed": [{"option": option, "limits": limits} for option, limits in missed],
    }
    found = [(row.get("option"), row["what"]) for row in answer_rows(none)[1]]
    assert found == [(None, "none"), *((option, f"misses a limit: {limits}") for option, limits in missed)]


def test_steps_are_told_and_drawn_where_one_gains() -> None:
    """Steps are ordered by gain per money; without a gain there is no chart, without a step no table."""
    assert rows(section(asked(steps=STEPS), "steps")) == [
        ("1 node more of <pc>", "Cheaper + 1", "5,000 ATS", "205.0", "+10", "+2"),
        ("network fast instead of slow", "Cheap, fast", "18,000 ATS", "190.0", "-5", "-0.2778"),
    ]
    table = section(asked(steps=STEPS), "steps")
    assert isinstance(table, Sheet)
    headings = ["gain (points)", "gain for 1,000 ATS (points)"]
    assert [name for name, _ in table.columns[-2:]] == headings
    assert all(each in " ".join(rendered(ranking_text(asked(steps=STEPS)), 160).split()) for each in headings)
    chart = section(asked(steps=STEPS), "steps-gain")
    assert isinstance(chart, Picture) and "1 node more of <pc> +2" in chart.words
    worse = replace(STEPS, steps=STEPS.steps[1:])
    assert section(asked(steps=worse), "steps-gain") is None and section(asked(steps=worse), "steps") is not None
    none = section(asked(steps=replace(STEPS, steps=())), "steps")
    assert isinstance(none, Lines) and none.caption.endswith("no step is affordable and keeps all limits.")
    read(ranking_page(asked(steps=STEPS), scenario(), "clue", "clue 0.1"))  # names are escaped


def test_gains_have_all_digits_before_the_point() -> None:
    """123,456 points more for 5,000 ATS are 24,691 for 1,000; a gain just below 10,000 is rounded to it."""
    step, worse = (replace(each, gain=gain) for each, gain in zip(STEPS.steps, (123_456.0, -9_999.7), strict=True))
    found = asked(steps=replace(STEPS, steps=(step, worse)))
    gains = ["+123,456", "+24,691", "-10,000", "-555.5"]
    assert [cell for each in rows(section(found, "steps")) for cell in each[-2:]] == gains
    text = rendered(ranking_text(found), 160)
    assert all(each in text for each in gains)


def test_own_or_rented() -> None:
    """The break-even is shown as a table and as lines; an option that is always cheaper has no lines."""
    found = asked(break_even=(CROSSING, NEVER))
    assert rows(section(found, "break-even")) == [
        ("Cheap", "Fine", "26.3%", "Fine", "105,263", "90.0%"),
        ("Fine", "Cheap", "–", "Cheap, always", "–", "90.0%"),
    ]
    chart = section(found, "break-even-use")
    assert isinstance(chart, Picture)
    assert "busy for 26.3% of its life" in chart.words and "105,263 ATS" in chart.words
    assert section(asked(break_even=(NEVER,)), "break-even-use") is None


def test_what_reserved_nodes_can_do_is_said_where_it_is_less() -> None:
    """The own option can be busy for 90 %: reserved nodes for 40 % are not enough, those for 95 % are.

    The table has a column for it if any pair is limited so.
    """
    for covered, said in ((0.4, True), (0.95, False)):
        found = asked(break_even=(replace(CROSSING, covered=covered),))
        (document,) = answers_document(found)["break_even"]
        assert document.get("covered") == (covered if said else None)
        chart = section(found, "break-even-use")
        assert isinstance(chart, Picture)
        told = "busy for more than 40.0% of its life, the reserved nodes of Fine cannot do all of them."
        assert chart.caption.endswith(told) == said
        (row,) = answer_rows(found)[1]
        assert row["reserved nodes suffice up to"] == (covered if said else None)
        assert [each[6:] for each in rows(section(found, "break-even"))] == [("40.0%",) if said else ()]
    both = asked(break_even=(CROSSING, replace(NEVER, covered=0.4)))
    assert [each[6:] for each in rows(section(both, "break-even"))] == [("–",), ("40.0%",)]


def test_a_break_even_out_of_reach_is_told() -> None:
    """The own option would have to be busy for 26.3 %: where it can be for 20 % at most, the rented one is cheaper.

    The table of the page says so, too.
    """
    for capacity, said, cell in (
        (0.9, "Fine is cheaper below", "Fine"),
        (0.2, "Fine is cheaper below, which is always", "Fine, always"),
    ):
        found = asked(break_even=(replace(CROSSING, capacity=capacity),))
        (row,) = answer_rows(found)[1]
        assert row["what"] == said
        assert [each[3] for each in rows(section(found, "break-even"))] == [cell]


def test_waiting_over_load_is_in_a_table() -> None:
    """The figures of the lines are in a table: 60 s, 1 h and 10 h at loads of 0.1, 0.5 and 0.9."""
    assert rows(section(with_queues(), "queue-by-load")) == [
        ("Cheap", "0.1", "60 s"), ("Cheap", "0.5", "60 min"), ("Cheap", "0.9", "10 h"),
    ]  # fmt: skip
    chart = section(with_queues(), "queue-load")
    assert isinstance(chart, Picture) and chart.caption == "1 of 2 options."
    endless = replace(with_queues(), entries=(with_queues().entries[1],))
    assert section(endless, "queue-by-load") is None and section(endless, "queue-load") is None
