"""Quantities: units are read by their standards, and a value that is not a quantity is refused with a rule."""

import math
import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.units import (
    AMOUNT,
    YEAR,
    Money,
    Quantity,
    count_of,
    format_exact,
    format_figure,
    format_number,
    format_power,
    format_probability,
    format_range,
    format_share,
    format_size,
    format_time,
    parse_money,
    parse_price_per,
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
        ("100 MBps", Quantity.BANDWIDTH, 1e8),
        ("1 GB / s", Quantity.BANDWIDTH, 1e9),
        ("1 GiB/s", Quantity.BANDWIDTH, 2.0**30),
        ("500 Mflop/s", Quantity.SPEED, 5e8),
        ("0.8 ns/B", Quantity.TIME_PER_BYTE, 0.8e-9),
        ("1 us/KB", Quantity.TIME_PER_BYTE, 1e-9),
        ("1,500.0 us", Quantity.TIME, 1.5e-3),
        ("1,048,576 B", Quantity.SIZE, 1048576.0),
        ("2 hours", Quantity.TIME, 7200.0),
        ("1 day", Quantity.DURATION, 86400.0),
        ("1 week", Quantity.DURATION, 7 * 86400.0),
        ("12 months", Quantity.DURATION, 365 * 86400.0),
        ("3 years", Quantity.DURATION, 3 * 365 * 86400.0),
        ("1 EB", Quantity.SIZE, 1e18),
    ],
)
def test_a_quantity_is_read_into_si(text: str, quantity: Quantity, value: float) -> None:
    """Prefixes are decimal or binary as written, and a bit is an eighth of a byte."""
    assert parse_quantity(text, quantity) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        (5, 'must be a time with a unit, got 5: did you mean "5 us" or "5 ms" or "5 s"?'),
        ("5", "must be a time with a unit, got '5'"),
        ("1e400", "must be a time with a unit, got '1e400'"),
        (10**310, "must be a time with a unit, got 1000"),
        ("5 MB", "must be a time in a known unit"),
        ("-5 us", "must be a time not below 0, got '-5 us'"),
        ("soon", "must be a time with a unit such as \"12.5 us\", got 'soon'"),
        ("nan s", "must be a time with a unit such as"),
        ("1e999 s", "must be 0, or from 1e-30 to 1e+30 in SI units"),
        ("1e-40 s", "must be 0, or from 1e-30 to 1e+30 in SI units"),
        ("-5", "must be a time not below 0, got '-5'"),
        (1e-5, 'got 1e-05: did you mean "1e-05 s"?'),
        ("1,5 us", "got '1,5 us': did you mean \"1.5 us\"?"),
        ("1.500,5 us", "got '1.500,5 us': did you mean \"1500.5 us\"?"),
        ("0,0001 s", "got '0,0001 s': did you mean \"0.0001 s\"?"),
        ("0,025 ms", "got '0,025 ms': did you mean \"0.025 ms\"?"),
        ("1,2345 us", "got '1,2345 us': did you mean \"1.2345 us\"?"),
        ("1,234 us", 'read in one way, got \'1,234 us\': did you mean "1234 us" or "1.234 us"?'),
        ("1,234", "must be a time that can be read in one way, got '1,234'"),
        ("1_0005 us", "must be a time in a known unit"),
        ("٥ us", "must be a time with a unit such as"),
        ("1,50,000 us", "must be a time with a unit such as"),
        ("5 US", "(s, ms, us, ns, min, h, d, years, …), got '5 US': did you mean \"5 us\"?"),
        (True, "must be a time with a unit such as"),
        (None, "must be a time with a unit such as"),
        ([], "must be a time with a unit such as"),
    ],
)
def test_what_is_no_time_is_refused(value: object, rule: str) -> None:
    """The message has the rule and the value, and suggests a unit for a bare number."""
    with pytest.raises(ValueError, match="must") as caught:
        parse_quantity(value, Quantity.TIME)
    assert rule in str(caught.value)


@given(st.just(0.0) | st.floats(min_value=1e-20, max_value=1e6), st.sampled_from(["s", "ms", "us", "ns"]))
def test_a_time_is_its_number_times_its_unit(number: float, unit: str) -> None:
    """The value is the number multiplied by the unit."""
    scale = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[unit]
    assert math.isclose(parse_quantity(f"{number!r} {unit}", Quantity.TIME), number * scale, rel_tol=1e-14)


