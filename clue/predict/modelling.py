"""Predictions by models fitted to measured run times on processors like those of a machine.

A model of kinds of processors (:class:`clue.models.model.Model`) holds for all machines with these kinds. A model
composed of a program's parts (:class:`clue.models.parts.ProgramModel`) holds only for the machine where they were
measured; each machine has a file of its own, named with :data:`clue.predict.application.MACHINE`.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from clue.caveats import About, Caveat, note
from clue.errors import ModelError, UsageError
from clue.kernel import Candidate
from clue.machine import Machine, NodeNoise, NodeType, Placement
from clue.models import Configuration, Forecast, Use
from clue.models.ensemble import TAIL
from clue.models.model import ANY, Model
from clue.models.parts import ProgramModel, doubts, misfit
from clue.predict.application import MACHINE, Application, Key, Modelled
from clue.predict.dispatching import Specialist, Told
from clue.predict.prediction import Task
from clue.progress import Progress


class ModelPredictor(Specialist):
    """Predicts the times of applications that have a fitted model.

    Args:
        load: Loads a model of either kind from a path.
    """

    engine = "model"

    def __init__(self, load: Callable[[str], Model | ProgramModel]) -> None:
        self._load = load
        self._models: dict[str, Model | ProgramModel] = {}
        self._far_off: dict[str, list[str]] = {}
        # Descriptions of each kind of processors on the machines that a model was asked about, and of each machine.
        self._asked: dict[tuple[str, str], set[str]] = {}
        self._described: dict[int, tuple[Machine, dict[str, str]]] = {}

    def knows(self, application: Application) -> bool:
        """Tell whether it has a model."""
        return application.modelled is not None

    def check(self, application: Application, name: str, instances: int | None) -> str:
        """Refuse several instances: models were fitted to runs on dedicated processors."""
        return "" if instances == 1 else f"instances of {name} must be 1 with a model, got {instances or 'fill'}"

    def prepare(self, wanted: Mapping[Key, str], progress: Progress) -> None:
        """Load models that hold for all machines."""
        for application, _ in wanted:
            if application.modelled is not None and MACHINE not in application.modelled.path:
                self._loaded(application.modelled.path)

    def memory(self, key: Key) -> Sequence[float]:
        """Return the memory of each rank by the model's footprint, if it has one."""
        assert key[0].modelled is not None
        model = self._models.get(key[0].modelled.path)
        footprint = model.cluster.footprint if isinstance(model, Model) else None
        if footprint is None:
            return ()
        return [float(footprint.of(key[0].modelled.size, np.array([float(key[1])]))[0])] * key[1]

    def told(self, task: Task) -> Told:
        """Return the prediction of a model; each configuration has random draws of its own."""
        asked = self._question(task)
        source = "fitted model", repr((asked.modelled, sorted(asked.uses.items())))
        return Told(asked.forecast.seconds, _deviation(asked.forecast), source, tuple(asked.caveats()))

    # --- queries to models ---

    def _loaded(self, path: str) -> Model | ProgramModel:
        if path not in self._models:
            self._models[path] = self._load(path)
        return self._models[path]

    def _question(self, task: Task) -> _OfKinds | _OfProgram:
        modelled = task.key[0].modelled
        assert modelled is not None
        modelled = replace(modelled, path=modelled.path.replace(MACHINE, task.where.machine.name))
        model = self._loaded(modelled.path)
        if isinstance(model, ProgramModel):
            return _OfProgram(task, modelled, model)
        if modelled != task.key[0].modelled:
            rule = (
                f"must be composed of a program's parts where {MACHINE} is in its name, got one of kinds of processors"
            )
            raise ModelError(f"{modelled.path}: model {rule}")
        if modelled.path not in self._far_off:
            self._far_off[modelled.path] = model.misfit()
        return _OfKinds(task, modelled, model, self._far_off[modelled.path], self._differing(modelled.path, task.where))

    def _differing(self, path: str, where: Candidate) -> list[str]:
        """Return the kinds of processors used whose description differs between the machines that were asked about."""
        machine, found = self._described.setdefault(id(where.machine), (where.machine, {}))
        differing = []
        for kind in uses_of(where):
            if kind not in found:
                found[kind] = description_of(machine, kind)
            known = self._asked.setdefault((path, kind), set())
            known.add(found[kind])
            if len(known) > 1:
                differing.append(kind)
        return differing


