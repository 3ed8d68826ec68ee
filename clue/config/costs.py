"""Build the costs of options from documents: named blocks, overlays of them, and rules over several keys."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from itertools import pairwise

from clue.config.cost_schema import (
    NEEDED,
    CloudForm,
    CostForm,
    DrawForm,
    LicenceForm,
    PartForm,
    SourcedForm,
    YearlyForm,
)
from clue.config.currencies import Exchange
from clue.config.document import Document, Path, children, format_path, format_value
from clue.config.faults import did_you_mean
from clue.config.forms import Form
from clue.config.parts import with_block, with_cost_parts
from clue.config.reading import Reading
from clue.purchase.costs import (
    Cloud,
    Costs,
    Electricity,
    Licence,
    Number,
    Part,
    Per,
    Racks,
    Source,
    Tariff,
    hardware_of,
)
from clue.purchase.scenario import Option
from clue.units import MONTH, YEAR, Money, format_power

_YEARLY = ("staff", "hosting", "support")


@dataclass(frozen=True, slots=True)
class CostReader:
    """Reads the costs of options.

    Attributes:
        reading: The comparison.
        exchange: The exchange rates.
        queued: Whether jobs are stated, whose queue says how much options are used.
        types: Collects the node types that parts count, with the path of each mention.
        named: Collects the blocks that options name.
    """

    reading: Reading
    exchange: Exchange
    queued: bool = False
    types: dict[str, tuple[Document, Path]] = field(default_factory=dict)
    named: set[object] = field(default_factory=set)

    def read(self, path: Path) -> Costs | None:
        """Return the costs at a path: a block, the name of one, or a list of both, each overlaid on those before it."""
        written = self._laid_over_each_other(path)
        if written is None:
            return None
        own = Reading(written)
        written = with_cost_parts(written, own.faults)
        own = own.of(written)
        form = own.form(CostForm, _faults_of)
        if form is not None and self.queued and "utilisation" in form.model_fields_set:
            rule = "must be left out with jobs, whose queue determines how busy nodes are, got both"
            own.fault(("utilisation",), rule, of_key=True)
        for place, rule in () if form is None else _falling_steps(form, self.exchange):
            own.fault(place, rule)
        if form is not None:
            for name, part in form.parts.items():
                if part.type is not None:
                    self.types.setdefault(part.type, (written, ("parts", name, "type")))
        self.reading.faults.extend(own.faults)
        return None if form is None or own.faults else costs_of(form, self.exchange)

    def _laid_over_each_other(self, path: Path) -> Document | None:
        document = self.reading.document
        value = document.at(*path).value
        pieces = [(*path, i) for i, _ in children(value)] if isinstance(value, list) else [path]
        laid: Document | None = None
        for piece in pieces:
            part = self._block(piece)
            laid = part if laid is None or part is None else with_block(laid, part)
        return laid

    def _block(self, path: Path) -> Document | None:
        document = self.reading.document
        written = document.at(*path)
        if not isinstance(written.value, str):
            return written
        top = document.value
        blocks = top.get("costs") if isinstance(top, dict) else None
        known = blocks if isinstance(blocks, dict) else {}
        if written.value in known:
            self.named.add(written.value)
            return document.at("costs", written.value)
        rule = f"must be one of the costs ({', '.join(map(str, known))})" if known else "must be one of the costs"
        near = did_you_mean(written.value, known)
        self.reading.fault(path, f"{rule}, got {format_value(written.value)}{near}")
        return None

    def notes(self, blocks: Iterable[str]) -> Iterator[str]:
        """Yield a note about each block that no option names, once all options are read."""
        for name in blocks:
            if name not in self.named:
                yield f"costs.{name} is part of no option: an option that has these costs must name them, cost: {name}"

    def check_types(self, known: Set[str]) -> None:
        """Check that the node types counted by parts are known."""
        for name, (document, path) in self.types.items():
            if name not in known:
                rule = "must be a node type of an option's machine"
                self.reading.of(document).fault(path, f'{rule}, got "{name}"{did_you_mean(name, sorted(known))}')


def with_costs(option: Option, costs: Costs | None, currency: str, parts: float | None = None) -> Option:
    """Return an option with its costs, and with the prices of its parts added to its price.

    The price of purchased nodes must be stated: parts alone do not make a price.

    Args:
        option: The option.
        costs: Its costs, if any.
        currency: The currency of the comparison.
        parts: The price of its parts, if known already.
    """
    if costs is None:
        return option
    if option.price is None and costs.cloud is None:
        return replace(option, costs=costs)
    stated = Money(0.0, currency) if option.price is None else option.price
    parts = hardware_of(costs, option.nodes).price if parts is None else parts
    return replace(option, price=Money(stated.amount + parts, stated.currency), costs=costs)


def _deviations(form: CostForm) -> Iterator[tuple[str, float]]:
    """Yield the relative standard deviations of prices by path (:mod:`clue.purchase.prices`)."""
    for name, part in form.parts.items():
        yield f"parts.{name}.price", _deviation(part.price)
    if form.racks is not None and form.racks.price is not None:
        yield "racks.price", form.racks.price.deviation
    if form.electricity is not None and form.electricity.price is not None:
        yield "electricity.price", form.electricity.price.deviation
    for name, licence in form.licences.items():
        yield f"licences.{name}.steps", max(price.deviation for _, price in licence.steps or ())
    for name in _YEARLY:
        stated = getattr(form, name)
        yield name, _deviation(_price(stated))
    if (cloud := form.cloud) is not None:
        yield "cloud.price", _deviation(cloud.price)
        yield "cloud.upfront", _deviation(cloud.upfront)
        yield "cloud.storage", _deviation(None if cloud.storage is None else cloud.storage.price)
        yield "cloud.egress", _deviation(None if cloud.egress is None else cloud.egress.price)


def _deviation(price: Money | None) -> float:
    return 0.0 if price is None else price.deviation


# --- rules over several keys ---


def _faults_of(form: CostForm) -> Iterator[tuple[Path, str]]:
    yield from _lacking(form)
    for name, part in form.parts.items():
        yield from ((("parts", name, *below), rule) for below, rule in _faults_of_part(part, form.racks is not None))
    takes_power = any(part.power is not None for part in form.parts.values())
    takes_units = any(part.rack_units for part in form.parts.values())
    if form.electricity is not None and not takes_power:
        yield ("electricity",), "must be given with parts that draw power, got none"
    if form.racks is not None:
        if form.racks.rack_units is None and form.racks.power is None:
            yield ("racks",), "must have the rack_units or the power of one rack, got neither"
        if form.racks.power == 0:
            yield ("racks", "power"), "must be above 0, got 0 W"
        if not (takes_power and form.racks.power is not None) and not (takes_units and form.racks.rack_units):
            yield ("racks",), "must be given with parts that take rack units or power, got none"
    if form.cloud is not None:
        yield from _faults_of_cloud(form.cloud)


def _lacking(value: object, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield the faults of keys that no block gives."""
    if isinstance(value, Form):
        for key in NEEDED.get(type(value), ()):
            if getattr(value, key) is None:
                yield (*path, key), "must be given, got nothing"
        value = {key: getattr(value, key) for key in type(value).model_fields}
    if isinstance(value, Mapping):
        for key, below in value.items():
            yield from _lacking(below, (*path, key))


