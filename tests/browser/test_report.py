"""A report's page in a real browser: loading, sorting, layout, printing, and use by pointer and keyboard."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clue.purchase import Criterion, Ranking
from clue.purchase.questions.answers import Answers, Cheapest
from clue.report.page import ranking_page, result_page
from clue.result import SEGMENT, Activity, RankResult, Result, Timeline
from clue.uncertainty import Spread
from clue.units import Money
from tests.browser.conftest import Opened
from tests.report.cases import entry, machine, many_ranks, result
from tests.report.test_page import sampled, scenario, with_costs
from tests.report.test_page_answers import CROSSING, NEVER, STEPS, with_queues

pytestmark = pytest.mark.long
#: Assertions that wait for a few seconds until they hold, as a browser draws with a delay.
expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect

#: The smallest contrast between text and its background: WCAG 2.1, 1.4.3.
CONTRAST = """
() => {
  const light = (colour) => {
    const [r, g, b] = colour.match(/[0-9.]+/g).slice(0, 3).map((part) => part / 255)
      .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const colour = getComputedStyle(each).backgroundColor;
      if (!/, 0\\)$/.test(colour)) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  let least = 21;
  for (const element of document.querySelectorAll("body *")) {
    if (![...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim())) continue;
    const style = getComputedStyle(element);
    const letters = element instanceof SVGElement ? style.fill : style.color;
    const [one, other] = [light(letters), light(behind(element))];
    least = Math.min(least, (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05));
  }
  return least;
}
"""
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the addresses of four pages: a ranking with costs and samples, one with answers, and two runs."""
    folder = tmp_path_factory.mktemp("pages")
    whole = with_costs()
    figures = {"Fine": (2.0, 1.0), "Cheap": (1.0, 2.0)}
    entries = tuple(
        replace(each, best=other.best, spread=other.spread,
                figures=dict(zip((Criterion.TOTAL_COST, Criterion.MAKESPAN), figures[each.option], strict=True)))
        if each.position else each
        for each, other in zip(whole.entries, sampled().entries, strict=True)
    )  # fmt: skip
    shown = replace(whole, entries=entries, sampling=sampled().sampling, pareto=("Cheap", "Fine"))
    texts = {
        "ranking": ranking_page(shown, scenario(), "clue simulate which.yaml --html r.html", "clue 0.1"),
        "answers": ranking_page(answered(), scenario(), "clue simulate which.yaml --html r.html", "clue 0.1"),
        "run": result_page(result(), machine(), "pair", "clue simulate run.yaml --html r.html", "clue 0.1"),
        "many": result_page(many_ranks(200), machine(), "many", "clue simulate many.yaml --html r.html", "clue 0.1"),
    }
    for name, text in texts.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: (folder / f"{name}.html").as_uri() for name in texts}


def answered() -> Ranking:
    """Return a ranking with queues and all answers."""
    answers = Answers(Cheapest("Fine", Money(298_500, "ATS")), STEPS, (CROSSING, NEVER))
    return replace(with_queues(), answers=answers)


@pytest.mark.parametrize("name", ["ranking", "answers", "run", "many"])
@pytest.mark.parametrize("width", [400, 1400])
def test_a_page_loads_without_errors_and_fits(opened: Opened, pages: dict[str, str], name: str, width: int) -> None:
    """A page has no console errors, no network requests, no overflow, and enough contrast."""
    opened.page.set_viewport_size({"width": width, "height": 900})
    opened.page.goto(pages[name])
    assert opened.page.evaluate(OVERFLOW) <= 0
    assert opened.errors == []
    assert opened.asked == [pages[name]]
    assert opened.page.evaluate(CONTRAST) >= 4.5


def check_column(opened: Opened, table: str, number: int, texts: list[str]) -> None:
    """Check the texts in a column of a table, from top to bottom."""
    cells = opened.page.locator(f"table[data-name={table}] tbody tr td:nth-child({number})")
    expect(cells).to_have_text(texts, use_inner_text=True)


