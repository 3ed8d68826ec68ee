"""Costs of an option over its life: the stated figures, the totals of its hardware, and the account of both.

Pure functions of values: no simulation, no file. Amounts are in the currency of the comparison, times in seconds,
powers in watts, energies in joules.
"""

from clue.purchase.costs.account import Account, Life, Sheet, account_of, annuity
from clue.purchase.costs.figures import (
    Cloud,
    Costs,
    Electricity,
    Licence,
    Number,
    Part,
    Per,
    Racks,
    Source,
    Stated,
    Tariff,
)
from clue.purchase.costs.hardware import Hardware, hardware_of

__all__ = [
    "Account",
    "Cloud",
    "Costs",
    "Electricity",
    "Hardware",
    "Licence",
    "Life",
    "Number",
    "Part",
    "Per",
    "Racks",
    "Sheet",
    "Source",
    "Stated",
    "Tariff",
    "account_of",
    "annuity",
    "hardware_of",
]
