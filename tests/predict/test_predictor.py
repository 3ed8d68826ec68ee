"""A comparison works with any predictor that has only the required method."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clue.kernel import Candidate
from clue.machine import NodeNoise, Placement
from clue.predict.application import Application, Key, names_apart
from clue.predict.executors import Pool
from clue.predict.prediction import Prediction, Task
from clue.predict.predictor import Predictor
from clue.predict.replaying import ReplayPredictor
from clue.progress import Progress, silent
from clue.purchase import Component, Criterion, Option, Scenario, Workload, rank_options, what_if
from clue.trace import Trace, TraceBuilder
from clue.uncertainty import Sampling
from tests.kernel.cases import machine
from tests.purchase.test_ranking import at_once, traces


class Formula(Predictor):
    """Predicts 12 s divided by the ranks, times the performance factor of the first node."""

    def __init__(self) -> None:
        self.wanted: list[str] = []
        self.asked: list[int] = []

    def prepare(self, wanted: Mapping[Key, str], progress: Progress) -> None:
        """Keep the names of the wanted programs."""
        progress("finding coefficients", 0, len(wanted))
        self.wanted += wanted.values()

    def predict(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Prediction]]:
        """Yield the last task first, as pools may do."""
        for i in reversed(range(len(tasks))):
            ranks = tasks[i].key[1]
            self.asked.append(ranks)
            yield i, Prediction(12 / ranks * tasks[i].where.machine.nodes[0].performance_factor, "formula")


def scenario() -> Scenario:
    """Return a comparison of two nodes with four slower ones, for two components on 2 or 4 ranks."""
    components = tuple(Component(name, Application(arguments=("1",), trace=name), 0.5) for name in "xy")
    options = (
        Option("two", replace(machine(2), name="two")),
        Option("four", replace(machine(4, performance_factor=1.5), name="four")),
    )
    return Scenario("by hand", (Workload("w", components, ranks=(2, 4)),), options, criterion=Criterion.MAKESPAN)


def test_one_method_is_enough_for_a_ranking() -> None:
    """Two components of 4.5 s win over two of 6 s; without bounds, every split of every option is predicted."""
    formula = Formula()
    ranking = rank_options(scenario(), formula)
    assert [(entry.option, entry.score) for entry in ranking.entries] == [("four", 9.0), ("two", 12.0)]
    assert formula.wanted == [f"w, {name} on {ranks} ranks" for name in "xy" for ranks in (2, 4)]
    assert sorted(formula.asked) == [2, 2, 2, 2, 4, 4]


def test_a_formula_and_replays_of_what_it_describes_give_one_ranking() -> None:
    """A formula and replays of equivalent programs give the same ranking; replays use bounds and need fewer."""
    formula, replayed = (rank_options(scenario(), each) for each in (Formula(), ReplayPredictor(traces)))
    of = [[(e.option, e.position, e.score, e.workloads[0].ranks) for e in r.entries] for r in (formula, replayed)]
    assert of[0] == of[1]
    assert replayed.simulations < formula.simulations


def test_what_if_an_option_were_another() -> None:
    """With a factor of 2.5 the four nodes take 15 s and come second, as in a ranking of the changed option."""
    compared = scenario()
    formula = Formula()
    ranking = rank_options(compared, formula)
    slower = replace(compared.options[1], machine=machine(4, performance_factor=2.5))
    orders = what_if(compared, ranking, compared.options, [(), (slower,)], formula, silent)
    assert orders == [[("four", 9.0), ("two", 12.0)], [("two", 12.0), ("four", 15.0)]]
    changed = rank_options(replace(compared, options=(compared.options[0], slower)), formula)
    assert orders[1] == [(entry.option, entry.score) for entry in changed.entries]


def test_who_states_no_deviation_has_no_intervals() -> None:
    """Without a deviation from the predictor there are no intervals, even if the machine has noise."""
    noisy = Option("noisy", machine(2, noise=NodeNoise(0.1, 0.1)))
    ranking = rank_options(replace(scenario(), options=(noisy,)), Formula(), sampling=Sampling(10))
    assert ranking.sampling is None
    assert any("no noise is stated" in warning for warning in ranking.warnings)


def test_a_predictor_learns_nothing_twice() -> None:
    """A predictor reads each trace once, for one ranking or several."""
    asked: list[int] = []

    def asking(application: Application, ranks: int) -> object:
        asked.append(ranks)
        return traces(application, ranks)

    predictor = ReplayPredictor(asking)  # type: ignore[arg-type]
    for _ in range(2):
        rank_options(scenario(), predictor)
    assert asked == [2, 4, 2, 4]


def twice(number: int) -> int:
    """Return twice a number; a negative one is an error."""
    if number < 0:
        raise ArithmeticError(number)
    return 2 * number


@pytest.mark.long
def test_a_pool_does_whatever_can_be_pickled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool computes picklable tasks here or in two processes, and passes errors on."""
    tasks = list(range(9))
    for times in (1.0, -1.0, -1.0):
        monkeypatch.setattr("clue.predict.executors._ALONE", times)
        monkeypatch.setattr("clue.predict.executors._WORTH_PROCESSES", times)
        with Pool(twice, workers=2) as pool:
            assert sorted(pool.perform(tasks)) == [(i, 2 * i) for i in tasks]
            with pytest.raises(ArithmeticError, match="-1"):
                list(pool.perform([1, 2, -1]))


