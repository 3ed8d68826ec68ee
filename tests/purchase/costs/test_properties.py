"""Costs grow with prices and with use, fall with the discount rate, and scale with the currency."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.purchase.costs import (
    Account,
    Cloud,
    Costs,
    Electricity,
    Licence,
    Life,
    Number,
    Part,
    Per,
    Racks,
    Tariff,
    account_of,
    annuity,
    hardware_of,
)
from clue.units import YEAR

AMOUNTS = st.floats(0, 1e6)
SHARES = st.floats(0, 1)
RATES = st.floats(0, 0.5)
LIVES = st.floats(0.01, 20)
NODES = {"one": 30, "other": 7}


def licences() -> st.SearchStrategy[Licence]:
    """Draw a licence whose steps rise in price and cover all nodes."""

    def made(sizes: list[int], prices: list[float], of: str, yearly: bool) -> Licence:
        return Licence("l", of, tuple(zip(sorted([*sizes, 1000]), sorted(prices), strict=True)), yearly)

    sizes = st.lists(st.integers(1, 999), max_size=4, unique=True)
    return sizes.flatmap(
        lambda found: st.builds(
            made,
            st.just(found),
            st.lists(AMOUNTS, min_size=len(found) + 1, max_size=len(found) + 1),
            st.sampled_from(("cores", "nodes")),
            st.booleans(),
        )
    )


NUMBERS = st.builds(Number, st.sampled_from(Per), st.integers(1, 50), st.sampled_from(("", "one")))
PARTS = st.builds(
    lambda number, price, idle, more, units, spares: Part("p", number, price, idle, idle + more, units, spares),
    NUMBERS,
    AMOUNTS,
    st.floats(0, 1e3),
    st.floats(0, 1e3),
    st.floats(0, 4),
    st.floats(0, 0.2),
)
COSTS = st.builds(
    Costs,
    parts=st.lists(PARTS, max_size=3).map(tuple),
    racks=st.none() | st.builds(Racks, st.floats(1, 60), st.floats(1e3, 1e5), AMOUNTS),
    electricity=st.none() | st.builds(Electricity, st.floats(0, 1e-6), st.floats(0, 1e-6), st.floats(1, 3)),
    licences=st.lists(licences(), max_size=2).map(tuple),
    yearly=st.dictionaries(st.sampled_from(("staff", "hosting")), AMOUNTS),
    cloud=st.none()
    | st.builds(
        Cloud,
        st.floats(0, 1e-2),
        st.sampled_from(Tariff),
        st.sampled_from((0.0, 60.0, 3600.0)),
        SHARES,
        AMOUNTS,
        AMOUNTS,
        AMOUNTS,
    ),
    residual=SHARES,
    utilisation=st.floats(0.01, 1),
    availability=st.floats(0.01, 1),
)


def account(costs: Costs, life: Life, purchase: float = 1e5) -> Account:
    """Return the account of 37 nodes with 74 cores."""
    return account_of(costs, purchase, hardware_of(costs, NODES), 37, 74, life)


@given(COSTS, LIVES, RATES, SHARES, SHARES)
def test_every_currency_gives_the_same_sheet(
    costs: Costs, years: float, rate: float, busy: float, billed: float
) -> None:
    """If all prices are multiplied by four, so is the total, exactly."""
    life = Life(years * YEAR, rate)
    before = account(costs, life, 1e5).sheet(busy, billed).total
    after = account(_dearer(costs, 4.0), life, 4e5).sheet(busy, billed).total
    assert after == pytest.approx(4 * before, rel=1e-12, abs=1e-9)


def _dearer(costs: Costs, factor: float) -> Costs:
    """Return the costs with every price multiplied by the factor."""
    electricity, racks, cloud = costs.electricity, costs.racks, costs.cloud
    return dataclasses.replace(
        costs,
        parts=tuple(dataclasses.replace(part, price=factor * part.price) for part in costs.parts),
        racks=racks and dataclasses.replace(racks, price=factor * racks.price),
        electricity=electricity and dataclasses.replace(electricity, price=factor * (electricity.price or 0.0)),
        licences=tuple(
            dataclasses.replace(each, steps=tuple((n, factor * price) for n, price in each.steps))
            for each in costs.licences
        ),
        yearly={name: factor * amount for name, amount in costs.yearly.items()},
        cloud=cloud
        and dataclasses.replace(
            cloud,
            price=factor * cloud.price,
            upfront=factor * cloud.upfront,
            storage=factor * cloud.storage,
            egress=factor * cloud.egress,
        ),
    )


@pytest.mark.parametrize("group", ["parts", "racks", "electricity", "licences", "yearly", "cloud"])
@given(costs=COSTS, years=LIVES, rate=RATES, busy=SHARES, factor=st.floats(1, 3))
def test_higher_prices_never_cost_less(  # noqa: PLR0917
    group: str, costs: Costs, years: float, rate: float, busy: float, factor: float
) -> None:
    """Raise each group of prices alone; prices of parts and racks count in the purchase."""
    life, before = Life(years * YEAR, rate), hardware_of(costs, NODES).price
    dearer = dataclasses.replace(costs, **{group: getattr(_dearer(costs, factor), group)})
    less = account(costs, life, before).sheet(busy, busy).total
    more = account(dearer, life, hardware_of(dearer, NODES).price).sheet(busy, busy).total
    assert more >= less - 1e-9 * abs(less)


@given(COSTS, LIVES, RATES, SHARES, SHARES, SHARES)
def test_more_use_never_costs_less_and_the_sheet_is_linear(  # noqa: PLR0917
    costs: Costs, years: float, rate: float, low: float, high: float, between: float
) -> None:
    """More use does not lower the total, and the total at a use between two others is interpolated linearly."""
    low, high = sorted((low, high))
    of = account(costs, Life(years * YEAR, rate))
    less, more = of.sheet(low, low).total, of.sheet(high, high).total
    assert more >= less - 1e-9 * abs(less)
    share = low + between * (high - low)
    assert of.sheet(share, share).total == pytest.approx(less + between * (more - less), rel=1e-9, abs=1e-6)


@given(LIVES, RATES, RATES)
def test_money_that_costs_more_makes_later_payments_count_less(years: float, rate: float, other: float) -> None:
    """The present value of 1 a year falls as the rate rises, and is at most the number of years."""
    low, high = sorted((rate, other))
    assert annuity(years, high) <= annuity(years, low) * (1 + 1e-12) <= years * (1 + 2e-12)


@given(LIVES, st.floats(1e-4, 0.5))
def test_the_value_today_is_the_sum_of_what_is_paid(years: float, rate: float) -> None:
    """The annuity equals the sum of the discounted payments year by year."""
    whole = int(years)
    by_year = sum((1 + rate) ** -k for k in range(1, whole + 1)) + (years - whole) * (1 + rate) ** -years
    assert annuity(years, rate) == pytest.approx(by_year, rel=1e-9)


@given(licences(), st.integers(1, 1000), st.integers(1, 1000))
def test_licences_rise_in_steps(licence: Licence, one: int, other: int) -> None:
    """More cores or nodes are never cheaper, and the price is constant between two steps."""
    less, more = sorted((one, other))
    low, high = licence.price(less), licence.price(more)
    assert low is not None and high is not None and low <= high
    if all(not less <= number < more for number, _ in licence.steps):
        assert low == high


@given(COSTS, st.floats(0, 1e6), st.floats(0, 1e6))
def test_longer_runs_are_billed_for_no_less(costs: Costs, one: float, other: float) -> None:
    """The billed time grows with the run time exactly, and is never below the run time except for rounding."""
    of = account(costs, Life(YEAR))
    less, more = sorted((one, other))
    assert of.billed(less) <= of.billed(more)
    assert of.billed(less) >= less * (1 - 2e-9) - 1e-300


@given(COSTS, st.integers(1, 100), st.integers(1, 100))
def test_more_nodes_take_no_less(costs: Costs, one: int, other: int) -> None:
    """More nodes never lower the price, the power, the rack units or the number of racks."""
    less, more = (hardware_of(costs, {"one": n}) for n in sorted((one, other)))
    for figure in ("price", "idle", "busy", "rack_units", "racks"):
        assert getattr(more, figure) >= getattr(less, figure) * (1 - 1e-12)