class _Question(ABC):
    """Query of a task to its model, with the answer.

    Args:
        task: The task.
        modelled: File of its model, and size.
    """

    def __init__(self, task: Task, modelled: Modelled) -> None:
        self.task = task
        self.modelled = modelled

    @property
    @abstractmethod
    def uses(self) -> Configuration:
        """Processors used by the task."""

    @abstractmethod
    def _predict(self) -> Forecast: ...

    @abstractmethod
    def _outside(self) -> tuple[str, ...]: ...

    def _further(self) -> Iterator[Caveat]:
        """Yield the caveats of this kind of model."""
        yield from ()

    @cached_property
    def forecast(self) -> Forecast:
        """Forecast of the task's time.

        Raises:
            ModelError: If the model has no prediction, or predicts that the task takes no time.
        """
        where = f"{self.modelled.path} on {self.task.where.machine.name}"
        try:
            found = self._predict()
        except ModelError as error:
            raise ModelError([f"{where}: {fault}" for fault in error.faults]) from None
        # Coefficients of plain fits may be below 0.
        if found.seconds <= 0:
            advice = "fit without --plain or --fit in-turn, or to runs of about this size"
            raise ModelError(f"{where}: predicted time must be above 0, got {found.seconds:.4g} s: {advice}")
        return found

    def caveats(self) -> Iterator[Caveat]:
        """Yield the caveats of the forecast."""
        name = self.task.key[0].name
        if not math.isfinite(self.forecast.high):
            text = (
                "the model has as many terms as points, or says less than 0 s for a kind of processor, so its error is "
                "unknown: measure more sizes"
            )
            yield Caveat(About.PROGRAM, name, text)
        if outside := self._outside():
            yield Caveat(
                About.PROGRAM,
                name,
                "this lies outside the range to which its model was fitted, so positions may be wrong ({why}): "
                "measure there, "
                "or replay a trace",
                {"why": "; ".join(outside)},
            )
        yield from self._further()


class _OfKinds(_Question):
    """Query to a model of kinds of processors.

    Args:
        task: The task.
        modelled: File of its model, and size.
        model: The model.
        far_off: A line if it is too far off at its own runs.
        differing: Node types whose figures, or whose networks, differ between the machines of a comparison.
    """

    def __init__(
        self, task: Task, modelled: Modelled, model: Model, far_off: Sequence[str], differing: Sequence[str]
    ) -> None:
        super().__init__(task, modelled)
        self._model = model.cluster
        self._far_off = far_off
        self._differing = differing

    @property
    def _holds_anywhere(self) -> bool:
        """Whether it is unknown on which processors the model's runs were measured."""
        return list(self._model.kinds) == [ANY]

    @cached_property
    def uses(self) -> Configuration:
        return uses_of(self.task.where, ANY if self._holds_anywhere else "")

    def _further(self) -> Iterator[Caveat]:
        yield from (note(About.PROGRAM, self.task.key[0].name, each) for each in self._far_off)
        if self._holds_anywhere:
            text = (
                "its model gives the same time on all machines, as it does not tell on which processors its runs were "
                "measured: give the runs a column processor, with names of node types"
            )
            yield note(About.PROGRAM, self.task.key[0].name, text)
        elif self._differing:
            kinds = ", ".join(self._differing)
            text = (
                f"its model gives the same time on all node types of one name ({kinds}), although the machines state "
                "different figures of them or of the network: replay a trace, or measure each under a name of its own"
            )
            yield note(About.PROGRAM, self.task.key[0].name, text)

    def _predict(self) -> Forecast:
        return self._model.predict(self.modelled.size, self.uses, self.task.key[1])

    def _outside(self) -> tuple[str, ...]:
        return self._model.outside(self.modelled.size, self.uses, self.task.key[1])


