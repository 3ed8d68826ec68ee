"""Rankings as text."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from clue.purchase import Criterion
from clue.purchase.costs import Sheet
from clue.purchase.outcome import OptionCost, score_words
from clue.report.ranking.text import ITEMS, costs_title, ranking_text
from clue.uncertainty import Sampling, Spread
from clue.units import YEAR
from tests.report.cases import (
    by_makespan,
    entry,
    ranking,
    rendered,
    row,
)


def test_ranking_shows_position_price_score_split_makespan_and_points() -> None:
    """An option's row has its position, price, score and split; its workloads and kernels follow."""
    text = rendered(ranking_text(ranking()))
    assert "ranked by points (higher is better); budget 300,000 ATS" in text
    first = "1 Cheap 295,000 ATS 195.0 small 3 × 6 (2 idle) in 2 turns 8 s 48.8"
    assert row(text, "1 Cheap") == first
    assert row(text, "large") == "large 3 × 6 (2 idle) in 2 turns 16 s 146.2"
    assert row(text, "cholesky") == "cholesky 8 s 73.1"
    assert text.index("Cheap") < text.index("Fine")


def test_ranking_says_why_options_have_no_position() -> None:
    """Options that cannot run or exceed the budget are listed below the table with their reason."""
    text = rendered(ranking_text(ranking()))
    assert "Not ranked\n- Small: large: a rank needs 900 MB\n- Gold (500,000 ATS): costs more than the budget" in text
    assert text.endswith("Warnings\n- Cheap: curve from published values")


def test_ranking_without_any_position_says_so() -> None:
    """If no option can be ranked, the text says so instead of showing an empty table."""
    nothing = replace(ranking(), entries=ranking().entries[:1])
    assert "No option can be ranked." in rendered(ranking_text(nothing))


def test_names_are_not_markup() -> None:
    """Names that look like markup of rich are printed literally."""
    assert "[red]first[/red]" in rendered(ranking_text(by_makespan()))


def test_other_criteria_have_no_points() -> None:
    """A ranking by makespan has no column of points, and its scores have a unit."""
    text = rendered(ranking_text(by_makespan()))
    assert "points" not in text
    assert row(text, "1 [red]first[/red]").startswith("1 [red]first[/red] – 8 s ")


@pytest.mark.parametrize(
    ("unit", "scores", "shown"),
    [
        ("s", (4.04, 4.04, 4.040005, 9.0), ("4.04 s", "4.04 s", "4.040005 s", "9 s")),
        ("s", (0.5, 1.0, 1.0 + 1e-11, 2.0), ("500 ms", "1 s", "1.00000000001 s", "2 s")),
        ("points", (100.0, 83.04, 83.0, 50.0), ("100.0", "83.04", "83.00", "50.0")),
        ("EUR", (59_077.4, 59_077.1, 3.0, 2.0), ("59,077.4 EUR", "59,077.1 EUR", "3 EUR", "2 EUR")),
    ],
)
def test_scores_that_differ_look_different(unit: str, scores: tuple[float, ...], shown: tuple[str, ...]) -> None:
    """Scores at different positions have as many digits as distinguish them; equal ones share a position."""
    entries = tuple(
        replace(entry(str(i), 1 + scores.index(score), 0.0, 1.0), score=score) for i, score in enumerate(scores)
    )
    near = replace(ranking(), unit=unit, entries=entries)
    assert tuple(score_words(near, entries).values()) == shown
    text = rendered(ranking_text(near))
    assert all(row(text, f"{1 + scores.index(scores[i])} {i}").split("ATS ")[1].startswith(told)
               for i, told in enumerate(shown))  # fmt: skip
    # Samples tell options apart if there are any, and digits do not.
    sampled = score_words(replace(near, sampling=Sampling(100)), entries)
    assert all(len(each) <= len("59,077 EUR") for each in sampled.values())


