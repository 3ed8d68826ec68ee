"""The page of a ranking has all that a decision needs, needs no other file, and escapes names."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from clue.explain import RankingExplanation
from clue.explain.ranking import FirstPlace, RankingSensitivity
from clue.predict.application import Application, Extrapolated, Modelled
from clue.predict.prediction import Prediction
from clue.purchase import Component, Criterion, Option, Ranking, Scenario, Workload
from clue.purchase.costs import Sheet as CostSheet
from clue.purchase.costs import Source
from clue.purchase.outcome import OptionCost, RunCost
from clue.purchase.queue.mix import Mix, Sharing
from clue.report.page import ranking_page, ranking_pieces, result_page, timelines
from clue.report.page import run as run_page
from clue.report.page.content import LIMITS, content_of, decision, mean_makespan, sources
from clue.report.page.parts import MOST_ROWS, Cell, Lines, Page, Picture, Sheet, TimelineData, sheet
from clue.report.ranking.text import how_sampled
from clue.result import SEGMENT, Activity, RankResult, Result, Timeline
from clue.uncertainty import Sampled, Sampling, Spread
from clue.units import YEAR, Money, format_time
from tests.report.cases import BUDGET, by_makespan, entry, machine, many_ranks, ranking, result

#: Elements without an end tag.
_VOID = {"meta"}


class Reader(HTMLParser):
    """Reads a page and checks that every element is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element and its attributes."""
        self.found.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Check that the end tag closes the last open element."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Note text outside of styles and scripts."""
        if self.open and self.open[-1] not in {"style", "script"} and data.strip():
            self.text.append(" ".join(data.split()))


def scenario() -> Scenario:
    """Return a comparison of two options on a workload."""
    component = Component("solve", Application(script=None, trace="jacobi.clue"))
    workload = Workload("small", (component,), None, (4, 8))
    options = (Option("Cheap", machine(), Money(295_000, "ATS")), Option("<b>", machine()))
    return Scenario("which-cluster", (workload,), options, BUDGET, notes=("made up",))


def sampled() -> Ranking:
    """Return a ranking with samples; each option with a position is best in 87 % of them."""
    entries = tuple(
        each if each.position is None else replace(each, spread=Spread(80.0, 190.0, 200.0), best=0.87)
        for each in ranking().entries
    )
    return replace(ranking(), entries=entries, sampling=Sampling(200))


def test_intervals_are_explained_as_in_the_terminal() -> None:
    """The page says what the intervals contain, with the seed, and when options share a position."""
    found = content_of(sampled(), scenario(), "clue", "clue 0.1").section("scores")
    assert isinstance(found, Picture)
    told = how_sampled(sampled()).replace("between the figures below scores and makespans", "within the thin lines")
    assert found.caption == told and "At least 80% of 200 samples" in told and "share a position" in told


def test_a_weighted_sum_shows_what_is_weighted() -> None:
    """The figures of a weighted sum are in a table, in their own units, as in the terminal."""
    weighted = {Criterion.MAKESPAN: (3.0, "s"), Criterion.TOTAL_COST: (1.5, "ATS")}
    entries = tuple(
        replace(each, parts={Criterion.MAKESPAN: 0.5 * each.position, Criterion.TOTAL_COST: 1e5 * each.position})
        if each.position
        else each
        for each in ranking().entries
    )
    page = content_of(replace(ranking(), weighted=weighted, entries=entries), scenario(), "clue", "clue 0.1")
    table = page.section("weighted")
    assert isinstance(table, Sheet)
    assert [name for name, _ in table.columns] == ["option", "3 × makespan", "1.5 × total cost"]
    assert cells(page, "weighted") == [("Cheap", "500 ms", "100,000 ATS"), ("Fine", "1 s", "200,000 ATS")]
    assert content_of(ranking(), scenario(), "clue", "clue 0.1").section("weighted") is None


