"""After any changes, the server shows the ranking of the edited file, as computed from scratch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clue.config import load_config
from clue.config.changes import ChangeableScenario
from clue.config.sources import read_file
from clue.config.yaml12 import number_or_text
from clue.errors import ClueError
from clue.predict.replaying import ReplayPredictor
from clue.purchase import Entry, Ranking, Scenario, rank_options
from clue.purchase.attempts import KnownRuns
from clue.report.page import ranking_pieces
from clue.serving.live import LiveRanking
from clue.trace import Trace
from clue.units import Quantity, parse_quantity
from tests.properties import examples
from tests.serving import cases

#: Options in three families (the first 20 of each are ranked), and two named options.
GENERATED = """\
name: many
budget: 6000 EUR
criterion: points
costs:
  site: {staff: 100 EUR/year, residual: 0.1}
currencies: {USD: {rate: 0.9 EUR, date: 2026-11-02}}
workloads:
  pair: {program: {trace: pingpong.clue}, ranks: 2}
  many: {program: {trace: pingpong.clue}, ranks: 2, instances: 3, weight: 2}
options:
  slow: {machine: slow.yaml, cost: site}
  fast: {machine: fast.yaml, price: 4000 EUR}
generate:
- nodes: {to: 6}
  mixed: true
  price: 100 EUR
  node_types:
    small: {machine: slow.yaml, price: 300 EUR}
    big: {processors: 2, performance_factor: 0.6, price: 700 EUR}
  networks:
    cheap: {machine: slow.yaml, price_per_node: 10 EUR}
    good:
      machine: slow.yaml
      between_nodes: {send_delay: 1 us, transmission_delay: 4 us, receive_delay: 1 us}
      switch: {ports: 4, price: 400 USD}
- nodes: {from: 2, to: 58}
  node_types: {plain: {machine: fast.yaml}}
  networks: {slow: {machine: slow.yaml, price: 50 EUR}}
  cost: site
- nodes: {from: 2, to: 5}
  node_types: {bare: {machine: fast.yaml, price: {value: 150 EUR, spread: 0.05}}}
  processors: {quick: {performance_factor: 0.4, price: 250 EUR}, plain: {processors: 1}}
  memory: [{size: 1 GB}, {size: 2 GB, price: 40 EUR}]
  networks: {third: {machine: slow.yaml}}
  topologies: {flat: {contention: none}, ports: {contention: ports, price_per_node: 20 EUR}}