def readings(text: str) -> set[Fraction]:
    """Return the values of a number if the decimal mark is a dot and if it is a comma; a lone dot is always decimal."""
    found = set()
    for mark, apart in ((".", ","), (",", ".")):
        whole, point, fraction = text.partition(mark)
        first, *groups = whole.split(apart)
        grouped = not groups or (first[:1] != "0" and 1 <= len(first) <= 3 and all(len(each) == 3 for each in groups))
        digits = first + "".join(groups) + fraction
        if digits.isdecimal() and grouped and (first or not groups) and not (mark == "," and not point):
            found.add(Fraction(int(digits), 10 ** len(fraction)))
    return found


NUMBERS = st.text("0015,,..", min_size=1, max_size=9) | st.from_regex(
    r"[0-9]{1,3}(,[0-9]{3,4}){1,2}(\.[0-9]?)?", fullmatch=True
)


@given(NUMBERS)
def test_what_is_read_can_be_read_in_one_way(number: str) -> None:
    """A number that is read has exactly one meaning to an independent parser; one with two meanings is refused."""
    meanings = readings(number)
    try:
        read = parse_quantity(f"{number} s", Quantity.TIME)
    except ValueError:
        assert len(meanings) != 1 or "," in number
    else:
        assert [float(meaning) for meaning in meanings] == [read]


@given(NUMBERS)
def test_an_amount_of_money_is_read_as_clue_prints_it(number: str) -> None:
    """In an amount of money a comma separates thousands, as in what clue prints."""
    try:
        money = parse_money(f"{number} EUR")
    except ValueError:
        return
    assert money.amount in {float(meaning) for meaning in readings(number)}
    assert money.amount == float(number.replace(",", ""))


@given(NUMBERS)
def test_the_schema_takes_the_numbers_that_are_read(number: str) -> None:
    """The schema's pattern accepts exactly the numbers that clue reads."""
    try:
        parse_quantity(f"{number} s", Quantity.TIME)
    except ValueError:
        assert re.fullmatch(AMOUNT, number) is None
    else:
        assert re.fullmatch(AMOUNT, number) is not None


def test_money_has_an_amount_and_a_currency() -> None:
    """Underscores or commas separate thousands; the currency is letters in any case, or a symbol on either side."""
    assert parse_money("300000 ATS") == Money(300_000, "ATS")
    assert parse_money("1_200.50 EUR") == parse_money("1,200.50 eur") == Money(1200.5, "EUR")
    assert parse_money("€1,900") == parse_money("1900 €") == parse_money("+1900 Eur") == Money(1900, "EUR")
    assert (parse_money("$5"), parse_money("£5"), parse_money("5¥")) == (
        *(Money(5, "USD"), Money(5, "GBP"), Money(5, "JPY")),
    )
    assert str(Money(300_000, "ATS")) == "300,000 ATS"
    assert str(Money(9.5, "EUR")) == "9.50 EUR"


@pytest.mark.parametrize(
    "value",
    [
        *(
            900,
            "900",
            "900 euro",
            "EUR 900",
            "-5 EUR",
            None,
            "1e999 EUR",
            "1e-40 EUR",
            True,
            "$-5",
            "-$5",
            "5 € EUR",
            "€",
        ),
        "1.900 EUR",
    ],
)
def test_what_is_no_price_is_refused(value: object) -> None:
    """A price is a finite amount, not below 0, with a currency."""
    with pytest.raises(ValueError, match="must be"):
        parse_money(value)


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (900, '"900 EUR"'),
        ("900", '"900 EUR"'),
        ("900 euro", '"900 EUR"'),
        ("900 Dollars", '"900 USD"'),
        ("1900,50 EUR", '"1900.50 EUR"'),
        ("1.900,50 EUR", '"1900.50 EUR"'),
        ("1,9005 EUR", '"1.9005 EUR"'),
        ("0,500 EUR", '"0.500 EUR"'),
        ("1.900 EUR", '"1,900 EUR" or "1.9 EUR"'),
        ("1.125 EUR", '"1,125 EUR" or "1.1250 EUR"'),
        ("+1.900 EUR", '"+1,900 EUR" or "1.9 EUR"'),
        ("1.900 €", '"1,900 EUR" or "1.9 EUR"'),
    ],
)
def test_a_price_that_is_refused_comes_with_what_may_be_meant(value: object, hint: str) -> None:
    """The message suggests what may be meant: a currency, a decimal dot, or dots as thousands or decimals."""
    with pytest.raises(ValueError, match="must be") as caught:
        parse_money(value)
    assert str(caught.value).endswith(f": did you mean {hint}?")


