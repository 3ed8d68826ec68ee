"""Validation of predictions against measured run times: the size of errors, and their sources."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clue.validation.cases import Case, Compared
    from clue.validation.figures import Order
    from clue.validation.parameters import Unchangeable
    from clue.validation.refits import Refit, Validation, validate

__all__ = ["Case", "Compared", "Order", "Refit", "Unchangeable", "Validation", "validate"]

# The command line uses these names before it loads the modules.
_HOME = {
    "Case": "cases",
    "Compared": "cases",
    "Order": "figures",
    "Refit": "refits",
    "Unchangeable": "parameters",
    "Validation": "refits",
    "validate": "refits",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"clue.validation.{_HOME[name]}"), name)
