"""The JSON document of a trace."""

from __future__ import annotations

import json

from clue.report.trace.document import trace_document
from tests.report.cases import trace


def test_trace_document_counts_calls_not_rows() -> None:
    """A Sendrecv of three rows is one call, with the bytes and the time of all rows."""
    document = json.loads(json.dumps(trace_document(trace()), allow_nan=False))
    calls = {each["call"]: each for each in document["calls"]}
    assert calls["Sendrecv"] == {
        "call": "Sendrecv", "count": 2, "nbytes": 1000, "seconds": 0.012, "modelled": True
    }  # fmt: skip
    assert calls["Alltoallv"]["nbytes"] == 3 * 60
    assert document["unmodelled"] == [{"call": "Win.Put", "count": 1, "seconds": 0.5}]
    assert document["regions"] == [{"region": "solve", "bursts": 1, "seconds": 1.5, "flops": 3e9}]
    assert [each["ops"] for each in document["communicators"]] == [9, 0]
    assert document["ranks"][0]["peak_memory"] == 100_000_000