class _OfProgram(_Question):
    """Query to a model composed of a program's parts."""

    def __init__(self, task: Task, modelled: Modelled, model: ProgramModel) -> None:
        super().__init__(task, modelled)
        self._model = model

    @cached_property
    def uses(self) -> Configuration:
        return uses_of(self.task.where)

    @property
    def _ranks(self) -> int:
        return self.task.key[1]

    def _predict(self) -> Forecast:
        where, ranks, known = self.task.where, self._ranks, self._model.machine
        if where.machine.name != known:
            advice = f"compose one there (clue model graph --machine), and name models by {MACHINE}"
            raise ModelError(f"machine must be {known}, where the program's parts were measured, got another: {advice}")
        if ranks > where.machine.processors or where.placement != Placement.block(where.machine, ranks):
            rule = "must be block, each rank on a processor of its own, as where the program's parts were measured"
            raise ModelError(f"placement {rule}, got another")
        return self._model.predict(self.modelled.size, ranks)

    def _outside(self) -> tuple[str, ...]:
        return self._model.outside(self.modelled.size, self._ranks)

    def _further(self) -> Iterator[Caveat]:
        where, name = self.task.where, self.task.key[0].name
        if self._model.described not in ("", description_of(where.machine)):
            text = (
                "the machine's description is not the one by which the parts of {model} were measured: compose the "
                "model again (clue model graph)"
            )
            yield Caveat(About.MACHINE, where.machine.name, text, {"model": name})
        for doubt in (*misfit(self._model.off), *doubts(self._model.time, self.modelled.size, self._ranks)):
            yield note(About.PROGRAM, name, doubt)


def description_of(machine: Machine, kind: str = "") -> str:
    """Return a fingerprint of a machine's description: of its figures, without names, prices and noise.

    Numbers of nodes are left out unless a topology depends on them; so are the parts that figures of nodes come from,
    and the order of regions and links.

    Args:
        machine: The machine.
        kind: The only node type that counts, beside the network; ``""``: all.
    """

    def figures(node: NodeType) -> NodeType:
        return replace(node.in_order, price=None, source="", sockets=None, noise=NodeNoise())

    times = (0.0, *(at for at, _ in machine.changes))
    states = [
        (
            at,
            sorted((name, figures(node)) for name, node in state.node_types().items() if kind in ("", name)),
            state.network.without_noise.in_order,
        )
        for at, state in zip(times, machine.epochs, strict=True)
    ]
    return hashlib.blake2b(repr(states).encode(), digest_size=8).hexdigest()


def uses_of(where: Candidate, kind: str = "") -> dict[str, Use]:
    """Return the processors on which ranks are placed: the number of each kind, and its maximum processes on one.

    Args:
        where: A machine with ranks on its nodes.
        kind: Name for all processors; ``""``: those of their node types.
    """
    processors, most = Counter[str](), Counter[str]()
    for node, ranks in Counter(where.placement.nodes).items():
        of = where.machine.nodes[node]
        processors[kind or of.name] += min(ranks, of.processors)
        most[kind or of.name] = max(most[kind or of.name], -(-ranks // of.processors))
    return {each: Use(count, most[each]) for each, count in processors.items()}


def _deviation(forecast: Forecast) -> float:
    """Return the standard deviation of the logarithm; if unknown, that of a factor of 10."""
    if not math.isfinite(forecast.high):
        return math.log(10) / TAIL
    return math.log(forecast.high / forecast.seconds) / TAIL


def placed(machine: Machine, uses: Configuration) -> Placement:
    """Place ranks on the processors of a configuration: node by node, with its number of processes on each processor.

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
