"""Values that others have written, in a store or in an answer: data of the expected kind, or a ``ValueError``."""

from __future__ import annotations

import json
from typing import Any

#: Number of characters of a value that a message shows.
_SHOWN = 60


def parsed(content: str | bytes) -> Any:
    """Return the value that a JSON text states.

    Raises:
        ValueError: If it is not JSON, or nested too deeply.
    """
    try:
        return json.loads(content)
    except RecursionError:
        raise ValueError("JSON must not be nested deeper than a measurement, got far more levels") from None


def text(name: str, value: object) -> str:
    """Return a value that must be text.

    Raises:
        ValueError: If it is not.
    """
    if not isinstance(value, str):
        raise ValueError(f"{name} must be text, got {_shown(value)}")
    return value


def number(name: str, value: object, least: float, most: float) -> float:
    """Return a value that must be a number within bounds.

    Raises:
        ValueError: If it is not.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise ValueError(f"{name} must be a number from {least:g} to {most:g}, got {_shown(value)}")
    return float(value)


def whole(name: str, value: object, least: int, most: int) -> int:
    """Return a value that must be a whole number within bounds.

    Raises:
        ValueError: If it is not.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{name} must be a whole number from {least:,} to {most:,}, got {_shown(value)}")
    return value


def _shown(value: object) -> str:
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
