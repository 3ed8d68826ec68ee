"""``clue serve`` in a real browser: a changed figure updates the ranking, an invalid one gets an error at its field."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
import uvicorn

from clue.serving.application import application
from clue.serving.live import LiveRanking
from clue.serving.running import listener
from clue.uncertainty import Sampling
from tests.browser.conftest import Opened
from tests.browser.test_report import CONTRAST, OVERFLOW
from tests.serving import cases

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Route

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a server."""
    yield from serving(cases.live(tmp_path_factory.mktemp("served")))


@pytest.fixture(scope="module")
def slow_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a server that needs longer for samples and for additional money."""
    folder = tmp_path_factory.mktemp("slow")
    yield from serving(cases.live(folder, sampling=Sampling(40), more="next: 500 EUR\n"))


def serving(live: LiveRanking) -> Iterator[str]:
    """Serve the ranking and yield the address."""
    app = application(live)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
    with listener("127.0.0.1", 0) as at:
        thread = threading.Thread(target=server.run, args=([at],), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{at.getsockname()[1]}/"
        server.should_exit = True
        thread.join(10)


def names(opened: Opened) -> list[str]:
    """Return the options in the order of the ranking."""
    rows = opened.page.locator("table[data-name=ranking] tbody tr")
    found: list[str] = rows.evaluate_all("rows => rows.map(row => row.dataset.key)")
    return found


def until(opened: Opened, said: str) -> None:
    """Wait until the state of the page contains a text."""
    opened.page.wait_for_function("said => document.querySelector('.state').textContent.includes(said)", arg=said)


def enter(field: Locator, text: str) -> None:
    """Fill in a field, and leave it."""
    field.fill(text)
    field.press("Tab")


def test_a_price_moves_the_ranking(opened: Opened, address: str) -> None:
    """A changed price reorders the ranking, and a reset restores it; requests go only to the server."""
    opened.page.goto(address)
    assert names(opened) == ["fast", "slow"]
    opened.page.get_by_label("budget").fill("9000 EUR")
    opened.page.keyboard.press("Tab")
    until(opened, "1 changed figure: ranked in ")
    price = opened.page.get_by_label("fast", exact=True)
    enter(price, "4000 EUR")
    until(opened, "2 changed figures: ranked in ")
    assert names(opened)[0] == "slow"
    assert "nothing was simulated" in opened.page.locator(".state").inner_text()
    assert opened.page.locator("tr[data-key=fast] .moved.down").inner_text().startswith("▼")
    assert "options.fast.price: 4000 EUR (the file has 1,800 EUR)" in opened.page.inner_text("#ranking-page")
    opened.page.get_by_role("button", name="Back to the file's figures").click()
    until(opened, "The figures are those of the file: ranked in ")
    assert names(opened) == ["fast", "slow"] and opened.page.locator(".moved").count() == 0
    assert opened.errors == []
    assert all(each.startswith((address, "data:")) for each in opened.asked)


def test_what_takes_longer_comes_after_the_ranking(opened: Opened, slow_address: str) -> None:
    """During the computation the page says so and hides earlier figures; then it shows the complete answer."""
    opened.page.goto(slow_address)
    assert "of 40 samples" in opened.page.locator(".decision").inner_text()
    waits: list[Route] = []

    def hold(route: Route) -> None:
        waits.append(route)

    opened.page.route("**/full", hold)
    price = opened.page.get_by_label("fast", exact=True)
    enter(price, "1700 EUR")
    until(opened, "What takes longer is being computed.")
    assert opened.page.locator("section[data-piece=awaited] li").count() == 2
    assert "samples" not in opened.page.locator(".decision").inner_text()
    assert opened.page.locator("section[data-piece=steps]").count() == 0
    enter(price, "1600 EUR")
    until(opened, "What takes longer is being computed.")
    opened.page.wait_for_function("() => document.querySelector('[data-piece=changed]').textContent.includes('1600')")
    for _ in range(2000):  # both the earlier request and this one are held
        if len(waits) == 2:
            break
        opened.page.wait_for_timeout(10)
    assert len(waits) == 2
    for each in waits:
        each.continue_()
    opened.page.unroute("**/full")
    until(opened, "all of it in")
    assert "of 40 samples" in opened.page.locator(".decision").inner_text()
    assert "1600 EUR" in opened.page.inner_text("section[data-piece=changed]")
    assert opened.page.locator("section[data-piece=awaited]").count() == 0
    assert opened.page.locator("section[data-piece=steps]").count() == 1
    pieces = [each.get_attribute("data-piece") for each in opened.page.locator("#ranking-page > *").all()]
    assert pieces[:3] == ["head", "changed", "ranking"] and len(pieces) == len(set(pieces))
    assert opened.errors == []


def test_what_cannot_be_computed_is_not_said_to_be_computed(opened: Opened, slow_address: str) -> None:
    """If the rest fails, the page no longer says that it is being computed; the next change asks for it again."""
    opened.page.goto(slow_address)
    told: dict[str, object] = {"figures": {}, "others": ["price of fast must be stated"]}
    opened.page.route("**/full", lambda route: route.fulfill(status=422, json=told))
    price = opened.page.get_by_label("fast", exact=True)
    for figure in ("1700 EUR", "1650 EUR"):  # the second answer announces the same parts
        enter(price, figure)
        opened.page.wait_for_function(
            "figure => document.querySelector('[data-piece=changed]')?.textContent.includes(figure)", arg=figure
        )
        until(opened, "The rest cannot be computed.")
        assert opened.page.locator("section[data-piece=awaited]").count() == 0
        assert "price of fast must be stated" in opened.page.inner_text("#faults")
    opened.page.unroute("**/full")
    enter(price, "1600 EUR")
    until(opened, "all of it in")
    assert opened.page.locator("section[data-piece=steps]").count() == 1


def test_a_bad_figure_ends_what_is_computed_for_the_last_good_one(opened: Opened, slow_address: str) -> None:
    """The answer that was awaited is no longer shown, so the page does not say that it is being computed."""
    opened.page.goto(slow_address)
    opened.page.route("**/full", lambda _route: None)  # never answered
    price = opened.page.get_by_label("fast", exact=True)
    enter(price, "1700 EUR")
    until(opened, "What takes longer is being computed.")
    enter(price, "cheap")
    until(opened, "the last one without errors")
    assert opened.page.locator("section[data-piece=awaited]").count() == 0


def test_a_table_stays_sorted_by_its_heading(opened: Opened, slow_address: str) -> None:
    """The quick answer lacks the two columns of samples before the makespan, by which the table is sorted."""
    opened.page.goto(slow_address)
    head = opened.page.locator("table[data-name=ranking] th", has_text="makespan")
    head.locator("button").click(click_count=2)
    assert names(opened) == ["slow", "fast"]
    opened.page.route("**/full", lambda _route: None)
    enter(opened.page.get_by_label("fast", exact=True), "1700 EUR")
    until(opened, "What takes longer is being computed.")
    assert opened.page.locator("table[data-name=ranking] th").count() == 6
    assert head.get_attribute("aria-sort") == "descending"
    assert names(opened) == ["slow", "fast"]


def test_nothing_moves_until_positions_can_be_compared(opened: Opened, slow_address: str) -> None:
    """Options that samples cannot tell apart share a position in the file's ranking; before the samples none does."""

    def together(route: Route) -> None:
        response = route.fetch()
        place = r'(<tr data-key="slow"><td class="number" data-value=)"2">2<'
        route.fulfill(response=response, body=re.sub(place, r'\1"1">1<', response.text()))

    opened.page.route(slow_address, together)
    opened.page.goto(slow_address)
    place = opened.page.locator("tr[data-key=slow] td").first
    assert place.inner_text() == "1"
    opened.page.route("**/full", lambda _route: None)  # never answered
    enter(opened.page.get_by_label("fast", exact=True), "1790 EUR")
    until(opened, "What takes longer is being computed.")
    assert place.inner_text() == "2" and opened.page.locator(".moved").count() == 0


