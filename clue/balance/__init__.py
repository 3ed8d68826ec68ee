"""Dividing work between unequal processors: by relative performance beforehand, or in chunks while it runs.

The words are those of Laine and Midorikawa's PEMPIs-Het (the relative performance vector, VRP) and of the papers on
loop scheduling. Nothing here runs or sends anything: it tells a program how much work to hand out, and to whom. To keep
that cheap, names are loaded on first use, and only queries of a virtual machine need more than Python itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clue.first_use import loaded_on_first_use

if TYPE_CHECKING:
    from clue.balance.chunks import factoring, guided, portion, self_scheduled, trapezoidal
    from clue.balance.division import loads, shares, unit_load
    from clue.balance.factors import factors_on
    from clue.balance.vector import TimeModel, relative_performance, remeasured, vector_at

__all__ = [
    "TimeModel",
    "factoring",
    "factors_on",
    "guided",
    "loads",
    "portion",
    "relative_performance",
    "remeasured",
    "self_scheduled",
    "shares",
    "trapezoidal",
    "unit_load",
    "vector_at",
]

_HOMES = {
    "chunks": ("factoring", "guided", "portion", "self_scheduled", "trapezoidal"),
    "division": ("loads", "shares", "unit_load"),
    "factors": ("factors_on",),
    "vector": ("TimeModel", "relative_performance", "remeasured", "vector_at"),
}
__getattr__ = loaded_on_first_use(__name__, _HOMES)
