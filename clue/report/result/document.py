"""Simulations as JSON documents. Their keys are an interface: keys may be added, none removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clue.report.shared.document import Document, fields, interval, plain

if TYPE_CHECKING:
    from clue.result import Result
    from clue.steady import Steady
    from clue.uncertainty import Sampled, Sampling


def result_document(result: Result, sampled: Sampled | None = None) -> Document:
    """Describe a simulation: makespan, engine, warnings, and the figures of every rank; its interval, if sampled."""
    document: Document = {
        "makespan": result.makespan,
        "engine": result.engine,
        "warnings": list(result.warnings),
        "ranks": [fields(each, "rank", "node", "finish", "compute", "communicate", "wait") for each in result.ranks],
        "compute_by_region": dict(result.compute_by_region),
        "unmodelled": [fields(each, "call", "count", "seconds") for each in result.unmodelled],
        "instances": result.instances,
        "ops": result.ops,
    }
    if result.traffic is not None:
        document["traffic"] = {
            "messages": int(result.traffic.messages.sum()),
            "nbytes": int(result.traffic.nbytes.sum()),
        }
    if sampled is not None:
        document["uncertainty"] = {
            **sampling_document(sampled.sampling),
            "makespan": interval(sampled.spread),
            "model_error": sampled.reach,
            "reasons": list(sampled.reasons),
        }
    return plain(document)


def steady_document(steady: Steady) -> Document:
    """Describe the simulated part of a program: ops, interval, or why all of it was simulated."""
    from clue.uncertainty import LEVEL  # noqa: PLC0415 - numpy

    return {
        "ops": steady.result.ops,
        "of": steady.of,
        "loops": [fields(each, "name", "iterations", "simulated") for each in steady.loops],
        "level": LEVEL,
        "low": None if steady.why else steady.low,
        "high": None if steady.why else steady.high,
        "why": steady.why or None,
    }


def sampling_document(sampling: Sampling) -> Document:
    """Describe how samples were drawn."""
    from clue.uncertainty import LEVEL  # noqa: PLC0415 - numpy

    parts = {} if sampling.noise else {"noise": False}  # only the errors of partial replays are sampled
    return {**fields(sampling, "samples", "seed"), **parts, "level": LEVEL}