def test_what_a_cut_table_does_not_show_is_not_new(opened: Opened, address: str) -> None:
    """If the file's ranking has more options than its table shows, an option that moves into the table has no mark."""

    def cut(route: Route) -> None:
        response = route.fetch()
        shown = re.sub('<tr data-key="slow">.*?</tr>', "", response.text(), flags=re.DOTALL)
        route.fulfill(response=response, body=shown.replace('data-name="ranking"', 'data-name="ranking" data-more="1"'))

    opened.page.route(address, cut)
    opened.page.goto(address)
    assert names(opened) == ["fast"]
    budget, price = opened.page.get_by_label("budget"), opened.page.get_by_label("fast", exact=True)
    budget.fill("9000 EUR")
    enter(price, "4000 EUR")
    until(opened, "2 changed figures: ranked in ")
    assert names(opened)[0] == "slow"
    assert opened.page.locator("tr[data-key=slow] .moved").count() == 0
    assert opened.page.locator("tr[data-key=fast] .moved.down").count() == 1


def test_the_same_figures_may_be_sent_again_after_a_failure(opened: Opened, address: str) -> None:
    """After a failure of the network, the same figures are sent again; one simulation is told in the singular."""

    def answer(route: Route) -> None:
        response = route.fetch()
        route.fulfill(response=response, json=response.json() | {"simulations": 1})

    opened.page.goto(address)
    opened.page.route("**/ranking", lambda route: route.abort())
    enter(opened.page.get_by_label("fast", exact=True), "950 EUR")
    opened.page.wait_for_function("() => document.querySelector('#faults').textContent.includes('does not answer')")
    opened.page.unroute("**/ranking")
    opened.page.route("**/ranking", answer)
    opened.page.locator("#live").evaluate("form => form.requestSubmit()")
    until(opened, "1 changed figure: ranked in ")
    assert opened.page.locator(".state").inner_text().endswith("; 1 new simulation.")
    assert not opened.page.locator("#faults").is_visible()


