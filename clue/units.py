"""The only parser and formatter of quantities: text with a unit in, SI numbers out, and back.

Inside clue every time is in seconds, every size in bytes, every rate in bytes or flops per second; a number
carries no unit suffix in its name. This module turns "12.5 us" into ``1.25e-05`` and back; it can read whatever it
writes. It knows nothing of YAML, files or machines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from math import inf
from numbers import Integral, Real
from typing import Any, TypeAlias

_PLAIN = r"[0-9]+(?:_[0-9]{3})*(?:\.[0-9]*)?|\.[0-9]+"
_THOUSANDS = r"[1-9][0-9]{0,2}(?:(?:,[0-9]{3}){2,}(?:\.[0-9]*)?|,[0-9]{3}\.[0-9]*)"
#: An ambiguous comma: before three digits it separates thousands to some readers, and begins a fraction to others.
_EITHER = r"[1-9][0-9]{0,2},[0-9]{3}"
_EXPONENT = r"(?:[eE][-+]?[0-9]+)?"
#: Regular expression (of Python and of JSON Schema) for the number of a quantity. Thousands may be separated by
#: underscores, or by commas where these cannot be read as the beginning of a fraction.
AMOUNT = rf"(?:{_THOUSANDS}|{_PLAIN}){_EXPONENT}"
#: The same for a price: clue itself prints "1,900 EUR", so a comma before three digits separates thousands.
AMOUNT_OF_MONEY = rf"(?:{_THOUSANDS}|{_EITHER}|{_PLAIN}){_EXPONENT}"
_NUMBER = re.compile(rf"\s*([-+]?{AMOUNT_OF_MONEY})(?![\d.,])\s*(.*?)\s*$")
_AMBIGUOUS = re.compile(rf"[-+]?{_EITHER}{_EXPONENT}")
#: A decimal comma, with or without dots that separate thousands.
_DECIMAL_COMMA = re.compile(r"\s*\+?(\d{1,3}(?:\.\d{3})+|\d+),(\d+(?![\d,]).*)")

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
#: A year of 365 days; a month is a twelfth of it.
YEAR = 365 * _DAY
MONTH = YEAR / 12
_TIME = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9, "ps": 1e-12,
         "min": _MINUTE, "h": _HOUR, "d": _DAY}  # fmt: skip
_WORDS_FOR_TIME = {"second": 1.0, "minute": _MINUTE, "hour": _HOUR, "day": _DAY, "week": 7 * _DAY,
                   "month": MONTH, "year": YEAR}  # fmt: skip
_LONG_TIME = {word + plural: seconds for word, seconds in _WORDS_FOR_TIME.items() for plural in ("", "s")}
_DECIMAL = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50, "Ei": 2.0**60}
_PREFIXES = _DECIMAL | _BINARY
_SIZE = {prefix + "B": factor for prefix, factor in _PREFIXES.items()}
_BITS = {prefix + bit: factor / 8 for prefix, factor in _PREFIXES.items() for bit in ("bit", "b")}
_BANDWIDTH = (
    {unit + "/s": factor for unit, factor in _SIZE.items()}
    | {unit + "/s": factor for unit, factor in _BITS.items()}
    | {prefix + "bps": factor / 8 for prefix, factor in _DECIMAL.items()}
    | {prefix + "Bps": factor for prefix, factor in _DECIMAL.items()}
)
_WORK = {prefix + flop: factor for prefix, factor in _DECIMAL.items() for flop in ("flop", "Flop", "FLOP")}
_SPEED = {unit + "/s": factor for unit, factor in _WORK.items()}
_PER_BYTE = {f"{time}/{size}": seconds / number for time, seconds in _TIME.items() for size, number in _SIZE.items()}
_POWER = {prefix + "W": factor for prefix, factor in _DECIMAL.items() if prefix in {"", "k", "M", "G"}}
_ENERGY = {power + "h": _HOUR * watts for power, watts in _POWER.items()} | {"J": 1.0, "kJ": 1e3, "MJ": 1e6, "GJ": 1e9}
#: A kilowatt hour in joules.
KWH = _ENERGY["kWh"]
_FREQUENCY = {prefix + "Hz": factor for prefix, factor in _DECIMAL.items() if prefix in {"", "k", "M", "G"}}
_TRANSFERS = {prefix + "T/s": factor for prefix, factor in _DECIMAL.items() if prefix in {"M", "G"}}
_MASS = {"g": 1e-3, "kg": 1.0, "t": 1e3}
_PER_ENERGY = {f"{mass}/{energy}": kg / joules for mass, kg in _MASS.items() for energy, joules in _ENERGY.items()}
_KEPT = {f"{size}/{time}": number * _LONG_TIME[time] for size, number in _SIZE.items()
         for time in ("hour", "day", "month", "year")}  # fmt: skip

_Units: TypeAlias = dict[str, float]
_Names: TypeAlias = tuple[str, ...]
_Bare: TypeAlias = tuple[tuple[float, _Names], ...]
_ANY = float("inf")


#: Bounds of quantities in SI units; beyond them products of a few quantities would overflow or underflow.
SMALLEST, LARGEST = 1e-30, 1e30


class Quantity(Enum):
    """A kind of quantity.

    Attributes:
        title: Its name.
        units: Value of each unit in SI units, by name.
        example: A value, for messages.
        usual: Units that messages name.
        bare: Units suggested for a number without a unit, by the upper bound of that number.
    """

    TIME = (
        *("a time", _TIME | _LONG_TIME, "12.5 us", ("s", "ms", "us", "ns", "min", "h", "d", "years")),
        ((0.01, ("s",)), (_ANY, ("us", "ms", "s"))),
    )
    DURATION = (
        *("a duration", _TIME | _LONG_TIME, "3 years", ("years", "months", "weeks", "days", "hours", "s")),
        ((_ANY, ("years",)),),
    )
    SIZE = (
        *("a size", _SIZE, "256 MB", ("B", "KB", "MB", "GB", "KiB", "MiB", "GiB")),
        ((1e3, ("KB", "MB", "GB")), (_ANY, ("B",))),
    )
    BANDWIDTH = (
        *("a bandwidth", _BANDWIDTH, "100 Mbit/s", ("B/s", "MB/s", "GB/s", "MiB/s", "Mbit/s", "Gbit/s")),
        ((1e6, ("Mbit/s", "MB/s", "GB/s")), (_ANY, ("B/s", "bit/s"))),
    )
    SPEED = (
        *("a speed", _SPEED, "500 Mflop/s", ("flop/s", "Mflop/s", "Gflop/s")),
        ((1e6, ("Mflop/s", "Gflop/s")), (_ANY, ("flop/s",))),
    )
    WORK = (
        *("a number of operations", _WORK, "2 Mflop", ("flop", "Mflop", "Gflop")),
        ((1e6, ("Mflop", "Gflop")), (_ANY, ("flop",))),
    )
    TIME_PER_BYTE = (
        *("a time per byte", _PER_BYTE, "0.8 ns/B", ("s/B", "us/B", "ns/B", "us/KB", "ms/MB")),
        ((1e-3, ("s/B",)), (_ANY, ("ns/B",))),
    )

    POWER = (
        *("a power", _POWER, "450 W", ("W", "kW", "MW")),
        ((_ANY, ("W", "kW")),),
    )
    ENERGY = (
        *("an energy", _ENERGY, "12 kWh", ("kWh", "MWh", "J", "MJ")),
        ((_ANY, ("kWh",)),),
    )
    MASS_PER_ENERGY = (
        *("a mass per energy", _PER_ENERGY, "350 g/kWh", ("g/kWh", "kg/kWh", "kg/MWh", "t/MWh")),
        ((1.0, ("kg/kWh",)), (_ANY, ("g/kWh",))),
    )
    FREQUENCY = (
        *("a frequency", _FREQUENCY, "2.4 GHz", ("Hz", "MHz", "GHz")),
        ((100.0, ("GHz",)), (1e5, ("MHz",)), (_ANY, ("Hz",))),
    )
    #: Transfers of memory: a channel moves 8 bytes in each.
    TRANSFERS = (
        *("a rate of transfers", _TRANSFERS, "4800 MT/s", ("MT/s", "GT/s")),
        ((100.0, ("GT/s",)), (_ANY, ("MT/s",))),
    )
    #: Stored data times time: only prices are per such a unit.
    SIZE_TIMES_TIME = (
        *("a size kept for a time", _KEPT, "1 GB/month", ("GB/month", "TB/month", "GB/hour")),
        ((_ANY, ("GB/month",)),),
    )

    def __init__(self, title: str, units: _Units, example: str, usual: _Names, bare: _Bare) -> None:
        self.title = title
        self.units = units
        self.example = example
        self.usual = usual
        self.bare = bare


#: Currency symbols. "$" means US dollars, "¥" Japanese yen; any other currency is written in letters.
SYMBOLS = {"€": "EUR", "$": "USD", "£": "GBP", "¥": "JPY"}
_CURRENCY_WORDS = {"": "EUR", "euro": "EUR", "euros": "EUR", "dollar": "USD", "dollars": "USD", "pounds": "GBP"}
_SYMBOL_FIRST = re.compile(rf"\s*([{''.join(SYMBOLS)}])\s*([-+.\d].*)$")
#: An ambiguous dot: a separator of thousands to some readers, a decimal point to others.
_DOTTED = re.compile(r"\+?[1-9]\d{0,2}\.\d{3}")


#: Uncertainty of a price, which follows it.
SPREAD = r"\s*(?:±|\+-|\+/-)\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*%"
_SPREAD = re.compile(rf"(.*?){SPREAD}\s*", re.DOTALL)
_WHOLE = 100.0


@dataclass(frozen=True, slots=True)
class Money:
    """An amount in a currency.

    Attributes:
        amount: Amount in units of the currency.
        currency: Three capital letters, ISO 4217 style ("EUR", "ATS").
        deviation: Its uncertainty: relative standard deviation, 0.05 for 5 %.
    """

    amount: float
    currency: str
    deviation: float = 0.0

    def __str__(self) -> str:
        spread = f" ± {100 * self.deviation:.4g} %" if self.deviation else ""
        return f"{format_amount(self.amount)} {self.currency}{spread}"


def is_count(value: Any, least: int = 1) -> bool:
    """Tell whether an argument is a whole number, at least ``least``: integers of numpy are, 2.0 and "2" are not."""
    return isinstance(value, Integral) and bool(value >= least)  # type: ignore[operator]


def is_amount(value: Any) -> bool:
    """Tell whether an argument is a finite number, at least 0, of whatever type."""
    # Most are floats, which can be told ten times as fast.
    return (type(value) is float or isinstance(value, Real)) and bool(0 <= value < inf)  # type: ignore[operator]


def parse_quantity(text: object, quantity: Quantity) -> float:
    """Parse a quantity with its unit into SI: seconds, bytes, bytes/s, flop/s, or seconds/byte.

    Decimal and binary prefixes differ as in the standards: ``1 KB`` (or ``1 kB``) is 1000 B, ``1 KiB`` is 1024 B.
    Commas separate thousands: ``1,048,576 B``; ``1,500 us`` is refused, as some mean 1.5 by it. A year has 365 days, a
    month is a twelfth of it.

    Raises:
        ValueError: With the rule and the value, e.g. ``must be a time with a unit such as "12.5 us", got 'soon'``.
    """
    title = quantity.title

    def meant(*suggestions: str) -> str:
        return _did_you_mean(suggestions, lambda each: parse_quantity(each, quantity))

    number, written, unit = _parts(text, f'{title} with a unit such as "{quantity.example}"', meant)
    if number < 0:
        raise ValueError(f"must be {title} not below 0, got {text!r}")
    if _AMBIGUOUS.fullmatch(written):
        hint = meant(*(f"{written.replace(',', point)} {unit}" for point in ("", ".")))
        raise ValueError(f"must be {title} that can be read in one way, got {text!r}{hint}")
    if unit == "":
        finite = min(number, LARGEST)  # 1e400 is read as infinity
        likely = next(units for limit, units in quantity.bare if finite < limit) if number else quantity.usual[:1]
        raise ValueError(f"must be {title} with a unit, got {text!r}{meant(*(f'{written} {each}' for each in likely))}")
    unit = re.sub(r"\s*/\s*", "/", unit)
    factor = quantity.units.get(unit)
    if factor is None:
        # Of several names for one unit the last is taken: "KB", not "kB".
        near = [each for each in quantity.units if each in _spellings(unit)]
        near = near or [each for each in quantity.units if each.lower() in _spellings(unit.lower())]
        alike = {quantity.units[each]: f"{written} {each}" for each in near}
        known = ", ".join(quantity.usual)
        raise ValueError(f"must be {title} in a known unit ({known}, …), got {text!r}{meant(*alike.values())}")
    # Dividing by the exact reciprocal keeps decimal fractions as close as a literal would be: 12.5 us == 12.5e-6.
    value = number / round(1 / factor) if factor < 1 and (1 / factor) > 2 and _is_whole(1 / factor) else number * factor
    return _bounded(value, f"must be 0, or from {SMALLEST:g} to {LARGEST:g} in SI units", text)


def _spellings(unit: str) -> set[str]:
    """Return a unit, and the units that are often written so: ``usec``, ``MB/sec``, ``Mbit``, ``Gflops``."""
    return {unit, unit.removesuffix("ec"), f"{unit}/s", f"{unit.removesuffix('s')}/s"}


def _is_whole(value: float) -> bool:
    return abs(value - round(value)) < 1e-6 * value


def parse_money(text: object) -> Money:
    """Parse an amount with its currency: ``"300000 ATS"``, ``"1,900.50 EUR"``, ``"1900 eur"``, ``"€1,900"``.

    A currency is three letters, or one of :data:`SYMBOLS` before or after the amount. ``"1.900 EUR"`` is refused: some
    mean 1,900 by it. An uncertainty may follow: ``"4200 EUR ± 5 %"``, or ``+-``.

    Raises:
        ValueError: With the rule and the value.
    """
    if (spread := _SPREAD.fullmatch(text) if isinstance(text, str) else None) is not None:
        return _uncertain(parse_money(spread[1]), spread[2], text)
    rule = 'an amount with a currency such as "300000 ATS"'

    def meant(*suggestions: str) -> str:
        return _did_you_mean(suggestions, parse_money)

    first = _SYMBOL_FIRST.match(text) if isinstance(text, str) else None
    amount, written, currency = _parts(f"{first[2]} {first[1]}" if first is not None else text, rule, meant)
    if amount < 0:
        raise ValueError(f"must be an amount not below 0, got {text!r}")
    known = SYMBOLS.get(currency) or (currency.upper() if re.fullmatch("[A-Za-z]{3}", currency) else None)
    if known is None:
        word = _CURRENCY_WORDS.get(currency.lower())
        raise ValueError(f"must be {rule}, got {text!r}{meant(*([f'{written} {word}'] if word is not None else []))}")
    if _DOTTED.fullmatch(written):
        decimal = f"{amount:g}"
        if _DOTTED.fullmatch(decimal):
            decimal += "0"  # 1.1250 can be read in one way
        hint = meant(f"{written.replace('.', ',')} {known}", f"{decimal} {known}")
        raise ValueError(f"must be an amount that can be read in one way, got {text!r}{hint}")
    return Money(_bounded(amount, f"must be 0, or from {SMALLEST:g} to {LARGEST:g}", text), known)


def parse_price_per(text: object, unit: Quantity, example: str) -> Money:
    """Parse a price per unit: ``"5.06 USD/h"``, ``"0.24 EUR/kWh"``, ``"80,000 EUR/year"``.

    An uncertainty may follow the amount or the unit: ``"0.24 EUR ± 20 %/kWh"``, ``"0.24 EUR/kWh ± 20 %"``.

    Args:
        text: Text of the price.
        unit: Quantity that is priced.
        example: A value, for messages.

    Returns:
        The price of one SI unit: of a second, a joule, a byte, a byte kept for a second.

    Raises:
        ValueError: With the rule and the value.
    """
    if (spread := _SPREAD.fullmatch(text) if isinstance(text, str) else None) is not None:
        return _uncertain(parse_price_per(spread[1], unit, example), spread[2], text)
    money, _, written = text.replace("+/-", "±").partition("/") if isinstance(text, str) else ("", "", "")
    name = re.sub(r"\s*/\s*", "/", written.strip())
    if name not in unit.units:
        units = ", ".join(f"/{each.rstrip('s') or each}" for each in unit.usual)
        raise ValueError(f'must be a price for a unit ({units}, …) such as "{example}", got {text!r}')
    price = parse_money(money.strip())
    return replace(price, amount=price.amount / unit.units[name])


def _uncertain(price: Money, percent: str, text: object) -> Money:
    """Return a price with its uncertainty in percent; it must have no other."""
    if price.deviation:
        raise ValueError(f"must have its spread in one place, got {text!r}")
    if not float(percent) < _WHOLE:
        raise ValueError(f"must be uncertain by less than 100 %, got {text!r}")
    return replace(price, deviation=float(percent) / _WHOLE)


def _bounded(value: float, rule: str, text: object) -> float:
    if value and not SMALLEST <= value <= LARGEST:
        raise ValueError(f"{rule}, got {text!r}")
    return value


def _parts(text: object, rule: str, meant: Callable[[str], str]) -> tuple[float, str, str]:
    """Return a number, its text, and the text after it."""
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        raise ValueError(f"must be {rule}, got {text!r}")
    match = _NUMBER.match(str(text))
    if match is None:
        pointed = with_point(str(text))
        raise ValueError(f"must be {rule}, got {text!r}{meant(pointed) if pointed else ''}")
    return float(match[1].replace("_", "").replace(",", "")), match[1], match[2]


def with_point(text: str) -> str:
    """Return a text that begins with a number with a decimal comma, with a point; ``""`` if it does not."""
    comma = _DECIMAL_COMMA.match(text)
    return "" if comma is None else f"{comma[1].replace('.', '')}.{comma[2]}"


def _did_you_mean(suggestions: Iterable[str], parse: Callable[[str], object]) -> str:
    """Return the end of a message with the suggestions that can be parsed, or ``""``."""
    listed = " or ".join(f'"{each}"' for each in suggestions if _parses(each, parse))
    return f": did you mean {listed}?" if listed else ""


def _parses(text: str, parse: Callable[[str], object]) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


#: Smallest number that is written as 1000 with four digits: it gets the next larger unit.
_THOUSAND = 999.95


def format_time(seconds: float, digits: int = 4) -> str:
    """Format a time with the unit a reader would choose: ``"12.5 us"``, ``"1.25 s"``, ``"2.5 h"``, ``"3 years"``."""
    size = abs(seconds)
    if size == 0:
        return "0 s"
    for limit, unit, factor in (
        *((_THOUSAND * factor, unit, factor) for unit, factor in (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3))),
        *((600.0, "s", 1.0), (7200.0, "min", _MINUTE), (9999.5 * _HOUR, "h", _HOUR)),
    ):
        if size < limit:
            return f"{seconds / factor:.{digits}g} {unit}"
    return f"{seconds / YEAR:.{digits}g} years"


def format_power(watts: float) -> str:
    """Format a power: ``"450 W"``, ``"66.5 kW"``."""
    for unit in ("W", "kW", "MW"):
        if abs(watts) < _THOUSAND * _POWER[unit]:
            return f"{watts / _POWER[unit]:.4g} {unit}"
    return f"{watts / 1e9:.4g} GW"


def format_size(size: float) -> str:
    """Format a size in bytes with a decimal prefix: ``"64 KB"``, ``"1.5 GB"``."""
    for prefix in ("", "K", "M", "G", "T", "P"):
        if abs(size) < _THOUSAND * _DECIMAL[prefix]:
            return f"{size / _DECIMAL[prefix]:.4g} {prefix}B"
    return f"{size / 1e18:.4g} EB"


#: Largest number written with all its digits; larger ones get an exponent.
_MOST_DIGITS = 1e12


def format_exact(number: float) -> str:
    """Format a number with all its digits, for a name or a value that a user typed: ``"1234567"``, ``"0.5"``."""
    return str(int(number)) if float(number).is_integer() else repr(float(number))


def format_range(low: float, high: float) -> str:
    """Format a range of such numbers: ``"400 to 6400"``."""
    return f"{format_exact(low)} to {format_exact(high)}"


def format_number(number: float) -> str:
    """Format a whole number or an amount: ``"12,345"``; from 10^12 on with an exponent, ``"1.234e+30"``."""
    return f"{number:,.0f}" if abs(number) < _MOST_DIGITS else f"{number:.4g}"


def format_figure(figure: float, digits: int = 4) -> str:
    """Format a figure with a number of digits, and with all those before the point: ``"3.97"``, ``"12,345"``."""
    return f"{figure:,.{digits}g}" if abs(figure) < 10.0**digits - 0.5 else format_number(figure)


def format_measure(figure: float, unit: str, digits: int = 4) -> str:
    """Format a figure in its unit: a time in the unit that suits it; points with a decimal, and without their name.

    Args:
        figure: The figure.
        unit: Its unit.
        digits: Number of digits of a time or an amount; points of two digits before the decimal point have as many.
    """
    if unit == "s":
        return format_time(figure, digits)
    return f"{figure:.{digits - 3}f}" if unit == "points" else f"{format_figure(figure, digits)} {unit}"


def format_amount(amount: float) -> str:
    """Format an amount of money: ``"12,345"``, ``"32.34"``, ``"0.00123"``."""
    size = abs(amount)
    if 0 < size < 0.005:
        return f"{amount:.3g}"
    return f"{amount:.2f}" if size < 100 else format_number(amount)


def count_of(number: int, what: str = "rank") -> str:
    """Return a number with its noun: ``"1 rank"``, ``"2,048 ranks"``, ``"3 files"``."""
    return f"{format_number(number)} {what if number == 1 else what + 's'}"


def format_share(share: float, decimals: int = 0, sign: str = "") -> str:
    """Format a share as a percentage: ``"12%"``; beyond a million percent as ``"1.2e+300%"``.

    Args:
        share: The share; 1 means 100 %.
        decimals: Number of decimals.
        sign: ``"+"`` to show the sign of a positive share, too.
    """
    text = f"{share:{sign}.{decimals}%}" if abs(share) < 1e4 else f"{100 * share:{sign}.3g}%"
    # A share that is rounded to 0 has no sign, unless signs are shown.
    return text.removeprefix("-") if not sign and not float(text[:-1]) else text


def format_probability(share: float, decimals: int = 0) -> str:
    """Format a probability: ``"12%"``; ``"<1%"`` and ``">99%"`` where rounding would make it impossible or certain.

    Args:
        share: The probability.
        decimals: Number of decimals.
    """
    text, least = f"{share:.{decimals}%}", 10.0 ** -(decimals + 2)
    if text == f"{0:.{decimals}%}" and share > 0:
        return f"<{least:.{decimals}%}"
    return f">{1 - least:.{decimals}%}" if text == f"{1:.{decimals}%}" and share < 1 else text
