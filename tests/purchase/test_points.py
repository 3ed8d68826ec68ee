"""Points computed from Table 2 of the CLUE paper, compared with its Table 3."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from clue.purchase.points import FULL_POINTS, points_for

PAPER = Path(__file__).parents[2] / "scenarios" / "reference" / "wien97-paper.yaml"
TABLES: dict[str, Any] = yaml.safe_load(PAPER.read_text())
PRINTED = {row["name"]: row for row in TABLES["points"]}


def awarded(performance: dict[str, float], most: float = FULL_POINTS) -> dict[str, float]:
    """Return the points of each option from their performances."""
    best = max(performance.values())
    return {option: points_for(rate, best, most) for option, rate in performance.items()}


def best_rows(kernel: str) -> dict[str, float]:
    """Return the better row of Table 2 for each configuration, in Mflop/s."""
    best: dict[str, float] = {}
    for row in TABLES["large_case"]:
        best[row["name"]] = max(best.get(row["name"], 0.0), row[kernel])
    return best


def small_case() -> dict[str, float]:
    """Return the analytical performance of section 4.5: processors times the mean memory-contention factor."""
    factors = TABLES["small_case"]["memory_contention_factor"]
    performance = {}
    for row in TABLES["configurations"]:
        kind = "dual" if row["processors_per_node"] == 2 else "single"
        factor = 0.5 * factors["cholesky"][kind] + 0.5 * factors["tridiagonalisation"][kind]
        performance[row["name"]] = row["nodes"] * row["processors_per_node"] * factor
    return performance


def test_small_case_earns_the_points_of_table_3() -> None:
    """The points are 100, 85, 60, 60, 40, 40."""
    points = awarded(small_case(), 100)
    assert {name: round(value) for name, value in points.items()} == {n: row["small"] for n, row in PRINTED.items()}


@pytest.mark.parametrize("kernel", ["kernel_1", "kernel_2"])
def test_large_case_earns_the_points_of_table_3_but_for_its_misprint(kernel: str) -> None:
    """Each kernel gives at most 50 points; for Fine's kernel 1 the paper prints 22, but 50 · 2225 / 5194 is 21.4."""
    points = {name: round(value) for name, value in awarded(best_rows(kernel), 50).items()}
    printed = {name: row[kernel] for name, row in PRINTED.items()}
    if kernel == "kernel_1":
        assert (points.pop("Fine"), printed.pop("Fine")) == (21, 22)
    assert points == printed


def test_order_of_table_3() -> None:
    """The order is Cheap, Cheapest, Network, Memory, Coarse, Fine."""
    cases = [awarded(small_case()), *(awarded(best_rows(k), 50) for k in ("kernel_1", "kernel_2"))]
    sums = {name: sum(case[name] for case in cases) for name in PRINTED}
    assert sorted(sums, key=sums.__getitem__, reverse=True) == list(PRINTED)


def test_nobody_who_does_nothing_earns_points() -> None:
    """A performance of zero earns zero points, without a division by zero."""
    assert awarded({"a": 0.0}) == {"a": 0.0}