def test_tables_sort_by_pointer_and_by_keyboard(opened: Opened, pages: dict[str, str]) -> None:
    """Tables sort by number in both directions, and rows without a figure stay last."""
    opened.page.goto(pages["ranking"])
    check_column(opened, "ranking", 2, ["Cheap", "Fine"])
    head = opened.page.locator("table[data-name=ranking] th", has_text="price")
    head.locator("button").click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    check_column(opened, "ranking", 2, ["Cheap", "Fine"])
    opened.page.keyboard.press("Enter")  # the button has the focus
    expect(head).to_have_attribute("aria-sort", "descending")
    check_column(opened, "ranking", 2, ["Fine", "Cheap"])
    energy = opened.page.locator("table[data-name=energy] th", has_text="MWh").locator("button")
    for _ in range(2):
        energy.focus()
        opened.page.keyboard.press("Space")
        check_column(opened, "energy", 2, ["20", "–"])


def test_tables_of_queues_and_answers_sort(opened: Opened, pages: dict[str, str]) -> None:
    """Tables sort by number, and an option without figures stays last in both directions."""
    opened.page.goto(pages["answers"])
    waiting = opened.page.locator("table[data-name=queue] th", has_text="waiting").locator("button")
    for _ in range(2):
        waiting.click()
        check_column(opened, "queue", 1, ["Cheap", "Fine"])
    runs = opened.page.locator("table[data-name=jobs] th", has_text="a job runs").locator("button")
    runs.click(click_count=2)
    expect(opened.page.locator("table[data-name=jobs] tbody tr td:nth-child(5)").first).to_have_text("50 min")
    opened.page.locator("table[data-name=steps] th", has_text="gain for").locator("button").click()
    check_column(opened, "steps", 5, ["-5", "+10"])


def test_numbers_in_texts_sort_as_numbers(opened: Opened, tmp_path: Path) -> None:
    """Option 9 precedes option 10."""
    entries = tuple(entry(f"option {i}", place, 100.0 - place, 100.0) for place, i in ((1, 10), (2, 9), (3, 100)))
    path = tmp_path / "names.html"
    path.write_text(ranking_page(replace(with_costs(), entries=entries), scenario(), "clue", "clue 0.1"))
    opened.page.goto(path.as_uri())
    opened.page.locator("table[data-name=ranking] th", has_text="option").locator("button").click()
    check_column(opened, "ranking", 2, ["option 9", "option 10", "option 100"])


def test_charts_tell_what_their_marks_are(opened: Opened, pages: dict[str, str]) -> None:
    """A mark's text appears under the pointer or by arrow keys, and Escape hides it."""
    opened.page.goto(pages["ranking"])
    tip = opened.page.locator(".tip")
    opened.page.locator("circle.mark").first.hover()
    expect(tip).to_contain_text("ATS")
    chart, chosen = opened.page.locator("svg.chart").first, opened.page.locator(".chosen")
    chart.focus()
    opened.page.keyboard.press("ArrowRight")
    expect(chosen).to_have_count(1)
    first = tip.inner_text()
    opened.page.keyboard.press("End")
    expect(tip).not_to_have_text(first, use_inner_text=True)
    expect(tip).to_be_visible()
    expect(chosen).to_have_count(1)
    opened.page.keyboard.press("Escape")
    expect(tip).to_be_hidden()
    expect(chosen).to_have_count(0)


def test_all_can_be_reached_by_keyboard(opened: Opened, pages: dict[str, str]) -> None:
    """The Tab key reaches every button, every chart and every scrolling region."""
    opened.page.goto(pages["ranking"])
    wanted = opened.page.locator("button, svg.chart, [tabindex='0']").count()
    for _ in range(wanted):
        opened.page.keyboard.press("Tab")
        opened.page.evaluate("document.activeElement.dataset.reached = 'yes'")
    assert opened.page.locator("[data-reached]").count() == wanted


def test_a_page_prints_on_a4(opened: Opened, pages: dict[str, str]) -> None:
    """The contents fit 180 mm, and the page prints to PDF."""
    opened.page.emulate_media(media="print")
    opened.page.set_viewport_size({"width": 680, "height": 1000})
    for name in ("ranking", "answers", "run"):
        opened.page.goto(pages[name])
        assert opened.page.evaluate(OVERFLOW) <= 0
        boxes = [each.bounding_box() for each in opened.page.locator("table, svg.chart").all()]
        assert all(box is None or box["x"] + box["width"] <= 681 for box in boxes)
        assert opened.page.pdf(format="A4").startswith(b"%PDF")


