"""Delay curves: their forms, and their conversion to the values of :mod:`clue.machine`."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated

from pydantic import AfterValidator, Discriminator, Field, Strict, Tag

from clue.config.forms import Form, curve_shape
from clue.config.quantities import Bandwidth, Size, Time
from clue.machine import Curve


class LineForm(Form):
    """A straight line: latency + size / bandwidth."""

    latency: Time = Field(description="Time of an empty message.")
    bandwidth: Bandwidth | None = Field(None, description="Bandwidth; default: infinite.")


Point = Annotated[tuple[Size, Time], Strict(False)]


def _rising(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    for (before, _), (size, _) in pairwise(points):
        if size <= before:
            raise ValueError(f"must be sorted by strictly rising size, got {size:.15g} B after {before:.15g} B")
    if len(points) > 1 and points[-1][1] < points[-2][1]:
        raise ValueError("must not fall over the last segment, whose slope continues beyond it, got a falling one")
    return points


class PointsForm(Form):
    """Points [size, time] with linear interpolation; constant below the first; the last slope continues."""

    points: Annotated[list[Point], Field(min_length=1), AfterValidator(_rising)]


CurveForm = Annotated[
    Annotated[Time, Tag("<one>")] | Annotated[LineForm, Tag("<line>")] | Annotated[PointsForm, Tag("<points>")],
    Discriminator(curve_shape),
]


def build_curve(form: CurveForm) -> Curve:
    """Build a delay curve from any of its forms."""
    if isinstance(form, PointsForm):
        return Curve.through(form.points)
    if isinstance(form, LineForm):
        return Curve.line(form.latency, 1 / form.bandwidth if form.bandwidth is not None else 0.0)
    return Curve.line(form)
