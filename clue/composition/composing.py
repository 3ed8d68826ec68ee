"""From a program's structure and what its parts took to a composed model: a fitted time for each node, bottom-up.

What the critical path spends at a node in one iteration of the loop around it is fitted over size and ranks, and so is
how often loops are repeated. Sequences add, loops multiply (PEMPIs-Het, equation 12). Of what ranks do side by side
each branch has what the path spends in it: a master's messages and what the others compute meanwhile add up, as there.
What a master and its workers do is fitted over the number of workers. At points that were measured, and with models
that go through them, the sum is the makespan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from clue.composition.times import SiteTimes
from clue.errors import ModelError
from clue.models import Among, Features, Loop, Series, Time, fit, fit_in_turn, spent
from clue.models.terms import RANKS, SIZE, Floats
from clue.structure import Example, Graph, Kind, Node
from clue.units import format_share

#: Fits times that were measured at points.
Fit = Callable[[Features, npt.ArrayLike], Time]
#: How a count may depend on size and ranks, the simplest first; the first that holds exactly is taken.
_COUNTS = (
    (("1",), ("1",)),
    (("1",), ("1", "P")),
    (("1", "n"), ("1",)),
    (("1", "n"), ("1", "P")),
    (("1", "n"), ("1", "1/P")),
)
_EXACT = 1e-9
#: Share of the time from which on a part matters.
_MATTERS = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class ComposedModel:
    """A program's model.

    Attributes:
        time: What the program takes.
        graph: Its structure.
        nodes: What models the nodes of the graph that the critical path goes through, and loops around them.
        examples: The recordings.
        measured: Their makespans, seconds.
    """

    time: Series
    graph: Graph
    nodes: Mapping[Node, Time]
    examples: tuple[Example, ...]
    measured: tuple[float, ...]

    def doubts(self, size: float, ranks: float) -> list[str]:
        """Say which parts the model is not sure of, though they matter: they may take twice as long as it says."""
        parts = list(spent("", self.time, {SIZE: [size], RANKS: [ranks]}))
        whole = sum(part.seconds for part in parts)
        return [
            f"{part.name.lstrip('/')} takes {format_share(part.seconds / whole)} of the time, by models that may be "
            "off by more than a factor of 2: fit to more sizes and numbers of ranks, all within one node or all beyond"
            for part in parts
            if part.seconds > _MATTERS * whole and part.high > 2 * part.seconds
        ]

    @property
    def off(self) -> tuple[float, ...]:
        """What the model is off by at each recording, as shares."""
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
        ModelError: There are no recordings, or a node cannot be fitted.
    """
    if not examples:
        raise ModelError("compose: recordings must be at least one, got none")
    composer = _Composer(examples, times, fitted)
    parts = composer.parts(graph.root.children, np.ones(len(examples)), 0)
    return ComposedModel(Series(parts), graph, composer.nodes, tuple(examples), tuple(each.total for each in times))


@dataclass(frozen=True, slots=True, eq=False)
class _Composer:
    """Fits nodes.

    Attributes:
        examples: The recordings.
        times: What each took.
        fitted: Fits a node.
        nodes: What models the nodes, so far.
    """

    examples: Sequence[Example]
    times: Sequence[SiteTimes]
    fitted: Fit
    nodes: dict[Node, Time] = field(default_factory=dict)

    def parts(self, nodes: Sequence[Node], around: Floats, others: int) -> dict[str, Time]:
        """Return the models of nodes.

        Args:
            nodes: The nodes.
            around: How many iterations there are around them, of which each model is one; shape (recordings,).
            others: How many ranks there are beside those that share the work there.
        """
        parts: dict[str, Time] = {}
        for node in nodes:
            if node.kind is Kind.LOOP:
                self._repeat(parts, node, around, others)
            elif node.children:
                beside = self._others(node) if node.kind is Kind.PARALLEL else others
                for name, part in self.parts(node.children, around, beside).items():
                    parts[_free(parts, name)] = part
            else:
                self._fit(parts, node, around, others)
        return parts

    def _others(self, node: Node) -> int:
        """Return how many ranks are beside those of whom there are more where there are more ranks: masters."""
        ranks = [[len(child.ranks(number)) for number in range(len(self.examples))] for child in node.children]
        fixed = sum(counts[0] for counts in ranks if len(set(counts)) == 1)
        growing = [counts for counts in ranks if len(set(counts)) > 1]
        rest = [each.ranks - fixed for each in self.examples]
        return fixed if growing == [rest] else 0

    def _repeat(self, parts: dict[str, Time], node: Node, around: Floats, others: int) -> None:
        iterations = np.array([node.mean_times(number) for number in range(len(self.examples))])
        body = self.parts(node.children, np.maximum(iterations, 1.0), others)
        if body:
            count = _count(self._features(), iterations / around, self.fitted)
            self.nodes[node] = parts[_free(parts, _name(node))] = Loop(count, Series(body))

    def _fit(self, parts: dict[str, Time], node: Node, around: Floats, others: int) -> None:
        kind = "computation" if node.kind is Kind.COMPUTATION else "communication"
        seconds = np.array([getattr(each, kind)[node.site] for each in self.times]) / around
        if seconds.any():
            time = self.fitted(self._features(others), seconds)
            self.nodes[node] = parts[_free(parts, _name(node))] = Among(time, others) if others else time

    def _features(self, others: int = 0) -> dict[str, list[float]]:
        return {
            SIZE: [float(each.size) for each in self.examples],
            RANKS: [float(each.ranks - others) for each in self.examples],
        }


def _name(node: Node) -> str:
    return f"{node.name} {node.place}".strip()


def _free(parts: Mapping[str, Time], name: str) -> str:
    """Return a name that no part has yet."""
    alike = sum(each == name or each.startswith(f"{name} (") for each in parts)
    return f"{name} ({alike + 1})" if alike else name


def _count(features: Features, counts: Floats, fitted: Fit) -> Time:
    """Return a model of how often a loop is repeated: exact where it can be."""
    for inner, outer in _COUNTS:
        try:
            found = fit_in_turn(features, counts, inner, outer)
        except ModelError:
            continue
        if np.allclose(found.seconds(features), counts, rtol=_EXACT):
            return found
    return fitted(features, counts)
