"""Generate the options of a comparison: every number of every kind of node with every network on offer.

The parts are checked once each, as parts of a machine; thousands of machines are then put together from them without
another look at the file. What the budget does not cover is counted and left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from clue.config.costs import CostReader, with_costs
from clue.config.currencies import Exchange
from clue.config.document import Document, Origin, Path, format_value
from clue.config.faults import did_you_mean
from clue.config.machines import build_machine_apart
from clue.config.references import refer_to_machine
from clue.config.run_schema import Counts, CountsForm, GenerateForm, OfferedNetworkForm, ScenarioForm
from clue.machine import Machine, Network, NodeType
from clue.purchase.scenario import Option
from clue.units import Money

#: More options than this are a slip of the pen rather than a comparison.
MOST_OPTIONS = 100_000

_OFFER_KEYS = ("machine", "price", "price_per_node", "switch", "most_nodes")


@dataclass(slots=True)
class Generated:
    """Options that were generated.

    Attributes:
        options: Those that the budget covers, or the cheapest if it covers none.
        left_out: How many it does not cover.
        notes: What a reader should know about their parts.
    """

    options: list[Option] = field(default_factory=list)
    left_out: int = 0
    notes: list[str] = field(default_factory=list)


def generate_options(costs: CostReader, form: ScenarioForm) -> Generated:
    """Generate the options that a comparison asks for; what is wrong with it is among the faults."""
    reading, budget = costs.reading, None if form.budget is None else costs.exchange(form.budget)
    found = Generated()
    names = set(form.options or {})
    cheapest: Option | None = None
    for path, family_form in _families(form):
        family = _Family(costs, path, family_form, priced=budget is not None)
        for option in family.options():
            if option.name in names:
                reading.fault(path, f'must generate options of different names, got "{option.name}" twice')
                break
            names.add(option.name)
            if _too_dear(option, budget):
                found.left_out += 1
                cheapest = min((o for o in (cheapest, option) if o is not None), key=_amount)
            else:
                found.options.append(option)
        found.notes += family.notes
    if not found.options and not form.options and cheapest is not None:
        found.options, found.left_out = [cheapest], found.left_out - 1
    return found


def _families(form: ScenarioForm) -> Iterator[tuple[Path, GenerateForm]]:
    if isinstance(form.generate, GenerateForm):
        yield ("generate",), form.generate
    for i, each in enumerate(form.generate if isinstance(form.generate, list) else ()):
        yield ("generate", i), each


def _too_dear(option: Option, budget: Money | None) -> bool:
    return budget is not None and option.price is not None and option.price.amount > budget.amount


def _amount(option: Option) -> float:
    return option.price.amount if option.price is not None else 0.0


@dataclass(frozen=True, slots=True)
class _Offer:
    """A network with its price."""

    name: str
    network: Network
    form: OfferedNetworkForm
    exchange: Exchange

    def takes(self, nodes: int) -> bool:
        """Tell whether it has room for so many nodes."""
        topology = self.network.contention.topology
        room = topology.room if topology is not None else None
        return all(most is None or nodes <= most for most in (self.form.most_nodes, room))

    def price(self, nodes: int) -> float:
        """Return what it costs for so many nodes."""
        form, amount = self.form, self.exchange.amount
        switches = -(-nodes // form.switch.ports) * amount(form.switch.price) if form.switch is not None else 0.0
        return amount(form.price) + amount(form.price_per_node) * nodes + switches


class _Family:
    """All clusters of some parts."""

    def __init__(self, costs: CostReader, path: Path, form: GenerateForm, *, priced: bool) -> None:
        self.notes: list[str] = []
        self._reading = costs.reading
        self._exchange = costs.exchange
        self._costs = costs.read((*path, "cost")) if form.cost is not None else None
        self._path = path
        self._form = form
        self._counts = _numbers(form.nodes)
        documents = {name: self._node_type(name) for name in form.node_types}
        built = {name: self._built(name, documents) for name in form.networks}
        self._offers = [
            _Offer(name, machine.network, form.networks[name], costs.exchange)
            for name, machine in built.items()
            if machine is not None
        ]
        first = next((machine for machine in built.values() if machine is not None), None)
        self._types = {} if first is None else first.node_types()
        self._check(priced)

    def options(self) -> Iterator[Option]:
        """Yield the clusters: of one kind of node first, then mixed ones, with each network."""
        if self._reading.faults or not self._few_enough():
            return
        kinds = [*self._of_one_kind(), *self._of_two_kinds()]
        for offer in self._offers:
            for counts, nodes in kinds:
                if offer.takes(len(nodes)):
                    yield self._option(counts, nodes, offer)

    def _option(self, counts: Mapping[str, int], nodes: tuple[NodeType, ...], offer: _Offer) -> Option:
        name = f"{' + '.join(f'{n} × {kind}' for kind, n in counts.items())}, {offer.name}"
        price = self._price(counts, offer)
        machine = Machine(name, nodes, offer.network, price=price, reference_processor=self._form.reference_processor)
        return with_costs(Option(name, machine, price), self._costs, self._exchange.currency)

    def _price(self, counts: Mapping[str, int], offer: _Offer) -> Money | None:
        of_nodes = [(n, self._types[kind].price) for kind, n in counts.items()]
        amount = self._exchange.amount(self._form.price) + offer.price(sum(counts.values()))
        currency = ""
        for n, price in of_nodes:
            if price is None:
                return None
            exchanged = self._exchange(price)
            amount, currency = amount + n * exchanged.amount, exchanged.currency
        return Money(amount, currency)

    # --- how many of what ---

    def _of_one_kind(self) -> Iterator[tuple[Mapping[str, int], tuple[NodeType, ...]]]:
        for kind, node in self._types.items():
            for n in self._counts:
                yield {kind: n}, (node,) * n

    def _of_two_kinds(self) -> Iterator[tuple[Mapping[str, int], tuple[NodeType, ...]]]:
        most = max(self._counts)
        for one, other in self._pairs():
            for n in self._counts:
                for m in self._counts:
                    if n + m <= most:
                        yield {one: n, other: m}, (self._types[one],) * n + (self._types[other],) * m

    def _pairs(self) -> Sequence[tuple[str, str]]:
        if isinstance(self._form.mixed, list):
            return [(one, other) for one, other in self._form.mixed]
        return list(combinations(self._types, 2)) if self._form.mixed else []

    def _few_enough(self) -> bool:
        largest, counts = max(self._counts), self._counts
        mixed = sum(n + m <= largest for n in counts for m in counts) if len(counts) <= 1000 else len(counts) ** 2 // 2
        number = len(self._offers) * (len(self._types) * len(counts) + len(self._pairs()) * mixed)
        if number > MOST_OPTIONS:
            self._reading.fault(self._path, f"must generate at most {MOST_OPTIONS:,} options, got {number:,}")
        return number <= MOST_OPTIONS

    # --- parts ---

    def _node_type(self, name: str) -> Document:
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

    def _network(self, name: str) -> Document:
        path = (*self._path, "networks", name)
        written = self._reading.document.at(*path).without(*_OFFER_KEYS)
        base = self._base(path) if self._form.networks[name].machine is not None else None
        if base is None or not isinstance(base.value, dict) or "network" not in base.value:
            return written
        return base.at("network").without("pairs").overlaid(written)

    def _base(self, path: Path) -> Document | None:
        """Return the machine that a part is taken from."""
        referred = refer_to_machine(self._reading, (*path, "machine"))
        return referred[0] if referred is not None else None

    def _built(self, name: str, types: Mapping[str, Document]) -> Machine | None:
        """Check the kinds of nodes with a network as parts of one machine."""
        network = self._network(name)
        origins: dict[Path, Origin] = {(): self._reading.document.at(*self._path).origins[()]}
        for kind, part in types.items():
            origins |= {("node_types", kind, *below): origin for below, origin in part.origins.items()}
        origins |= {("network", *below): origin for below, origin in network.origins.items()}
        value = {
            "nodes": [{"type": kind} for kind in types],
            "node_types": {kind: part.value for kind, part in types.items()},
            "network": network.value,
        }
        machine = build_machine_apart(self._reading, Document(value, origins), name)
        self.notes += [f"{name}: {note}" for note in machine.notes] if machine is not None else []
        return machine

    # --- what several keys say together ---

    def _check(self, priced: bool) -> None:
        if isinstance(self._form.nodes, CountsForm) and self._form.nodes.to < self._form.nodes.first:
            rule = f"must be at least {self._form.nodes.first} (from), got {self._form.nodes.to}"
            self._reading.fault((*self._path, "nodes", "to"), rule)
        for name, node in self._types.items():
            if priced and node.price is None:
                path = (*self._path, "node_types", name, "price")
                self._reading.fault(path, "must be given where there is a budget, got nothing")
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