def test_notes_of_the_scenario_are_shown_once() -> None:
    """A note has a section of its own and is no warning there, although the terminal lists both together."""
    noted = replace(ranking(), warnings=("made up", "Cheap: curve from published values"))
    page = content_of(noted, scenario(), "clue", "clue 0.1")
    warnings, notes = page.section("warnings"), page.section("notes")
    assert isinstance(warnings, Lines) and isinstance(notes, Lines)
    assert (warnings.lines, notes.lines) == (("Cheap: curve from published values",), ("made up",))


def test_costs_and_prices_in_the_decision_have_names() -> None:
    """Of "59,077 EUR for 21,000 EUR" nobody knows which is which."""
    costs = replace(ranking(), criterion=Criterion.TOTAL_COST, unit="ATS", higher_is_better=False)
    assert decision(costs).startswith("Cheap comes first: total cost 195 ATS, price 295,000 ATS.")
    of_a_run = replace(costs, criterion=Criterion.COST_PER_RUN, unit="ATS per run")
    assert decision(of_a_run).startswith("Cheap comes first: cost 195 ATS per run, price 295,000 ATS.")
    weighted = replace(ranking(), criterion=Criterion.WEIGHTED)
    assert decision(weighted).startswith("Cheap comes first: 195.0 points for 295,000 ATS.")


def test_programs_by_a_model_are_told_with_their_size() -> None:
    """Two sizes of one model are two programs, as are two sizes of an extrapolated one."""
    applications = (
        Application(modelled=Modelled("hpl.yaml", 9600.0)),
        Application(extrapolated=Extrapolated("cg-{size}-{ranks}.clue", 20000)),
    )
    work = tuple(Workload(str(i), (Component("solve", each),)) for i, each in enumerate(applications))
    found = content_of(ranking(), replace(scenario(), workloads=work), "clue", "clue 0.1").section("workloads")
    assert isinstance(found, Sheet)
    told = ["hpl.yaml at size 9600", "cg-{size}-{ranks}.clue, extrapolated to size 20000"]
    assert [row[1].text for row in found.rows] == told


def test_infinite_figures_sort_as_none() -> None:
    """Infinite figures have no sort value, as scripts cannot read Python's word for them."""
    shown = sheet("t", "T", [("figure", True)], [(Cell("inf", math.inf),), (Cell("2", 2.0),)])
    assert [row[0].value for row in shown.rows] == [None, 2.0]


def test_intervals_sort_by_their_lower_ends() -> None:
    """Texts of intervals have no order, as their ends have different units and lengths."""
    shown = content_of(sampled(), scenario(), "clue", "clue 0.1").section("ranking")
    assert isinstance(shown, Sheet)
    column = [name for name, _ in shown.columns].index("score, 80 % interval")
    assert [(row[1].text, row[column].value) for row in shown.rows] == [("Cheap", 80.0), ("Fine", 80.0)]


def with_costs() -> Ranking:
    """Return a ranking whose options state their costs over two years: one is bought, one rented."""
    bought = OptionCost(
        CostSheet({"purchase": 1e5, "energy": 2e4, "residual": -1e4}, 0.5, 7.2e10, 7000.0), "ATS",
        {"small": RunCost(1.5, 3.6e6, 0.35)}, {}, 2, 40.0, 9e3,
        (Source("electricity", "contract", "2026-11-02"),), ((0.0, 1e5), (1.0, 1.1e5), (2.0, 1.1e5)),
    )  # fmt: skip
    rented = OptionCost(CostSheet({"purchase": 0.0, "cloud": 9e4}, 0.5, None, None), "ATS",
                        {"small": RunCost(1.25, None, None)}, {}, 0, 0.0, None, (),
                        ((0.0, 0.0), (1.0, 4.5e4), (2.0, 9e4)))  # fmt: skip
    costs = {"Fine": bought, "Cheap": rented}
    entries = tuple(replace(each, cost=costs[each.option]) if each.position else each for each in ranking().entries)
    return replace(ranking(), entries=entries, life=2 * YEAR, discount_rate=0.03)


