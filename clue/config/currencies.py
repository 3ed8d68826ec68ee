"""One currency for a comparison: that of its prices, or of the rates that it states for the others."""

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
    """What amounts in some currencies are in the one of a comparison; those in any other stay as they are.

    Attributes:
        currency: That one; empty where no price is stated.
        rates: What a unit of others is in it.
    """

    currency: str = ""
    rates: Mapping[str, float] = field(default_factory=dict)

    def __call__(self, money: Money) -> Money:
        """Exchange an amount."""
        rate = self.rates.get(money.currency)
        return money if rate is None else Money(money.amount * rate, self.currency, money.deviation)

    def amount(self, money: Money | None) -> float:
        """Return an amount in the one currency; 0 for none."""
        return 0.0 if money is None else self(money).amount


def exchange_of(reading: Reading, forms: Mapping[str, RateForm], prices: Mapping[Path, Money]) -> Exchange:
    """Return what currencies are worth in that of the rates, or of the first price; faults of rates are reported."""
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
    """Check that prices, given by their paths, are in one currency, or in one that has a rate."""
    if not exchange.rates:
        check_currencies(reading, prices)
        return
    for path, price in prices.items():
        if price.currency != exchange.currency and price.currency not in exchange.rates:
            rule = f"must be in {exchange.currency}, or in a currency with a rate ({', '.join(exchange.rates)})"
            reading.fault(path, f"{rule}, got {price.currency}")


def prices_in(value: object, path: Path = ()) -> Iterator[tuple[Path, Money]]:
    """Yield all prices in a form with their paths, in its order."""
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
    """Yield which rates amounts were exchanged at."""
    for name, form in forms.items():
        by = f", {form.source}" if form.source else ""
        yield f"1 {name} counts as {form.rate.amount:.15g} {form.rate.currency} ({form.date}{by})"