def test_a_ranking_shows_what_options_cost_over_their_life() -> None:
    """Costs are shown by item, with energy and carbon; missing figures are dashes, and the front is listed."""
    sheet = Sheet({"purchase": 1e6, "energy": 123_456.0, "residual": -50_000.0}, 0.125, 3.6e12, 350_000.0)
    powered = OptionCost(sheet, "ATS", {}, {}, 2, 40.0, 9e3, ())
    rented = OptionCost(Sheet({"purchase": 0.0, "cloud": 99.5}, 0.5, None, None), "ATS", {}, {}, 0, 0.0, None, ())
    figures = {Criterion.TOTAL_COST: 1.0, Criterion.MAKESPAN: 2.0}
    costs = {"Fine": powered, "Cheap": rented}
    entries = tuple(
        replace(each, cost=costs[each.option], figures=figures) if each.position else each for each in ranking().entries
    )
    asked = replace(ranking(), entries=entries, life=5 * YEAR, discount_rate=0.03, pareto=("Cheap", "Fine"))
    asked = replace(asked, units={Criterion.TOTAL_COST: "ATS", Criterion.MAKESPAN: "s"})
    shown = rendered(ranking_text(asked))
    assert "Costs over 5 years, discounted at 3.0% a year, ATS" in shown
    assert re.search(r"option +total +purchase +energy +cloud +residual +busy +MWh +t CO2", shown)
    assert re.search(r"Cheap +99.50 +0.00 +– +99.50 +– +50.0% +– +–", shown)
    assert re.search(r"Fine +1,073,456 +1,000,000 +123,456 +– +-50,000 +12.5% +1,000 +350", shown)
    assert "Pareto front by total cost, makespan: Cheap; Fine" in shown
    assert re.search(r"# +option +price +total cost, ATS +makespan, s\n", shown)
    assert "Costs over" not in rendered(ranking_text(ranking()))


def test_large_figures_have_no_exponent() -> None:
    """44.442 TJ are 12,345 MWh; of the front's figures, an amount of 1,234,567 ATS has all its digits."""
    cost = OptionCost(Sheet({"purchase": 1e6}, 0.5, 4.4442e13, 12_345_000.0), "ATS", {}, {}, 0, 0.0, None, ())
    figures = {Criterion.TOTAL_COST: 1_234_567.0, Criterion.MAKESPAN: 2.5}
    entries = tuple(replace(each, cost=cost, figures=figures) for each in ranking().entries if each.position)
    asked = replace(ranking(), entries=entries, life=5 * YEAR, pareto=("Cheap", "Fine"))
    asked = replace(asked, units={Criterion.TOTAL_COST: "ATS", Criterion.MAKESPAN: "s"})
    shown = rendered(ranking_text(asked), 160)
    assert re.search(r"Cheap +1,000,000 +1,000,000 +50\.0% +12,345 +12,345\n", shown)
    assert re.search(r"Cheap +295,000 ATS +1,234,567 +2\.5\n", shown)


def test_a_service_life_of_one_year_is_told_in_years() -> None:
    """8,760 h are a year; other lives keep their unit."""
    lives = (8760 * 3600.0, 8000 * 3600.0, 2 * 8760 * 3600.0)
    assert [costs_title(replace(ranking(), life=life)) for life in lives] == [
        *("Costs over 1 year (8,760 h)", "Costs over 8000 h", "Costs over 2 years")
    ]


def test_a_single_option_is_told_in_the_singular() -> None:
    """One option that was simulated, one that was not, one that comes later, and one beyond the budget."""
    later = replace(ranking().entries[2], bound=120.0, reason="")
    one = replace(ranking(), entries=(ranking().entries[3], later), first=1, left_out=1)
    text = rendered(ranking_text(one), 200)
    assert "- 1 option comes after the first 1: it cannot score better than 120.0.\n" in text
    assert "- 1 generated option costs more than the budget and is left out.\n" in text
    text = rendered(ranking_text(replace(one, interrupted=True, certain=1, left_out=2)), 200)
    assert "Interrupted: 1 option is simulated, 1 is not; position 1 is certain.\n" in text
    assert "- 2 generated options cost more than the budget and are left out.\n" in text


