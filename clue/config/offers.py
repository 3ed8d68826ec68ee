"""Generate the options of a comparison: every offered number of every kind of node with every network.

A kind of node is a node with one of the offered processors and one of the offered memories, if any; a network is one of
the networks with one of the topologies. Each part is checked once, as a part of a machine; thousands of machines are
then assembled from them without reading the file again. Options that the budget does not cover are counted and left
out; options that more money would allow are kept separately.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import combinations, product
from operator import add

import numpy as np
import numpy.typing as npt

from clue.caveats import named
from clue.config.costs import CostReader
from clue.config.currencies import Exchange, prices_in
from clue.config.document import Document, Origin, Path, format_path, format_value
from clue.config.faults import Faults, did_you_mean
from clue.config.machines import build_machine_apart
from clue.config.reading import Reading
from clue.config.references import refer_to_machine
from clue.config.run_schema import (
    Counts,
    CountsForm,
    GenerateForm,
    OfferedNetworkForm,
    OfferedNodeForm,
    OfferedTopologyForm,
    ScenarioForm,
)
from clue.config.schema import NodeTypeForm
from clue.machine import Machine, Network, NodeType
from clue.purchase.costs import Stated, hardware_of
from clue.purchase.scenario import Built, Kind, Option, most_within, name_of, nodes_of
from clue.units import Money, format_size

#: Largest number of generated options: more are taken for a mistake in the file.
MOST_OPTIONS = 250_000
#: Largest number of nodes of all clusters that are put together, which take 8 B each.
MOST_NODES = 50_000_000

Doubles = npt.NDArray[np.float64]
Counts64 = npt.NDArray[np.int64]
_OFFER_KEYS = ("machine", "price", "price_per_node", "switch", "most_nodes")


@dataclass(slots=True)
class Generated:
    """Generated options.

    Attributes:
        options: Options that the budget covers, or the cheapest if it covers none, nor any that is listed.
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


def prices_of_machines(reading: Reading, form: ScenarioForm) -> dict[Path, Money]:
    """Return the prices of nodes on offer that only the machines state from which they are taken, by path.

    Faults of these prices are added to the reading.
    """
    found: dict[Path, Money] = {}
    for path, family in _families(form):
        for name, node in family.node_types.items():
            if node.machine is None or "price" in node.model_fields_set:
                continue
            place: Path = (*path, "node_types", name, "price")
            # Faults of the other keys are added when the parts are checked.
            written = _node(replace(reading, faults=Faults()), place[:-1], node)
            if isinstance(written.value, dict) and "price" in written.value:
                stated = Document({"price": written.value["price"]}, written.origins)
                taken = reading.of(stated).form(NodeTypeForm)
                if taken is not None and taken.price is not None:
                    found[place] = taken.price
    return found


def generate_options(
    costs: CostReader,
    form: ScenarioForm,
    taken: Mapping[Path, Money],
    more: Money | None = None,
    listed: Sequence[Option] = (),
) -> Generated:
    """Generate the options that a comparison asks for; add its faults to the reading.

    Args:
        costs: Reads their costs.
        form: The comparison.
        taken: Prices of nodes, taken from machines (:func:`prices_of_machines`).
        more: Money in addition to the budget, whose best use is asked for.
        listed: The options that are listed.
    """
    reading, budget = costs.reading, None if form.budget is None else costs.exchange(form.budget)
    most = math.inf if budget is None else budget.amount
    found = Generated()
    names = set(form.options or {})
    cheapest: tuple[float, Callable[[], list[Option]]] | None = None
    for number, (path, family_form) in enumerate(_families(form)):
        family = _Family(costs, path, family_form, number, taken=taken, priced=budget is not None)
        for offer, own in family.names():
            if (twice := _twice(own, names)) is not None:
                reading.fault(path, f'must generate options with distinct names, got "{twice}" twice')
                break
            names.update(own)
            amounts = family.amounts(offer)
            covered = amounts <= most_within(most)
            found.options += family.options(offer, np.flatnonzero(covered))
            found.left_out += len(amounts) - int(covered.sum())
            if more is not None:
                beyond = ~covered & (amounts <= most_within(most + more.amount))
                found.beyond += family.options(offer, np.flatnonzero(beyond))
            least = int(amounts.argmin()) if len(amounts) else None
            if least is not None and (cheapest is None or amounts[least] < cheapest[0]):
                cheapest = amounts[least], partial(family.options, offer, np.array([least]))
        found.notes += family.notes
        found.node_types |= family.node_types
    affordable = (each.price is None or each.price.amount <= most_within(most) for each in listed)
    if not found.options and not any(affordable) and cheapest is not None:
        (option,) = cheapest[1]()
        found.options, found.left_out = [option], found.left_out - 1
        found.beyond = [each for each in found.beyond if each.name != option.name]
    return found


