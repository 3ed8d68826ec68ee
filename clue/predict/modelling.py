"""Predictions by fitted models: what measured run times tell of processors like those of a machine."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager

import numpy as np
import numpy.typing as npt

from clue.caveats import About, Caveat
from clue.errors import ModelError, UsageError
from clue.kernel import Candidate
from clue.machine import Machine, Placement
from clue.models import Configuration, Forecast, Use
from clue.models.ensemble import TAIL
from clue.models.model import ANY, Model
from clue.predict.application import Application, Key, Modelled
from clue.predict.prediction import Prediction, Task
from clue.predict.predictor import Doubles, Predictor
from clue.progress import Progress
from clue.uncertainty import Character, Sampling

#: What predictions by models name as their engine.
ENGINE = "model"


class ModelPredictor(Predictor):
    """Predicts what applications take that have a fitted model; all others another predictor does.

    Args:
        load: Gives the model of a path.
        others: Who predicts applications without models.
    """

    def __init__(self, load: Callable[[str], Model], others: Predictor) -> None:
        self._load = load
        self._others = others
        self._models: dict[str, Model] = {}

    @property
    def why(self) -> str:
        """Why the others predict by what they do."""
        return self._others.why

    def check(self, application: Application, name: str, instances: int | None) -> str:
        """Refuse several instances of what has a model: it was fitted to runs that had all processors to themselves."""
        if application.modelled is None:
            return self._others.check(application, name, instances)
        return "" if instances == 1 else f"instances of {name} must be 1 with a model, got {instances or 'fill'}"

    def prepare(self, wanted: Mapping[Key, str], progress: Progress) -> None:
        """Load the models, and let the others prepare for what has none."""
        for application, _ in wanted:
            if application.modelled is not None:
                self._models.setdefault(application.modelled.path, self._load(application.modelled.path))
        self._others.prepare({key: name for key, name in wanted.items() if key[0].modelled is None}, progress)

    def memory(self, key: Key) -> Sequence[float]:
        """Return what models need by their footprint, where they have one."""
        if key[0].modelled is None:
            return self._others.memory(key)
        footprint = self._model(key[0].modelled).cluster.footprint
        if footprint is None:
            return ()
        return [float(footprint.of(key[0].modelled.size, np.array([float(key[1])]))[0])] * key[1]

    def regions(self, key: Key) -> Mapping[str, bool]:
        """Return the regions of what has no model."""
        return {} if key[0].modelled is not None else self._others.regions(key)

    def bounds(
        self, tasks: Sequence[Task], progress: Progress, samples: int = 0
    ) -> tuple[Doubles, npt.NDArray[np.bool_]]:
        """Return what models say, which is not taken to be known, so that what must be said beside it is asked for."""
        own, rest = _split(tasks)
        seconds, exact = np.empty(len(tasks)), np.zeros(len(tasks), np.bool_)
        seconds[own] = [self._forecast(tasks[i])[0].seconds for i in own]
        if rest:
            seconds[rest], exact[rest] = self._others.bounds([tasks[i] for i in rest], progress, samples)
        return seconds, exact

    def at_work(self) -> AbstractContextManager[object]:
        """Return the others' block."""
        return self._others.at_work()

    def predict(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Prediction]]:
        """Ask models first, then the others."""
        own, rest = _split(tasks)
        for i in own:
            forecast, outside = self._forecast(tasks[i])
            yield i, Prediction(forecast.seconds, ENGINE, warnings=tuple(_caveats(tasks[i], forecast, outside)))
        if rest:
            yield from ((rest[i], prediction) for i, prediction in self._others.predict([tasks[i] for i in rest]))

    def character(self, task: Task, makespan: float) -> Character | None:
        """Return what tells a replay from others; nothing tells of a model."""
        return None if task.key[0].modelled is not None else self._others.character(task, makespan)

    def deviation(self, task: Task) -> float | None:
        """Return how far a model's interval reaches; of a replay, what others state."""
        if task.key[0].modelled is None:
            return self._others.deviation(task)
        return _deviation(self._forecast(task)[0])

    def samples(self, tasks: Sequence[Task], sampling: Sampling, progress: Progress) -> Doubles:
        """Draw from the intervals of models, for each configuration by itself; and let the others draw theirs."""
        own, rest = _split(tasks)
        found = np.empty((len(tasks), sampling.samples))
        for i in own:
            forecast = self._forecast(tasks[i])[0]
            what = repr((tasks[i].key[0].modelled, sorted(self._uses(tasks[i]).items())))
            drawn = [float(each.generator("fitted model", what).standard_normal()) for each in sampling.each()]
            found[i] = forecast.seconds * np.exp(_deviation(forecast) * np.array(drawn))
        if rest:
            found[rest] = self._others.samples([tasks[i] for i in rest], sampling, progress)
        return found

    # --- what a model is asked ---

    def _model(self, modelled: Modelled) -> Model:
        return self._models[modelled.path]

    def _uses(self, task: Task) -> Configuration:
        modelled = task.key[0].modelled
        assert modelled is not None
        kinds = self._model(modelled).cluster.kinds
        return uses_of(task.where, ANY if list(kinds) == [ANY] else "")

    def _forecast(self, task: Task) -> tuple[Forecast, tuple[str, ...]]:
        modelled = task.key[0].modelled
        assert modelled is not None
        cluster, uses = self._model(modelled).cluster, self._uses(task)
        try:
            return cluster.predict(modelled.size, uses), cluster.outside(modelled.size, uses)
        except ModelError as error:
            where = f"{modelled.path} on {task.where.machine.name}"
            raise ModelError([f"{where}: {fault}" for fault in error.faults]) from None


