"""Quantities: every unit means what the standards say, and what is no quantity is refused with a rule."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.units import (
    Money,
    Quantity,
    format_size,
    format_time,
    parse_money,
    parse_quantity,
)


@pytest.mark.parametrize(
    ("text", "quantity", "value"),
    [
        ("12.5 us", Quantity.TIME, 12.5e-6),
        ("12.5us", Quantity.TIME, 12.5e-6),
        ("1 µs", Quantity.TIME, 1e-6),
        ("2 min", Quantity.TIME, 120.0),
        ("0 s", Quantity.TIME, 0.0),
        ("1e3 ns", Quantity.TIME, 1e-6),
        ("1 KB", Quantity.SIZE, 1000.0),
        ("1 kB", Quantity.SIZE, 1000.0),
        ("1 KiB", Quantity.SIZE, 1024.0),
        ("1_000 MB", Quantity.SIZE, 1e9),
        ("100 Mbit/s", Quantity.BANDWIDTH, 12.5e6),
        ("100 Mbps", Quantity.BANDWIDTH, 12.5e6),
        ("1 GB / s", Quantity.BANDWIDTH, 1e9),
        ("1 GiB/s", Quantity.BANDWIDTH, 2.0**30),
        ("500 Mflop/s", Quantity.SPEED, 5e8),
        ("0.8 ns/B", Quantity.TIME_PER_BYTE, 0.8e-9),
        ("1 us/KB", Quantity.TIME_PER_BYTE, 1e-9),
    ],
)
def test_a_quantity_is_read_into_si(text: str, quantity: Quantity, value: float) -> None:
    """Prefixes are decimal or binary as written, bits are eighths of bytes."""
    assert parse_quantity(text, quantity) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        (5, 'must be a time with a unit, got 5: did you mean "5 us" or "5 ms" or "5 s"?'),
        ("5", "must be a time with a unit, got '5'"),
        ("5 MB", "must be a time in a known unit"),
        ("-5 us", "must be a time not below 0, got '-5 us'"),
        ("soon", "must be a time with a unit such as \"12.5 us\", got 'soon'"),
        ("nan s", "must be a time with a unit such as"),
        ("1e999 s", "must be 0, or from 1e-30 to 1e+30 in SI units"),
        ("1e-40 s", "must be 0, or from 1e-30 to 1e+30 in SI units"),
        (True, "must be a time with a unit such as"),
        (None, "must be a time with a unit such as"),
        ([], "must be a time with a unit such as"),
    ],
)
def test_what_is_no_time_is_refused(value: object, rule: str) -> None:
    """The message says the rule and the value, and suggests a unit for a bare number."""
    with pytest.raises(ValueError, match="must") as caught:
        parse_quantity(value, Quantity.TIME)
    assert rule in str(caught.value)


@given(st.just(0.0) | st.floats(min_value=1e-20, max_value=1e6), st.sampled_from(["s", "ms", "us", "ns"]))
def test_a_time_is_its_number_times_its_unit(number: float, unit: str) -> None:
    """Whatever the number, the unit scales it and nothing else happens."""
    scale = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[unit]
    assert math.isclose(parse_quantity(f"{number!r} {unit}", Quantity.TIME), number * scale, rel_tol=1e-14)


def test_money_has_an_amount_and_a_currency() -> None:
    """Thousands may be set apart by underscores."""
    assert parse_money("300000 ATS") == Money(300_000, "ATS")
    assert parse_money("1_200.50 EUR") == Money(1200.5, "EUR")
    assert str(Money(300_000, "ATS")) == "300,000 ATS"
    assert str(Money(9.5, "EUR")) == "9.50 EUR"


@pytest.mark.parametrize("value", [900, "900", "900 euro", "EUR 900", "-5 EUR", None, "1e999 EUR", "1e-40 EUR", True])
def test_what_is_no_price_is_refused(value: object) -> None:
    """A price is a finite amount not below 0 and three capital letters."""
    with pytest.raises(ValueError, match="must be"):
        parse_money(value)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (12.5e-6, "12.5 us"), (1.25, "1.25 s"), (0.002, "2 ms"), (9000, "2.5 h"), (660, "11 min")],
)
def test_a_time_is_shown_in_the_unit_a_reader_would_choose(seconds: float, text: str) -> None:
    """Small times in small units, large ones in large units."""
    assert format_time(seconds) == text


@pytest.mark.parametrize(("size", "text"), [(64, "64 B"), (64_000, "64 KB"), (1.5e9, "1.5 GB"), (2e13, "20 TB")])
def test_a_size_is_shown_with_a_decimal_prefix(size: float, text: str) -> None:
    """Sizes are shown as people write them in machine files."""
    assert format_size(size) == text
