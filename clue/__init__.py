"""clue: which cluster should I buy for my programs?

Record an MPI program once, replay it on clusters that exist only as YAML files, and rank what a budget can buy::

    trace = clue.Trace.open("pingpong.clue")
    machine = clue.load_machine("two-hosts")
    result = clue.simulate(trace, machine, placement="block")
    result.makespan, result.ranks[0].finish

Names are loaded when they are first used, so that ``import clue`` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clue.config import load_config, load_machine
    from clue.errors import (
        ClueError,
        ConfigError,
        DeadlockError,
        RecordError,
        ReplayError,
        TraceError,
        UsageError,
    )
    from clue.extrapolation import RefusedError, extrapolate
    from clue.forecasting import Forecast, Forecaster, forecast
    from clue.kernel import simulate
    from clue.machine import Machine, Placement
    from clue.predict.replaying import ReplayPredictor
    from clue.purchase import Ranking, Scenario, rank_options
    from clue.recording import record
    from clue.result import Result
    from clue.steady import Steady, simulate_sampled
    from clue.trace import Trace, TraceBuilder

__version__ = "0.3.0"

_HOMES = {
    "clue.config": ("load_config", "load_machine"),
    "clue.errors": (
        "ClueError",
        "ConfigError",
        "DeadlockError",
        "RecordError",
        "ReplayError",
        "TraceError",
        "UsageError",
    ),
    "clue.extrapolation": ("RefusedError", "extrapolate"),
    "clue.forecasting": ("Forecast", "Forecaster", "forecast"),
    "clue.kernel": ("simulate",),
    "clue.machine": ("Machine", "Placement"),
    "clue.predict.replaying": ("ReplayPredictor",),
    "clue.purchase": ("Ranking", "Scenario", "rank_options"),
    "clue.recording": ("record",),
    "clue.result": ("Result",),
    "clue.steady": ("Steady", "simulate_sampled"),
    "clue.trace": ("Trace", "TraceBuilder"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "ClueError",
    "ConfigError",
    "DeadlockError",
    "Forecast",
    "Forecaster",
    "Machine",
    "Placement",
    "Ranking",
    "RecordError",
    "RefusedError",
    "ReplayError",
    "ReplayPredictor",
    "Result",
    "Scenario",
    "Steady",
    "Trace",
    "TraceBuilder",
    "TraceError",
    "UsageError",
    "__version__",
    "extrapolate",
    "forecast",
    "load_config",
    "load_machine",
    "rank_options",
    "record",
    "simulate",
    "simulate_sampled",
]


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'clue' has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return __all__
