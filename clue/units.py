"""The only parser and formatter of quantities: text with a unit in, SI numbers out.

Inside clue every time is in seconds, every size in bytes, every rate in bytes or flops per second; a number
carries no unit suffix in its name. This module is where "12.5 us" becomes ``1.25e-05`` and back. It knows
nothing of YAML, files or machines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

_NUMBER = re.compile(r"\s*([-+]?(?:\d+(?:_\d{3})*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(.*?)\s*$")

_TIME = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9, "ps": 1e-12,
         "min": 60.0, "h": 3600.0, "d": 86400.0}  # fmt: skip
_DECIMAL = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50}
_PREFIXES = _DECIMAL | _BINARY
_SIZE = {prefix + "B": factor for prefix, factor in _PREFIXES.items()}
_BITS = {prefix + bit: factor / 8 for prefix, factor in _PREFIXES.items() for bit in ("bit", "b")}
_BANDWIDTH = (
    {unit + "/s": factor for unit, factor in _SIZE.items()}
    | {unit + "/s": factor for unit, factor in _BITS.items()}
    | {prefix + "bps": factor / 8 for prefix, factor in _DECIMAL.items()}
)
_SPEED = {prefix + flop + "/s": factor for prefix, factor in _DECIMAL.items() for flop in ("flop", "Flop", "FLOP")}
_PER_BYTE = {f"{time}/{size}": seconds / number for time, seconds in _TIME.items() for size, number in _SIZE.items()}


#: Bounds of quantities in SI units, beyond which products of a few of them are no numbers any more.
SMALLEST, LARGEST = 1e-30, 1e30


class Quantity(Enum):
    """A kind of quantity: its name, the units it may be written in, and an example for error messages."""

    TIME = ("a time", _TIME, "12.5 us")
    SIZE = ("a size", _SIZE, "256 MB")
    BANDWIDTH = ("a bandwidth", _BANDWIDTH, "100 Mbit/s")
    SPEED = ("a speed", _SPEED, "500 Mflop/s")
    TIME_PER_BYTE = ("a time per byte", _PER_BYTE, "0.8 ns/B")

    def __init__(self, title: str, units: dict[str, float], example: str) -> None:
        self.title = title
        self.units = units
        self.example = example


@dataclass(frozen=True, slots=True)
class Money:
    """An amount in a currency.

    Attributes:
        amount: In units of the currency.
        currency: Three capital letters, ISO 4217 style ("EUR", "ATS").
    """

    amount: float
    currency: str

    def __str__(self) -> str:
        return f"{self.amount:,.0f} {self.currency}" if self.amount >= 100 else f"{self.amount:.2f} {self.currency}"


def parse_quantity(text: object, quantity: Quantity) -> float:
    """Parse a quantity with its unit into SI: seconds, bytes, bytes/s, flop/s, or seconds/byte.

    Decimal and binary prefixes differ as in the standards: ``1 KB`` (or ``1 kB``) is 1000 B, ``1 KiB`` is 1024 B.

    Raises:
        ValueError: With the rule and the value, e.g. ``must be a time with a unit such as "12.5 us", got 5``.
    """
    title, example = quantity.title, quantity.example
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        raise ValueError(f'must be {title} with a unit such as "{example}", got {text!r}')
    match = _NUMBER.match(str(text))
    if match is None:
        raise ValueError(f'must be {title} with a unit such as "{example}", got {text!r}')
    number, unit = float(match[1].replace("_", "")), match[2]
    if unit == "":
        # Nobody can tell seconds from microseconds by the number.
        units = ("us", "ms", "s") if quantity is Quantity.TIME else (example.split(" ", 1)[1],)
        meant = " or ".join(f'"{text} {unit}"' for unit in units)
        raise ValueError(f"must be {title} with a unit, got {text!r}: did you mean {meant}?")
    unit = re.sub(r"\s*/\s*", "/", unit)
    factor = quantity.units.get(unit)
    if factor is None:
        known = ", ".join(list(quantity.units)[:8])
        raise ValueError(f"must be {title} in a known unit ({known}, …), got {text!r}")
    if number < 0:
        raise ValueError(f"must be {title} not below 0, got {text!r}")
    # Dividing by the exact reciprocal keeps decimal fractions as close as a literal would be: 12.5 us == 12.5e-6.
    value = number / round(1 / factor) if factor < 1 and (1 / factor) > 2 and _is_whole(1 / factor) else number * factor
    if value and not SMALLEST <= value <= LARGEST:
        raise ValueError(f"must be 0, or from {SMALLEST:g} to {LARGEST:g} in SI units, got {text!r}")
    return value


def _is_whole(value: float) -> bool:
    return abs(value - round(value)) < 1e-6 * value


def parse_money(text: object) -> Money:
    """Parse an amount with its currency: ``"300000 ATS"``, ``"1_200.50 EUR"``.

    Raises:
        ValueError: With the rule and the value.
    """
    match = _NUMBER.match(text) if isinstance(text, str) else None
    if match is None or not re.fullmatch(r"[A-Z]{3}", match[2]):
        hint = f': did you mean "{text} EUR"?' if isinstance(text, int | float) and not isinstance(text, bool) else ""
        raise ValueError(f'must be an amount with a currency such as "300000 ATS", got {text!r}{hint}')
    amount = float(match[1].replace("_", ""))
    if amount < 0:
        raise ValueError(f"must be an amount not below 0, got {text!r}")
    if amount and not SMALLEST <= amount <= LARGEST:
        raise ValueError(f"must be 0, or from {SMALLEST:g} to {LARGEST:g}, got {text!r}")
    return Money(amount, match[2])


def format_time(seconds: float) -> str:
    """Format a time with the unit a reader would choose: ``"12.5 us"``, ``"1.25 s"``, ``"2.50 h"``."""
    size = abs(seconds)
    if size == 0:
        return "0 s"
    for limit, unit, factor in ((1e-6, "ns", 1e-9), (1e-3, "us", 1e-6), (1.0, "ms", 1e-3), (600.0, "s", 1.0)):
        if size < limit:
            return f"{seconds / factor:.4g} {unit}"
    return f"{seconds / 60:.4g} min" if size < 7200 else f"{seconds / 3600:.4g} h"


def format_size(size: float) -> str:
    """Format a size in bytes with a decimal prefix: ``"64 KB"``, ``"1.5 GB"``."""
    for limit, unit, factor in ((1e3, "B", 1.0), (1e6, "KB", 1e3), (1e9, "MB", 1e6), (1e12, "GB", 1e9)):
        if abs(size) < limit:
            return f"{size / factor:.4g} {unit}"
    return f"{size / 1e12:.4g} TB"
