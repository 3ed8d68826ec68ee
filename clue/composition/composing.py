"""Composed model from a program's structure and the times of its parts: a fitted time for each node, bottom-up.

The time that the critical path spends at a node in one iteration of the loop around it is fitted over size and ranks,
and so is the number of iterations of a loop. Times in a sequence are added; the time of a loop body is multiplied by
its iterations (PEMPIs-Het, equation 12); recordings that never enter a loop do not count for its body. Of branches
that ranks execute side by side, each has the time that the path spends in it, so that a master's messages and the
computation of the others meanwhile add up, as in PEMPIs-Het. The nodes of a master and its workers are fitted over the
number of workers, if every recording has some. At measured points, and with models that go through them, the sum is the
makespan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from clue.composition.times import SiteTimes
from clue.models import Series, Time, fit
from clue.models.parts import Fit, Part, Repeated, Runs
from clue.models.terms import Floats
from clue.structure import Example, Graph, Kind, Node


@dataclass(frozen=True, slots=True, eq=False)
class ComposedModel:
    """A program's model.

    Attributes:
        time: What the program takes.
        graph: Its structure.
        nodes: What models the nodes of the graph that the critical path goes through, and loops around them.
        examples: The recordings.
        measured: Their makespans, seconds.
        runs: What nodes took in them.
    """

    time: Series
    graph: Graph
    nodes: Mapping[Node, Time]
    examples: tuple[Example, ...]
    measured: tuple[float, ...]
    runs: Runs

    @property
    def off(self) -> tuple[float, ...]:
        """Relative error of the model at each recording."""
        return tuple(
            self.time(each.size, each.ranks) / seconds - 1
            for each, seconds in zip(self.examples, self.measured, strict=True)
        )


def compose(graph: Graph, examples: Sequence[Example], times: Sequence[SiteTimes], fitted: Fit = fit) -> ComposedModel:
    """Return the model of a program, composed of models of its nodes.

    Args:
        graph: Its structure in these recordings.
        examples: The recordings.
        times: What each took.
        fitted: Fits a node: :func:`clue.models.fit`, or :func:`clue.models.fit_in_turn` with the terms of a theory.

    Raises:
        ModelError: If there are no recordings, or a node cannot be fitted.
    """
    measured = _Measured(examples, times)
    parts = measured.parts(graph.root.children, np.ones(len(examples)), 0)
    runs = Runs(tuple(float(e.size) for e in examples), tuple(float(e.ranks) for e in examples), parts)
    time, found = runs.fit(fitted)
    nodes = {node: found[part] for node, part in measured.nodes.items()}
    return ComposedModel(time, graph, nodes, tuple(examples), tuple(each.total for each in times), runs)


@dataclass(frozen=True, slots=True, eq=False)
class _Measured:
    """Times of nodes.

    Attributes:
        examples: The recordings.
        times: What each took.
        nodes: What is known of nodes, so far: of those that the critical path goes through, and loops around them.
    """

    examples: Sequence[Example]
    times: Sequence[SiteTimes]
    nodes: dict[Node, Part | Repeated] = field(default_factory=dict)

    def parts(self, nodes: Sequence[Node], around: Floats, others: int) -> tuple[Part | Repeated, ...]:
        """Return the times of nodes.

        Args:
            nodes: The nodes.
            around: How many iterations there are around them, one of which is told; shape (recordings,).
            others: How many ranks there are beside those that share the work there.
        """
        found: list[Part | Repeated] = []
        for node in nodes:
            if node.children and node.kind is not Kind.LOOP:
                own = self._others(node) if node.kind is Kind.PARALLEL else 0
                found += self.parts(node.children, around, own or others)
            elif part := self._repeated(node, around, others) if node.children else self._part(node, around, others):
                self.nodes[node] = part
                found.append(part)
        return tuple(found)

    def _others(self, node: Node) -> int:
        """Return the number of ranks in branches of fixed size (masters).

        It is 0 unless one branch has all the others, at least one in each recording.
        """
        ranks = [[len(child.ranks(number)) for number in range(len(self.examples))] for child in node.children]
        fixed = sum(counts[0] for counts in ranks if len(set(counts)) == 1)
        growing = [counts for counts in ranks if len(set(counts)) > 1]
        rest = [each.ranks - fixed for each in self.examples]
        return fixed if growing == [rest] and all(rest) else 0

    def _repeated(self, node: Node, around: Floats, others: int) -> Repeated | None:
        iterations = np.array([node.mean_times(number) for number in range(len(self.examples))])
        body = self.parts(node.children, np.maximum(iterations, 1.0), others)
        return Repeated(_name(node), tuple((iterations / around).tolist()), body) if body else None

    def _part(self, node: Node, around: Floats, others: int) -> Part | None:
        seconds = np.array([each.of(node) for each in self.times]) / around
        return Part(_name(node), tuple(seconds.tolist()), others) if seconds.any() else None


def _name(node: Node) -> str:
    return f"{node.name} {node.place}".strip()
