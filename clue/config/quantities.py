"""Schema types of quantities: text with a unit in the file, an SI number in the value.

:mod:`clue.units` parses all of them; nothing is parsed here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from clue.config.document import format_value
from clue.units import (
    AMOUNT,
    AMOUNT_OF_MONEY,
    SPREAD,
    SYMBOLS,
    Money,
    Quantity,
    parse_money,
    parse_price_per,
    parse_quantity,
    with_point,
)


def _quantity(quantity: Quantity) -> Callable[[object], float]:
    return lambda value: parse_quantity(value, quantity)


def _positive(quantity: Quantity) -> Callable[[object], float]:
    def parse(value: object) -> float:
        number = parse_quantity(value, quantity)
        if number == 0:
            raise ValueError(f'must be {quantity.title} above 0, got "{value}"')
        return number

    return parse


def _text(quantity: Quantity, description: str, *examples: str) -> WithJsonSchema:
    return WithJsonSchema(
        {"type": "string", "description": description, "pattern": _pattern(quantity), "examples": list(examples)}
    )


def _pattern(quantity: Quantity) -> str:
    units = "|".join(map(_escaped, quantity.units))
    return rf"^\s*\+?{AMOUNT}\s*({units})\s*$"


def says_none(value: object) -> bool:
    """Tell whether a value is the word none. YAML's null is different: it means that the key is left out."""
    return isinstance(value, str) and value.lower() == "none"


#: The word none as a JSON Schema has it.
NoneWord = Annotated[str, WithJsonSchema({"type": "string", "pattern": "^[Nn][Oo][Nn][Ee]$", "examples": ["none"]})]


def _unless_none(value: object) -> object:
    return None if says_none(value) else value


def _stated(value: object) -> object:
    if value is None:
        raise ValueError("must be a size, or none if all messages are eager, got nothing")
    return _unless_none(value)


def _escaped(unit: str) -> str:
    return unit.replace("/", r"\s*/\s*")


def _sensible(number: float) -> float:
    if number and number < 1 / _MOST:
        raise ValueError(f"must be 0, or from {1 / _MOST:g} to {_MOST:g}, got {number:g}")
    return number


#: A number with a fraction; three digits after a comma may be thousands.
_FRACTION = re.compile(r"\d+\.(?:\d{1,2}|\d{4,})")


