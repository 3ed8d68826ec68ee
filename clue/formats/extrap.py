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
    few = {
        parameter: values
        for parameter in measurements[0].params
        if len(values := sorted({each.params[parameter] for each in measurements})) < _POINTS
    }
    hints = [
        f"Extra-P asks for {_POINTS} values of {parameter}, and got {len(values)} ({', '.join(map(str, values))})"
        for parameter, values in few.items()
    ]
    return Written({name: "".join(lines)}, (), tuple(hints))
