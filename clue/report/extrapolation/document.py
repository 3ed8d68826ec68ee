"""Extrapolations and plans as JSON documents; their first keys are an interface."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clue.report.shared.document import Document, fields

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clue.extrapolation import Extrapolation, Family, RefusedError
    from clue.extrapolation.plan import Plan, Planned, Refused


def extrapolation_document(made: Extrapolation, family: Family, target: str, warnings: Sequence[str] = ()) -> Document:
    """Describe an extrapolated trace, and the recordings from which it was made; with warnings about these, if any."""
    return {
        "trace": target,
        **fields(made, "size"),
        "ranks": made.trace.ranks,
        "refused": [],
        "warnings": [*warnings, *made.warnings],
        "factor": fields(made.factor, "size", "ranks"),
        "ops": len(made.trace.ops),
        "local": [fields(each, "dimension", "target", "low", "high", "inside") for each in made.local],
        "recordings": [
            {"size": each.size, "ranks": each.ranks, "repeats": len(each.traces)} for each in family.recordings
        ],
    }


def refusal_document(error: RefusedError, size: int, ranks: int, warnings: Sequence[str] = ()) -> Document:
    """Describe what was refused, and which recordings to make instead; in this case there is no trace."""
    return {
        "trace": None,
        "size": size,
        "ranks": ranks,
        "refused": [fields(each, "site", "why") for each in error.refusals],
        "record": [fields(each, "size", "ranks") for each in error.record],
        "warnings": list(warnings),
    }


def plan_document(plan: Plan, warnings: Sequence[str] = ()) -> Document:
    """Describe which recordings to make, with the seconds and bytes that each takes on this computer."""
    return {
        **fields(plan, "size", "ranks"),
        "recordings": list(map(_planned, plan.recordings)),
        "left_out": list(map(_planned, plan.left_out)),
        **fields(plan, "repeats", "seconds"),
        "admissible": list(map(str, plan.takes.demands)),
        "learned": list(map(str, plan.learned.demands)),
        "refused": list(map(_refused, plan.refused)),
        "warnings": list(warnings),
    }


def _planned(each: Planned) -> Document:
    return fields(each, "size", "ranks", "seconds", "memory")


def _refused(each: Refused) -> Document:
    instead = None if each.instead is None else fields(each.instead, "size", "ranks")
    return {**fields(each, "size", "ranks", "why"), "instead": instead}