def test_payments_mention_a_residual_value_only_if_there_is_one() -> None:
    """Of the two options the bought one has a residual value; without it, payments are values of today and no more."""
    whole = with_costs()
    alone = replace(whole, entries=tuple(each for each in whole.entries if each.option != "Fine"))
    captions = []
    for each in (whole, alone):
        years = content_of(each, scenario(), "clue", "clue 0.1").section("cost-years")
        assert isinstance(years, Picture)
        captions.append(years.caption)
    assert captions == ["Values today; the last year includes the residual value.", "Values today."]


def read(page: str) -> Reader:
    """Read a whole page and return its reader."""
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def test_a_page_says_what_to_decide_by() -> None:
    """The page has the decision with its probability, the table, warnings, limits, inputs, and the command."""
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
    """The page has no addresses or external files; its pictures are part of it."""
    page = ranking_page(sampled(), scenario(), "clue", "clue 0.1")
    reader = read(page)
    assert not [tag for tag, _ in reader.found if tag in {"link", "iframe", "object", "img"}]
    assert not [name for _, attributes in reader.found for name in attributes if name in {"href", "src", "srcset"}]
    assert "http" not in page.replace("http-equiv", "")
    assert len(page) < 3_000_000


def test_a_page_allows_its_own_script_and_style_alone() -> None:
    """The policy of the page allows its own style and script by their digests, and nothing else."""
    page = ranking_page(sampled(), scenario(), "clue", "clue 0.1")
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    policy = html.unescape(policy)
    assert policy.startswith("default-src 'none'; ") and "unsafe" not in policy
    for tag, of in (("style", "style-src"), ("script", "script-src")):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{of} 'sha256-{digest}'" in policy


def test_charts_have_words_and_their_marks_tell_what_they_are() -> None:
    """Charts have a description for screen readers, and their marks have texts for the pointer."""
    reader = read(ranking_page(sampled(), scenario(), "clue", "clue 0.1"))
    charts = [attributes for tag, attributes in reader.found if tag == "svg" and attributes.get("class") == "chart"]
    assert len(charts) == 4  # scores, price and time, makespans of two workloads
    assert all(each["aria-label"] and each["role"] == "img" and each["tabindex"] == "0" for each in charts)
    told = [attributes["data-told"] for _, attributes in reader.found if "data-told" in attributes]
    assert "Cheap: 295,000 ATS, 12 s" in told
    assert any(each is not None and each.startswith("1. Cheap: compute 6 s") for each in told)


def test_a_page_can_be_used_by_keyboard_and_reader() -> None:
    """Column headings are buttons, labels refer to existing elements, and ids are unique."""
    reader = read(ranking_page(sampled(), scenario(), "clue", "clue 0.1"))
    heads = sum(tag == "th" for tag, _ in reader.found)
    assert heads == sum(tag == "button" for tag, _ in reader.found) > 0
    names = [attributes["id"] for _, attributes in reader.found if "id" in attributes]
    assert len(names) == len(set(names))
    labels = {attributes["aria-labelledby"] for _, attributes in reader.found if "aria-labelledby" in attributes}
    assert labels <= set(names)
    assert ("html", {"lang": "en"}) in reader.found


def test_names_are_shown_and_not_obeyed() -> None:
    """An option named like an HTML element is escaped."""
    first = replace(ranking().entries[3], option="<script>alert(1)</script>")
    page = ranking_page(replace(ranking(), entries=(first,)), scenario(), "clue simulate '<b>'", "clue 0.1")
    assert "<script>alert" not in page and "&lt;script&gt;alert(1)" in page
    assert "<b>" not in page


def test_a_ranking_without_positions_is_a_page_too() -> None:
    """A ranking without positions says so, with the reasons, and has no charts."""
    reader = read(ranking_page(replace(ranking(), entries=ranking().entries[:1]), scenario(), "clue", "clue 0.1"))
    assert "No option can be ranked." in reader.text
    assert "Gold (500,000 ATS): costs more than the budget" in reader.text
    assert not [tag for tag, _ in reader.found if tag == "svg"]


