"""Traces as JSON documents: the calls and computation of a program when it was recorded, and their call sites."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clue.report.shared.document import Document, fields, plain

if TYPE_CHECKING:
    from clue.recording import Repeated
    from clue.trace import Trace


def trace_document(trace: Trace) -> Document:
    """Describe a trace: program, computer, calls, regions, communicators and ranks, as recorded.

    The key ``nbytes`` of a call is what ranks send in it, summed over ranks (:attr:`clue.trace.Trace.sent`).
    """
    from clue.analysis.trace import (  # noqa: PLC0415 - numpy
        profile_calls,
        profile_communicators,
        profile_regions,
        rank_spans,
    )
    from clue.trace.speed import speeds  # noqa: PLC0415 - numpy

    head, calls = trace.head, profile_calls(trace)
    return plain(
        {
            "trace": trace.name,
            "program": head.program,
            "arguments": list(head.arguments),
            **fields(head, "recorded", "processor", "mpi", "python", "clock"),
            "settings": dict(head.settings),
            "overhead": head.overhead,
            "host_speed": {piece: {"low": low, "high": high} for piece, (low, high) in speeds(trace).items()},
            "bursts": {"recorded": float(trace.ops.cpu.sum()) * 1e-9, "replayed": float(trace.bursts.sum()) * 1e-9},
            "typical": None if head.typical is None else fields(head.typical, "recordings", "spread"),
            "ops": len(trace.ops),
            "ranks": [
                {
                    "rank": rank,
                    **fields(each, "host", "world"),
                    **dict(zip(("ops", "compute", "in_calls"), span, strict=True)),
                    **fields(each, "cpu", "wall", "peak_memory", "delayed"),
                }
                for rank, (each, span) in enumerate(zip(head.rank_heads, rank_spans(trace), strict=True))
            ],
            "calls": [
                {**fields(each, "call", "count", "nbytes", "seconds"), "modelled": each.left_out is None}
                for each in calls
            ],
            "regions": [
                {**fields(each, "region", "bursts", "seconds"), "flops": each.flops or None}
                for each in profile_regions(trace)
            ],
            "communicators": [fields(each, "name", "size", "remote", "ops") for each in profile_communicators(trace)],
            "unmodelled": [
                {"call": each.call, **fields(each.left_out, "count", "seconds")}
                for each in calls
                if each.left_out is not None
            ],
            "notes": list(head.notes),
        }
    )


def recordings_document(recorded: Repeated) -> Document:
    """Describe a trace and, if it was recorded several times, the other recordings."""
    if not recorded.repeats:
        return trace_document(recorded.trace)
    return trace_document(recorded.trace) | plain(
        {
            "repeats": [str(path) for path in recorded.repeats],
            "computing": list(recorded.computing),
            "spread": recorded.spread,
        }
    )


def site_notes(trace: Trace) -> list[str]:
    """List what a reader must know of a trace's call sites."""
    unknown = ["call sites: none is known: record the program again"] if len(trace.head.sites) == 1 else []
    return [*unknown, *trace.head.notes]


def sites_document(trace: Trace) -> Document:
    """Describe the call sites of a trace; the frames of a site are outermost first, ``nbytes`` is as that of calls."""
    from clue.analysis.trace import profile_sites  # noqa: PLC0415 - numpy

    return {
        "trace": trace.name,
        "program": trace.head.program,
        "ops": len(trace.ops),
        "sites": [
            {
                "site": each.number,
                "name": each.site.name,
                "frames": [
                    {
                        **fields(frame, "file", "function", "line", "at"),
                        "loops": list(frame.loops),
                        "branches": [{"line": line, "else": bool(which)} for line, which in frame.branches],
                    }
                    for frame in each.site.frames
                ],
                "calls": list(each.calls),
                **fields(each, "count", "nbytes", "compute", "seconds"),
            }
            for each in profile_sites(trace)
        ],
        "notes": site_notes(trace),
    }
