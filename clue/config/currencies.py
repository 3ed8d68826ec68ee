"""The currency of a comparison: that of its prices, or that of its exchange rates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from clue.config.cost_schema import RateForm
from clue.config.document import Path
from clue.config.forms import Form
from clue.config.machines import check_currencies
from clue.config.reading import Reading
from clue.units import Money


@dataclass(frozen=True, slots=True)
class Exchange:
    """Exchange of amounts into the currency of a comparison; amounts in a currency without a rate are unchanged.

    Attributes:
        currency: The currency of the comparison; empty if no price is stated.
        rates: Value of a unit of each other currency in it.
    """

    currency: str = ""
    rates: Mapping[str, float] = field(default_factory=dict)

    def __call__(self, money: Money) -> Money:
        """Exchange an amount."""
        rate = self.rates.get(money.currency)
        return money if rate is None else Money(money.amount * rate, self.currency, money.deviation)

    def amount(self, money: Money | None) -> float:
        """Return an amount in the currency of the comparison; 0 for ``None``."""
        return 0.0 if money is None else self(money).amount


def exchange_of(reading: Reading, forms: Mapping[str, RateForm], prices: Mapping[Path, Money]) -> Exchange:
    """Return the exchange into the currency of the rates, or of the first price; report faults of rates."""
    for name, form in forms.items():
        path: Path = ("currencies", name)
        if form.rate.currency == name:
            reading.fault((*path, "rate"), f"must be in another currency, got {form.rate.currency}")
        elif form.rate.currency in forms:
            reading.fault((*path, "rate"), f"must be in a currency without a rate, got {form.rate.currency}")
        elif form.rate.amount == 0:
            reading.fault((*path, "rate"), f"must be above 0, got {form.rate.amount:g} {form.rate.currency}")
    rates: dict[Path, Money] = {("currencies", name, "rate"): form.rate for name, form in forms.items()}
    check_currencies(reading, rates)
    known = [*(form.rate for form in forms.values()), *prices.values()]
    currency = next((money.currency for money in known), "")
    return Exchange(currency, {name: form.rate.amount for name, form in forms.items()})


def check_prices(reading: Reading, prices: Mapping[Path, Money], exchange: Exchange) -> None:
    """Check that prices, given by path, are in the currency of the comparison or in one with a rate."""
    if not exchange.rates:
        check_currencies(reading, prices)
        return
    for path, price in prices.items():
        if price.currency != exchange.currency and price.currency not in exchange.rates:
            rule = f"must be in {exchange.currency}, or in a currency with a rate ({', '.join(exchange.rates)})"
            reading.fault(path, f"{rule}, got {price.currency}")


def prices_in(value: object, path: Path = ()) -> Iterator[tuple[Path, Money]]:
    """Yield all prices in a form with their paths, in order."""
    if isinstance(value, Money):
        yield path, value
    elif isinstance(value, Form):
        for name, known in type(value).model_fields.items():
            yield from prices_in(getattr(value, name), (*path, known.alias or name))
    elif isinstance(value, Mapping):
        for key, below in value.items():
            yield from prices_in(below, (*path, key))
    elif isinstance(value, list | tuple):
        for i, below in enumerate(value):
            yield from prices_in(below, (*path, i))


def notes_of(forms: Mapping[str, RateForm]) -> Iterator[str]:
    """Yield notes about the exchange rates used."""
    for name, form in forms.items():
        by = f", {form.source}" if form.source else ""
        yield f"1 {name} counts as {form.rate.amount:.15g} {form.rate.currency} ({form.date}{by})"
