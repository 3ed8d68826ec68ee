"""A small part of mpi4py's own tests, run live; ``python -m benchmarks.conformance`` runs all of them."""

from __future__ import annotations

import pytest

from benchmarks.conformance.files import LIVE, run_file
from tests.conformance.suite import UnreachableError, fetch

_MODULES = ("test_p2p_obj_matched", "test_cco_obj", "test_comm_topo", "test_request")


@pytest.mark.parametrize("module", _MODULES)
def test_mpi4py_finds_nothing_wrong(module: str) -> None:
    """mpi4py's tests of matched messages, collectives, topologies and requests pass on three virtual ranks."""
    try:
        tests = fetch()
    except UnreachableError as reason:
        pytest.skip(str(reason))
    outcomes = run_file(LIVE, 3, tests, module)
    assert [each for each in outcomes if each.outcome not in {"passed", "skipped"}] == []
    assert sum(each.outcome == "passed" for each in outcomes) > 8
