"""Speeds of processors by region: their forms, and their conversion to the values of :mod:`clue.machine`.

A speed is one number, or a function of the operations of a burst: given by points, or by measurements of a routine in a
store of ``clue forecast``.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, Discriminator, Field, Strict, Tag

from clue.config.document import DEFAULT, Path, format_value
from clue.config.forms import Form, Name
from clue.config.quantities import PositiveInt, Speed, Work
from clue.config.reading import Reading
from clue.errors import ClueError
from clue.machine import SpeedCurve
from clue.units import format_range

if TYPE_CHECKING:
    from clue.forecasting.store import Measured

#: Number of sizes at which the measured time of a routine is evaluated.
_SIZES = 49
#: Advice where a measurement does not reach.
_MEASURE = "measure further sizes (clue forecast benchmark --range)"

Point = Annotated[tuple[Work, Speed], Strict(False)]


def _rising(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    for (before, speed), (work, faster) in pairwise(points):
        if work <= before:
            raise ValueError(f"must be sorted by strictly rising work, got {work:.15g} flop after {before:.15g} flop")
        if work / faster < before / speed:
            raise ValueError(
                f"must give longer bursts for more operations, got {work:.15g} flop in {work / faster:.6g} s "
                f"after {before:.15g} flop in {before / speed:.6g} s"
            )
    return points


class SpeedPointsForm(Form):
    """A speed as a function of a burst's operations; between points the time of a burst is linear in them."""

    points: Annotated[list[Point], Field(min_length=1), AfterValidator(_rising)] = Field(
        description="Points [operations of a burst, speed]; the speed is constant before the first and beyond the last."
    )


class RoutineForm(Form):
    """The measured speed of a routine."""

    routine: Name = Field(description="Name of a routine of clue forecast benchmark, such as dgemm.")
    store: Name | None = Field(
        None, description="The store, relative to the file that names it; default: that of clue forecast."
    )
    host: Name | None = Field(None, description="Host on which it was measured; default: this computer.")
    sizes: dict[Name, PositiveInt] = Field(
        default={}, description="Fixed sizes, such as the width of a panel; the others are equal to each other."
    )
    burst: Work | None = Field(
        None, description="Operations of a burst; default: those that the program declares in the region, per burst."
    )


def _speed_shape(value: object) -> str:
    if isinstance(value, Mapping):
        return "<points>" if "points" in value else "<routine>"
    return "<one>"


SpeedForm = Annotated[
    Annotated[Speed, Tag("<one>")]
    | Annotated[SpeedPointsForm, Tag("<points>")]
    | Annotated[RoutineForm, Tag("<routine>")],
    Discriminator(_speed_shape),
]


def build_speeds(
    forms: Mapping[str, float | SpeedPointsForm | RoutineForm], reading: Reading, path: Path
) -> dict[str, float | SpeedCurve]:
    """Build the speeds of a node type, or add their faults.

    Args:
        forms: Form of each region's speed.
        reading: The machine being read.
        path: Path of the speeds in it.
    """
    found: dict[str, float | SpeedCurve] = {}
    for region, form in forms.items():
        if region == DEFAULT:
            rule = f'must be a region, got "{region}": performance_factor has the figure for all other regions'
            reading.fault((*path, region), rule, of_key=True)
        elif isinstance(form, RoutineForm):
            try:
                # The store alone may be written in a file that is overlaid on that of the machine.
                origin, _ = reading.document.nearest((*path, region, "store"))
                found[region] = _measured_speed(form, origin.file)
            except ClueError as error:
                for fault in error.faults:
                    reading.fault((*path, region), fault)
        else:
            found[region] = SpeedCurve.through(form.points) if isinstance(form, SpeedPointsForm) else form
    return found


def _measured_speed(form: RoutineForm, file: str) -> float | SpeedCurve:
    """Return the speed of a routine.

    Raises:
        ClueError: If it is unknown.
    """
    curve = SpeedCurve.through(_points(form, _measured(form, file)))
    if form.burst is None:
        return curve
    # A result tells of bursts outside of a curve, and could not of a single speed.
    least, most = curve.domain
    if not least <= form.burst <= most:
        known = f"{least / 1e6:.6g} to {most / 1e6:.6g} Mflop"
        raise ClueError(f"burst must be {known}, as measured, got {form.burst / 1e6:.6g} Mflop: {_MEASURE}")
    return curve.at(form.burst)


def _measured(form: RoutineForm, file: str) -> Measured:
    from clue.forecasting.shipped import OPERATIONS  # noqa: PLC0415 - only measured routines need numpy
    from clue.forecasting.store import default_store, open_store  # noqa: PLC0415 - the same

    if form.routine not in OPERATIONS:
        known = ", ".join(OPERATIONS)
        rule = f"must be one with known operations ({known}), got {format_value(form.routine)}: state points instead"
        raise ClueError(f"routine {rule}")
    path = default_store() if form.store is None else FilePath(file).parent / form.store
    host = form.host or platform.node()
    with open_store(path) as store:
        measured = store.find(host, form.routine)
    if measured is None:
        rule = f"must have been measured on {host} by {path}, got none: run clue forecast benchmark {form.routine}"
        raise ClueError(f"routine {rule}")
    unknown = sorted(set(form.sizes) - set(measured.routine.parameters))
    if unknown or len(form.sizes) == len(measured.routine.parameters):
        known = ", ".join(measured.routine.parameters)
        raise ClueError(f"sizes must be some of {known}, and not all, got {', '.join(form.sizes)}")
    return measured


def _points(form: RoutineForm, measured: Measured) -> list[tuple[float, float]]:
    """Return points (operations, speed) of the routine at sizes within the measured range."""
    import numpy as np  # noqa: PLC0415 - only measured routines need numpy

    from clue.forecasting.shipped import OPERATIONS  # noqa: PLC0415 - the same

    fitted, free = measured.fit(), [name for name in measured.routine.parameters if name not in form.sizes]
    for name, size in form.sizes.items():
        least, most = fitted.domain[name]
        if not least <= size <= most:
            raise ClueError(f"sizes: {name} must be {format_range(least, most)}, as measured, got {size}: {_MEASURE}")
    low = max(fitted.domain[name][0] for name in free)
    high = min(fitted.domain[name][1] for name in free)
    if low > high:
        raise ClueError(
            f"sizes must be given for some of {', '.join(free)}, as their measured ranges do not overlap, got none"
        )
    points: list[tuple[float, float]] = []
    longest = 0.0
    for size in sorted(set(np.geomspace(low, high, _SIZES).round().astype(int).tolist())):
        sizes = {**dict.fromkeys(free, size), **form.sizes}
        need = fitted.need(tuple(sizes[name] for name in measured.routine.parameters))
        flops, longest = OPERATIONS[form.routine](**sizes), max(longest, need.seconds)
        points.append((flops, flops / longest))
    return points
