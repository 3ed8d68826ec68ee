"""A representative part of mpi4py's suite, with and without the layer; RESULTS.md has the whole suite."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance import suite

_MODULES = (
    "p2p_buf p2p_buf_matched p2p_obj_matched cco_nb_vec cco_pr_buf cco_obj cco_obj_inter request comm_inter pickle "
    "grequest msgspec"
)
PART = rf"test_({'|'.join(_MODULES.split())})\.py$"


@pytest.mark.parametrize("ranks", [1, 2])
def test_layer_adds_no_failure(ranks: int, tmp_path: Path) -> None:
    """The layer adds no failure to mpi4py's tests, and the same tests run."""
    try:
        plain = suite.run(ranks, include=PART)
    except suite.UnreachableError as reason:
        pytest.skip(str(reason))
    layer = suite.run(ranks, target=tmp_path / "suite.clue", include=PART)
    assert plain.tests > 300
    assert layer.faults <= plain.faults
    assert (layer.tests, layer.skipped, layer.ended) == (plain.tests, plain.skipped, True)
