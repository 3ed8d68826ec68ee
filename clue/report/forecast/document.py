"""Forecasts, availability and grids as JSON documents; their first keys are an interface."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from clue.report.shared.document import Document, fields

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clue.forecasting import Forecast
    from clue.forecasting.benchmarking import Benchmark
    from clue.forecasting.figures import Figure
    from clue.forecasting.parallel import Estimate
    from clue.forecasting.routes import Route
    from clue.forecasting.segments import Need
    from clue.forecasting.sequence import Timeline


def forecast_document(found: Forecast) -> Document:
    """Describe the forecast of a routine."""
    return {
        **fields(found, "seconds", "low", "inside", "routine", "host", "memory"),
        "high": number(found.high),
        "need": _need(found.need),
        "available": found.available.document(),
        "age": max(0.0, time.time() - found.measured),
        "warnings": list(found.warnings),
    }


def need_document(routine: str, host: str, need: Need, memory: int, warnings: Sequence[str]) -> Document:
    """Describe the requirements of a routine."""
    return {**_need(need), "routine": routine, "host": host, "memory": memory, "warnings": list(warnings)}


def available_document(
    found: Sequence[Figure], routes: Sequence[tuple[str, Route, str]], warnings: Sequence[str]
) -> Document:
    """Describe the availability of hosts."""
    now = time.time()
    return {
        "hosts": [{**each.value.document(), "age": max(0.0, now - each.measured)} for each in found],
        "network": [
            {"host": host, "latency": route.latency, "bandwidth": number(route.bandwidth), "over": list(route.hosts)}
            for host, route, _ in routes
        ],
        "warnings": list(warnings),
    }


def best_document(routine: str, found: Sequence[Estimate], left_out: int, warnings: Sequence[str]) -> Document:
    """Describe grids, the best first."""
    candidates = [_grid(each) for each in found]
    return {
        "best": candidates[0], "candidates": candidates, "routine": routine, "left_out": left_out,
        "warnings": list(warnings),
    }  # fmt: skip


def benchmark_document(found: Sequence[Benchmark], store: str) -> Document:
    """Describe the measurements."""
    return {
        "store": store,
        "routines": [
            {
                "routine": each.measured.routine.name,
                "host": each.measured.host,
                "library": each.measured.routine.library,
                "points": len(each.measured.points),
                "segments": each.segments,
                "error": each.measured.error,
                "reached": each.reached,
                "domain": {name: list(ends) for name, ends in each.domain.items()},
                "memory": {"polynomial": str(each.measured.memory), "off": each.measured.memory.off},
                "left_out": [list(sizes) for sizes in each.left_out],
            }
            for each in found
        ],
    }


def sequence_document(found: Timeline, warnings: Sequence[str]) -> Document:
    """Describe the schedule of a sequence of operations."""
    return {
        **fields(found, "seconds", "tried", "exhaustive"),
        "hosts": dict(found.hosts),
        "events": [fields(each, "what", "host", "source", "begin", "end") for each in found.events],
        "warnings": list(warnings),
    }


def number(value: float) -> float | None:
    """Return a number in the form that JSON allows: ``null`` for an infinite one."""
    return value if math.isfinite(value) else None


def _need(need: Need) -> Document:
    return {**fields(need, "seconds", "low", "inside"), "high": number(need.high)}


def _grid(each: Estimate) -> Document:
    return {
        "rows": each.grid.rows, "columns": each.grid.columns, "processes": each.grid.processors,
        **fields(each, "seconds", "compute", "communicate", "memory"),
    }  # fmt: skip