def test_a_refusal_says_why(opened: Opened, address: str) -> None:
    """A server with another token refuses in plain text, which the page shows; it has not been ended."""
    said = "token must be that of this server: open its address with ?token=…"
    opened.page.goto(address)
    opened.page.route("**/ranking", lambda route: route.fulfill(status=401, content_type="text/plain", body=said))
    enter(opened.page.get_by_label("fast", exact=True), "950 EUR")
    opened.page.wait_for_function("() => !document.querySelector('#faults').hidden")
    assert opened.page.inner_text("#faults") == said


def test_only_what_has_changed_is_put_anew(opened: Opened, address: str) -> None:
    """Unchanged pieces keep their elements, and so their scroll position and selection."""
    opened.page.goto(address)
    price = opened.page.get_by_label("fast", exact=True)
    price.press("ArrowUp")
    until(opened, "ranked in")
    opened.page.evaluate("for (const e of document.querySelectorAll('[data-piece]')) e.dataset.kept = 'yes'")
    price.press("ArrowUp")
    opened.page.wait_for_function("() => !document.querySelector('[data-piece=ranking]').dataset.kept")
    kept = [each.get_attribute("data-piece") for each in opened.page.locator("[data-kept]").all()]
    assert {"workloads", "limits", "again"} <= set(kept) and "changed" not in kept


def test_arrows_change_a_figure(opened: Opened, address: str) -> None:
    """Arrow keys change a figure by 5 % and keep its unit."""
    opened.page.goto(address)
    price = opened.page.get_by_label("fast", exact=True)
    price.press("ArrowUp")
    until(opened, "1 changed figure: ranked in ")
    assert price.input_value() == "1890 EUR"
    deadline = opened.page.get_by_label("pp: deadline")
    opened.page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    deadline.press("ArrowUp")  # no deadline is stated, so there is no number to change
    assert deadline.input_value() == "" and deadline.get_attribute("aria-invalid") is None
    written = '[".020 EUR/kWh", "12_000 EUR", "€1,900", "16"]'
    higher = opened.page.evaluate(f"{written}.map((text) => scaled(text, 1.05))")
    assert higher == ["0.021 EUR/kWh", "12600 EUR", "€1995", "16.8"]
    whole = "[['16', 1.05], ['1', 1.05], ['16.4', 1.05], ['16', 1 / 1.05], ['1', 1 / 1.05], ['16.4', 1 / 1.05]]"
    steps = opened.page.evaluate(f"{whole}.map(([text, factor]) => scaled(text, factor, true))")
    assert steps == ["17", "2", "17", "15", "1", "16"]  # 16.8, 1.05, 17.22, 15.24, 0.95, 15.62


def test_sorted_tables_stay_sorted(opened: Opened, address: str) -> None:
    """A replaced table keeps the sorting of the earlier one."""
    opened.page.goto(address)
    opened.page.locator("table[data-name=ranking] th", has_text="option").locator("button").click(click_count=2)
    assert names(opened) == ["slow", "fast"]
    opened.page.get_by_label("fast", exact=True).press("ArrowUp")
    until(opened, "ranked in")
    assert names(opened) == ["slow", "fast"]


def test_a_bad_figure_is_told_beside_its_field(opened: Opened, address: str) -> None:
    """The last valid ranking stays, and the error disappears when the figure is corrected."""
    opened.page.goto(address)
    budget = opened.page.get_by_label("budget")
    enter(budget, "<img src=x onerror=alert(1)>")
    until(opened, "the last one without errors")
    assert budget.get_attribute("aria-invalid") == "true"
    fault = opened.page.locator(f"#{budget.get_attribute('id')}-fault")
    assert fault.is_visible() and fault.inner_text().startswith("budget must be ")
    assert opened.page.locator("#live img").count() == 0
    assert names(opened) == ["fast", "slow"]
    enter(budget, "5 EUR")
    opened.page.wait_for_function("() => !document.querySelector('#faults').hidden")
    assert "budget must afford at least one option, got 5.00 EUR" in opened.page.inner_text("#faults")
    assert not fault.is_visible()
    enter(budget, "5000 EUR")
    until(opened, "ranked in")
    assert budget.get_attribute("aria-invalid") is None and not opened.page.locator("#faults").is_visible()


@pytest.mark.parametrize("width", [400, 1400])
def test_the_page_fits_and_can_be_read(opened: Opened, address: str, width: int) -> None:
    """The served page fits the window with enough contrast, like the report in a file."""
    opened.page.set_viewport_size({"width": width, "height": 900})
    opened.page.goto(address)
    assert opened.page.evaluate(OVERFLOW) <= 0
    assert opened.page.evaluate(CONTRAST) >= 4.5
    assert opened.errors == []