def test_a_narrow_terminal_shows_names_and_whole_figures() -> None:
    """A ranking with intervals does not fit into 70 columns: it is shown in two parts, each with the names."""
    spread = Spread(7.5, 8.0, 9.0)
    entries = tuple(
        replace(each, spread=spread, best=0.5, workloads=tuple(replace(w, spread=spread) for w in each.workloads))
        for each in ranking().entries
    )
    lines = rendered(ranking_text(replace(ranking(), entries=entries, sampling=Sampling(100))), 70).splitlines()
    text = "\n".join(lines)
    assert "…" not in text
    heads = [line.split() for line in lines if line.startswith("#")]
    assert heads == [
        ["#", "option", "price", "score", "best"],
        ["#", "option", "workload", "instances", "×", "ranks", "makespan", "points"],
    ]
    assert [line.split()[1] for line in lines if re.match(r"[12] ", line)] == ["Cheap", "Fine", "Cheap", "Fine"]


def test_lines_of_workloads_stay_beside_each_other_where_they_are_wrapped() -> None:
    """At 45 columns splits are wrapped: each begins beside its workload, and kernels have none."""
    lines = rendered(ranking_text(ranking()), 45).splitlines()
    first = next(i for i, line in enumerate(lines) if line.split()[2:4] == ["workload", "instances"]) + 2
    assert [line[len("1  Cheap   ") :].rstrip() for line in lines[first : first + 6]] == [
        *("small       3 × 6 (2 idle) in 2", "            turns"),
        *("large       3 × 6 (2 idle) in 2", "            turns"),
        *("  cholesky", "  reduce"),
    ]


@pytest.mark.parametrize("width", [36, 40, 45, 55, 64, 70])
def test_names_of_options_stay_readable_in_any_terminal(width: int) -> None:
    """A long name is broken between words at most, in every part, and no figure is cut off."""
    long = "16 × Thin fast 64 GB, ethernet"
    entries = tuple(replace(each, option=long if each.option == "Cheap" else each.option) for each in ranking().entries)
    lines = rendered(ranking_text(replace(ranking(), entries=entries)), width).splitlines()
    table = lines[2 : lines.index("Not ranked")]
    assert all("…" not in line and len(line) <= width for line in table)
    for part in "\n".join(table).split("#  option")[1:]:
        names = [word for line in part.splitlines()[2:] for word in line[len("#  ") :].split("  ")[0].split()]
        assert set(long.split()) <= set(names)


def test_many_items_of_costs_leave_room_for_the_names() -> None:
    """Ten items and three figures of use are in two tables: a name is not broken into letters."""
    items = dict.fromkeys(ITEMS, 100_000.0)
    powered = OptionCost(Sheet(items, 0.125, 3.6e12, 350_000.0), "ATS", {}, {}, 2, 40.0, 9e3, ())
    entries = tuple(replace(each, cost=powered if each.position else None) for each in ranking().entries)
    shown = rendered(ranking_text(replace(ranking(), entries=entries, life=5 * YEAR)), 120)
    costs = shown[shown.index("Costs over") : shown.index("Not ranked")]
    assert "…" not in costs
    lines = [line.split() for line in costs.splitlines()[1:] if line and line[0] != "─"]
    assert [line for line in lines if line[0] == "option"] == [
        ["option", "total", *ITEMS, "busy"],
        ["option", "MWh", "t", "CO2"],
    ]
    assert [line for line in lines if line[0] == "Fine"] == [
        ["Fine", "1,000,000", *["100,000"] * 10, "12.5%"],
        ["Fine", "1,000", "350"],
    ]
