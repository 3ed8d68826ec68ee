"""Models of the matrix product in three versions: fitted and predicted sizes, and the committed results."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.accuracy.models import products
from benchmarks.accuracy.models.products import FITS, SETS, VERSIONS, WHERE


def test_all_versions_have_all_sizes() -> None:
    """Each of the three versions has eight sizes, which include both sets."""
    found = products.times()
    assert list(found) == list(VERSIONS)
    assert all(len(of) == 8 and {n for sizes in SETS.values() for n in sizes} <= set(of) for of in found.values())


def test_a_cubic_is_met() -> None:
    """A time of 1 + n^3 ns is predicted exactly; the table separates sizes within, between and beyond fitted ones."""
    measured = {version: {n: 1 + 1e-9 * n**3 for n in products.times()["SS"]} for version in VERSIONS}
    cases, models = products.judged(measured)
    assert len(cases) == 3 * len(SETS) * len(FITS) * 8
    assert len(models) == 3 * len(SETS) * len(FITS)
    assert all(abs(case.error) < 1e-6 for case in cases if "cubic" in case.fit)
    where = {case.n: case.where for case in cases if case.fitted == "the paper's sizes"}
    assert (where[500], where[750], where[250]) == WHERE
    assert "| goal | " in products.page(cases, models)


def test_what_is_committed_reaches_the_goals() -> None:
    """Plausible models of the paper's sizes are at most 10 % off at and between these sizes; the page is up to date."""
    cases, models = products.judged(products.times())
    errors = [
        abs(case.error)
        for case in cases
        if (case.fitted, case.fit) == ("the paper's sizes", "plausible") and case.where != WHERE[2]
    ]
    assert len(errors) == 3 * 7
    assert max(errors) == pytest.approx(0.024, abs=0.002)
    assert Path(products.__file__).with_suffix(".md").read_text() == products.page(cases, models)
