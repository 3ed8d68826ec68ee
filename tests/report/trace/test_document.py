"""The JSON document of a trace."""

from __future__ import annotations

import json

from clue.report.trace.document import sites_document, trace_document
from clue.report.trace.text import sites_text, trace_text
from clue.trace import PROC_NULL, Flag, Op, TraceBuilder
from tests.report.cases import rendered, trace


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


def test_bytes_are_those_that_ranks_send() -> None:
    """Four ranks, of which ranks 1 and 3 make a communicator: what each sends in each call, summed up by hand."""
    builder = TraceBuilder(4)
    pair = builder.communicator((3, 1))
    for rank in range(4):
        own = builder[rank]
        own.add(Op.BCAST, call="Bcast", nbytes=100, peer=2)  # rank 2 alone sends
        own.add(Op.REDUCE, call="Reduce", nbytes=10, peer=0)  # each rank its vector
        own.add(Op.GATHER, call="Gather", nbytes=7, peer=0)
        own.add(Op.SCATTERV, call="Scatterv", nbytes=rank, peer=3)  # 0 + 1 + 2 + 3
        own.add(Op.ALLTOALL, call="Alltoall", nbytes=8)  # a block to each of 4 ranks
        own.add(Op.ALLTOALLV, call="Alltoallv", extras=(8, 8, 8, 8))  # the same
        own.add(Op.REDUCE_SCATTER, call="Reduce_scatter", nbytes=5 + rank)  # a vector of 5 + 6 + 7 + 8 each
        own.add(Op.PACK, call="Pack", nbytes=1000)
        own.add(Op.SLEEP, call="sleep", nbytes=10**9)  # nanoseconds
    for rank in (1, 3):
        builder[rank].add(Op.BCAST, call="Ibcast", nbytes=20, peer=0, comm=pair)  # its rank 0 is rank 3
        builder[rank].add(Op.ALLTOALL, call="Ialltoall", nbytes=3, comm=pair)
    wanted = {"Bcast": 100, "Reduce": 40, "Gather": 28, "Scatterv": 6, "Alltoall": 128, "Alltoallv": 128}
    wanted |= {"Reduce_scatter": 4 * 26, "Pack": 0, "sleep": 0, "Ibcast": 20, "Ialltoall": 2 * 2 * 3}
    built = builder.build()
    calls, sites = (json.loads(json.dumps(of(built))) for of in (trace_document, sites_document))
    assert {each["call"]: each["nbytes"] for each in calls["calls"]} == wanted
    assert sites["sites"][0]["nbytes"] == sum(wanted.values())
    assert "bytes sent" in rendered(trace_text(built)) and "bytes sent" in rendered(sites_text(built))


def test_what_goes_to_nobody_is_not_sent() -> None:
    """Of 500 B to a rank, 800 and 40 B to null partners, and 200 B of a send that was cancelled, 500 B are sent."""
    builder = TraceBuilder(2)
    builder[0].add(Op.SEND, call="Send", peer=PROC_NULL, nbytes=800)
    builder[0].wait(builder[0].isend(PROC_NULL, 40))
    builder[0].add(Op.LOCAL, call="Issend", peer=1, nbytes=200, flags=Flag.CANCELLED)
    builder[0].add(Op.SEND, call="Bsend", peer=1, nbytes=500)
    builder[1].recv(0)
    document = json.loads(json.dumps(trace_document(builder.build())))
    sent = {each["call"]: each["nbytes"] for each in document["calls"]}
    assert sent == {"Send": 0, "Isend": 0, "Wait": 0, "Issend": 0, "Bsend": 500, "Recv": 0}


def test_tests_that_find_nothing_are_no_ops_on_a_communicator() -> None:
    """All messages are on a second communicator: the Test that finds none of them does not count for the first."""
    builder = TraceBuilder(2)
    both = builder.communicator((0, 1))
    builder[0].send(1, 8, comm=both)
    request = builder[1].irecv(0, comm=both)
    builder[1].add(Op.POLL, call="Test", peer=-2)
    builder[1].wait(request)
    document = json.loads(json.dumps(trace_document(builder.build())))
    assert [each["ops"] for each in document["communicators"]] == [0, 2]
