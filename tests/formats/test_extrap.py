"""Measurements in the form that Extra-P reads."""

from __future__ import annotations

import json

from clue.formats import BY_NAME
from clue.formats.extrap import Measurement


def test_a_line_is_a_point() -> None:
    """Each line has a point in Extra-P's JSON Lines, with repetitions; a parameter with few values causes a hint."""
    measured = [
        Measurement({"size": size, "ranks": ranks}, "main->cg.py:72", "time", (0.5, 0.25))
        for size in (8, 16)
        for ranks in (1, 2, 4, 8, 16)
    ]
    written = BY_NAME["extrap"].write(measured, "cg.jsonl")
    lines = written.files["cg.jsonl"].splitlines()
    assert len(lines) == 10
    assert json.loads(lines[0]) == {
        "params": {"size": 8, "ranks": 1},
        "callpath": "main->cg.py:72",
        "metric": "time",
        "value": [0.5, 0.25],
    }
    assert written.hints == ("Extra-P asks for 5 values of size, and got 2 (8, 16)",)


def test_each_call_path_needs_its_own_points() -> None:
    """Extra-P models each call path alone: one with two sizes is told, although others have five."""
    measured = [
        Measurement({"size": size, "ranks": ranks}, path, "time", (0.5,))
        for path, sizes in (("cg->a", (1, 2, 3, 4, 5)), ("cg->b", (7, 6)))
        for size in sizes
        for ranks in (1, 2, 4, 8, 16)
    ]
    written = BY_NAME["extrap"].write(measured, "cg.jsonl")
    assert written.hints == ("Extra-P asks for 5 values of size, and got 2 (6, 7) for cg->b",)
