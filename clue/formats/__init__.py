"""Forms of other simulators: SimGrid's time-independent traces and platforms, LogGOPSim's GOAL schedules.

Nothing here knows clue's own forms, or simulates. What a form cannot hold is told, never dropped silently.
"""

from clue.formats.goal_reading import read_goal
from clue.formats.goal_writing import write_goal
from clue.formats.platform import Platform, simgrid_platform
from clue.formats.remarks import Converted, Written
from clue.formats.ti_reading import read_ti
from clue.formats.ti_writing import FLOPS_PER_SECOND, write_ti

__all__ = [
    "FLOPS_PER_SECOND",
    "Converted",
    "Platform",
    "Written",
    "read_goal",
    "read_ti",
    "simgrid_platform",
    "write_goal",
    "write_ti",
]
