"""Forecasts, availability and grids as text."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clue.report.shared.table import NONE, add_row, facts, heading, stack, table, words
from clue.report.shared.warnings import warnings_text
from clue.units import count_of, format_figure, format_share, format_size, format_time

if TYPE_CHECKING:
    from rich.console import RenderableType

    from clue.forecasting import Forecast
    from clue.forecasting.benchmarking import Benchmark
    from clue.forecasting.figures import Figure
    from clue.forecasting.parallel import Estimate
    from clue.forecasting.routes import Route
    from clue.forecasting.segments import Need
    from clue.forecasting.sequence import Timeline

#: Largest number of shown grids.
_SHOWN = 20


def forecast_text(found: Forecast) -> RenderableType:
    """Show the forecast of a routine, and its reasons."""
    there = found.available
    others = f"{format_figure(there.runnable, 2)} other processes"
    return stack(
        heading(f"{found.routine} on {found.host}: {format_time(found.seconds)}"),
        facts(
            (
                ("80 % interval", f"{format_time(found.low)} to {_time(found.high)}, at this load"),
                ("unloaded", format_time(found.need.seconds)),
                ("share of a core", f"{format_share(there.cpu)}, beside {others}"),
                ("memory", f"{format_size(found.memory)} of {format_size(there.memory)} free"),
                ("load is", f"{format_time(max(0.0, time.time() - found.measured))} old"),
            )
        ),
        warnings_text(found.warnings),
    )


def need_text(routine: str, host: str, need: Need, memory: int, warnings: Sequence[str]) -> RenderableType:
    """Show the requirements of a routine."""
    interval = f"{format_time(need.low)} to {_time(need.high)}"
    return stack(
        heading(f"{routine} on {host}, unloaded: {format_time(need.seconds)}"),
        facts((("80 % interval", interval), ("memory", format_size(memory)))),
        warnings_text(warnings),
    )


def available_text(
    found: Sequence[Figure], routes: Sequence[tuple[str, Route, str]], warnings: Sequence[str]
) -> RenderableType:
    """Show the availability of hosts."""
    columns = ("share of a core", "cores", "load", "free memory", "age", "latency", "bandwidth")
    new = table("host", *columns, "over", title="Available", numbers=columns)
    ways = {host: route for host, route, _ in routes}
    for figure in found:
        there = figure.value
        way = ways.get(there.host)
        age = format_time(max(0.0, time.time() - figure.measured))
        network = (NONE, NONE, "") if way is None else (
            format_time(way.latency), f"{format_size(way.bandwidth)}/s", ", ".join(way.hosts[1:-1])
        )  # fmt: skip
        add_row(
            new, there.host, format_share(there.cpu), there.processors, f"{there.load:.2f}", format_size(there.memory),
            age, *network,
        )  # fmt: skip
    return stack(new, warnings_text(warnings))


def best_text(routine: str, found: Sequence[Estimate], left_out: int, warnings: Sequence[str]) -> RenderableType:
    """Show grids, the best first."""
    columns = ("processes", "time", "computes", "messages, waits", "memory")
    new = table("grid", *columns, title=f"{routine}: grids, the best first", numbers=columns)
    for each in found[:_SHOWN]:
        times = map(format_time, (each.seconds, each.compute, each.communicate))
        add_row(new, each.grid, each.grid.processors, *times, format_size(each.memory))
    more = f"and {count_of(len(found) - _SHOWN, 'grid')} more" if len(found) > _SHOWN else ""
    lacking = f"{count_of(left_out, 'grid')} left out for lack of memory" if left_out else ""
    said = "; ".join(filter(None, (more, lacking)))
    return stack(new, words(said) if said else None, warnings_text(warnings))


def sequence_text(found: Timeline, warnings: Sequence[str]) -> RenderableType:
    """Show when and where each operation of a sequence runs."""
    columns = ("begin", "end")
    new = table("what", "where", *columns, title=f"All of it: {format_time(found.seconds)}", numbers=columns)
    for each in found.events:
        where = f"{each.source} to {each.host}" if each.source else f"computed on {each.host}"
        add_row(new, each.what, where, format_time(each.begin), format_time(each.end))
    ways = f"the best of {count_of(found.tried, 'way')} to choose hosts" if found.tried > 1 else ""
    said = ways if found.exhaustive else "hosts were chosen step by step: a better choice may exist"
    return stack(new, words(said) if said else None, warnings_text(warnings))


def benchmark_text(found: Sequence[Benchmark], store: str) -> RenderableType:
    """Show the measurements."""
    columns = ("points", "segments", "error")
    new = table("routine", "sizes", *columns, "memory", title=f"Measured into {store}", numbers=columns)
    warnings = []
    for each in found:
        measured, name = each.measured, each.measured.routine.name
        sizes = ", ".join(f"{size} {low:.0f} to {high:.0f}" for size, (low, high) in each.domain.items())
        error = NONE if measured.error is None else format_share(measured.error, 1)
        add_row(new, name, sizes, len(measured.points), each.segments, error, measured.memory)
        if not each.reached:
            why = "errors at new points are still above the target" if measured.error is not None else (
                "no points were left to tell the error of the fit"
            )  # fmt: skip
            warnings.append(f"{name}: {why}: allow more --seconds or --points")
        if each.left_out:
            verb = "is" if len(each.left_out) == 1 else "are"
            warnings.append(f"{name}: {count_of(len(each.left_out), 'corner')} of its ranges would have taken longer "
                            f"than there was time for, and {verb} not covered")  # fmt: skip
    return stack(new, warnings_text(warnings))


def _time(seconds: float) -> str:
    return format_time(seconds) if seconds < float("inf") else "any time"