def uses_of(where: Candidate, kind: str = "") -> dict[str, Use]:
    """Return on which processors ranks are placed: of each kind how many, and the most processes that one has.

    Args:
        where: A machine with ranks on its nodes.
        kind: What all processors are called; ``""``: as their node types are.
    """
    processors, most = Counter[str](), Counter[str]()
    for node, ranks in Counter(where.placement.nodes).items():
        of = where.machine.nodes[node]
        processors[kind or of.name] += min(ranks, of.processors)
        most[kind or of.name] = max(most[kind or of.name], -(-ranks // of.processors))
    return {each: Use(count, most[each]) for each, count in processors.items()}


def _split(tasks: Sequence[Task]) -> tuple[list[int], list[int]]:
    """Return the places of tasks that have a model, and those of the others."""
    own = [i for i, task in enumerate(tasks) if task.key[0].modelled is not None]
    return own, sorted(set(range(len(tasks))) - set(own))


def _deviation(forecast: Forecast) -> float:
    """Return the standard deviation of the logarithm; where nothing is known of it, that of a factor of 10."""
    if not math.isfinite(forecast.high) or forecast.seconds <= 0:
        return math.log(10) / TAIL
    return math.log(forecast.high / forecast.seconds) / TAIL


def _caveats(task: Task, forecast: Forecast, outside: tuple[str, ...]) -> Iterator[Caveat]:
    name = task.key[0].name
    if not math.isfinite(forecast.high):
        text = "the model has as many terms as points, so nothing tells how wrong it is: measure more sizes"
        yield Caveat(About.PROGRAM, name, text)
    if outside:
        yield Caveat(
            About.PROGRAM,
            name,
            "this lies outside of what its model was fitted to, so positions may be wrong ({why}): measure there, or "
            "replay a trace",
            {"why": "; ".join(outside)},
        )


def placed(machine: Machine, uses: Configuration) -> Placement:
    """Place ranks on the processors that a configuration uses: node after node, with as many ranks as it says on each.

    Raises:
        UsageError: If the machine has too few of a kind.
    """
    left = {kind: use.processors for kind, use in uses.items()}
    nodes: list[int] = []
    for i, node in enumerate(machine.nodes):
        kind = ANY if list(uses) == [ANY] else node.name
        taken = min(left.get(kind, 0), node.processors)
        if taken:
            left[kind] -= taken
            nodes += [i] * (taken * uses[kind].processes)
    if missing := [kind for kind, count in left.items() if count]:
        raise UsageError(f"{machine.name}: processors of {', '.join(missing)} must suffice, got too few")
    return Placement(tuple(nodes))