def test_costs_stand_by_item_over_the_years_and_for_a_run() -> None:
    """The page has costs by item, energy in MWh, costs of a run and sources; missing figures are dashes."""
    page = content_of(with_costs(), scenario(), "clue", "clue 0.1")
    rows = {name: section.rows for name in ("costs", "energy", "runs", "cost-sources")
            if isinstance(section := page.section(name), Sheet)}  # fmt: skip
    assert [cell.text for cell in rows["costs"][1]] == [
        "Fine", "110,000", "100,000", "20,000", "–", "-10,000", "50.0%", "2"
    ]  # fmt: skip
    assert [cell.text for cell in rows["energy"][1]] == ["Fine", "20", "7", "9 kW"]
    assert [cell.text for cell in rows["runs"][0]] == ["Cheap", "small", "1.25", "–", "–"]
    assert [cell.text for cell in rows["cost-sources"][0]] == ["electricity", "Fine", "contract", "2026-11-02"]
    years = page.section("cost-years")
    assert isinstance(years, Picture) and "At the end: Cheap 90,000 ATS; Fine 110,000 ATS" in years.words
    items = page.section("cost-items")
    assert isinstance(items, Picture) and items.title == "Costs over 2 years, discounted at 3.0% a year"
    assert any(shape.told == "2. Fine: residual -10,000 ATS" for shape in items.shapes)


def test_what_would_change_the_decision() -> None:
    """Without an explanation, the page gives the lead of the first option; with one, the parameters that change it."""
    page = content_of(ranking(), scenario(), "clue", "clue 0.1")
    told = page.section("changes")
    assert isinstance(told, Lines)
    assert told.caption.startswith("Cheap leads Fine by 112.0 points (134.94% of the smaller score). --explain shows")
    lower = RankingSensitivity("latency", ("Cheap",), FirstPlace("Fine", -0.1), FirstPlace("Cheap", 1.5))
    explanation = RankingExplanation(("Cheap", "Fine"), FirstPlace("Cheap", 1.35), (lower,), 0.1)
    sheet = content_of(ranking(), scenario(), "clue", "clue 0.1", explanation).section("changes")
    assert isinstance(sheet, Sheet)
    assert [cell.text for cell in sheet.rows[0]] == ["latency", "Cheap", "-10.00% (Fine first)", "+150.00%"]
    assert "1 of them gives the first place to another option" in sheet.caption


def test_pieces_of_a_page_say_what_was_changed_and_what_is_being_computed() -> None:
    """A server replaces pieces of the page; each is a single element with a name.

    The pieces list the changes of the user and what is being computed.
    """
    pieces = ranking_pieces(ranking(), scenario(), "clue", "clue 0.1", ["budget: <1 EUR>"], ["How sure the order is."])
    assert list(pieces)[:4] == ["head", "changed", "awaited", "ranking"]
    for name, piece in pieces.items():
        assert "<script" not in piece and piece.count("<section") + piece.count("<header") == 1
        assert piece.split(">")[0].split()[1] == f'data-piece="{name}"'
    assert "<li>budget: &lt;1 EUR&gt;</li>" in pieces["changed"]
    assert "<li>How sure the order is.</li>" in pieces["awaited"] and "--samples" not in pieces["head"]
    whole = ranking_page(ranking(), scenario(), "clue", "clue 0.1")
    assert all(piece in whole for name, piece in pieces.items() if name not in {"head", "changed", "awaited"})


def test_the_decision_says_how_sure_it_is() -> None:
    """The decision names options that share the first place; without samples, it says how to get a probability."""
    assert decision(ranking()).endswith("No probability was computed: add --samples 200.")
    together = tuple(replace(each, position=1) if each.position else each for each in sampled().entries)
    assert decision(replace(sampled(), entries=together)).startswith("2 options cannot be told apart: Fine, Cheap.")