def test_a_timeline_can_be_enlarged(opened: Opened, pages: dict[str, str]) -> None:
    """Buttons, keys and the wheel enlarge the timeline; a tooltip describes the mark under the pointer."""
    opened.page.goto(pages["run"])
    canvas, told = opened.page.locator("canvas"), opened.page.locator(".stretch")
    expect(told).to_have_text("all of it is shown")  # drawn once the browser knows its width
    opened.page.get_by_role("button", name="Enlarge").click()
    expect(told).to_have_text("1.000 s to 3.000 s")
    canvas.focus()
    opened.page.keyboard.press("ArrowRight")
    expect(told).to_have_text("1.800 s to 3.800 s")
    opened.page.keyboard.press("0")
    canvas.hover(position={"x": 100, "y": 12})
    expect(opened.page.locator(".tip")).to_contain_text("rank 0: compute (no region), 2 s, from 0.000 s to 2.000 s")
    opened.page.mouse.wheel(0, -100)
    expect(told).not_to_have_text("all of it is shown")
    drawn = "document.querySelector('canvas').getContext('2d').getImageData(80, 8, 1, 1).data.join()"
    opened.page.wait_for_function(f"() => {drawn} === '{0x44},{0x77},{0xAA},255'")
    assert opened.errors == []


def test_a_table_of_many_workloads_prints_on_a4(opened: Opened, tmp_path: Path) -> None:
    """With samples and three workloads a ranking has twelve columns: headings are broken, the page is not shrunk."""
    names = ("factorisations", "eigenvalues", "heat conduction")
    of = sampled()
    works = tuple(replace(of.entries[3].workloads[0], workload=name) for name in names)
    entries = tuple(
        replace(each, score=191_640.5, spread=Spread(190_038.0, 2e5, 1_301_121.0), workloads=works)
        if each.position else each
        for each in of.entries
    )  # fmt: skip
    wide = replace(of, entries=entries, unit="EUR", criterion=Criterion.TOTAL_COST)
    path = tmp_path / "wide.html"
    path.write_text(ranking_page(wide, scenario(), "clue", "clue 0.1"))
    opened.page.emulate_media(media="print")
    opened.page.set_viewport_size({"width": 680, "height": 1000})
    opened.page.goto(path.as_uri())
    assert opened.page.locator("table[data-name=ranking] th").count() == 12
    assert opened.page.evaluate(OVERFLOW) <= 0


def test_a_timeline_of_days_is_in_hours(opened: Opened, tmp_path: Path) -> None:
    """Times have the unit of the makespan, and lengths of segments their own: 90 s of 50 h are not 0.03 h."""
    segments = np.array([(0, Activity.COMPUTE, 0, 0, 0.0, 90.0), (0, Activity.WAIT, 0, 0, 90.0, 180_000.0)], SEGMENT)
    run = Result(180_000.0, "reference", (RankResult(0, 0, 180_000.0, 90.0, 0.0, 179_910.0),),
                 timeline=Timeline(segments, ("",)))  # fmt: skip
    path = tmp_path / "days.html"
    path.write_text(result_page(run, machine(), "days", "clue", "clue 0.1"))
    opened.page.goto(path.as_uri())
    canvas, tip = opened.page.locator("canvas"), opened.page.locator(".tip")
    canvas.hover(position={"x": 400, "y": 12})
    expect(tip).to_have_text("rank 0: wait, 49.98 h, from 0.03 h to 50.00 h")
    canvas.focus()
    for _ in range(9):
        for key in ("+", "ArrowLeft", "ArrowLeft"):  # to the beginning
            opened.page.keyboard.press(key)
    canvas.hover(position={"x": 60, "y": 12})
    expect(tip).to_contain_text("rank 0: compute, 90 s, from 0.000")
    assert opened.errors == []


def test_a_long_page_is_there_at_once(opened: Opened, tmp_path: Path) -> None:
    """A table of 500 options is loaded, laid out and sorted within two seconds in the best of five tries."""
    entries = tuple(entry(f"option {i}", i, 1000.0 - i, 100.0 + i) for i in range(1, 501))
    path = tmp_path / "long.html"
    path.write_text(ranking_page(replace(with_costs(), entries=entries), scenario(), "clue", "clue 0.1"))
    assert path.stat().st_size < 3_000_000
    taken: list[float] = []
    while min(taken, default=2000.0) >= 2000 and len(taken) < 5:
        opened.page.goto(path.as_uri())
        opened.page.locator("table[data-name=ranking] th button").nth(2).click()
        taken.append(float(opened.page.evaluate("performance.now()")))
    assert min(taken) < 2000, taken
