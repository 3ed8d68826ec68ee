"""clue: which cluster should I buy for my programs?

Record an MPI program once, replay it on clusters that exist only as YAML files, and rank what a budget can buy::

    trace = clue.Trace.open("pingpong.clue")
    machine = clue.load_machine("two-hosts")
    result = clue.simulate(trace, machine, placement="block")
    result.makespan, result.ranks[0].finish

Names are loaded when they are first used, so that ``import clue`` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clue.first_use import loaded_on_first_use

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

__version__ = "0.4.0"

_HOMES = {
    "config": ("load_config", "load_machine"),
    "errors": ("ClueError", "ConfigError", "DeadlockError", "RecordError", "ReplayError", "TraceError", "UsageError"),
    "extrapolation": ("RefusedError", "extrapolate"),
    "forecasting": ("Forecast", "Forecaster", "forecast"),
    "kernel": ("simulate",),
    "machine": ("Machine", "Placement"),
    "predict.replaying": ("ReplayPredictor",),
    "purchase": ("Ranking", "Scenario", "rank_options"),
    "recording": ("record",),
    "result": ("Result",),
    "steady": ("Steady", "simulate_sampled"),
    "trace": ("Trace", "TraceBuilder"),
}
__getattr__ = loaded_on_first_use(__name__, _HOMES)

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


def __dir__() -> list[str]:
    return __all__
