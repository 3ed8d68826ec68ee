"""A program's structure graph with what its nodes take, in one recording and by models elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from clue.composition import ComposedModel, SiteTimes
from clue.models import Features, Forecast, Spent, Time, spent
from clue.models.parts import doubts, forecast_of
from clue.models.terms import RANKS, SIZE
from clue.structure import Graph, Kind, Node

#: Kinds of nodes that nothing lies within.
LEAVES = frozenset({Kind.COMPUTATION, Kind.COMMUNICATION})


@dataclass(frozen=True, eq=False)
class GraphProfile:
    """A graph with what its nodes take in one recording, and what models say of them elsewhere.

    Attributes:
        name: The trace, or the pattern of several.
        graph: The graph.
        recording: Of which recording ranks and counts are told.
        ranks: Its ranks.
        times: What its nodes take.
        measure: What that is, in words.
        composition: The model, if there are several recordings.
        target: The size and number of ranks that the model is asked for.
    """

    name: str
    graph: Graph
    recording: int
    ranks: int
    times: SiteTimes
    measure: str
    composition: ComposedModel | None = None
    target: tuple[int, int] | None = None

    @cached_property
    def seconds(self) -> Mapping[Node, float]:
        """What each node takes, seconds: loops and sequences what is in them."""
        found: dict[Node, float] = {}

        def take(node: Node) -> float:
            found[node] = self._own(node) if node.kind in LEAVES else sum(map(take, node.children))
            return found[node]

        take(self.graph.root)
        return found

    def _own(self, node: Node) -> float:
        of_kind = self.times.computation if node.kind is Kind.COMPUTATION else self.times.communication
        return float(of_kind[node.site])

    @cached_property
    def counts(self) -> Mapping[Node, float]:
        """How often each loop is repeated whenever ranks come to it, in the mean."""
        found: dict[Node, float] = {}

        def count(node: Node, around: float) -> None:
            times = node.mean_times(self.recording)
            if node.kind is Kind.LOOP:
                found[node] = times / max(around, 1.0)
            for child in node.children:
                count(child, times if node.kind is Kind.LOOP else around)

        count(self.graph.root, 1.0)
        return found

    def share(self, node: Node) -> float:
        """Return which share of all time a node takes."""
        whole = self.seconds[self.graph.root]
        return self.seconds[node] / whole if whole else 0.0

    def model(self, node: Node) -> Time | None:
        """Return what models a node."""
        return None if self.composition is None else self.composition.nodes.get(node)

    @cached_property
    def predicted(self) -> Mapping[Node, Spent]:
        """What models say that each computation and call takes at the target, in all iterations."""
        if self.composition is None or self.target is None:
            return {}
        parts = {id(part.time): part for part in spent("", self.composition.time, self._at)}
        return {node: parts[id(time)] for node, time in self.composition.nodes.items() if id(time) in parts}

    @cached_property
    def estimated(self) -> Forecast | None:
        """What the model says of the target, if there is one."""
        if self.composition is None or self.target is None:
            return None
        return forecast_of(self.composition.time, *self.target)

    @property
    def _at(self) -> Features:
        assert self.target is not None
        return {SIZE: [float(self.target[0])], RANKS: [float(self.target[1])]}

    @property
    def warnings(self) -> list[str]:
        """What a reader must know beside the figures."""
        said = []
        if self.graph.astray:
            said.append(f"{self.graph.astray:,} calls lie behind later ones outside any loop: counts may be wrong")
        if self.composition is not None and self.target is not None:
            said += doubts(self.composition.time, *self.target)
        return said
