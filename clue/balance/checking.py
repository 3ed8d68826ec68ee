"""Checks of numbers of units and workers, which programs compute."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import SupportsIndex, cast

from clue.errors import UsageError


def whole(name: str, value: float, least: int | None = None) -> int:
    """Return a whole number, which may be one of numpy's, or a float.

    Raises:
        UsageError: If it is none, or below ``least`` (``None``: any number will do).
    """
    try:
        number = int(value) if isinstance(value, float) and value.is_integer() else index(cast(SupportsIndex, value))
    except TypeError:
        raise UsageError(f"balance: {name} must be a whole number, got {value!r}") from None
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
