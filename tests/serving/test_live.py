"""An updated ranking: changes, constants, response time, and errors about invalid figures."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from clue.config.changes import ChangeError
from clue.errors import ClueError, UsageError
from clue.predict.prediction import Task
from clue.predict.replaying import ReplayPredictor
from clue.serving.live import LONGEST, Answer, LiveRanking, SupersededError
from clue.trace import Trace
from clue.uncertainty import Sampling
from tests.serving import cases


@pytest.fixture
def live(tmp_path: Path) -> LiveRanking:
    """Return a comparison of two options; the faster one costs less per run."""
    return cases.live(tmp_path)


def order(page: str) -> list[str]:
    """Return the options in the ranking's table, in order."""
    return re.findall(r'<tr data-key="([^"]*)"', page)


def test_a_price_moves_the_ranking_and_nothing_is_simulated(live: LiveRanking) -> None:
    """At 1,800 EUR, the fast option costs less per run; at 4,000 EUR and with a larger budget, it does not."""
    assert order(live.page()) == ["fast", "slow"]
    answer = live.changed({"options.fast.price": "4000 EUR", "budget": "5000 EUR"})
    assert order(answer.page) == ["slow", "fast"]
    assert answer.simulations == 0
    assert "<li>options.fast.price: 4000 EUR (the file has 1,800 EUR)</li>" in answer.page
    assert order(live.changed({}).page) == ["fast", "slow"]


def test_a_budget_that_covers_more_simulates_what_is_new(live: LiveRanking) -> None:
    """The dear option has the fast option's machine, so no simulation is needed."""
    answer = live.changed({"budget": "10000 EUR", "criterion": "makespan"})
    assert order(answer.page) == ["fast", "&lt;b&gt;dear&lt;/b&gt;", "slow"]
    assert answer.simulations == 0


def test_a_changed_ranking_is_there_at_once(live: LiveRanking) -> None:
    """A change takes at most 100 ms including the page, in processor time, as others use this computer as well."""
    live.changed({})
    begin = time.process_time()
    for i in range(5):
        assert live.changed({"budget": f"{3000 + i} EUR"}).seconds > 0
    assert (time.process_time() - begin) / 5 < 0.1


def test_what_is_wrong_is_told_and_nothing_stays_of_it(live: LiveRanking) -> None:
    """Errors name their figure, or the reason why nothing can be ranked; the next ranking is unaffected."""
    with pytest.raises(ChangeError) as caught:
        live.changed({"budget": "2000", "options.fast.price": "-1 EUR"})
    assert set(caught.value.of_figures) == {"budget", "options.fast.price"}
    with pytest.raises(
        ClueError, match=r"budget must afford at least one option, got 5\.00 EUR: the cheapest costs 1,200"
    ):
        live.changed({"budget": "5 EUR"})
    with pytest.raises(UsageError, match=f"budget must have at most {LONGEST} characters, got 201"):
        live.changed({"budget": "1" * 201})
    assert order(live.changed({}).page) == ["fast", "slow"]


def test_the_page_has_a_field_for_each_figure(live: LiveRanking) -> None:
    """Each field has a label, the file's value, and a place for errors."""
    page = live.page()
    for figure in live.figures:
        assert page.count(f'name="{figure.name}"'.replace("<", "&lt;").replace(">", "&gt;")) == 1
    assert 'value="0.24 EUR/kWh" data-stated="0.24 EUR/kWh"' in page
    assert 'placeholder="1,800 EUR"' in page
    fields = re.findall(r'<(?:input|select) id="([^"]*)"', page)
    assert len(fields) == len(set(fields)) == len(live.figures)
    assert all(f'<label for="{field}">' in page and f'id="{field}-fault"' in page for field in fields)


def test_names_are_shown_and_not_obeyed(live: LiveRanking) -> None:
    """HTML in an option's name or in a figure is escaped or refused."""
    assert "<b>dear" not in live.page()
    with pytest.raises(ClueError):
        live.changed({"budget": "<script>alert(1)</script>"})
    assert "<b>dear" not in live.changed({"options.<b>dear</b>.price": "1 EUR"}).page


def test_what_takes_longer_comes_apart(tmp_path: Path) -> None:
    """The order comes first and lists what is still computed; the full answer adds samples and steps."""
    live = cases.live(tmp_path, sampling=Sampling(40), more="next: 500 EUR\n")
    changes = {"options.fast.price": "1700 EUR"}
    first = live.changed(changes)
    assert first.awaited and {"awaited", "changed"} <= first.pieces.keys() and "steps" not in first.pieces
    assert "How sure the order is: 40 samples of the uncertainty." in first.pieces["awaited"]
    assert "Where 500 EUR more would go." in first.pieces["awaited"]
    assert "80 % interval" not in first.page and "--samples" not in first.page
    whole = live.in_full(changes)
    assert not whole.awaited and "awaited" not in whole.pieces and "steps" in whole.pieces
    assert "of 40 samples of the uncertainty" in whole.pieces["head"] and "80 % interval" in whole.pieces["ranking"]
    assert whole.pieces["changed"] == first.pieces["changed"]
    assert order(whole.page) == order(first.page) == ["fast", "slow"]


def test_criteria_of_queues_are_refused_at_once_with_samples(tmp_path: Path) -> None:
    """With samples, the first answer refuses a criterion of queues, as the command does; without them, it ranks."""
    more = "jobs: {pp: {per_month: 100000}}\nqueue: {jobs: 200, replications: 2}\n"
    (tmp_path / "plain").mkdir()
    sampled, plain = cases.live(tmp_path, sampling=Sampling(10), more=more), cases.live(tmp_path / "plain", more=more)
    with pytest.raises(UsageError, match="samples must be of criteria without a queue, got waiting"):
        sampled.changed({"criterion": "waiting"})
    assert sampled.changed({"criterion": "makespan"}).awaited
    assert set(order(plain.changed({"criterion": "waiting"}).page)) == {"fast", "slow"}


class Slow(ReplayPredictor):
    """A predictor that lets another page change figures while it is asked for noise."""

    other: Callable[[], None] = staticmethod(lambda: None)

    def deviation(self, task: Task) -> float | None:
        """Wait for the change, then continue."""
        self.other()
        return super().deviation(task)


def test_a_change_ends_what_is_worked_out_for_earlier_figures(tmp_path: Path) -> None:
    """A change cancels the computation for earlier figures, and the next answers are for the new figures."""
    predictor = Slow(lambda application, _ranks: Trace.open(application.trace or ""))
    live = cases.live(tmp_path, predictor, Sampling(10))
    found: list[Answer] = []
    change = threading.Thread(target=lambda: found.append(live.changed({"options.fast.price": "1500 EUR"})))

    def other() -> None:
        if not change.is_alive() and not found:
            before = live._turn
            change.start()
            while live._turn == before:
                time.sleep(0.001)

    predictor.other = other
    with pytest.raises(SupersededError):
        live.in_full({"options.fast.price": "1600 EUR"})
    change.join(20)
    assert "1500 EUR" in found[0].pieces["changed"]
    assert "1500 EUR" in live.in_full({"options.fast.price": "1500 EUR"}).pieces["changed"]


def test_a_ranking_that_is_made_can_be_ended(live: LiveRanking) -> None:
    """An ended server refuses changes, so that Ctrl-C does not wait for simulations."""
    live.end()
    with pytest.raises(ClueError, match="server must run"):
        live.changed({"budget": "9999 EUR"})