def test_long_tables_are_cut_and_say_so() -> None:
    """Tables are cut after a number of rows and say so, as a page of thousands of options would not be read."""
    entries = tuple(entry(f"option {i}", i, 1000.0 - i, 100.0 + i) for i in range(1, MOST_ROWS + 8))
    page = content_of(replace(ranking(), entries=entries), scenario(), "clue", "clue 0.1")
    shown = page.section("ranking")
    assert isinstance(shown, Sheet)
    assert (len(shown.rows), shown.more, len(shown.keys)) == (MOST_ROWS, 7, MOST_ROWS)
    scores = page.section("scores")
    assert isinstance(scores, Picture) and scores.caption == "The first 20 of 207 options."


def test_a_ranking_of_the_first_options_says_that_there_are_more() -> None:
    """Whether the table has all options with a position decides whether others are new to it."""

    def table(first: int | None) -> str:
        return ranking_pieces(replace(ranking(), first=first), scenario(), "clue", "clue 0.1")["ranking"]

    assert 'data-more="0"' in table(2) and "more.</p>" not in table(2)
    assert "data-more" not in table(None)


def test_sources_are_those_of_machine_and_nodes() -> None:
    """A source is named once; without one, the text says that it is not stated."""
    assert sources(machine()) == "by hand"
    assert sources(replace(machine(), source="")) == "not stated"


def test_the_front_is_what_nothing_beats() -> None:
    """Of two options with equal times, only the cheaper is on the front; the mean makespan uses the weights."""
    page = content_of(ranking(), scenario(), "clue", "clue 0.1")
    chart = page.section("price-time")
    assert isinstance(chart, Picture) and chart.words.endswith("Pareto front: Cheap.")
    weights = replace(scenario(), workloads=tuple(
        Workload(name, (), weight=weight) for name, weight in (("small", 3.0), ("large", 1.0))
    ))  # fmt: skip
    assert mean_makespan(ranking().entries[3], weights) == pytest.approx((3 * 8 + 16) / 4)


def test_rented_options_cost_their_rent_beside_options_without_costs() -> None:
    """Cheap is rented for 90,000 ATS over two years, and its price is 0; Fine costs its price of 298,500.50 ATS.

    With a rent of 400,000 ATS, Fine is cheaper; both take as long.
    """
    fine, cheap = with_costs().entries[1], with_costs().entries[3]
    assert cheap.cost is not None
    rent_of_dear = CostSheet({"purchase": 0.0, "cloud": 4e5}, 0.5, None, None)
    rented = replace(cheap, price=Money(0.0, "ATS"))
    dear = replace(rented, cost=replace(cheap.cost, sheet=rent_of_dear))
    for option, rent, best in ((rented, "90,000", "Cheap"), (dear, "400,000", "Fine")):
        shown = replace(with_costs(), entries=(replace(fine, cost=None), option))
        chart = content_of(shown, scenario(), "clue", "clue 0.1").section("price-time")
        assert isinstance(chart, Picture) and chart.title == "Cost and time"
        assert chart.words.endswith(f"Pareto front: {best}.")
        told = [shape.told.partition(" ATS")[0] for shape in chart.shapes]
        assert f"Cheap: {rent}" in told and "Fine: 298,500" in told


def cells(page: Page, name: str) -> list[tuple[str, ...]]:
    """Return the texts of the rows of a table."""
    found = page.section(name)
    assert isinstance(found, Sheet)
    return [tuple(cell.text for cell in row) for row in found.rows]


def test_figures_of_charts_are_in_tables() -> None:
    """Parts of makespans, 3 + 1 + 4 s for a kernel and twice that for two, and payments by year have tables."""
    page = content_of(with_costs(), scenario(), "clue", "clue 0.1")
    assert cells(page, "makespan-parts") == [
        ("Cheap", "small", "3 s", "1 s", "4 s"), ("Fine", "small", "3 s", "1 s", "4 s"),
        ("Cheap", "large", "6 s", "2 s", "8 s"), ("Fine", "large", "6 s", "2 s", "8 s"),
    ]  # fmt: skip
    assert cells(page, "cost-by-year") == [
        ("Cheap", "at once", "0.00"), ("Cheap", "after 1 year", "45,000"), ("Cheap", "after 2 years", "90,000"),
        ("Fine", "at once", "100,000"), ("Fine", "after 1 year", "110,000"), ("Fine", "after 2 years", "110,000"),
    ]  # fmt: skip