@pytest.mark.parametrize(
    ("value", "quantity", "hint"),
    [
        (65535, Quantity.SIZE, '"65535 B"'),
        (0, Quantity.SIZE, '"0 B"'),
        (16, Quantity.SIZE, '"16 KB" or "16 MB" or "16 GB"'),
        ("64 kb", Quantity.SIZE, '"64 KB"'),
        (100, Quantity.BANDWIDTH, '"100 Mbit/s" or "100 MB/s" or "100 GB/s"'),
        (125000000, Quantity.BANDWIDTH, '"125000000 B/s" or "125000000 bit/s"'),
        ("1 mb/s", Quantity.BANDWIDTH, '"1 MB/s" or "1 Mb/s"'),
        ("1 MBPS", Quantity.BANDWIDTH, '"1 Mbps" or "1 MBps"'),
        (500, Quantity.SPEED, '"500 Mflop/s" or "500 Gflop/s"'),
        (0.8, Quantity.TIME_PER_BYTE, '"0.8 ns/B"'),
        (8e-10, Quantity.TIME_PER_BYTE, '"8e-10 s/B"'),
        (3, Quantity.DURATION, '"3 years"'),
        ("5 usec", Quantity.TIME, '"5 us"'),
        ("5 Sec", Quantity.TIME, '"5 s"'),
        ("100 Mbit", Quantity.BANDWIDTH, '"100 Mbit/s"'),
        ("100 Mbits", Quantity.BANDWIDTH, '"100 Mbit/s"'),
        ("1 GB", Quantity.BANDWIDTH, '"1 GB/s"'),
        ("1 MB/sec", Quantity.BANDWIDTH, '"1 MB/s"'),
        ("2 Gflops", Quantity.SPEED, '"2 Gflop/s"'),
    ],
)
def test_a_forgotten_unit_is_suggested(value: object, quantity: Quantity, hint: str) -> None:
    """The suggested unit of a bare number is bytes if it is large, SI if it is tiny, and otherwise the usual one."""
    with pytest.raises(ValueError, match="must be") as caught:
        parse_quantity(value, quantity)
    assert str(caught.value).endswith(f": did you mean {hint}?")


ANYTHING = (
    st.integers()
    | st.floats()
    | st.text(st.sampled_from("0123456789.,_+-eE skMGiBbps/µunhdflopEUR€$"), max_size=12)
    | st.builds(
        "{} {}".format, st.floats(0, 1e12), st.sampled_from(["", "kb", "GB/S", "US", "Mflop", "euro", "€", "eur"])
    )
)


@given(ANYTHING, st.sampled_from([*Quantity, None]))
def test_every_suggestion_is_a_quantity_itself(value: object, quantity: Quantity | None) -> None:
    """Each suggestion of a message can be parsed itself."""

    def parse(text: object) -> object:
        return parse_money(text) if quantity is None else parse_quantity(text, quantity)

    try:
        parse(value)
    except ValueError as error:
        _, _, hint = str(error).rpartition(": did you mean ")
        for suggestion in re.findall(r'"([^"]*)"', hint) if "did you mean" in str(error) else []:
            parse(suggestion)


@given(st.just(0.0) | st.floats(1e-29, 9e29), st.sampled_from([format_time, format_size, Money]))
def test_whatever_is_printed_is_read(number: float, kind: object) -> None:
    """A printed time, size or price can be read again; it keeps four digits and is below 24 characters."""
    if kind is Money:
        text = str(Money(number, "EUR"))
        # Money is printed to 0.01, so it is off by at most half a cent, or a little more with floats: 0.625 gives 0.62.
        assert parse_money(text).amount == pytest.approx(number, rel=5e-3, abs=0.005 + 1e-9)
    else:
        text = format_time(number) if kind is format_time else format_size(number)
        read = parse_quantity(text, Quantity.TIME if kind is format_time else Quantity.SIZE)
        assert read == pytest.approx(number, rel=6e-4, abs=1e-315)
    assert len(text) < 24


