"""Measuring a routine and keeping it, point by point."""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass

from clue.forecasting.adaptive import Goal, Survey, measure, ranges_of
from clue.forecasting.measuring import Point, bench
from clue.forecasting.memory import measure_memory
from clue.forecasting.routines import Routine
from clue.forecasting.store import Measured, Store
from clue.progress import Reporter, silent
from clue.trace.computer import processor_name


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Result of measuring a routine.

    Attributes:
        measured: The measurement as it is stored.
        segments: Number of segments into which its ranges were cut.
        domain: Smallest and largest measured value of each size.
        left_out: Sizes that would have exceeded the available time.
        reached: Whether the requested error was reached.
    """

    measured: Measured
    segments: int
    domain: Mapping[str, tuple[float, float]]
    left_out: tuple[tuple[int, ...], ...]
    reached: bool


def benchmark(
    name: str, store: Store, ranges: Mapping[str, tuple[int, int]], goal: Goal, report: Reporter = silent
) -> Benchmark:
    """Measure a routine on this computer and store the result, even if the measurement ends early.

    Earlier measurements of the same routine, library and processor are reused: ranges grow, and nothing is lost.

    Args:
        name: A shipped routine, or ``MODULE:FUNCTION``.
        store: Store for the result.
        ranges: Ranges of sizes by name; other sizes have the default.
        goal: Stopping criteria.
        report: Callback for progress.

    Raises:
        UsageError: If there is no such routine, or it has no such sizes.
        ForecastError: If it fails.
    """
    with bench(name) as running:
        of = ranges_of(running.routine, ranges)
        known = _known(store, running.routine)
        report(f"measuring the memory of {name}")
        memory = measure_memory(running.routine.parameters, running.memory, of)

        def kept(survey: Survey) -> Measured:
            # Another process that measures the same routine meanwhile keeps its points, too.
            own = {point.sizes for point in survey.points}
            others = (point for point in _known(store, running.routine) if point.sizes not in own)
            points = (*survey.points, *others)
            error = survey.error if survey.foretold else None
            found = Measured(
                running.routine, platform.node(), processor_name(), memory, points, survey.cut, error, time.time()
            )
            store.keep(found)
            return found

        for survey in measure(running, of, goal, report, known):
            measured = kept(survey)
    fit = measured.fit()
    return Benchmark(measured, len(fit.fits), fit.domain, tuple(survey.left_out), survey.error <= goal.error)


def _known(store: Store, routine: Routine) -> tuple[Point, ...]:
    """Return the points of a routine that were measured on this computer."""
    found = store.find(platform.node(), routine.name, routine.library)
    same = found is not None and (found.routine, found.processor) == (routine, processor_name())
    return found.points if found is not None and same else ()