def test_a_time_that_is_not_simulated_says_so() -> None:
    """A makespan by a skeleton is marked in the table, as in the terminal and in CSV; its parts are not known."""
    fine, cheap = ranking().entries[1], ranking().entries[3]
    made = Prediction(4.0, "skeleton", simulated=False)
    small = replace(
        cheap.workloads[0], components=tuple(replace(each, prediction=made) for each in cheap.workloads[0].components)
    )
    measured = replace(ranking(), entries=(fine, replace(cheap, workloads=(small, cheap.workloads[1]))))
    page = content_of(measured, scenario(), "clue", "clue 0.1")
    assert [row[4:6] for row in cells(page, "ranking")] == [("8 s by skeleton", "16 s"), ("8 s", "16 s")]
    table = page.section("makespan-parts")
    assert isinstance(table, Sheet)
    assert [name for name, _ in table.columns[2:]] == ["compute", "communicate", "wait", "not simulated"]
    assert [row[1:] for row in cells(page, "makespan-parts")][:2] == [
        ("small", "–", "–", "–", "8 s"), ("small", "3 s", "1 s", "4 s", "0 s"),
    ]  # fmt: skip
    first, second = page.section("makespan-1"), page.section("makespan-2")
    assert isinstance(first, Picture) and isinstance(second, Picture)
    wait = "wait (also for the last rank to finish)"
    assert [name for name, _ in first.legend] == ["compute", "communicate", wait, "not simulated"]
    assert len(second.legend) == 3
    told = [shape.told for shape in first.shapes]
    assert "1. Cheap: not simulated 8 s" in told and not any(each.startswith("1. Cheap: wait") for each in told)
    assert [row.get("makespan by") for row in measured.rows()] == ["skeleton", None, None, None]


@pytest.mark.parametrize("criteria", [(Criterion.TOTAL_COST, Criterion.MAKESPAN), tuple(Criterion)[:3]])
def test_the_front_beyond_the_first_options_is_drawn_and_listed(criteria: tuple[Criterion, ...]) -> None:
    """An option of the front that is not among the first is a point of the chart and a row of the table."""
    figures = {"Cheap": (1.0, 20.0, 2.0), "Fine": (3.0, 30.0, 2.0), "Small": (2.0, 10.0, 2.0)}
    entries = tuple(
        replace(each, figures=dict(zip(criteria, figures[each.option], strict=False)),
                bound=None if each.position else 7.0)
        for each in with_costs().entries if each.option in figures
    )  # fmt: skip
    asked = replace(with_costs(), entries=entries, pareto=("Cheap", "Small"), units=dict.fromkeys(criteria, "u"))
    page = content_of(asked, scenario(), "clue", "clue 0.1")
    more = ("2",) * (len(criteria) - 2)
    assert cells(page, "front-figures") == [
        ("1", "Cheap", "295,000 ATS", "yes", "1", "20", *more),
        ("–", "Small", "–", "yes", "2", "10", *more),
        ("2", "Fine", "298,500 ATS", "no", "3", "30", *more),
    ]
    table, chart = page.section("front-figures"), page.section("front")
    assert isinstance(table, Sheet) and table.columns[4][0] == f"{criteria[0].value.replace('_', ' ')} (u)"
    assert isinstance(chart, Picture)
    assert sum(shape.told.startswith(("Cheap: ", "Small: ", "Fine: ")) for shape in chart.shapes) == 3
    placed = replace(asked, entries=tuple(each for each in entries if each.position), pareto=("Cheap",))
    shown = content_of(placed, scenario(), "clue", "clue 0.1")
    # The chart of cost and time shows all of a front by these criteria.
    assert (shown.section("front") is None) == (len(criteria) == 2) and shown.section("front-figures") is not None


