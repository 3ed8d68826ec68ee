"""Measurements in Extra-P's JSON Lines: each line is a measured point of one call path and metric.

::

    {"params": {"size": 64, "ranks": 4}, "callpath": "main->cg.py:72", "metric": "time", "value": [0.125, 0.126]}

Extra-P's file formats: https://github.com/extra-p/extrap/blob/master/docs/file-formats.md
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from clue.formats.remarks import Written

#: Number of values of each parameter that Extra-P asks for.
_POINTS = 5


@dataclass(frozen=True, slots=True)
class Measurement:
    """Measurements at one point.

    Attributes:
        params: Values of the parameters by name; the same names at all points.
        callpath: The call path, as names joined by ``->``.
        metric: The metric.
        value: All measured values at this point.
    """

    params: Mapping[str, int]
    callpath: str
    metric: str
    value: tuple[float, ...]


def write_extrap(measurements: Sequence[Measurement], name: str) -> Written:
    """Return measurements as a file for Extra-P."""
    lines = [json.dumps(asdict(each)) + "\n" for each in measurements]
    hints = (_hint(measurements, parameter) for parameter in measurements[0].params)
    return Written({name: "".join(lines)}, (), tuple(filter(None, hints)))


def _hint(measurements: Sequence[Measurement], parameter: str) -> str:
    """Tell of a parameter that has few values at a call path, which Extra-P models alone; ``""`` if all have enough."""
    values: dict[str, set[int]] = {}
    for each in measurements:
        values.setdefault(each.callpath, set()).add(each.params[parameter])
    callpath, few = min(values.items(), key=lambda item: len(item[1]))
    if len(few) >= _POINTS:
        return ""
    got = f"{len(few)} ({', '.join(map(str, sorted(few)))})"
    where = "" if all(each == few for each in values.values()) else f" for {callpath}"
    return f"Extra-P asks for {_POINTS} values of {parameter}, and got {got}{where}"