def run_time(value: object) -> float:
    """Return seconds; a bare number is allowed here, because programs print their run times this way."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f'must be a run time in seconds, or with a unit such as "2 min", got {_shown(value)}')
    if isinstance(value, str) and _FRACTION.fullmatch(pointed := with_point(value)):
        raise ValueError(f'must be a run time in seconds, got "{value}": did you mean {pointed}?')
    try:
        seconds = parse_quantity(value, Quantity.TIME) if isinstance(value, str) else float(value)
    except OverflowError:
        raise ValueError(f"must be a run time below 1e308 s, got {format_value(value)}") from None
    if not 0 < seconds < float("inf"):
        raise ValueError(f"must be a run time above 0, got {value!r}")
    return seconds


def _shown(value: object) -> str:
    return {type(None): "nothing", dict: "a mapping", list: "a list"}.get(type(value), repr(value).lower())


#: Largest number without a unit; its reciprocal is the smallest such number above 0.
_MOST = 1e12
PositiveInt = Annotated[int, Field(ge=1, le=10**12)]
Number = Annotated[float, Field(ge=0, le=_MOST), AfterValidator(_sensible)]
Time = Annotated[
    float,
    BeforeValidator(_quantity(Quantity.TIME)),
    _text(Quantity.TIME, "A time with its unit: s, ms, us, ns, ps, min, h or d.", "12.5 us", "1 ms"),
]
Duration = Annotated[
    float,
    BeforeValidator(_positive(Quantity.DURATION)),
    _text(Quantity.DURATION, "A time with its unit: years (of 365 days), months, weeks, days, hours.", "3 years"),
]
Size = Annotated[
    float,
    BeforeValidator(_quantity(Quantity.SIZE)),
    _text(Quantity.SIZE, "A size with its unit; 1 KB is 1000 B, 1 KiB is 1024 B.", "256 MB", "1 GiB"),
]
Bandwidth = Annotated[
    float,
    BeforeValidator(_positive(Quantity.BANDWIDTH)),
    _text(Quantity.BANDWIDTH, "A bandwidth with its unit, in bytes or bits per second.", "100 Mbit/s", "1 GB/s"),
]
Speed = Annotated[
    float,
    BeforeValidator(_positive(Quantity.SPEED)),
    _text(Quantity.SPEED, "A speed with its unit, in flop per second.", "500 Mflop/s"),
]
Work = Annotated[
    float,
    BeforeValidator(_positive(Quantity.WORK)),
    _text(Quantity.WORK, "A number of operations with its unit.", "2 Mflop"),
]
TimePerByte = Annotated[
    float,
    BeforeValidator(_quantity(Quantity.TIME_PER_BYTE)),
    _text(Quantity.TIME_PER_BYTE, "A time per amount of data, with its units.", "0.8 ns/B", "1 us/KB"),
]
Power = Annotated[
    float,
    BeforeValidator(_quantity(Quantity.POWER)),
    _text(Quantity.POWER, "A power with its unit: W, kW, MW.", "450 W", "60 kW"),
]
Frequency = Annotated[
    float,
    BeforeValidator(_positive(Quantity.FREQUENCY)),
    _text(Quantity.FREQUENCY, "A frequency with its unit: MHz, GHz.", "2.4 GHz"),
]
TransferRate = Annotated[
    float,
    BeforeValidator(_positive(Quantity.TRANSFERS)),
    _text(Quantity.TRANSFERS, "Transfers per second of a memory channel, with their unit: MT/s, GT/s.", "4800 MT/s"),
]
Carbon = Annotated[
    float,
    BeforeValidator(_quantity(Quantity.MASS_PER_ENERGY)),
    _text(Quantity.MASS_PER_ENERGY, "A mass of carbon dioxide per energy, with its units.", "350 g/kWh"),
]
_SYMBOL = f"[{''.join(SYMBOLS)}]"
_MONEY = rf"({_SYMBOL}\s*\+?{AMOUNT_OF_MONEY}|\+?{AMOUNT_OF_MONEY}\s*([A-Za-z]{{3}}|{_SYMBOL}))"


def _price(value: object) -> Money:
    """Parse a price: text, or a mapping with value and spread."""
    if not isinstance(value, Mapping):
        return parse_money(value)
    if set(value) != {"value", "spread"}:
        got = ", ".join(map(str, value)) or "none"
        raise ValueError(f"must be a price such as 4200 EUR, or have value and spread, got {got}")
    money, spread = parse_money(value["value"]), value["spread"]
    if money.deviation:
        raise ValueError(f'must have its spread in one place, got "{value["value"]}" and {spread}')
    if isinstance(spread, str) and (written := re.fullmatch(r"\s*(\S+)\s*%\s*", spread)) is not None:
        return replace(parse_money(f"1 {money.currency} ± {written[1]} %"), amount=money.amount)
    if isinstance(spread, bool) or not isinstance(spread, int | float) or not 0 <= spread < 1:
        raise ValueError(f"must have a spread below 100 % such as 5 % or 0.05, got {spread!r}")
    return Money(money.amount, money.currency, float(spread))


def _exactly(value: object) -> Money:
    money = parse_money(value)
    if money.deviation:
        raise ValueError(f'must be an amount without a spread, got "{value}"')
    return money


_SPREAD_SHARE = {
    "anyOf": [
        {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
        {"type": "string", "pattern": r"^\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*%\s*$", "examples": ["5 %"]},
    ]
}
_PRICE_TEXT = {
    "type": "string",
    "description": "An amount with the three letters of its currency, or €, £, $ (USD) or ¥ (JPY); its uncertainty may "
    "follow, as a relative standard deviation.",
    "pattern": rf"^\s*{_MONEY}({SPREAD})?\s*$",
    "examples": ["300000 ATS", "1,900.50 EUR", "€1900", "4200 EUR ± 5 %"],
}
Price = Annotated[
    Money,
    BeforeValidator(_price),
    WithJsonSchema(
        {
            "anyOf": [
                _PRICE_TEXT,
                {
                    "type": "object",
                    "description": "A price and its uncertainty.",
                    "properties": {"value": _PRICE_TEXT, "spread": _SPREAD_SHARE},
                    "required": ["value", "spread"],
                    "additionalProperties": False,
                },
            ]
        }
    ),
]
#: An amount without uncertainty: a limit, a rate.
Amount = Annotated[
    Money,
    BeforeValidator(_exactly),
    WithJsonSchema(
        {
            "type": "string",
            "description": "An amount with the three letters of its currency, or €, £, $ (USD) or ¥ (JPY).",
            "pattern": rf"^\s*{_MONEY}\s*$",
            "examples": ["300000 ATS", "1,900.50 EUR", "€1900"],
        }
    ),
]


def _more(value: object) -> Money:
    """Parse an amount, whose currency may be left out: then it is that of the comparison."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return _exactly(value)
    if isinstance(value, str) and re.fullmatch(rf"\s*{AMOUNT_OF_MONEY}\s*", value) is None:
        return _above_nothing(_exactly(value), value)
    try:
        number = parse_money(f"{value} XXX").amount
    except ValueError as error:  # the currency is not the user's
        raise ValueError(str(error).replace(" XXX", "")) from None
    return _above_nothing(Money(number, ""), value)


