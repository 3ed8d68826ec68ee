"""A representative part of mpi4py's suite, plain and under the layer; RESULTS.md has the whole of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conformance import suite

_MODULES = (
    "p2p_buf p2p_buf_matched p2p_obj_matched cco_nb_vec cco_pr_buf cco_obj cco_obj_inter request comm_inter pickle "
    "grequest msgspec"
)
PART = rf"test_({'|'.join(_MODULES.split())})\.py$"


#: What the part comes to plain: by versions and number of ranks, the tests that run, and how many of them are skipped.
KNOWN = {
    ("MPI 5.0 (MPICH 5.0.2), mpi4py 4.1.2", 1): (501, 90),
    ("MPI 5.0 (MPICH 5.0.2), mpi4py 4.1.2", 2): (501, 36),
}


@pytest.mark.parametrize("ranks", [1, 2])
def test_layer_adds_no_failure(ranks: int, tmp_path: Path) -> None:
    """The layer adds no failure to mpi4py's own tests and loses none of them.

    Where anything fails, or as many tests as are known run or are skipped no more, it is compared with a plain run.
    """
    try:
        layer = suite.run(ranks, target=tmp_path / "suite.clue", include=PART)
    except suite.UnreachableError as reason:
        pytest.skip(str(reason))
    assert layer.ended and layer.tests > 300
    known = KNOWN.get((layer.versions, ranks))
    if layer.faults or known != (layer.tests, layer.skipped) or "CLUE_CONFORMANCE" in os.environ:
        plain = suite.run(ranks, include=PART)
        assert layer.faults <= plain.faults
        assert (layer.tests, layer.skipped) == (plain.tests, plain.skipped)
