"""The rebuilt study of PEMPIs-Het: fitted and predicted sizes, nodes of one kind, the table and the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.accuracy.models import pempis
from benchmarks.accuracy.models.pempis import FITS, KINDS, STUDIES, Case

TABLE = Path(pempis.__file__).with_suffix(".csv")


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_models_are_asked_for_what_they_were_not_fitted_to(study: pempis.Study) -> None:
    """Predicted sizes or ranks go beyond the fitted ones, and the program exists."""
    assert not set(study.recorded) & set(study.targets)
    assert max(study.recorded) < max(study.targets)
    assert (Path(pempis.__file__).parent / "programs" / f"{study.name}.py").exists()


@pytest.mark.parametrize("kind", KINDS)
def test_nodes_of_one_kind(kind: str) -> None:
    """A machine of one kind has sixteen nodes of the shipped machine."""
    assert {node.name for node in pempis.nodes_of(kind).nodes} == {kind}
    assert len(pempis.nodes_of(kind).nodes) == 16


def test_the_page_says_what_is_within_a_tenth(tmp_path: Path) -> None:
    """Errors of 4 and 20 % give worst 20 %, half of the cases below 10 %, one of two within its interval.

    The table is read back equal.
    """
    cases = [
        Case(study.name, kind, 2000 + i, 8, how, 10.0, seconds, 9.0, 10.5 + i, 0.01)
        for study in STUDIES
        for kind in KINDS
        for how in FITS
        for i, seconds in enumerate((10.4, 12.0))
    ]
    pempis.write_csv(tmp_path / "table.csv", cases)
    assert pempis.read_csv(tmp_path / "table.csv") == cases
    page = pempis.page(cases, [(4000, 8, "2.00, 1.00", "2.01, 1.00")], "command")
    assert "| heat on bio | worst error | 13.75 % | ≤ 10 % | 20.0% | 20.0% |" in page
    assert "| heat on bio | share below 10 % | 86 % | ≥ 95 % | 50% | 50% |" in page
    assert "| gravity | intel | in turn | 2 | 12.0% | 20.0% | 1.0% | 50% | 100% |" in page
    assert "| 4000 | 8 | 2.00, 1.00 | 2.01, 1.00 |" in page


def test_what_is_committed_reaches_the_goals() -> None:
    """The committed table has errors of at most 10 % on the paper's nodes."""
    for study in STUDIES:
        errors = [
            abs(case.error)
            for case in pempis.read_csv(TABLE)
            if (case.program, case.kind, case.fit) == (study.name, study.kind, "plausible")
        ]
        assert len(errors) == len(study.targets)
        assert max(errors) <= 0.1