def test_points_of_the_front_tell_amounts_with_all_their_digits() -> None:
    """A total cost of 123,456 ATS is told as such, not as 1.235e+05."""
    figures = {"Cheap": 123_456.0, "Fine": 234_567.0}
    entries = tuple(
        replace(each, figures={Criterion.TOTAL_COST: figures[each.option], Criterion.WAITING: 60.0})
        for each in ranking().entries
        if each.position
    )
    units = {Criterion.TOTAL_COST: "ATS", Criterion.WAITING: "s"}
    asked = replace(ranking(), entries=entries, pareto=("Cheap",), units=units)
    chart = content_of(asked, scenario(), "clue", "clue 0.1").section("front")
    assert isinstance(chart, Picture)
    assert "Cheap: total cost (ATS) 123,456, waiting (s) 60" in [shape.told for shape in chart.shapes]


@pytest.mark.parametrize("sharing", Sharing)
def test_traffic_of_other_jobs_is_no_limit_where_jobs_share_the_network(sharing: Sharing) -> None:
    """If jobs run beside others, the page does not say that traffic of other jobs is left out."""
    asked = replace(scenario(), queue=Mix((), sharing=sharing))
    limits = content_of(ranking(), asked, "clue", "clue 0.1").section("limits")
    assert isinstance(limits, Lines)
    left_out = "Traffic of other jobs on the network, and files that programs read and write, are left out."
    counts = (
        "Traffic of other jobs on the network counts in the run times of queued jobs only; files that programs read "
        "and write are left out."
    )
    assert limits.lines == (LIMITS[0], left_out if sharing is Sharing.NONE else counts, LIMITS[2])


@pytest.mark.parametrize("case", ["one price", "two currencies", "no prices"])
def test_without_comparable_prices_there_is_no_chart_of_them(case: str) -> None:
    """Without prices in one currency, there is no chart of price and time."""
    cheap, fine = ranking().entries[3], ranking().entries[1]
    other = {"one price": replace(fine, price=None), "two currencies": replace(fine, price=Money(1.0, "EUR"))}
    shown = by_makespan() if case == "no prices" else replace(ranking(), entries=(cheap, other[case]))
    assert content_of(shown, scenario(), "clue", "clue 0.1").section("price-time") is None


# --- the page of one program -----------------------------------------------------------------------------------------