def _twice(names: Sequence[str], known: Set[str]) -> str | None:
    """Return the first name that occurs twice or is already known."""
    if known.isdisjoint(names) and len(set(names)) == len(names):
        return None
    seen = set(known)
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _families(form: ScenarioForm) -> Iterator[tuple[Path, GenerateForm]]:
    if isinstance(form.generate, GenerateForm):
        yield ("generate",), form.generate
    for i, each in enumerate(form.generate if isinstance(form.generate, list) else ()):
        yield ("generate", i), each


@dataclass(frozen=True, slots=True)
class _Offer:
    """A network with its topology and its price."""

    name: str
    topology: str
    network: Network
    forms: Mapping[str, OfferedNetworkForm | OfferedTopologyForm]

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

    def prices(self, nodes: int, exchange: Exchange) -> Iterator[Stated]:
        """Yield the figures of its price for a number of nodes."""
        for path, form in self.forms.items():
            if form.price is not None:
                yield _figure(f"{path}.price", form.price, exchange)
            if form.price_per_node is not None:
                yield _figure(f"{path}.price_per_node", form.price_per_node, exchange, nodes)
            if form.switch is not None:
                yield _figure(f"{path}.switch.price", form.switch.price, exchange, -(-nodes // form.switch.ports))


def _figure(name: str, price: Money, exchange: Exchange, number: float = 1.0) -> Stated:
    return Stated(name, exchange.amount(price), price.deviation, number)


@dataclass(frozen=True, slots=True, eq=False)
class _Clusters:
    """The clusters that can be assembled from some parts, whatever they cost: their nodes, and those with each network.

    Attributes:
        kinds: Numbers of nodes of each kind, and the kinds.
        totals: Total number of nodes of each cluster.
        numbers: Number of nodes of each kind.
        names: Names of the clusters, by network.
        rows: The clusters that each network has room for, as indices into the above.
        made: Machines that have been assembled, by network and by index in its rows.
        options: Options that have been assembled, likewise, with the figures that were last read.
        prices: Those figures, by network: the prices of nodes, and all others.
    """

    kinds: Sequence[tuple[Mapping[Kind, int], tuple[NodeType, ...]]]
    totals: Counts64
    numbers: Mapping[Kind, Counts64]
    names: Sequence[Sequence[str]]
    rows: Sequence[Counts64]
    made: Sequence[dict[int, tuple[Machine, Built]]]
    options: Sequence[dict[int, Option]]
    prices: list[tuple[Mapping[Kind, tuple[Stated, ...] | None], object]]


@dataclass(frozen=True, slots=True, eq=False)
class _Parts:
    """The parts of a family, checked, whatever they cost.

    Attributes:
        types: The kinds of nodes.
        networks: Networks and topologies by their names, without those that have faults.
        notes: Notes about them for the reader.
        clusters: The clusters assembled from them, once they are.
    """

    types: Mapping[Kind, NodeType]
    networks: Mapping[tuple[str, str], Network]
    notes: Sequence[str]
    clusters: list[_Clusters] = field(default_factory=list)


class _Family:
    """All clusters that can be built from some parts.

    Results that do not depend on the prices of parts are kept from one reading of the document to the next.
    """

    def __init__(
        self,
        costs: CostReader,
        path: Path,
        form: GenerateForm,
        number: int,
        *,
        taken: Mapping[Path, Money],
        priced: bool,
    ) -> None:
        self._reading = costs.reading
        self._exchange = costs.exchange
        self._costs = costs.read((*path, "cost")) if form.cost is not None else None
        self._path = path
        self._form = form
        self._number = number
        self._taken = taken
        self._counts = _numbers(form.nodes)
        #: Index of each offered memory, by its text in the file.
        self._memories: dict[str, int] = {}
        for i, _ in enumerate(form.memory):
            self._memories.setdefault(str(costs.reading.document.at(*path, "memory", i, "size").value), i)
        every = ".".join(map(str, (*path, "price")))
        self._every = () if form.price is None else (_figure(every, form.price, costs.exchange),)
        self._parts = costs.reading.made(path, self._without_amounts(), self._checked_parts)
        self._offers = [
            _Offer(name, topology, network, self._forms(name, topology))
            for (name, topology), network in self._parts.networks.items()
        ]
        self._prices = {kind: self._prices_of(kind) for kind in self._parts.types}
        self._amounts: dict[int, Doubles] = {}
        self._of_network: dict[tuple[int, int], tuple[Stated, ...]] = {}
        self._of_nodes: dict[tuple[Kind, int], tuple[Stated, ...] | None] = {}
        self._check(priced)

    @property
    def notes(self) -> Iterator[str]:
        """Notes about its parts for the reader."""
        yield from self._parts.notes
        lacking = list(dict.fromkeys(kind[0] for kind, prices in self._prices.items() if prices is None))
        stated = any(self._prices.values()) or any(path[0] != "cost" for path, _ in prices_in(self._form))
        if lacking and stated and (self._costs is None or self._costs.cloud is None):
            place = ".".join(map(str, self._path))
            yield f"{place}: clusters with {named(lacking)} have no price: state a price for each of the node_types"

    @property
    def node_types(self) -> set[str]:
        """Names of the kinds of nodes and of their parts."""
        return {name for kind in self._parts.types for name in (name_of(kind), *kind) if name}

    def names(self) -> Iterator[tuple[int, Sequence[str]]]:
        """Yield the index of each network with the names of its clusters: of one kind of node first, then mixed."""
        if self._reading.faults or not self._few_enough():
            return
        yield from enumerate(self._clusters.names)

    def amounts(self, offer: int) -> Doubles:
        """Return the prices of the clusters with a network, shape (clusters,); 0 where a price is not stated."""
        clusters = self._clusters
        rows = clusters.rows[offer]
        totals = clusters.totals[rows]
        beside = np.zeros(int(totals.max(initial=0)) + 1)
        for n in np.unique(totals).tolist():
            beside[n] = _added(each.value * each.number for each in self._beside(offer, n))
        amounts = beside[totals]
        stated = np.ones(len(rows), np.bool_)
        for kind, numbers in clusters.numbers.items():
            of_kind = numbers[rows]
            prices = self._prices[kind]
            if prices is None:
                stated &= of_kind == 0
            for each in prices or ():
                amounts += each.value * of_kind
        if self._costs is None:
            return np.where(stated, amounts, 0.0)
        bought = self._amounts_of_parts()[rows]
        if self._costs.cloud is not None:
            return bought
        return np.where(stated, amounts + bought, 0.0)

    def options(self, offer: int, places: Counts64) -> list[Option]:
        """Return some of the clusters with a network; options with unchanged figures are the same objects as before."""
        clusters, of, costs = self._clusters, self._offers[offer], self._costs
        amounts, currency = self._amounts_with(offer)[places].tolist(), self._exchange.currency
        always_priced = costs is not None and costs.cloud is not None
        made, known, found = clusters.made[offer], self._known_options(offer), []
        for i, row, amount in zip(places.tolist(), clusters.rows[offer][places].tolist(), amounts, strict=True):
            option = known.get(i)
            if option is None:
                counts, nodes = clusters.kinds[row]
                if i not in made:
                    name = clusters.names[offer][i]
                    machine = Machine(name, nodes, of.network, reference_processor=self._form.reference_processor)
                    made[i] = machine, Built(self._number, counts, of.name, of.topology)
                machine, built = made[i]
                stated = self._stated(offer, len(nodes), counts)
                price = Money(amount, currency) if stated or always_priced else None
                option = known[i] = Option(machine.name, machine, price, costs, built=built, stated=stated)
            found.append(option)
        return found

    def _known_options(self, offer: int) -> dict[int, Option]:
        """Return the known options with a network, without those whose figures have changed since then."""
        clusters = self._clusters
        rows, known = clusters.rows[offer], clusters.options[offer]
        totals = np.unique(clusters.totals[rows]).tolist()
        beside = (self._costs, self._exchange.currency, [self._beside(offer, n) for n in totals])
        of_kinds, before = clusters.prices[offer]
        clusters.prices[offer] = self._prices, beside
        if before != beside:
            known.clear()
            return known
        changed = np.zeros(len(rows), np.bool_)
        for kind, numbers in clusters.numbers.items():
            if of_kinds.get(kind) != self._prices[kind]:
                changed |= numbers[rows] > 0
        for i in np.flatnonzero(changed).tolist():
            known.pop(i, None)
        return known

    def _amounts_with(self, offer: int) -> Doubles:
        if offer not in self._amounts:
            self._amounts[offer] = self.amounts(offer)
        return self._amounts[offer]

    def _stated(self, offer: int, total: int, counts: Mapping[Kind, int]) -> tuple[Stated, ...]:
        """Return the figures of the price; none if that of a node is not stated."""
        found = self._beside(offer, total)
        for kind, n in counts.items():
            key = (kind, n)
            if key not in self._of_nodes:
                prices = self._prices[kind]
                numbered = None if prices is None else tuple(replace(each, number=float(n)) for each in prices)
                self._of_nodes[key] = numbered
            of_kind = self._of_nodes[key]
            if of_kind is None:
                return ()
            found = (*found, *of_kind)
        return found

    def _beside(self, offer: int, total: int) -> tuple[Stated, ...]:
        """Return the figures of the price other than those of nodes."""
        key = (offer, total)
        if key not in self._of_network:
            self._of_network[key] = (*self._every, *self._offers[offer].prices(total, self._exchange))
        return self._of_network[key]

    def _amounts_of_parts(self) -> Doubles:
        """Return the cost of the parts that each combination of nodes needs, shape (combinations,)."""
        costs = self._costs
        assert costs is not None
        kinds = self._clusters.kinds
        if not costs.parts and costs.racks is None:
            return np.zeros(len(kinds))
        built = (Built(self._number, counts, "") for counts, _ in kinds)
        return np.array([hardware_of(costs, nodes_of(each)).price for each in built])

    # --- numbers of nodes ---

    @property
    def _clusters(self) -> _Clusters:
        if not self._parts.clusters:
            self._parts.clusters.append(self._put_together())
        return self._parts.clusters[0]

    def _put_together(self) -> _Clusters:
        kinds = [*self._of_one_kind(), *self._of_two_kinds()]
        totals = np.array([len(nodes) for _, nodes in kinds], np.int64)
        fitting = [[i for i, n in enumerate(totals.tolist()) if offer.takes(n)] for offer in self._offers]
        called = [" + ".join(f"{n} × {name_of(kind)}" for kind, n in counts.items()) for counts, _ in kinds]
        return _Clusters(
            kinds=kinds,
            totals=totals,
            numbers={
                kind: np.array([counts.get(kind, 0) for counts, _ in kinds], np.int64) for kind in self._parts.types
            },
            names=[
                [f"{called[i]}, {offer.title}" for i in rows] for offer, rows in zip(self._offers, fitting, strict=True)
            ],
            rows=[np.array(rows, np.int64) for rows in fitting],
            made=[{} for _ in fitting],
            options=[{} for _ in fitting],
            prices=[({}, None) for _ in fitting],
        )

    def _of_one_kind(self) -> Iterator[tuple[Mapping[Kind, int], tuple[NodeType, ...]]]:
        for kind, node in self._parts.types.items():
            for n in self._counts:
                yield {kind: n}, (node,) * n

    def _of_two_kinds(self) -> Iterator[tuple[Mapping[Kind, int], tuple[NodeType, ...]]]:
        most, types = max(self._counts), self._parts.types
        for one, other in self._pairs():
            for n in self._counts:
                for m in self._counts:
                    if n + m <= most:
                        yield {one: n, other: m}, (types[one],) * n + (types[other],) * m

    def _pairs(self) -> Sequence[tuple[Kind, Kind]]:
        types = self._parts.types
        if isinstance(self._form.mixed, list):
            pairs = [(one, other) for one, other in self._form.mixed]
            return [
                (one, other)
                for names in pairs
                for one, other in product(types, repeat=2)
                if (one[0], other[0]) == names
            ]
        return list(combinations(types, 2)) if self._form.mixed else []

    def _few_enough(self) -> bool:
        largest, counts = max(self._counts), self._counts
        kinds, pairs = len(self._parts.types), len(self._pairs())
        sums = [n + m for n in counts for m in counts if n + m <= largest] if pairs and len(counts) <= 1000 else []
        mixed = len(sums) if len(counts) <= 1000 else len(counts) ** 2 // 2  # too many, if there are pairs
        number = len(self._offers) * (kinds * len(counts) + pairs * mixed)
        nodes = kinds * sum(counts) + pairs * sum(sums)
        if number > MOST_OPTIONS:
            self._reading.fault(self._path, f"must generate at most {MOST_OPTIONS:,} options, got {number:,}")
        elif nodes > MOST_NODES:
            rule = f"must generate clusters of at most {MOST_NODES:,} nodes, all together"
            self._reading.fault((*self._path, "nodes"), f"{rule}, got {nodes:,}")
        return number <= MOST_OPTIONS and nodes <= MOST_NODES

    # --- parts ---

    def _kinds_on_offer(self) -> list[Kind]:
        """Return the kinds of nodes on offer: each node with each processor and each memory."""
        return list(product(self._form.node_types, self._form.processors or [""], self._memories or [""]))

    def _without_amounts(self) -> object:
        """Return the family as written, with currencies in place of prices and without further costs."""
        prices = {path: money.currency for path, money in prices_in(self._form) if path[0] != "cost"}
        written = self._reading.document.at(*self._path).without("cost").value
        return _with_currencies(written, prices, ())

    def _checked_parts(self) -> _Parts:
        """Check the parts as parts of machines."""
        notes: list[str] = []
        documents = {kind: self._node_type(kind).without("price") for kind in self._kinds_on_offer()}
        built = {
            (name, topology): self._built(name, topology, documents, notes)
            for name in self._form.networks
            for topology in self._form.topologies or [""]
        }
        first = self._built(next(iter(self._form.networks)), "", documents, notes, every=True)
        known = {} if first is None else first.node_types()
        return _Parts(
            types={
                kind: replace(known[name_of(kind)], stated_by=self._stated_by(kind))
                for kind in documents
                if name_of(kind) in known
            },
            networks={names: machine.network for names, machine in built.items() if machine is not None},
            notes=notes,
        )

    def _stated_by(self, kind: Kind) -> Mapping[str, str]:
        """Return the part on offer that states each figure of a kind of node; a processor always gives the speed."""
        name, processor, _ = kind
        if not processor:
            return dict.fromkeys(NodeTypeForm.model_fields, name)
        own = {*self._form.processors[processor].model_fields_set, "performance_factor", "speed"}
        return {key: processor if key in own else name for key in NodeTypeForm.model_fields}

    def _prices_of(self, kind: Kind) -> tuple[Stated, ...] | None:
        """Return the figures of the price of a node of a kind; ``None`` if it is not stated."""
        name, processor, memory = kind
        form = self._form.node_types[name]
        node = form.price or self._taken.get((*self._path, "node_types", name, "price"))
        if node is None:
            return None
        path = ".".join(map(str, self._path))
        of_node = f"{path}.node_types.{name}.price"
        if form.price is None:  # the price of a machine is the same wherever it is taken
            written = _node(replace(self._reading, faults=Faults()), (*self._path, "node_types", name), form)
            of_node = format_path(written.origins["price",].path)
        prices = [_figure(of_node, node, self._exchange)]
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
        return tuple(prices)

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
        found = _node(self._reading, (*self._path, "node_types", name), self._form.node_types[name])
        if processor:
            written = self._reading.document.at(*self._path, "processors", processor)
            found = found.overlaid(written.without("price"), ("node_types", name))
        if memory:
            size = self._reading.document.at(*self._path, "memory", self._memories[memory], "size")
            found = found.replaced(("memory",), size)
        return found

    def _network(self, name: str, topology: str) -> Document:
        path = (*self._path, "networks", name)
        found = self._reading.document.at(*path).without(*_OFFER_KEYS)
        base = _base(self._reading, path) if self._form.networks[name].machine is not None else None
        if base is not None and isinstance(base.value, dict) and "network" in base.value:
            found = base.at("network").without("pairs").overlaid(found, ("network",))
        if topology:
            contention = self._reading.document.at(*self._path, "topologies", topology, "contention")
            found = found.replaced(("contention",), contention)
        return found

    def _built(
        self, name: str, topology: str, types: Mapping[Kind, Document], notes: list[str], *, every: bool = False
    ) -> Machine | None:
        """Check the kinds of nodes with a network as parts of one machine; with all kinds, without contention."""
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
        notes += [f"{name}: {note}" for note in machine.notes] if machine is not None else []
        return machine

    # --- rules over several keys ---

    def _check(self, priced: bool) -> None:
        if isinstance(self._form.nodes, CountsForm) and self._form.nodes.to < self._form.nodes.first:
            rule = f"must be at least {self._form.nodes.first} (from), got {self._form.nodes.to}"
            self._reading.fault((*self._path, "nodes", "to"), rule)
        cloud = self._costs is not None and self._costs.cloud is not None
        if cloud:
            self._refuse_prices()
        for kind, prices in self._prices.items():
            if priced and prices is None and not cloud:
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

    def _refuse_prices(self) -> None:
        """Add the fault of each price beside nodes of a cloud; a price of a machine can be dropped."""
        for path, price in prices_in(self._form):
            if path[0] != "cost":
                self._reading.fault((*self._path, *path), f"must not be given with nodes of a cloud, got {price}")
        for path, price in self._taken.items():
            if path[: len(self._path)] == self._path:
                rule = "must not state the price of a node with nodes of a cloud"
                self._reading.fault((*path[:-1], "machine"), f"{rule}, got {price}: drop it by price: null")


def _node(reading: Reading, path: Path, form: OfferedNodeForm) -> Document:
    """Return the node on offer at a path as written: that of its machine, overlaid with its own keys."""
    written = reading.document.at(*path).without("machine", "type")
    base = _base(reading, path) if form.machine is not None else None
    if base is None:
        return written
    types = base.value.get("node_types") if isinstance(base.value, dict) else None
    known = types if isinstance(types, dict) else {}
    wanted = form.type if form.type is not None else next(iter(known)) if len(known) == 1 else None
    if wanted not in known:
        rule = f"must be a node type of {form.machine} ({', '.join(map(str, known))})"
        got = f"got {format_value(form.type)}{did_you_mean(form.type, known) if form.type else ''}"
        reading.fault((*path, "type"), f"{rule}, {got}")
        return written
    return base.at("node_types", wanted).overlaid(written, ("node_types", wanted))


def _base(reading: Reading, path: Path) -> Document | None:
    """Return the machine from which the part at a path is taken."""
    referred = refer_to_machine(reading, (*path, "machine"))
    return referred[0] if referred is not None else None


def _with_currencies(value: object, prices: Mapping[Path, str], path: Path) -> object:
    """Return a value with the currencies of prices in their place, given by their paths."""
    if path in prices:
        return prices[path]
    if isinstance(value, dict):
        return {key: _with_currencies(below, prices, (*path, key)) for key, below in value.items()}
    if isinstance(value, list):
        return [_with_currencies(below, prices, (*path, i)) for i, below in enumerate(value)]
    return value


def _added(figures: Iterable[float]) -> float:
    """Add from left to right, as columns of numbers are added."""
    return reduce(add, figures, 0.0)


def _numbers(counts: Counts) -> list[int]:
    if isinstance(counts, CountsForm):
        return list(range(counts.first, counts.to + 1, counts.step)) or [counts.first]
    return list(dict.fromkeys(counts if isinstance(counts, list) else [counts]))
