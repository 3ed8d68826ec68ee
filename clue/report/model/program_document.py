"""Models composed of a program's parts as JSON documents, and as the files that keep them."""

from __future__ import annotations

import json
import math

from clue.models import Among, Ensemble, Forecast, Time, spent
from clue.models.parts import Part, ProgramModel, Repeated, doubts, misfit
from clue.models.terms import RANKS, SIZE
from clue.report.shared.document import fields


def program_model_yaml(model: ProgramModel) -> str:
    """Return the file of a model of a program, which the configuration reads: YAML, with a line for each part."""
    head = {
        "model": 1,
        "form": "composed",
        "fit": model.how,
        **fields(model, "name", "machine", "described", "node_ranks", "source", "made"),
    }
    runs = fields(model.runs, "sizes", "ranks")
    lines = [f"{key}: {json.dumps(value)}" for key, value in (head | runs).items()]
    parts = [f"  - {json.dumps(_part(part), allow_nan=False)}" for part in model.runs.parts]
    return "\n".join([*lines, "parts:", *parts]) + "\n"


def _part(part: Part | Repeated) -> dict[str, object]:
    if isinstance(part, Repeated):
        return {"name": part.name, "times": part.times, "parts": [_part(each) for each in part.parts]}
    return {"name": part.name, "seconds": part.seconds, **({"others": part.others} if part.others else {})}


def program_model_document(model: ProgramModel) -> dict[str, object]:
    """Describe a model of a program: its parts, its errors, and its domain."""
    off = [abs(each) for each in model.off]
    at = {SIZE: [model.runs.sizes[0]], RANKS: [model.runs.ranks[0]]}
    return {
        **fields(model, "name", "machine", "source", "made"),
        "form": "composed",
        "fit": model.how,
        "parts": [
            {"part": each.name.lstrip("/"), "model": formula_text(each.time)} for each in spent("", model.time, at)
        ],
        "error": {"mean": sum(off) / len(off), "largest": max(off)},
        "domain": {name: list(ends) for name, ends in model.runs.domain.items()},
        "runs": len(off),
        "warnings": misfit(off),
    }


def predicted_document(model: ProgramModel, size: float, ranks: int) -> dict[str, object]:
    """Describe the prediction of a program's model for a size on a number of ranks."""
    return {
        **estimate_document(model.predict(size, ranks)),
        "outside": list(model.outside(size, ranks)),
        "warnings": [*misfit(model.off), *doubts(model.time, size, ranks)],
    }


def estimate_document(said: Forecast) -> dict[str, object]:
    """Describe the prediction of a model for one run, with its interval; an unknown end is ``null``."""
    ends = {name: end if math.isfinite(end) else None for name, end in (("low", said.low), ("high", said.high))}
    return {**fields(said, "seconds", "low", "high", "inside"), **ends}


def formula_text(time: Time) -> str:
    """Return a model on one line; an ensemble is represented by its most plausible member."""
    within = time.time if isinstance(time, Among) else time
    text = str(within.members[0].model if isinstance(within, Ensemble) else within)
    return f"{text} with {RANKS} - {time.others} for {RANKS}" if isinstance(time, Among) else text
