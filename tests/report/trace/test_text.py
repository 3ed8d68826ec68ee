"""Traces as text."""

from __future__ import annotations

from dataclasses import replace

from clue.report.trace.text import trace_text
from clue.trace import Flag, Op, TraceBuilder
from tests.report.cases import (
    rendered,
    row,
    trace,
)


def test_trace_shows_calls_and_what_is_not_modelled() -> None:
    """Calls have count, bytes and time; calls that a simulation leaves out are also listed."""
    text = rendered(trace_text(trace()))
    assert row(text, "Sendrecv") == "Sendrecv 2 1 KB 12 ms"
    assert row(text, "Win.Put 1") == "Win.Put 1 500 ms not modelled"
    assert "Not modelled: a simulation leaves these calls out\n- Win.Put: 1 call that took 500 ms" in text


def test_only_calls_that_are_left_out_are_counted_as_such() -> None:
    """One of 29 waits of half a second is unmodelled; a Waitall for both kinds counts without its time."""
    built = TraceBuilder(1)
    for _ in range(28):
        built[0].add(Op.WAIT, call="Wait", request=0, took=500_000_000)
    built[0].add(Op.OTHER, call="Wait", took=500_000_000)
    built[0].add(Op.WAIT, call="Waitall", extras=(1, 2), took=500_000_000)
    built[0].add(Op.OTHER, call="Waitall", flags=Flag.CONTINUED)
    text = rendered(trace_text(built.build()))
    assert row(text, "Wait") == "Wait 29 14.5 s 1 not modelled"
    assert "- Wait: 1 call that took 500 ms when recorded\n- Waitall: 1 call\n" in text


def test_trace_shows_regions_communicators_and_memory() -> None:
    """Regions show their speed, communicators their size, and ranks their memory."""
    text = rendered(trace_text(trace()))
    assert row(text, "solve") == "solve 1 1.5 s 3e+09 2,000 Mflop/s"
    assert row(text, "Split") == "Split 2 0"
    assert row(text, "0 5") == "0 5 1.5 s 6 ms 100 MB"


def test_trace_tells_what_recording_cost() -> None:
    """Two ops at 5 us on a rank of 1 ms cost 1 % of its run time; the rank with one op costs less."""
    builder = TraceBuilder(2)
    builder[0].send(1, 8)
    builder[0].send(1, 8)
    builder[1].recv(0)
    built = builder.build()
    heads = tuple(replace(each, wall=1e-3) for each in built.head.rank_heads)
    costly = replace(built, head=replace(built.head, overhead=5e-6, rank_heads=heads))
    assert "5 us a call, at most 1.00% of the run time" in rendered(trace_text(costly))
