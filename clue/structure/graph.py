"""A program's structure as a graph: sequences, loops with counts, parallel parts, computations, calls.

The graph is the tree of call sites (:mod:`clue.structure.nest`). Functions are inlined into the sequences that call
them, loops are nodes with iteration counts, and a call is two nodes: the computation before it, and the call itself.
Consecutive nodes are parallel if no rank executes two of them, such as the parts of a master and of its workers.
PEMPIs-Het draws such a graph, DP*Graph++, by hand from the source: rectangles, dotted loops and triangles.

The burst before the first call in a loop contains what the program computed before the loop. Where that matters, it is
a node of its own (:meth:`Graph.with_first`).

Ranks that execute the same sites have one *role*.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import groupby

import numpy as np

from clue.structure.nest import Nest, Step, Walk
from clue.structure.table import Example
from clue.trace.ops import Flag, Op
from clue.trace.sites import UNKNOWN, Site
from clue.trace.store import Trace

#: A rank of a recording: the recording's number, and the rank.
Goer = tuple[int, int]
Path = tuple[Step, ...]
_CONTINUED = int(Flag.CONTINUED)


def examples_of(recordings: Iterable[tuple[int, int, Trace]]) -> tuple[tuple[Site, ...], list[Example]]:
    """Return the sites of one program's recordings, each given by size, ranks and trace, and the recordings."""
    numbers: dict[Site, int] = {UNKNOWN: 0}
    examples = []
    for size, ranks, trace in recordings:
        own = np.array([numbers.setdefault(site, len(numbers)) for site in trace.head.sites], np.int64)
        examples.append(Example(size, ranks, trace, own[trace.ops.site]))
    return tuple(numbers), examples


