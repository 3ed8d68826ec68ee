"""Generate the options of a comparison: every offered number of every kind of node with every network.

A kind of node is a node with one of the offered processors and one of the offered memories, if any; a network is one of
the networks with one of the topologies. Each part is checked once, as a part of a machine; thousands of machines are
then assembled from them without reading the file again. Options that the budget does not cover are counted and left
out; options that more money would allow are kept separately.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product

from clue.config.costs import CostReader, with_costs
from clue.config.currencies import Exchange
from clue.config.document import Document, Origin, Path, format_value
from clue.config.faults import did_you_mean
from clue.config.machines import build_machine_apart
from clue.config.references import refer_to_machine
from clue.config.run_schema import (
    Counts,
    CountsForm,
    GenerateForm,
    OfferedNetworkForm,
    OfferedTopologyForm,
    ScenarioForm,
)
from clue.machine import Machine, Network, NodeType
from clue.purchase.costs import Stated, hardware_of
from clue.purchase.scenario import Built, Kind, Option, name_of
from clue.units import Money, format_size

#: Largest number of generated options: more are taken for a mistake in the file.
MOST_OPTIONS = 250_000

_OFFER_KEYS = ("machine", "price", "price_per_node", "switch", "most_nodes")


@dataclass(slots=True)
class Generated:
    """Generated options.

    Attributes:
        options: Options that the budget covers, or the cheapest if it covers none.
        left_out: Number of options that it does not cover.
        beyond: Those of them that it would cover with the additional money in question.
        notes: Notes about their parts for the reader of results.
        node_types: Names of the kinds of nodes and of their parts.
    """

    options: list[Option] = field(default_factory=list)
    left_out: int = 0
    beyond: list[Option] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    node_types: set[str] = field(default_factory=set)


def generate_options(costs: CostReader, form: ScenarioForm, more: Money | None = None) -> Generated:
    """Generate the options that a comparison asks for; add its faults to the reading.

    Args:
        costs: Reads their costs.
        form: The comparison.
        more: Money in addition to the budget, whose best use is asked for.
    """
    reading, budget = costs.reading, None if form.budget is None else costs.exchange(form.budget)
    most = math.inf if budget is None else budget.amount
    found = Generated()
    names = set(form.options or {})
    cheapest: Option | None = None
    for number, (path, family_form) in enumerate(_families(form)):
        family = _Family(costs, path, family_form, number, priced=budget is not None)
        for option in family.options():
            if option.name in names:
                reading.fault(path, f'must generate options with distinct names, got "{option.name}" twice')
                break
            names.add(option.name)
            amount = _amount(option)
            if amount <= most:
                found.options.append(option)
                continue
            found.left_out += 1
            if cheapest is None or amount < _amount(cheapest):
                cheapest = option
            if more is not None and amount <= most + more.amount:
                found.beyond.append(option)
        found.notes += family.notes
        found.node_types |= family.node_types
    if not found.options and not form.options and cheapest is not None:
        found.options, found.left_out = [cheapest], found.left_out - 1
        found.beyond = [option for option in found.beyond if option is not cheapest]
    return found


def _families(form: ScenarioForm) -> Iterator[tuple[Path, GenerateForm]]:
    if isinstance(form.generate, GenerateForm):
        yield ("generate",), form.generate
    for i, each in enumerate(form.generate if isinstance(form.generate, list) else ()):
        yield ("generate", i), each


def _amount(option: Option) -> float:
    return option.price.amount if option.price is not None else 0.0


@dataclass(frozen=True, slots=True)
class _Offer:
    """A network with its topology and its price."""

    name: str
    topology: str
    network: Network
    forms: Mapping[str, OfferedNetworkForm | OfferedTopologyForm]
    exchange: Exchange

    @property
    def title(self) -> str:
        """The names of both."""
        return f"{self.name} {self.topology}".rstrip()

    def takes(self, nodes: int) -> bool:
        """Tell whether it has room for a number of nodes."""
        topology = self.network.contention.topology
        room = topology.room if topology is not None else None
        limits = (room, *(form.most_nodes for form in self.forms.values()))
        return all(most is None or nodes <= most for most in limits)

    def prices(self, nodes: int) -> Iterator[Stated]:
        """Yield the figures of its price for a number of nodes."""
        for path, form in self.forms.items():
            if form.price is not None:
                yield _figure(f"{path}.price", form.price, self.exchange)
            if form.price_per_node is not None:
                yield _figure(f"{path}.price_per_node", form.price_per_node, self.exchange, nodes)
            if form.switch is not None:
                yield _figure(f"{path}.switch.price", form.switch.price, self.exchange, -(-nodes // form.switch.ports))


def _figure(name: str, price: Money, exchange: Exchange, number: float = 1.0) -> Stated:
    return Stated(name, exchange.amount(price), price.deviation, number)


@dataclass(frozen=True, slots=True)
class _NodeKind:
    """A kind of node with its price; ``None`` if that is not stated."""

    kind: Kind
    node: NodeType
    prices: tuple[Stated, ...] | None


class _Family:
    """All clusters that can be built from some parts."""

    def __init__(self, costs: CostReader, path: Path, form: GenerateForm, number: int, *, priced: bool) -> None:
        self.notes: list[str] = []
        self._reading = costs.reading
        self._exchange = costs.exchange
        self._costs = costs.read((*path, "cost")) if form.cost is not None else None
        self._path = path
        self._form = form
        self._number = number
        self._counts = _numbers(form.nodes)
        #: Index of each offered memory, by its text in the file.
        self._memories: dict[str, int] = {}
        for i, _ in enumerate(form.memory):
            self._memories.setdefault(str(costs.reading.document.at(*path, "memory", i, "size").value), i)
        self._every = () if form.price is None else (_figure("generate.price", form.price, costs.exchange),)
        documents = {kind: self._node_type(kind) for kind in self._kinds_on_offer()}
        built = {
            (name, topology): self._built(name, topology, documents)
            for name in form.networks
            for topology in form.topologies or [""]
        }
        self._offers = [
            _Offer(name, topology, machine.network, self._forms(name, topology), costs.exchange)
            for (name, topology), machine in built.items()
            if machine is not None
        ]
        first = self._built(next(iter(form.networks)), "", documents, every=True)
        known = {} if first is None else first.node_types()
        self._types = {
            kind: self._node_kind(kind, known[name_of(kind)]) for kind in documents if name_of(kind) in known
        }
        self._check(priced)

    @property
    def node_types(self) -> set[str]:
        """Names of kinds of nodes and of their parts."""
        return {name for kind in self._types for name in (name_of(kind), *kind) if name}

    def options(self) -> Iterator[Option]:
        """Yield the clusters with each network: first those of one kind of node, then mixed ones."""
        if self._reading.faults or not self._few_enough():
            return
        kinds = [*self._of_one_kind(), *self._of_two_kinds()]
        self._parts: dict[int, float] = {}
        for offer in self._offers:
            for counts, nodes in kinds:
                if offer.takes(len(nodes)):
                    yield self._option(counts, nodes, offer)

    def _option(self, counts: Mapping[Kind, int], nodes: tuple[NodeType, ...], offer: _Offer) -> Option:
        name = f"{' + '.join(f'{n} × {name_of(kind)}' for kind, n in counts.items())}, {offer.title}"
        stated = self._prices(counts, offer)
        price = Money(sum(each.value * each.number for each in stated), self._exchange.currency) if stated else None
        machine = Machine(name, nodes, offer.network, price=price, reference_processor=self._form.reference_processor)
        built = Built(self._number, counts, offer.name, offer.topology)
        option = Option(name, machine, price, built=built, stated=stated)
        if self._costs is not None and id(counts) not in self._parts:  # networks share them, so ids stay valid
            self._parts[id(counts)] = hardware_of(self._costs, option.nodes).price
        return with_costs(option, self._costs, self._exchange.currency, self._parts.get(id(counts)))

    def _prices(self, counts: Mapping[Kind, int], offer: _Offer) -> tuple[Stated, ...]:
        """Return the figures of the price; none if that of a node is not stated."""
        found = [*self._every, *offer.prices(sum(counts.values()))]
        for kind, n in counts.items():
            prices = self._types[kind].prices
            if prices is None:
                return ()
            found += [replace(each, number=float(n)) for each in prices]
        return tuple(found)

    # --- numbers of nodes ---

    def _of_one_kind(self) -> Iterator[tuple[Mapping[Kind, int], tuple[NodeType, ...]]]:
        for kind, of in self._types.items():
            for n in self._counts:
                yield {kind: n}, (of.node,) * n

    def _of_two_kinds(self) -> Iterator[tuple[Mapping[Kind, int], tuple[NodeType, ...]]]:
        most = max(self._counts)
        for one, other in self._pairs():
            for n in self._counts:
                for m in self._counts:
                    if n + m <= most:
                        yield {one: n, other: m}, (self._types[one].node,) * n + (self._types[other].node,) * m

    def _pairs(self) -> Sequence[tuple[Kind, Kind]]:
        if isinstance(self._form.mixed, list):
            pairs = [(one, other) for one, other in self._form.mixed]
            return [
                (one, other)
                for names in pairs
                for one, other in product(self._types, repeat=2)
                if (one[0], other[0]) == names
            ]
        return list(combinations(self._types, 2)) if self._form.mixed else []

    def _few_enough(self) -> bool:
        largest, counts = max(self._counts), self._counts
        mixed = sum(n + m <= largest for n in counts for m in counts) if len(counts) <= 1000 else len(counts) ** 2 // 2
        number = len(self._offers) * (len(self._types) * len(counts) + len(self._pairs()) * mixed)
        if number > MOST_OPTIONS:
            self._reading.fault(self._path, f"must generate at most {MOST_OPTIONS:,} options, got {number:,}")
        return number <= MOST_OPTIONS

    # --- parts ---

    def _kinds_on_offer(self) -> list[Kind]:
        """Return the kinds of nodes: each node with each processor and each memory."""
        return list(product(self._form.node_types, self._form.processors or [""], self._memories or [""]))

    def _node_kind(self, kind: Kind, node: NodeType) -> _NodeKind:
        name, processor, memory = kind
        if node.price is None:
            return _NodeKind(kind, node, None)
        path = ".".join(map(str, self._path))
        prices = [_figure(f"{path}.node_types.{name}.price", node.price, self._exchange)]
        further: dict[str, Money | None] = {}
        if processor:
            further[f"processors.{processor}"] = self._form.processors[processor].price
        if memory:
            further[f"memory.{memory}"] = self._form.memory[self._memories[memory]].price
        prices += [
            _figure(f"{path}.{part}.price", price, self._exchange)
            for part, price in further.items()
            if price is not None
        ]
        return _NodeKind(kind, node, tuple(prices))

    def _forms(self, name: str, topology: str) -> Mapping[str, OfferedNetworkForm | OfferedTopologyForm]:
        path = ".".join(map(str, self._path))
        found: dict[str, OfferedNetworkForm | OfferedTopologyForm] = {
            f"{path}.networks.{name}": self._form.networks[name]
        }
        if topology:
            found[f"{path}.topologies.{topology}"] = self._form.topologies[topology]
        return found

    def _node_type(self, kind: Kind) -> Document:
        """Return a kind of node as written: the node, overlaid with the processor and the memory."""
        name, processor, memory = kind
        found = self._node(name)
        if processor:
            written = self._reading.document.at(*self._path, "processors", processor)
            found = found.overlaid(written.without("price"))
        if memory:
            size = self._reading.document.at(*self._path, "memory", self._memories[memory], "size")
            found = found.replaced(("memory",), size)
        return found

    def _node(self, name: str) -> Document:
        path = (*self._path, "node_types", name)
        written = self._reading.document.at(*path).without("machine", "type")
        form = self._form.node_types[name]
        base = self._base(path) if form.machine is not None else None
        if base is None:
            return written
        types = base.value.get("node_types") if isinstance(base.value, dict) else None
        known = types if isinstance(types, dict) else {}
        wanted = form.type if form.type is not None else next(iter(known)) if len(known) == 1 else None
        if wanted not in known:
            rule = f"must be a node type of {form.machine} ({', '.join(map(str, known))})"
            got = f"got {format_value(form.type)}{did_you_mean(form.type, known) if form.type else ''}"
            self._reading.fault((*path, "type"), f"{rule}, {got}")
            return written
        return base.at("node_types", wanted).overlaid(written)

    def _network(self, name: str, topology: str) -> Document:
        path = (*self._path, "networks", name)
        found = self._reading.document.at(*path).without(*_OFFER_KEYS)
        base = self._base(path) if self._form.networks[name].machine is not None else None
        if base is not None and isinstance(base.value, dict) and "network" in base.value:
            found = base.at("network").without("pairs").overlaid(found)
        if topology:
            contention = self._reading.document.at(*self._path, "topologies", topology, "contention")
            found = found.replaced(("contention",), contention)
        return found

    def _base(self, path: Path) -> Document | None:
        """Return the machine from which a part is taken."""
        referred = refer_to_machine(self._reading, (*path, "machine"))
        return referred[0] if referred is not None else None

    def _built(
        self, name: str, topology: str, types: Mapping[Kind, Document], *, every: bool = False
    ) -> Machine | None:
        """Check the kinds of nodes with a network as parts of one machine; with nodes of every kind: no contention."""
        network, name = self._network(name, topology), f"{name} {topology}".rstrip()
        if every:
            network = network.without("contention")
        origins: dict[Path, Origin] = {(): self._reading.document.at(*self._path).origins[()]}
        named = {name_of(kind): part for kind, part in types.items()}
        # A topology may have fewer places than there are kinds of nodes.
        nodes = [{"type": kind} for kind in named] if every else [{"type": next(iter(named)), "count": 2}]
        for kind, part in named.items():
            origins |= {("node_types", kind, *below): origin for below, origin in part.origins.items()}
        origins |= {("network", *below): origin for below, origin in network.origins.items()}
        value = {
            "nodes": nodes,
            "node_types": {kind: part.value for kind, part in named.items()},
            "network": network.value,
        }
        machine = build_machine_apart(self._reading, Document(value, origins), name)
        self.notes += [f"{name}: {note}" for note in machine.notes] if machine is not None else []
        return machine

    # --- rules over several keys ---

    def _check(self, priced: bool) -> None:
        if isinstance(self._form.nodes, CountsForm) and self._form.nodes.to < self._form.nodes.first:
            rule = f"must be at least {self._form.nodes.first} (from), got {self._form.nodes.to}"
            self._reading.fault((*self._path, "nodes", "to"), rule)
        for kind, of in self._types.items():
            if priced and of.prices is None:
                path = (*self._path, "node_types", kind[0], "price")
                self._reading.fault(path, "must be given if there is a budget, got nothing")
        sizes = [each.size for each in self._form.memory]
        for i, size in enumerate(sizes):
            if size in sizes[:i]:
                rule = f"must differ from the others, got {format_size(size)} twice"
                self._reading.fault((*self._path, "memory", i, "size"), rule)
        known = self._form.node_types
        for i, pair in enumerate(self._form.mixed if isinstance(self._form.mixed, list) else ()):
            for j, name in enumerate(pair):
                if name not in known:
                    rule = f"must be one of the node_types, got {format_value(name)}{did_you_mean(name, known)}"
                    self._reading.fault((*self._path, "mixed", i, j), rule)
            if pair[0] == pair[1]:
                rule = f"must be two different node types, got {format_value(pair[0])} twice"
                self._reading.fault((*self._path, "mixed", i), rule)


def _numbers(counts: Counts) -> list[int]:
    if isinstance(counts, CountsForm):
        return list(range(counts.first, counts.to + 1, counts.step)) or [counts.first]
    return list(dict.fromkeys(counts if isinstance(counts, list) else [counts]))