def _falling_steps(form: CostForm, exchange: Exchange) -> Iterator[tuple[Path, str]]:
    """Yield the faults of steps in several currencies, which the form of a licence cannot compare."""
    for name, licence in form.licences.items():
        for (_, less), (_, price) in pairwise(licence.steps or ()):
            one, other = exchange(less), exchange(price)
            if less.currency != price.currency and one.currency == other.currency and other.amount < one.amount:
                got = f"got {price} after {less} ({other} after {one})"
                yield ("licences", name, "steps"), f"must not fall in price, {got}"


def _faults_of_part(part: PartForm, racks: bool) -> Iterator[tuple[Path, str]]:
    stated = [per.value for per in Per if getattr(part, per.value) is not None]
    if len(stated) != 1:
        got = " and ".join(stated) or "none"
        yield (), f"must have one of {', '.join(per.value for per in Per)}, got {got}"
    if part.type is not None and not set(stated) <= {"per_node", "ports"}:
        yield ("type",), f"must be given with per_node or ports, got {' and '.join(stated)}"
    if part.per_rack is not None:
        if not racks:
            yield ("per_rack",), "must be given with racks, got none"
        for key in ("power", "rack_units"):
            if getattr(part, key):
                yield (key,), "must not be given for parts outside racks, got one"
    if isinstance(part.power, DrawForm):
        idle, busy = part.power.idle or 0.0, part.power.busy
        if busy is None:
            yield ("power", "busy"), "must be given without a part of the hardware library, got nothing"
        elif busy < idle:
            rule = f"must be at least the idle power, {format_power(idle)}"
            yield ("power", "busy"), f"{rule}, got {format_power(busy)}"


