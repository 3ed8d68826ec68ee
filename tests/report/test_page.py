"""The page of a ranking: that it holds what a reader decides by, needs nothing else, and obeys no name."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from clue.predict.application import Application
from clue.purchase import Component, Option, Ranking, Scenario, Workload
from clue.report.page import ranking_page
from clue.report.page.content import LIMITS, MOST_ROWS, content_of, decision, sources
from clue.report.ranking.offers import draw_offers, unbeaten
from clue.uncertainty import Sampling, Spread
from clue.units import Money
from tests.report.cases import BUDGET, by_makespan, entry, machine, ranking

#: Elements that have no end.
_VOID = {"meta", "img"}


class Reader(HTMLParser):
    """Reads a page, and checks that what begins ends."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.found.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Check that it is the last one open."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Note text, but that of styles and scripts."""
        if self.open and self.open[-1] not in {"style", "script"} and data.strip():
            self.text.append(" ".join(data.split()))


def scenario() -> Scenario:
    """Return two options and a workload."""
    component = Component("solve", Application(script=None, trace="jacobi.clue"))
    workload = Workload("small", (component,), None, (4, 8))
    options = (Option("Cheap", machine(), Money(295_000, "ATS")), Option("<b>", machine()))
    return Scenario("which-cluster", (workload,), options, BUDGET, notes=("made up",))


def sampled() -> Ranking:
    """Return a ranking with samples, in which the first option is the best in 87 % of them."""
    entries = tuple(
        each if each.position is None else replace(each, spread=Spread(80.0, 190.0, 200.0), best=0.87)
        for each in ranking().entries
    )
    return replace(ranking(), entries=entries, sampling=Sampling(200))


def read(page: str) -> Reader:
    """Read a page to its end."""
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def test_a_page_says_what_to_decide_by() -> None:
    """The decision with its probability, the table, what is left out, warnings, limits, inputs, and how to get it."""
    reader = read(ranking_page(sampled(), scenario(), "clue simulate which.yaml --html r.html", "clue 0.1"))
    text = reader.text
    assert "Cheap comes first: 195.0 points for 295,000 ATS. It is the best option in 87% of 200 samples" in " ".join(
        text
    )
    assert [tag for tag, _ in reader.found if tag == "h1"] == ["h1"]
    for line in ("Gold (500,000 ATS): costs more than the budget", "Cheap: curve from published values", *LIMITS,
                 "made up", "clue simulate which.yaml --html r.html", "jacobi.clue", "as many as fit",
                 "by hand"):  # fmt: skip
        assert line in text
    columns = [each for each in text if each in {"#", "option", "price", "score", "best", "small: makespan"}]
    assert columns[:6] == ["#", "option", "price", "score", "best", "small: makespan"]
    assert any(each.startswith("clue 0.1, Python 3.") for each in text)


def test_a_page_needs_no_network() -> None:
    """No address but pictures that it holds; each has words; its policy forbids the rest."""
    page = ranking_page(sampled(), scenario(), "clue", "clue 0.1")
    reader = read(page)
    images = [attributes for tag, attributes in reader.found if tag == "img"]
    assert len(images) == 3
    assert all(each["alt"] and (each["src"] or "").startswith("data:image/svg+xml;base64,") for each in images)
    assert not [tag for tag, _ in reader.found if tag in {"link", "iframe", "object"}]
    assert not [name for _, attributes in reader.found for name in attributes if name in {"href", "srcset"}]
    assert "http" not in re.sub(r"data:[^\"]*", "", page).replace("http-equiv", "")
    assert len(page) < 3_000_000


def test_a_page_can_be_used_by_keyboard_and_reader() -> None:
    """Headings of columns are buttons, regions that scroll have a focus and a name, identities are unique."""
    reader = read(ranking_page(sampled(), scenario(), "clue", "clue 0.1"))
    heads = sum(tag == "th" for tag, _ in reader.found)
    assert heads == sum(tag == "button" for tag, _ in reader.found) > 0
    names = [attributes["id"] for _, attributes in reader.found if "id" in attributes]
    assert len(names) == len(set(names))
    labels = {attributes["aria-labelledby"] for _, attributes in reader.found if "aria-labelledby" in attributes}
    assert labels <= set(names)
    assert ("html", {"lang": "en"}) in reader.found


def test_names_are_shown_and_not_obeyed() -> None:
    """An option called like an element."""
    first = replace(ranking().entries[3], option="<script>alert(1)</script>")
    page = ranking_page(replace(ranking(), entries=(first,)), scenario(), "clue simulate '<b>'", "clue 0.1")
    assert "<script>alert" not in page and "&lt;script&gt;alert(1)" in page
    assert "<b>" not in page


def test_a_ranking_without_positions_is_a_page_too() -> None:
    """It says so, and why."""
    reader = read(ranking_page(replace(ranking(), entries=ranking().entries[:1]), scenario(), "clue", "clue 0.1"))
    assert "No option can be ranked." in reader.text
    assert "Gold (500,000 ATS): costs more than the budget" in reader.text
    assert not [tag for tag, _ in reader.found if tag == "img"]


def test_the_decision_says_how_sure_it_is() -> None:
    """Options that share the first place are named; without samples it says how to get them."""
    assert decision(ranking()).endswith("Nobody asked how probable that is: --samples 200 tells.")
    together = tuple(replace(each, position=1) if each.position else each for each in sampled().entries)
    assert decision(replace(sampled(), entries=together)).startswith("2 options cannot be told apart: Fine, Cheap.")


def test_long_tables_are_cut_and_say_so() -> None:
    """A page of thousands of options would not be read."""
    entries = tuple(entry(f"option {i}", i, 1000.0 - i, 100.0 + i) for i in range(1, MOST_ROWS + 8))
    page = content_of(replace(ranking(), entries=entries), scenario(), "clue", "clue 0.1")
    assert page.ranking is not None
    assert (len(page.ranking.rows), page.ranking.more) == (MOST_ROWS, 7)


def test_sources_are_those_of_machine_and_nodes() -> None:
    """Each once; none is said to be missing."""
    assert sources(machine()) == "by hand"
    assert sources(replace(machine(), source="")) == "not stated"


def test_the_front_is_what_nothing_beats() -> None:
    """By price and score: higher is better for points, lower for times; of equal ones the first."""
    offers = [entry(name, i, score, price) for i, (name, score, price) in
              enumerate([("a", 5.0, 10), ("b", 4.0, 20), ("c", 9.0, 30), ("d", 9.0, 40)], 1)]  # fmt: skip
    assert [each.option for each in unbeaten(offers, higher=True)] == ["a", "c"]
    assert [each.option for each in unbeaten(offers, higher=False)] == ["a", "b"]


@pytest.mark.parametrize("case", ["one price", "two currencies", "no prices"])
def test_without_comparable_prices_there_is_no_picture_of_them(case: str) -> None:
    """Nothing can be compared."""
    cheap, fine = ranking().entries[3], ranking().entries[1]
    other = {"one price": replace(fine, price=None), "two currencies": replace(fine, price=Money(1.0, "EUR"))}
    drawn = by_makespan() if case == "no prices" else replace(ranking(), entries=(cheap, other[case]))
    assert draw_offers(drawn) is None