def test_a_run_is_a_page_with_a_timeline() -> None:
    """The makespan is 4 s: of 2 × 4 s, 3 are computing, 1 is sending, 3 are waiting, 1 is after the end of a rank."""
    page = run_page.content_of(result(), machine(), "pair", "clue simulate run.yaml", "clue 0.1")
    shares = "38% computing, 12% communicating, 38% waiting and 12% already ended"
    assert page.decision == f"It takes 4 s: of its ranks' time {shares}."
    timeline = page.section("timeline")
    assert isinstance(timeline, TimelineData)
    data = json.loads(timeline.data)
    assert [band["label"] for band in data["bands"]] == ["0", "1"]
    ticks = data["ticks"]
    assert data["scale"] == ["s", 1]
    assert data["bands"][0]["at"] == [0, ticks // 2, 0, 0, ticks // 4, 2, 0, ticks // 4, 4]
    names = ["compute (no region)", "compute: solve", "send", "receive", "wait"]
    assert [name for name, _ in data["kinds"]] == [name for name, _ in timeline.kinds] == names
    read(result_page(result(), machine(), "<pair>", "clue simulate run.yaml", "clue 0.1"))


def test_the_page_of_a_run_has_its_interval_and_the_reasons_for_its_width() -> None:
    """A makespan of 4 s in 99 samples from 3.51 to 4.49 s: nine of the ten tenths between are 80 % and more."""
    noisy = Sampled(Sampling(99), np.linspace(3.51, 4.49, 99), 4.0, reasons=("± 9% by 3 recordings",))
    page = run_page.content_of(result(), machine(), "pair", "clue", "clue 0.1", sampled=noisy)
    low, high = noisy.spread.low, noisy.spread.high
    interval = f"{format_time(low)} to {format_time(high)}, median 4 s (99 samples, seed 0)"
    assert 3.51 <= low < 3.62 and 4.38 < high <= 4.49
    assert page.decision.startswith(f"It takes 4 s, 80 % interval {interval}: of its ranks' time 38% computing")
    reasons = page.section("interval")
    assert isinstance(reasons, Lines) and reasons.lines == ("± 9% by 3 recordings",)
    assert run_page.content_of(result(), machine(), "pair", "clue", "clue 0.1").section("interval") is None


def test_a_page_colours_regions_as_the_picture_does() -> None:
    """Of ten regions, the five longest, which are the last, have colours of their own; the others share one and a line.

    The region without a name, in which nothing is computed, has no line. Each segment keeps the name of its region.
    """
    regions = ("", *(f"r{i}" for i in range(1, 11)))
    segments = np.array([(0, Activity.COMPUTE, r, 0, r * r, (r + 1) ** 2) for r in range(1, 11)], SEGMENT)
    ranks = (RankResult(0, 0, 121.0, 120.0, 0.0, 1.0),)
    shown = timelines.timeline_of(Result(121.0, "reference", ranks, timeline=Timeline(segments, regions)))
    of = dict(json.loads(shown.data)["kinds"])
    longest = [f"compute: r{i}" for i in (10, 9, 8, 7, 6)]
    assert [name for name, _ in shown.kinds] == [*longest, "compute: 5 more regions", "send", "receive", "wait"]
    assert len({of[name] for name in longest}) == 5
    assert {of[f"compute: r{i}"] for i in range(1, 6)} == {dict(shown.kinds)["compute: 5 more regions"]}


def test_long_timelines_are_thinned_to_what_can_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short segments are merged with their neighbours and get the most frequent kind; a caption says so."""
    monkeypatch.setattr(timelines, "MOST_SEGMENTS", 4)
    page = run_page.content_of(result(), machine(), "pair", "clue", "clue 0.1")
    timeline = page.section("timeline")
    assert isinstance(timeline, TimelineData) and timeline.caption == "Segments shorter than 2 s are drawn together."
    bands = json.loads(timeline.data)["bands"]
    assert [len(band["at"]) // 3 for band in bands] == [2, 1]


def test_a_run_of_many_ranks_shows_some_of_them() -> None:
    """The page shows 64 of 200 ranks."""
    page = run_page.content_of(many_ranks(200), machine(), "many", "clue", "clue 0.1")
    timeline = page.section("timeline")
    assert isinstance(timeline, TimelineData)
    assert len(json.loads(timeline.data)["bands"]) == 64 and timeline.caption.startswith("64 of 200 ranks")


def test_a_sample_of_ranks_says_which_instances_it_is_of() -> None:
    """Of two equal instances of 200 ranks, the first is shown, by 64 ranks: the remark says both."""
    one = many_ranks(200)
    assert one.timeline is not None
    again = one.timeline.segments.copy()
    again["rank"] += 200
    segments = np.concatenate((one.timeline.segments, again))
    ranks = (*one.ranks, *(replace(each, rank=each.rank + 200) for each in one.ranks))
    two = replace(one, ranks=ranks, timeline=replace(one.timeline, segments=segments), traffic=None, instances=2)
    caption = timelines.timeline_of(two).caption
    assert caption.startswith("2 instances, all alike: one shown; 64 of 200 ranks, from the one that waits least")


def test_a_ranking_shows_what_runs_on_its_first_option() -> None:
    """Each component with a timeline has a section; one that is too long has a sentence instead."""
    watched = [("small", result()), ("large", None)]
    page = content_of(ranking(), scenario(), "clue", "clue 0.1", watched=watched)
    first, second = page.section("timeline-1"), page.section("timeline-2")
    assert isinstance(first, TimelineData) and first.title == "Timeline of small on Cheap"
    assert isinstance(second, Lines) and "too long to be shown here" in second.caption
    text = ranking_page(ranking(), scenario(), "clue", "clue 0.1", watched=watched)
    assert text.count("<canvas") == 1 and "ResizeObserver" in text
    read(text)