class Kind(Enum):
    """The kind of a node."""

    SEQUENCE = "sequence"
    PARALLEL = "parallel"
    LOOP = "loop"
    COMPUTATION = "computation"
    COMMUNICATION = "communication"


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A node of the graph.

    Attributes:
        kind: Its kind.
        name: Its name: the call's name, the loop's line.
        place: File and line; ``""`` if it has no single place.
        site: Number of the site of a computation or call; -1 for other nodes.
        goers: The ranks that execute it.
        times: How often each of them does: number of iterations of a loop, number of calls of a call or a computation.
        children: Its parts, in order; for a parallel node, the parallel parts.
        region: Region of a computation or call.
        is_first: Whether it is the part of a computation that precedes the loops around its site.
        entries: How often each of the ranks enters a loop.
    """

    kind: Kind
    name: str
    place: str = ""
    site: int = -1
    goers: frozenset[Goer] = frozenset()
    times: Mapping[Goer, int] = field(default_factory=dict)
    children: tuple[Node, ...] = ()
    region: str = ""
    is_first: bool = False
    entries: Mapping[Goer, int] = field(default_factory=dict)

    def ranks(self, recording: int) -> tuple[int, ...]:
        """Return the ranks of a recording that execute it."""
        return tuple(sorted(rank for number, rank in self.goers if number == recording))

    def mean_times(self, recording: int) -> float:
        """Return how often the ranks of a recording execute it on average; 0 if none does."""
        times = _of(recording, self.times)
        return sum(times) / len(times) if times else 0.0

    def mean_count(self, recording: int) -> float:
        """Return the mean number of iterations of a loop each time it is entered in a recording; 0 if it never is."""
        times, entries = (_of(recording, each) for each in (self.times, self.entries))
        return sum(times) / sum(entries) if entries else 0.0

    def walk(self, depth: int = 0) -> Iterator[tuple[int, Node]]:
        """Yield this node and all nodes in it with their depths, in preorder."""
        yield depth, self
        for child in self.children:
            yield from child.walk(depth + 1)


def _of(recording: int, counts: Mapping[Goer, int]) -> list[int]:
    """Return the counts of the ranks of a recording."""
    return [count for (number, _), count in counts.items() if number == recording]


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """The structure of a program as recordings show it.

    Attributes:
        root: The whole program.
        roles: Groups of ranks that execute the same sites, by their lowest rank.
        astray: Number of calls that jump back outside any loop: iteration counts of loops there may be wrong.
        entries: By site within loops and rank, the number of calls with which the rank enters all these loops.
        calls: By site and rank, the number of calls.
    """

    root: Node
    roles: tuple[frozenset[Goer], ...]
    astray: int = 0
    entries: Mapping[int, Mapping[Goer, int]] = field(default_factory=dict)
    calls: Mapping[int, Mapping[Goer, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, sites: Sequence[Site], examples: Sequence[Example]) -> Graph:
        """Read recordings of one program (:func:`examples_of`).

        Args:
            sites: Its sites.
            examples: The recordings, whose sites are numbered like these.
        """
        nest = Nest.of(sites)
        reading = _Reading(nest, examples)
        for number in range(len(examples)):
            reading.read(number)
        known = [site for site in sorted(reading.calls) if site]
        children = reading.sequence([(nest.paths[site], site) for site in known])
        if 0 in reading.calls:
            children += reading.call(0)
        everybody = frozenset(goer for calls in reading.calls.values() for goer in calls)
        root = Node(Kind.SEQUENCE, "program", goers=everybody, times=dict.fromkeys(everybody, 1))
        root = replace(root, children=_side_by_side(children, everybody))
        return cls(root, reading.roles(), reading.astray, reading.entries, reading.calls)

    def with_first(self, sites: Set[int]) -> Graph:
        """Return the graph with nodes before loops for what precedes the first bursts of some sites in them."""
        return replace(self, root=replace(self.root, children=tuple(self._with_first(self.root.children, sites))))

    def _with_first(self, nodes: Iterable[Node], sites: Set[int]) -> Iterator[Node]:
        for node in nodes:
            if node.kind is Kind.LOOP:
                inside = [each for _, each in node.walk() if each.kind is Kind.COMPUTATION and each.site in sites]
                for each in inside:
                    entries = self.entries[each.site]
                    name = f"until the loop, {each.name}"
                    yield replace(each, name=name, goers=frozenset(entries), times=entries, is_first=True)
                yield node
            elif node.kind is Kind.PARALLEL:
                branches = [list(self._with_first([child], sites)) for child in node.children]
                yield replace(node, children=tuple(map(_branch, branches)))
            else:
                yield replace(node, children=tuple(self._with_first(node.children, sites))) if node.children else node


@dataclass(slots=True)
class _Reading:
    """The observations of each site.

    Attributes:
        nest: The loops.
        examples: The recordings.
        calls: By site and rank, number of calls.
        iterations: By loop and rank, the number of iterations with calls.
        entered: By loop and rank, how often the rank enters the loop.
        names: By site, names of its calls.
        regions: By site, their regions.
        astray: Number of calls that jump back outside any loop.
        entries: By site within loops and rank, the calls that enter all loops around them.
    """

    nest: Nest
    examples: Sequence[Example]
    calls: dict[int, dict[Goer, int]] = field(default_factory=dict)
    iterations: dict[Path, dict[Goer, int]] = field(default_factory=dict)
    entered: dict[Path, dict[Goer, int]] = field(default_factory=dict)
    names: dict[int, dict[str, None]] = field(default_factory=dict)
    regions: dict[int, dict[str, None]] = field(default_factory=dict)
    astray: int = 0
    entries: dict[int, dict[Goer, int]] = field(default_factory=dict)

    def read(self, number: int) -> None:
        """Read a recording."""
        example = self.examples[number]
        head, ops, walk = example.trace.head, example.trace.ops, Walk(self.nest)
        begins = (ops.flags & _CONTINUED) == 0
        for rank, (first, end) in enumerate(zip(head.offsets, head.offsets[1:], strict=False)):
            sites = example.sites[first:end][begins[first:end]]
            for site, calls in zip(*(each.tolist() for each in np.unique(sites, return_counts=True)), strict=True):
                self.calls.setdefault(site, {})[number, rank] = calls
            for site, is_entry in zip(sites.tolist(), walk.entering(sites.tolist()), strict=True):
                if is_entry and site:  # the graph has the unknown site outside of all loops
                    of = self.entries.setdefault(site, {})
                    of[number, rank] = of.get((number, rank), 0) + 1
            coordinates, astray = walk.coordinates(sites.tolist())
            self.astray += len(astray)
            self._count((number, rank), sites.tolist(), coordinates)
        rows = np.unique(np.stack([example.sites, ops.call, ops.region, ops.op])[:, begins], axis=1)
        for site, call, region, op in rows.T.tolist():
            if op != Op.COMPUTE:
                self.names.setdefault(site, {})[head.calls[call] or Op(op).name.lower()] = None
            self.regions.setdefault(site, {})[head.regions[region]] = None

    def _count(self, goer: Goer, sites: Sequence[int], coordinates: Sequence[tuple[int, ...]]) -> None:
        seen: dict[Path, set[tuple[int, ...]]] = {}
        for site, where in dict.fromkeys(zip(sites, coordinates, strict=True)):
            for depth, loop in enumerate(self.nest.loops(site) if site else ()):
                seen.setdefault(loop, set()).add(where[: depth + 1])
        for loop, iterations in seen.items():
            self.iterations.setdefault(loop, {})[goer] = len(iterations)
            self.entered.setdefault(loop, {})[goer] = len({where[:-1] for where in iterations})

    def roles(self) -> tuple[frozenset[Goer], ...]:
        """Return the groups of ranks that execute the same sites."""
        of: dict[Goer, list[int]] = {}
        for site in sorted(self.calls):
            for goer in self.calls[site]:
                of.setdefault(goer, []).append(site)
        order = sorted(of, key=lambda goer: (goer[1], goer[0]))
        alike: dict[tuple[int, ...], list[Goer]] = {}
        for goer in order:
            alike.setdefault(tuple(of[goer]), []).append(goer)
        return tuple(map(frozenset, alike.values()))

    # -- the tree ---------------------------------------------------------------------------------------------

    def sequence(self, ways: Sequence[tuple[Path, int]], depth: int = 0) -> list[Node]:
        """Return the nodes of sites whose paths are the same up to a depth, in program order."""
        made: list[Node] = []
        ordered = sorted(ways, key=lambda way: self.nest.key(way[0]))
        for step, group in groupby(ordered, key=lambda way: way[0][depth]):
            inside = list(group)
            if step.is_place and len(inside[0][0]) == depth + 1:
                made += self.call(inside[0][1])
            elif step.is_loop:
                made.append(self._loop(inside, depth))
            else:
                made += self.sequence(inside, depth + 1)
        return made

    def _loop(self, inside: Sequence[tuple[Path, int]], depth: int) -> Node:
        path = inside[0][0][: depth + 1]
        goers = self._goers(inside)
        return Node(
            Kind.LOOP,
            f"loop in {path[-1].function}",
            _place(path[-1]),
            goers=goers,
            times=self.iterations[path],
            children=_side_by_side(self.sequence(inside, depth + 1), goers),
            entries=self.entered[path],
        )

    def _goers(self, inside: Sequence[tuple[Path, int]]) -> frozenset[Goer]:
        return frozenset(goer for _, site in inside for goer in self.calls[site])

    def call(self, site: int) -> list[Node]:
        """Return the computation before a call, and the call."""
        times = self.calls[site]
        path = self.nest.paths[site] if site else ()
        place = _place(path[-1]) if path else ""
        name = ", ".join(self.names.get(site, ()))
        region = ", ".join(filter(None, self.regions[site]))
        both = [(Kind.COMPUTATION, f"before {name}" if name else "computation"), (Kind.COMMUNICATION, name)]
        return [Node(kind, words, place, site, frozenset(times), times, (), region) for kind, words in both if words]


def _place(step: Step) -> str:
    return f"{step.file.rpartition('/')[2]}:{step.line}"


def _side_by_side(nodes: Sequence[Node], everybody: frozenset[Goer]) -> tuple[Node, ...]:
    """Make consecutive nodes without a common rank parallel."""
    made: list[Node] = []
    for partly, group in groupby(nodes, key=lambda node: node.goers != everybody):
        together = list(group)
        branches = _connected(together) if partly else [together]
        if len(branches) > 1:
            goers = frozenset(goer for node in together for goer in node.goers)
            made.append(Node(Kind.PARALLEL, "side by side", goers=goers, children=tuple(map(_branch, branches))))
        else:
            made += together
    return tuple(made)


def _connected(nodes: list[Node]) -> list[list[Node]]:
    """Return groups of nodes without common ranks, each in order."""
    groups: list[tuple[frozenset[Goer], list[Node]]] = []
    for node in nodes:
        mine = [group for group in groups if group[0] & node.goers]
        others = [group for group in groups if not group[0] & node.goers]
        goers = node.goers.union(*(group[0] for group in mine))
        joined = sorted([each for group in mine for each in group[1]] + [node], key=nodes.index)
        groups = [*others, (goers, joined)]
    return sorted((group for _, group in groups), key=lambda group: nodes.index(group[0]))


def _branch(nodes: list[Node]) -> Node:
    if len(nodes) == 1:
        return nodes[0]
    goers = frozenset(goer for node in nodes for goer in node.goers)
    return Node(Kind.SEQUENCE, "", goers=goers, children=tuple(nodes))
