"""The times of the nodes of a program's structure graph: in one recording, and by models at other sizes and ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from clue.composition import ComposedModel, SiteTimes
from clue.models import Features, Forecast, Spent, Time, spent
from clue.models.parts import Fitted, doubts, misfit
from clue.models.terms import RANKS, SIZE
from clue.structure import Graph, Kind, Node

#: Kinds of nodes without children.
LEAVES = frozenset({Kind.COMPUTATION, Kind.COMMUNICATION})


@dataclass(frozen=True, eq=False)
class GraphProfile:
    """A graph with the times of its nodes in one recording, and predictions for other sizes and numbers of ranks.

    Attributes:
        name: Name of the trace, or the pattern of the names of several traces.
        graph: The graph.
        recording: Index of the recording whose ranks and counts are shown.
        ranks: Number of ranks of that recording.
        times: Times of its nodes.
        measure: Meaning of these times, in words.
        composition: The model, if there are several recordings.
        target: The size and number of ranks to predict.
        node_ranks: Number of ranks up to which all share one node of the machine; 0: unknown.
    """

    name: str
    graph: Graph
    recording: int
    ranks: int
    times: SiteTimes
    measure: str
    composition: ComposedModel | None = None
    target: tuple[int, int] | None = None
    node_ranks: int = 0

    @cached_property
    def seconds(self) -> Mapping[Node, float]:
        """Time of each node, seconds; that of a loop or sequence is the sum of its children."""
        found: dict[Node, float] = {}

        def take(node: Node) -> float:
            found[node] = self.times.of(node) if node.kind in LEAVES else sum(map(take, node.children))
            return found[node]

        take(self.graph.root)
        return found

    @cached_property
    def counts(self) -> Mapping[Node, float]:
        """Mean number of iterations of each loop, each time it is entered."""
        loops = (node for _, node in self.graph.root.walk() if node.kind is Kind.LOOP)
        return {node: node.mean_count(self.recording) for node in loops}

    def share(self, node: Node) -> float:
        """Return the share of a node in the whole time."""
        whole = self.seconds[self.graph.root]
        return self.seconds[node] / whole if whole else 0.0

    def model(self, node: Node) -> Time | None:
        """Return the model of a node, if there is one."""
        return None if self.composition is None else self.composition.nodes.get(node)

    @cached_property
    def predicted(self) -> Mapping[Node, Spent]:
        """Predicted time of each computation and call at the target, over all iterations."""
        if self.composition is None or self.target is None:
            return {}
        parts = {id(part.time): part for part in spent("", self.composition.time, self._at)}
        return {node: parts[id(time)] for node, time in self.composition.nodes.items() if id(time) in parts}

    @cached_property
    def estimated(self) -> Forecast | None:
        """Forecast for the target, if there are a model and a target."""
        if self.composition is None or self.target is None:
            return None
        return Fitted(self.composition.time, self.composition.runs, self.node_ranks).predict(*self.target)

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
        if self.composition is not None:
            said += misfit(self.composition.off)
        if self.composition is not None and self.target is not None:
            said += doubts(self.composition.time, *self.target)
        return said