def test_numbers_that_were_typed_keep_all_digits() -> None:
    """Whole numbers have neither an exponent nor decimals."""
    assert [format_exact(number) for number in (1_234_567.0, 1e6, 0.1)] == ["1234567", "1000000", "0.1"]
    assert format_range(1e6, 12_345_678.5) == "1000000 to 12345678.5"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (format_time(1e300), "3.171e+292 years"),
        (format_time(1e-300), "1e-291 ns"),
        (format_time(3 * YEAR), "3 years"),
        (format_time(5000 * 3600.0), "5000 h"),
        (format_size(1e30), "1e+12 EB"),
        (str(Money(1e30, "EUR")), "1e+30 EUR"),
        (str(Money(1e-9, "EUR")), "1e-09 EUR"),
        (format_number(123_456_789), "123,456,789"),
        (format_number(1e40), "1e+40"),
        (format_figure(1e40), "1e+40"),
        (format_size(999_970), "1 MB"),
        (format_size(999), "999 B"),
        (format_power(999.97), "1 kW"),
        (format_share(0.123), "12%"),
        (format_probability(0.123), "12%"),
        (format_probability(0.0), "0%"),
        (format_probability(1 / 400), "<1%"),
        (format_probability(399 / 400), ">99%"),
        (format_probability(1.0), "100%"),
        (format_probability(0.123, 1), "12.3%"),
        (format_probability(1 / 10_000, 1), "<0.1%"),
        (format_probability(9_999 / 10_000, 1), ">99.9%"),
        (format_probability(0.0, 1), "0.0%"),
        (format_probability(1.0, 1), "100.0%"),
        (format_share(0.5, 1, "+"), "+50.0%"),
        (format_share(1e300, 1), "1e+302%"),
        (format_share(-1e-9, 2), "0.00%"),
        (format_share(-1e-9, 2, "+"), "-0.00%"),
    ],
)
def test_huge_and_tiny_figures_have_an_exponent(text: str, shown: str) -> None:
    """Figures with very many digits are printed with an exponent."""
    assert text == shown


@pytest.mark.parametrize(
    ("figure", "digits", "text"),
    [
        *((3.966, 4, "3.966"), (0.000123, 4, "0.000123"), (1234.4, 4, "1,234"), (-12_345.0, 4, "-12,345")),
        *((9999.4, 4, "9,999"), (9999.6, 4, "10,000"), (123_456.4, 6, "123,456"), (1_234_567.0, 6, "1,234,567")),
    ],
)
def test_figures_have_all_digits_before_the_point(figure: float, digits: int, text: str) -> None:
    """Figures have a number of digits, and never an exponent in place of digits before the point."""
    assert format_figure(figure, digits) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        *((0, "0 s"), (12.5e-6, "12.5 us"), (1.25, "1.25 s"), (0.002, "2 ms"), (9000, "2.5 h"), (660, "11 min")),
        *((0.99996, "1 s"), (0.9994, "999.4 ms"), (0.99994, "999.9 ms"), (999.99e-9, "1 us")),
    ],
)
def test_a_time_is_shown_in_the_unit_a_reader_would_choose(seconds: float, text: str) -> None:
    """Small times are printed in small units, and large times in large units."""
    assert format_time(seconds) == text


@pytest.mark.parametrize(("size", "text"), [(64, "64 B"), (64_000, "64 KB"), (1.5e9, "1.5 GB"), (2e13, "20 TB")])
def test_a_size_is_shown_with_a_decimal_prefix(size: float, text: str) -> None:
    """Sizes are printed with the prefixes that people use in machine files."""
    assert format_size(size) == text


def test_one_is_singular() -> None:
    """One of anything is counted in the singular."""
    assert [count_of(number) for number in (0, 1, 2, 2048)] == ["0 ranks", "1 rank", "2 ranks", "2,048 ranks"]
    assert (count_of(1, "file"), count_of(3, "file")) == ("1 file", "3 files")


