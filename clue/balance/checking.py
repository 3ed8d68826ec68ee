"""Checks of numbers of units and workers, which programs compute."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from operator import index
from typing import SupportsIndex, cast

from clue.errors import UsageError


def whole(name: str, value: float, least: int | None = None) -> int:
    """Return a whole number, which may be a float, or one of numpy's numbers.

    Raises:
        UsageError: If it is none, or below ``least`` (``None``: any number will do).
    """
    try:
        number = index(cast(SupportsIndex, value))
    except TypeError:
        if not (isinstance(value, Real) and float(value).is_integer()):
            raise UsageError(f"balance: {name} must be a whole number, got {value!r}") from None
        number = int(value)
    if least is not None and number < least:
        raise UsageError(f"balance: {name} must be at least {least}, got {number}")
    return number


def not_negative(name: str, values: Sequence[float]) -> None:
    """Check numbers.

    Raises:
        UsageError: If one is negative or not finite.
    """
    if not all(0 <= value < math.inf for value in values):
        raise UsageError(f"balance: {name} must be finite numbers of at least 0, got {list(values)}")


def positive(name: str, value: float) -> None:
    """Check a number.

    Raises:
        UsageError: If it is not positive and finite.
    """
    if not 0 < value < math.inf:
        raise UsageError(f"balance: {name} must be a number > 0, got {value}")
