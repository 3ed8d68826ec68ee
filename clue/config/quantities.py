"""Types of the schema for quantities: text with a unit in the file, an SI number in the model.

Every one goes through :mod:`clue.units`; nothing is parsed here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from clue.units import Money, Quantity, parse_money, parse_quantity


def _quantity(quantity: Quantity) -> Callable[[object], float]:
    return lambda value: parse_quantity(value, quantity)


def _positive_bandwidth(value: object) -> float:
    bandwidth = parse_quantity(value, Quantity.BANDWIDTH)
    if bandwidth == 0:
        raise ValueError(f'must be a bandwidth above 0, got "{value}"')
    return bandwidth


def _positive_speed(value: object) -> float:
    speed = parse_quantity(value, Quantity.SPEED)
    if speed == 0:
        raise ValueError(f'must be a speed above 0, got "{value}"')
    return speed


def _text(quantity: Quantity, description: str, *examples: str) -> WithJsonSchema:
    units = "|".join(_escaped(unit) for unit in quantity.units if unit.isascii())
    number = r"[0-9][0-9_]*\.?[0-9]*([eE][-+]?[0-9]+)?|\.[0-9]+([eE][-+]?[0-9]+)?"
    return WithJsonSchema(
        {
            "type": "string",
            "description": description,
            "pattern": rf"^\s*\+?({number})\s*({units})\s*$" if len(units) < 2000 else rf"^\s*\+?({number})\s*\S+\s*$",
            "examples": list(examples),
        }
    )


def _escaped(unit: str) -> str:
    return unit.replace("/", r"\s*/\s*")


def _sensible(number: float) -> float:
    if number and number < 1 / _MOST:
        raise ValueError(f"must be 0, or from {1 / _MOST:g} to {_MOST:g}, got {number:g}")
    return number


#: Largest number without a unit, and the reciprocal of the smallest above 0.
_MOST = 1e12
Number = Annotated[float, Field(ge=0, le=_MOST), AfterValidator(_sensible)]
Time = Annotated[
    float,
    BeforeValidator(_quantity(Quantity.TIME)),
    _text(Quantity.TIME, "A time with its unit: s, ms, us, ns, ps, min, h or d.", "12.5 us", "1 ms"),
]
Size = Annotated[
    float,
    BeforeValidator(_quantity(Quantity.SIZE)),
    _text(Quantity.SIZE, "A size with its unit; 1 KB is 1000 B, 1 KiB is 1024 B.", "256 MB", "1 GiB"),
]
Bandwidth = Annotated[
    float,
    BeforeValidator(_positive_bandwidth),
    _text(Quantity.BANDWIDTH, "A bandwidth with its unit, in bytes or bits per second.", "100 Mbit/s", "1 GB/s"),
]
Speed = Annotated[
    float,
    BeforeValidator(_positive_speed),
    _text(Quantity.SPEED, "A speed with its unit, in flop per second.", "500 Mflop/s"),
]
TimePerByte = Annotated[
    float,
    BeforeValidator(_quantity(Quantity.TIME_PER_BYTE)),
    _text(Quantity.TIME_PER_BYTE, "A time per amount of data, with its units.", "0.8 ns/B", "1 us/KB"),
]
Price = Annotated[
    Money,
    BeforeValidator(parse_money),
    WithJsonSchema(
        {
            "type": "string",
            "description": "An amount with the three letters of its currency.",
            "pattern": r"^\s*\+?[0-9][0-9_]*\.?[0-9]*([eE][-+]?[0-9]+)?\s*[A-Z]{3}\s*$",
            "examples": ["300000 ATS", "1_200.50 EUR"],
        }
    ),
]