def _above_nothing(money: Money, value: object) -> Money:
    if not money.amount > 0:
        raise ValueError(f"must be an amount above 0, got {value}")
    return money


MoreMoney = Annotated[
    Money,
    BeforeValidator(_more),
    WithJsonSchema(
        {
            "type": ["string", "number"],
            "description": "An amount above 0; its currency defaults to that of the comparison.",
            "examples": ["10000 EUR", 10000],
        }
    ),
]


def _price_per(unit: Quantity, example: str) -> Callable[[object], Money]:
    return lambda value: parse_price_per(value, unit, example)


def _price_text(unit: Quantity, *examples: str) -> WithJsonSchema:
    units = "|".join(map(_escaped, unit.units))
    return WithJsonSchema(
        {
            "type": "string",
            "description": "An amount with its currency, per unit.",
            "pattern": rf"^\s*{_MONEY}({SPREAD})?\s*/\s*({units})({SPREAD})?\s*$",
            "examples": list(examples),
        }
    )


def _date(value: object) -> str:
    try:
        if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", value):
            return date.fromisoformat(value).isoformat()
    except ValueError:
        pass
    raise ValueError(f'must be a date such as "2026-11-02", got {value!r}')


#: Prices per SI unit.
PricePerTime = Annotated[
    Money,
    BeforeValidator(_price_per(Quantity.DURATION, "5.06 USD/h")),
    _price_text(Quantity.DURATION, "5.06 USD/h", "80,000 EUR/year"),
]
PricePerEnergy = Annotated[
    Money, BeforeValidator(_price_per(Quantity.ENERGY, "0.24 EUR/kWh")), _price_text(Quantity.ENERGY, "0.24 EUR/kWh")
]
PricePerSize = Annotated[
    Money, BeforeValidator(_price_per(Quantity.SIZE, "0.09 USD/GB")), _price_text(Quantity.SIZE, "0.09 USD/GB")
]
PricePerSizeAndTime = Annotated[
    Money,
    BeforeValidator(_price_per(Quantity.SIZE_TIMES_TIME, "0.023 USD/GB/month")),
    _price_text(Quantity.SIZE_TIMES_TIME, "0.023 USD/GB/month"),
]
Date = Annotated[
    str,
    BeforeValidator(_date),
    WithJsonSchema({"type": "string", "format": "date", "description": "A day.", "examples": ["2026-11-02"]}),
]
EagerLimit = Annotated[Size | None, BeforeValidator(_unless_none, json_schema_input_type=Size | NoneWord | None)]
#: Eager limit of a link that differs from another; null would be ambiguous, since the other's limit is the default.
OtherEagerLimit = Annotated[Size | None, BeforeValidator(_stated, json_schema_input_type=Size | NoneWord)]
Budget = Annotated[Amount | None, BeforeValidator(_unless_none, json_schema_input_type=Amount | NoneWord | None)]
RunTime = Annotated[
    float,
    BeforeValidator(run_time),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0},
                {"type": "string", "pattern": _pattern(Quantity.TIME), "examples": ["12.1 s", "2 min"]},
            ],
            "description": "A run time: seconds, or text with a unit.",
        }
    ),
]