@pytest.mark.parametrize(
    ("text", "unit", "price"),
    [
        ("5.06 USD/h", Quantity.DURATION, Money(5.06 / 3600, "USD")),
        ("80,000 EUR / year", Quantity.DURATION, Money(80_000 / YEAR, "EUR")),
        ("€12/month", Quantity.DURATION, Money(12 / (YEAR / 12), "EUR")),
        ("0.24 EUR/kWh", Quantity.ENERGY, Money(0.24 / 3.6e6, "EUR")),
        ("90 EUR/MWh", Quantity.ENERGY, Money(90 / 3.6e9, "EUR")),
        ("0.09 USD/GB", Quantity.SIZE, Money(0.09 / 1e9, "USD")),
        ("23 USD/TB/month", Quantity.SIZE_TIMES_TIME, Money(23 / (1e12 * (YEAR / 12)), "USD")),
    ],
)
def test_a_price_is_that_of_one_si_unit(text: str, unit: Quantity, price: Money) -> None:
    """The price is converted to that of a second, a joule, a byte, or a byte kept for a second."""
    parsed = parse_price_per(text, unit, "example")
    assert (parsed.amount, parsed.currency) == (pytest.approx(price.amount, rel=1e-15), price.currency)


@pytest.mark.parametrize("text", ["0.24 EUR ± 20 %/kWh", "0.24 EUR +/- 20 % / kWh", "0.24 EUR/kWh ± 20 %"])
def test_the_uncertainty_of_a_price_stands_before_or_after_its_unit(text: str) -> None:
    """A price of 0.24 EUR, uncertain by 20 %, is that for 3.6 MJ."""
    price = parse_price_per(text, Quantity.ENERGY, "0.24 EUR/kWh")
    assert (price.amount, price.currency, price.deviation) == (pytest.approx(0.24 / 3.6e6, rel=1e-15), "EUR", 0.2)


@pytest.mark.parametrize("text", ["0.24 EUR ± 20 %/kWh ± 5 %", "0.24 EUR ± 20 % ± 5 %/kWh"])
def test_a_price_is_uncertain_by_one_figure(text: str) -> None:
    """Of two uncertainties neither counts silently."""
    with pytest.raises(ValueError, match="must have its spread in one place, got"):
        parse_price_per(text, Quantity.ENERGY, "0.24 EUR/kWh")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("5.06 USD", "must be a price for a unit (/kWh, /MWh, /J, /MJ, …) such as \"0.24 EUR/kWh\", got '5.06 USD'"),
        (
            "5.06 USD/h",
            "must be a price for a unit (/kWh, /MWh, /J, /MJ, …) such as \"0.24 EUR/kWh\", got '5.06 USD/h'",
        ),
        (5, 'must be a price for a unit (/kWh, /MWh, /J, /MJ, …) such as "0.24 EUR/kWh", got 5'),
        ("-1 EUR/kWh", "must be an amount not below 0, got '-1 EUR'"),
        ("0.24/kWh", "must be an amount with a currency such as \"300000 ATS\", got '0.24'"),
    ],
)
def test_what_is_no_price_of_a_unit_is_refused(text: object, fault: str) -> None:
    """The message has the rule and the value."""
    with pytest.raises(ValueError, match=re.escape(fault)):
        parse_price_per(text, Quantity.ENERGY, "0.24 EUR/kWh")


def test_power_and_carbon_have_units() -> None:
    """Power is in watts, energy in joules, and carbon in kilograms per joule."""
    assert [parse_quantity(text, Quantity.POWER) for text in ("450 W", "60 kW", "1.2 MW")] == [450, 6e4, 1.2e6]
    assert parse_quantity("350 g/kWh", Quantity.MASS_PER_ENERGY) == pytest.approx(0.35 / 3.6e6, rel=1e-15)
    assert parse_quantity("12 kWh", Quantity.ENERGY) == 12 * 3.6e6
    assert [format_power(watts) for watts in (450, 66_500, 1.2e6, 3e9)] == ["450 W", "66.5 kW", "1.2 MW", "3 GW"]