"""
MONEY = st.integers(1, 3000).map("{} EUR".format)
FIGURES: dict[str, st.SearchStrategy[str]] = {
    "budget": st.one_of(st.integers(500, 20_000).map("{} EUR".format), st.just("")),
    "criterion": st.sampled_from(["points", "makespan", "throughput", "cost_per_run", "total_cost"]),
    "service_life": st.sampled_from(["1 years", "5 years"]),
    "currencies.USD.rate": st.sampled_from(["0.5 EUR", "1.7 EUR"]),
    "workloads.pair.weight": st.sampled_from(["0.5", "1", "3"]),
    "workloads.many.deadline": st.sampled_from(["", "1.5 s", "0.7 s"]),
    "options.slow.price": MONEY,
    "options.fast.price": MONEY,
    "costs.site.staff": st.sampled_from(["10 EUR/year", "900 EUR/year"]),
    "generate[0].price": MONEY,
    "generate[0].node_types.small.price": MONEY,
    "generate[0].node_types.big.price": st.one_of(MONEY, st.integers(1, 3000).map("{} USD".format)),
    "generate[0].networks.cheap.price_per_node": MONEY,
    "generate[0].networks.good.switch.price": MONEY,
    "generate[1].networks.slow.price": MONEY,
    "generate[2].node_types.bare.price": st.one_of(MONEY, st.just("170 EUR ± 10 %")),
    "generate[2].processors.quick.price": MONEY,
    "generate[2].memory[1].price": MONEY,
    "generate[2].topologies.ports.price_per_node": MONEY,
}
EDITS = st.lists(st.sampled_from(sorted(FIGURES)), max_size=4, unique=True).flatmap(
    lambda names: st.fixed_dictionaries({name: FIGURES[name] for name in names})
)


def predictor() -> ReplayPredictor:
    """Return a predictor without known predictions."""
    return ReplayPredictor(lambda application, _ranks: Trace.open(application.trace or ""))


def opened(folder: Path) -> ChangeableScenario:
    """Return the comparison with generated options."""
    path = cases.write(folder)
    path.write_text(GENERATED)
    return ChangeableScenario(path)


def edited(folder: Path, edit: Mapping[str, str]) -> dict[str, Any]:
    """Return the contents of the file after an edit."""
    cases.write(folder)
    (folder / "which.yaml").write_text(GENERATED)
    found: Any = read_file(folder / "which.yaml").value
    paths = {each.name: each.path for each in ChangeableScenario(folder / "which.yaml").figures}
    for name, text in edit.items():
        *above, last = paths[name]
        within = reduce(lambda value, step: value[step], above, found)
        within[last] = number_or_text(text)
        if not text:
            del within[last]
    return found  # type: ignore[no-any-return]


def plain(folder: Path, edit: Mapping[str, str]) -> tuple[Scenario, Ranking] | None:
    """Load the edited file and rank it from scratch; return ``None`` if it cannot be ranked."""
    try:
        scenario = load_config(edited(folder, edit), relative_to=folder)
        assert isinstance(scenario, Scenario)
        return replace(scenario, name="many"), rank_options(scenario, predictor())
    except ClueError:
        return None


@pytest.fixture(scope="module")
def changeable(tmp_path_factory: pytest.TempPathFactory) -> ChangeableScenario:
    """Return the comparison, which stays open for all tests."""
    return opened(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="module")
def live(changeable: ChangeableScenario) -> LiveRanking:
    """Return its live ranking, which all examples change in turn."""
    ranking = LiveRanking(changeable, predictor(), command="clue", by="clue 0.1")
    ranking.begin()
    return ranking


@pytest.mark.long
@settings(max_examples=examples(10), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=st.lists(EDITS, min_size=1, max_size=3))
def test_a_server_shows_what_the_edited_file_gives(
    live: LiveRanking, tmp_path_factory: pytest.TempPathFactory, edits: list[dict[str, str]]
) -> None:
    """All pieces agree after one or several changes, except for bounds of later options, which may be closer."""
    for edit in edits:
        found = plain(tmp_path_factory.mktemp("plain"), edit)
        if found is None:
            with pytest.raises(ClueError):
                live.changed(edit)
            continue
        scenario, whole = found
        wanted = ranking_pieces(whole, scenario, "clue", "clue 0.1", list(edit))
        shown = dict(live.changed(edit).pieces)
        assert list(shown) == list(wanted)
        for name in shown.keys() - {"changed", "left-out"}:
            assert shown[name] == wanted[name]


def missed(entry: Entry) -> tuple[str, float, bool]:
    """Return a reason without the time that misses a deadline, this time, seconds, and whether it is a lower bound."""
    reason, _, got = entry.reason.partition(", got ")
    seconds = parse_quantity(got.removeprefix("at least "), Quantity.TIME) if got else 0.0
    return reason, seconds, got.startswith("at least ")


#: Runs known from all rankings below.
KNOWN = KnownRuns()


@settings(max_examples=examples(10), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edit=EDITS)
def test_a_ranking_that_begins_where_others_ended_is_the_same(
    changeable: ChangeableScenario, tmp_path_factory: pytest.TempPathFactory, edit: dict[str, str]
) -> None:
    """All figures of all options agree; bounds of later options may differ, but not beyond the last and their score."""
    loaded = plain(tmp_path_factory.mktemp("plain"), edit)
    if loaded is None:
        return
    scenario, whole = loaded
    found = rank_options(changeable.changed(edit), predictor(), known=KNOWN)
    placed = [[row for row in each.rows() if row["position"] is not None] for each in (found, whole)]
    assert placed[0] == placed[1]
    assert {(e.option, e.price, missed(e)[0], e.affordable) for e in found.entries} == {
        (e.option, e.price, missed(e)[0], e.affordable) for e in whole.entries
    }
    assert (found.warnings, found.left_out, found.first) == (whole.warnings, whole.left_out, whole.first)
    in_full = rank_options(scenario, predictor(), top=len(whole.entries)).entries
    longest = {each.option: missed(each)[1] for each in in_full}
    for each in (*found.entries, *whole.entries):
        _, seconds, is_bound = missed(each)
        assert seconds <= longest[each.option] if is_bound else seconds == longest[each.option]
    scores = {each.option: each.score for each in in_full}
    sign = -1.0 if whole.higher_is_better else 1.0
    last = max((sign * (each.score or 0.0) for each in found.entries if each.position), default=0.0)
    for each in found.entries:
        if each.bound is not None:
            score = scores[each.option]
            assert score is not None
            assert sign * each.bound >= last - 1e-9 * abs(last)
            assert sign * each.bound <= sign * score + 1e-9 * abs(score)
