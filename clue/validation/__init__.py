"""Validation of predictions against measured run times: the size of errors, and their sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clue.first_use import loaded_on_first_use

if TYPE_CHECKING:
    from clue.validation.cases import Case, Compared
    from clue.validation.figures import Order
    from clue.validation.parameters import Unchangeable
    from clue.validation.refits import Refit, Validation, validate

__all__ = ["Case", "Compared", "Order", "Refit", "Unchangeable", "Validation", "validate"]

# The command line uses these names before it loads the modules.
_HOMES = {
    "cases": ("Case", "Compared"),
    "figures": ("Order",),
    "parameters": ("Unchangeable",),
    "refits": ("Refit", "Validation", "validate"),
}
__getattr__ = loaded_on_first_use(__name__, _HOMES)
