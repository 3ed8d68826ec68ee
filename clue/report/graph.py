"""A program's structure graph, and the models of its nodes: as a document, and for Graphviz."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from clue.composition import ComposedModel, SiteTimes
from clue.models import Among, Ensemble, Features, Forecast, Spent, Time, spent
from clue.models.parts import Part, ProgramModel, Repeated, doubts, forecast_of
from clue.models.terms import RANKS, SIZE
from clue.report.document import fields
from clue.report.loops import ranks_text
from clue.structure import Graph, Kind, Node
from clue.units import format_number, format_time

#: Graphviz shapes, as DP*Graph++ draws: rectangles, triangles.
_SHAPES = {Kind.COMPUTATION: "box, style=filled, fillcolor=lightgrey", Kind.COMMUNICATION: "invtriangle"}
_LEAVES = frozenset(_SHAPES)


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
            found[node] = self._own(node) if node.kind in _LEAVES else sum(map(take, node.children))
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

    def ranks_of(self, node: Node) -> str:
        """Return a node's ranks in words."""
        ranks = node.ranks(self.recording)
        return "all" if len(ranks) == self.ranks else ranks_text(ranks) or "none here"

    def whose(self, node: Node) -> str:
        """Return a node's ranks with what they are."""
        ranks = node.ranks(self.recording)
        return f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {self.ranks_of(node)}"

    def words(self, node: Node) -> str:
        """Return what a node is, on one line."""
        if node.kind is Kind.LOOP:
            return f"{format_number(self.counts[node])} × {node.name}"
        return node.name or self.whose(node)

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

    def document(self) -> dict[str, object]:
        """Describe all of it."""
        whole = self.seconds[self.graph.root]
        document = {
            "trace": self.name,
            "ranks": self.ranks,
            "measure": self.measure,
            "seconds": whole,
            "graph": self._node(self.graph.root),
            "warnings": self.warnings,
        }
        if self.composition is not None:
            off = [abs(each) for each in self.composition.off]
            document["model"] = {
                "recordings": len(off),
                "error": {"mean": sum(off) / len(off), "largest": max(off)},
                "domain": {name: list(ends) for name, ends in self.composition.time.domain.items()},
                **({} if self.estimated is None else _forecast(self.estimated)),
            }
        return document

    def _node(self, node: Node) -> dict[str, object]:
        document: dict[str, object] = {
            "kind": node.kind.value,
            "name": node.name,
            "place": node.place or None,
            "region": node.region or None,
            "ranks": list(node.ranks(self.recording)),
            "seconds": self.seconds[node],
        }
        if node.kind is Kind.LOOP:
            document["count"] = self.counts[node]
        time = self.model(node)
        if time is not None and node.kind in _LEAVES:
            document["model"] = {"terms": model_text(time)}
        if node in self.predicted:
            document["predicted"] = self.predicted[node].seconds
        if node.children:
            document["children"] = [self._node(child) for child in node.children]
        return document

    def dot(self) -> str:
        """Return the graph for Graphviz: rectangles compute, triangles communicate, loops are dotted."""
        return "\n".join(["digraph program {", '  node [fontname="sans-serif"];', *self._dot(), "}"]) + "\n"

    def _dot(self) -> Iterator[str]:
        numbers = {node: f"n{i}" for i, (_, node) in enumerate(self.graph.root.walk())}
        yield from self._inner(self.graph.root, numbers, "  ")
        yield from (f"  {one} -> {other};" for one, other in _edges(self.graph.root, numbers))

    def _inner(self, node: Node, numbers: Mapping[Node, str], indent: str) -> Iterator[str]:
        label = _quoted(self._label(node))
        if node.kind in _LEAVES:
            yield f"{indent}{numbers[node]} [label={label}, shape={_SHAPES[node.kind]}];"
            return
        if node.kind is not Kind.LOOP:
            for child in node.children:
                yield from self._inner(child, numbers, indent)
            return
        yield f"{indent}subgraph cluster_{numbers[node]} {{"
        yield f"{indent}  label={label}; style=dotted;"
        for child in node.children:
            yield from self._inner(child, numbers, indent + "  ")
        yield f"{indent}}}"

    def _label(self, node: Node) -> str:
        seconds = "" if node.kind is Kind.LOOP else format_time(self.seconds[node])
        return "\n".join(filter(None, (self.words(node), node.place, seconds)))


def program_model_yaml(model: ProgramModel) -> str:
    """Return the file of a model of a program, which the configuration reads: YAML, with a line for each part."""
    head = {
        "model": 1,
        "form": "composed",
        "fit": model.how,
        **fields(model, "name", "machine", "described", "source", "made"),
    }
    runs = fields(model.runs, "sizes", "ranks")
    lines = [f"{key}: {json.dumps(value)}" for key, value in (head | runs).items()]
    parts = [f"  - {json.dumps(_part(part), allow_nan=False)}" for part in model.runs.parts]
    return "\n".join([*lines, "parts:", *parts]) + "\n"


def _part(part: Part | Repeated) -> dict[str, object]:
    if isinstance(part, Repeated):
        return {"name": part.name, "times": part.times, "parts": [_part(each) for each in part.parts]}
    return {"name": part.name, "seconds": part.seconds, **({"others": part.others} if part.others else {})}


def program_model_document(model: ProgramModel) -> dict[str, object]:
    """Describe a model of a program: its parts, what it is off by, and where it holds."""
    off = [abs(each) for each in model.off]
    at = {SIZE: [model.runs.sizes[0]], RANKS: [model.runs.ranks[0]]}
    return {
        **fields(model, "name", "machine", "source", "made"),
        "form": "composed",
        "fit": model.how,
        "parts": [
            {"part": each.name.lstrip("/"), "model": model_text(each.time)} for each in spent("", model.time, at)
        ],
        "error": {"mean": sum(off) / len(off), "largest": max(off)},
        "domain": {name: list(ends) for name, ends in model.time.domain.items()},
        "runs": len(off),
    }


def predicted_document(model: ProgramModel, size: float, ranks: float) -> dict[str, object]:
    """Describe what a model of a program says of a size on so many ranks."""
    return {**_forecast(forecast_of(model.time, size, ranks)), "warnings": doubts(model.time, size, ranks)}


def _forecast(said: Forecast) -> dict[str, object]:
    found = fields(said, "seconds", "low", "high", "inside")
    return {**found, "high": said.high if math.isfinite(said.high) else None}


def model_text(time: Time) -> str:
    """Return a model on one line: of an ensemble its most plausible member."""
    within = time.time if isinstance(time, Among) else time
    text = str(within.members[0].model if isinstance(within, Ensemble) else within)
    return f"{text} with {RANKS} - {time.others} for {RANKS}" if isinstance(time, Among) else text


def _edges(node: Node, numbers: Mapping[Node, str]) -> Iterator[tuple[str, str]]:
    """Yield what follows what: in a sequence, to and from all that is side by side."""
    if node.kind is not Kind.PARALLEL:
        for one, other in zip(node.children, node.children[1:], strict=False):
            yield from ((numbers[end], numbers[begin]) for end in _ends(one, -1) for begin in _ends(other, 0))
    for child in node.children:
        yield from _edges(child, numbers)


def _ends(node: Node, which: int) -> list[Node]:
    """Return the first or the last leaves of a node."""
    if node.kind in _LEAVES:
        return [node]
    if node.kind is Kind.PARALLEL:
        return [leaf for child in node.children for leaf in _ends(child, which)]
    return _ends(node.children[which], which)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
