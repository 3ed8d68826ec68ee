"""The JSON document of a simulation; its keys are an interface."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from clue.report.result.document import result_document
from tests.report.cases import result


def test_result_has_the_keys_of_the_interface() -> None:
    """The document has the keys of the interface, with the figures of the result."""
    document = result_document(result())
    assert document["makespan"] == 4.0
    assert document["engine"] == "reference"
    assert document["warnings"] == ["pair: no contention is stated"]
    assert document["ranks"] == [
        {"rank": 0, "node": 0, "finish": 4.0, "compute": 2.0, "communicate": 1.0, "wait": 1.0},
        {"rank": 1, "node": 1, "finish": 3.0, "compute": 1.0, "communicate": 0.0, "wait": 2.0},
    ]


def test_result_tells_what_was_left_out_and_sent() -> None:
    """The document also has regions, unmodelled calls and traffic."""
    document = result_document(result())
    assert document["compute_by_region"] == {"": 2.0, "solve": 1.0}
    assert document["unmodelled"] == [{"call": "Win.Put", "count": 3, "seconds": 0.5}]
    assert document["traffic"] == {"messages": 5, "nbytes": 4000}
    assert (document["instances"], document["ops"]) == (1, 7)


def test_result_without_traffic_has_none() -> None:
    """Without traffic, the document has no such key."""
    assert "traffic" not in result_document(replace(result(), traffic=None))


@pytest.mark.parametrize("figure", [float("nan"), float("inf"), float("-inf")])
def test_what_is_not_finite_becomes_null(figure: float) -> None:
    """NaN and infinity become null, as JSON cannot express them."""
    document = result_document(replace(result(), makespan=figure, compute_by_region={"solve": figure}))
    assert json.loads(json.dumps(document, allow_nan=False))["makespan"] is None
    assert document["compute_by_region"] == {"solve": None}