@pytest.mark.long
def test_a_trace_may_be_wanted_when_workers_have_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers began with the trace on 2 ranks, which takes 6 s; they replay that on 4 ranks, too, which takes 3 s."""
    at_once(monkeypatch)
    predictor = ReplayPredictor(traces, workers=2)

    def replayed(ranks: int) -> list[float]:
        key = (Application(arguments=("1",), trace="x"), ranks)
        predictor.prepare({key: f"x on {ranks} ranks"}, silent)
        where = Candidate(machine(ranks), Placement(tuple(range(ranks))))
        return [prediction.makespan for _, prediction in predictor.predict([Task(key, where)] * 4)]

    with predictor.at_work():
        assert (replayed(2), replayed(4)) == ([6.0] * 4, [3.0] * 4)


def test_files_of_one_name_get_names_with_their_folders() -> None:
    """A file keeps its name, unless another one has it: then come the folders that tell both apart, and no more."""
    traces_of = [Path("runs", name) for name in ("lu/{ranks}.clue", "cg/{ranks}.clue", "ep.clue")]
    assert list(names_apart(traces_of).values()) == ["lu/{ranks}.clue", "cg/{ranks}.clue", "ep.clue"]
    scripts = [Path(name) for name in ("main.py", "a/src/main.py", "b/src/main.py")]
    assert list(names_apart(scripts).values()) == ["main.py", "a/src/main.py", "b/src/main.py"]
    assert list(names_apart([scripts[1], scripts[1]]).values()) == ["main.py"]


@pytest.mark.parametrize("script", [None, Path("main.py")])
def test_recordings_of_one_file_name_have_noise_of_their_own(script: Path | None) -> None:
    """Two programs of 1 and 2 s in their two recordings have the same noise, but not the same draws of it.

    It does not matter whether their script is named beside their traces.
    """

    def recorded(application: Application, ranks: int) -> Trace:
        trace = TraceBuilder(ranks, f"{ranks}.clue")
        trace[0].compute(2.0 if "again" in str(application.trace) else 1.0)
        return trace.build()

    keys = {
        (Application(script, trace=f"{name}/{{ranks}}.clue", repeats=(f"{name}/again.clue",)), 1): name
        for name in ("lu", "cg")
    }
    predictor = ReplayPredictor(recorded)
    predictor.prepare(keys, silent)
    tasks = [Task(key, Candidate(machine(1), Placement((0,)))) for key in keys]
    predictor.outlook(tasks, 20)
    with predictor.at_work():
        lu, cg = predictor.samples(tasks, Sampling(20), silent)
    assert not np.isclose(lu, cg).any()