def _faults_of_cloud(form: CloudForm) -> Iterator[tuple[Path, str]]:
    for key, given, tariffs in (
        ("repeated", form.repeated, ("spot",)),
        ("upfront", form.upfront, ("reserved",)),
        ("quantum", form.quantum, ("on_demand", "spot")),
    ):
        if given and form.tariff not in tariffs:
            yield ("cloud", key), f"must be given with tariff {' or '.join(tariffs)}, got {form.tariff}"


# --- values ---


def costs_of(form: CostForm, exchange: Exchange) -> Costs:
    """Build costs from their form, in the currency of the comparison."""
    amount, racks, electricity = exchange.amount, form.racks, form.electricity
    yearly = {name: getattr(form, name) for name in _YEARLY}
    return Costs(
        parts=tuple(_part(name, part, exchange) for name, part in form.parts.items()),
        racks=None
        if racks is None
        else Racks(racks.rack_units or math.inf, racks.power or math.inf, amount(racks.price)),
        electricity=None
        if electricity is None
        else Electricity(
            None if electricity.price is None else amount(electricity.price), electricity.carbon, electricity.pue
        ),
        licences=tuple(_licence(name, licence, exchange) for name, licence in form.licences.items()),
        yearly={name: YEAR * amount(_price(stated)) for name, stated in yearly.items() if stated is not None},
        cloud=None if form.cloud is None else _cloud(form.cloud, exchange),
        residual=form.residual,
        utilisation=form.utilisation,
        availability=form.availability,
        sources=tuple(_sources(form)),
        deviations={name: deviation for name, deviation in _deviations(form) if deviation},
    )


def _part(name: str, form: PartForm, exchange: Exchange) -> Part:
    per, figure = next((per, n) for per in Per if (n := getattr(form, per.value)) is not None)
    drawn = (form.power.idle, form.power.busy) if isinstance(form.power, DrawForm) else (form.power, form.power)
    idle, busy = (power or 0.0 for power in drawn)
    number = Number(per, figure, form.type or "")
    return Part(name, number, exchange.amount(form.price), idle, busy, form.rack_units, form.spares)


def _licence(name: str, form: LicenceForm, exchange: Exchange) -> Licence:
    steps = tuple((number, exchange.amount(price)) for number, price in form.steps or ())
    return Licence(name, form.of, steps, form.paid == "yearly")


def _price(stated: Money | YearlyForm | None) -> Money | None:
    return stated.price if isinstance(stated, YearlyForm) else stated


def _cloud(form: CloudForm, exchange: Exchange) -> Cloud:
    amount, storage, egress = exchange.amount, form.storage, form.egress
    return Cloud(
        price=amount(form.price),
        tariff=Tariff(form.tariff),
        quantum=form.quantum or 0.0,
        repeated=form.repeated,
        upfront=amount(form.upfront),
        storage=0.0 if storage is None else (storage.size or 0.0) * MONTH * amount(storage.price),
        egress=0.0 if egress is None else (egress.monthly or 0.0) * amount(egress.price),
    )


def _sources(value: object, path: Path = ()) -> Iterator[Source]:
    """Yield the stated sources of figures."""
    if isinstance(value, SourcedForm) and (value.source or value.date):
        yield Source(format_path(path), value.source, value.date or "")
    if isinstance(value, Form):
        for name in type(value).model_fields:
            yield from _sources(getattr(value, name), (*path, name))
    elif isinstance(value, Mapping):
        for key, below in value.items():
            yield from _sources(below, (*path, key))
