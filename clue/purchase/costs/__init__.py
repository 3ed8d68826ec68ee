"""What an option costs over its life: figures as stated, the hardware they amount to, and the account of both.

Pure functions of values: no simulation, no file. Amounts are in the one currency of a comparison, times in seconds,
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
