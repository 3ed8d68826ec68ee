"""Values of JSON documents: plain dictionaries, lists, text and finite numbers; no files.

Most subjects of the report have a module ``document``, whose results ``--json`` prints. Times are in seconds of virtual
time, sizes in bytes. A figure that is unknown or not finite is ``null``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from clue.machine import Curve

if TYPE_CHECKING:
    from clue.uncertainty import Spread
    from clue.units import Money

Document = dict[str, object]
#: Up to this number, a float holds every whole number exactly.
_WHOLE = 2.0**53


def fields(of: object, *names: str) -> Document:
    """Return the fields of a value whose keys equal their names, in this order."""
    return {name: getattr(of, name) for name in names}


def interval(spread: Spread) -> Document:
    """Describe an interval: 10th percentile, median and 90th percentile of samples."""
    return fields(spread, "low", "median", "high")


def money(stated: Money | None) -> Document | None:
    """Describe an amount of money, if one is stated; whole amounts as integers."""
    if stated is None:
        return None
    amount = float(stated.amount)
    is_whole = amount.is_integer() and amount < _WHOLE
    return {"amount": int(amount) if is_whole else amount, "currency": stated.currency}


def plain(document: Mapping[str, object]) -> Document:
    """Replace what JSON lacks: curves become their segments, and numbers that are not finite become ``null``."""
    return {key: _plain_value(value) for key, value in document.items()}


def _plain_value(value: object) -> object:
    if isinstance(value, Mapping):
        return plain(value)
    if isinstance(value, Curve):
        return [plain(segment) for segment in _curve(value)]
    if isinstance(value, list | tuple):
        return [_plain_value(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _curve(curve: Curve) -> list[Document]:
    return [
        {"nbytes": nbytes, "time": time, "per_byte": slope}
        for nbytes, time, slope in zip(curve.sizes, curve.times, curve.slopes, strict=True)
    ]
