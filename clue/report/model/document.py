"""Fitted models as JSON documents, whose first keys are an interface, and as the files that keep them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from clue.report.shared.document import Document, fields

if TYPE_CHECKING:
    from clue.models import Bin, Candidate, Configuration, FittedTime, Forecast, Found, Run
    from clue.models.model import Model
    from clue.predict.configurations import Beside

#: Keys of a file whose entries are written one per line.
_LISTS = ("models", "runs")


def model_document(model: Model, warnings: Sequence[str] = ()) -> Document:
    """Describe a model: its form, all terms with their coefficients, its errors, its memory, and where it holds.

    Args:
        model: The model.
        warnings: What a reader must know of it, and of the runs to which it was just fitted.
    """
    errors = model.errors()
    return {
        **fields(model, "name", "form", "plain", "source", "made"),
        "terms": [
            {
                "term": str(term),
                "coefficient": float(coefficient),
                "processor": kind,
                **fields(each, "processes", "ranks"),
                "part": part,
            }
            for kind, each in model.cluster.bins()
            for part, time in each.parts.items()
            for term, coefficient in zip(time.terms, time.coefficients, strict=True)
        ],
        "error": {name: _finite(value) for name, value in fields(errors, "mean", "largest", "leave_one_out").items()},
        "domain": {name: list(span) for name, span in model.cluster.domain.items()},
        "models": [_bin(kind, each) for kind, each in model.cluster.bins()],
        "footprint": _footprint(model),
        "adjustment": _adjustment(model),
        "runs": len(model.runs),
        "warnings": list(warnings),
    }


def forecast_document(forecast: Forecast, outside: tuple[str, ...], warnings: Sequence[str] = ()) -> Document:
    """Describe the prediction of a model for one configuration; ``warnings``: what a reader must know of the model."""
    return {**_forecast(forecast), "outside": list(outside), "warnings": list(warnings)}


def found_document(
    found: Found,
    size: float,
    outside: tuple[str, ...],
    replays: Beside | None = None,
    warnings: Sequence[str] = (),
) -> Document:
    """Describe the result of a search: the best configuration, and those after it with their losses.

    Args:
        found: The result.
        size: Problem size N.
        outside: In what respects the best one lies outside the domain of the fit.
        replays: The best ones by replays, to compare with.
        warnings: What a reader must know beside the figures.
    """
    candidates = [
        {**_candidate(each), **({"replayed": replays.replayed.get(i)} if replays else {})}
        for i, each in enumerate(found.candidates)
    ]
    return {
        "size": size,
        "best": candidates[0],
        "candidates": candidates,
        **fields(found, "total", "exhaustive"),
        "outside": list(outside),
        "warnings": list(warnings),
        **({"replay": _beside(replays)} if replays else {}),
    }


def _beside(replays: Beside) -> Document:
    """Describe the best configurations by replays, with the model's times, and the loss of the model's choice."""
    candidates = [
        {**_configuration(each.uses), **fields(each, "seconds", "loss"), "model": said}
        for each, said in zip(replays.found.candidates, replays.modelled, strict=True)
    ]
    return {
        "best": candidates[0],
        "candidates": candidates,
        **fields(replays.found, "total", "replayed"),
        "loss": replays.loss,
    }


def _candidate(each: Candidate) -> Document:
    return {**_configuration(each.uses), **_forecast(each.forecast), "loss": each.loss}


def _configuration(uses: Configuration) -> Document:
    return {
        "processors": {kind: use.processors for kind, use in uses.items()},
        "processes": {kind: use.processes for kind, use in uses.items()},
    }


def _forecast(forecast: Forecast) -> Document:
    found = fields(forecast, "seconds", "low", "high", "inside", "slowest")
    return {**found, "high": _finite(forecast.high)}


def _finite(value: object) -> object:
    return value if not isinstance(value, float) or math.isfinite(value) else None


# --- the file ---


def model_yaml(model: Model) -> str:
    """Return the file of a model, which the configuration reads: YAML, with a line for each entry."""
    document: dict[str, object] = {
        "model": 1,
        **fields(model, "name", "form", "plain", "source", "made"),
        "footprint": _footprint(model),
        "adjustment": _adjustment(model),
        "models": [_bin(kind, each) for kind, each in model.cluster.bins()],
        "runs": [_run(each) for each in model.runs],
    }
    return "\n".join(_lines({key: value for key, value in document.items() if value is not None})) + "\n"


def _lines(document: Mapping[str, object]) -> Iterator[str]:
    for key, value in document.items():
        if key in _LISTS and isinstance(value, list):
            yield f"{key}:{'' if value else ' []'}"
            yield from (f"  - {json.dumps(each, allow_nan=False)}" for each in value)
        else:
            yield f"{key}: {json.dumps(value, allow_nan=False)}"


def _bin(kind: str, each: Bin) -> Document:
    low, high = each.memory
    found = {
        "processor": kind,
        **fields(each, "processes", "ranks"),
        "memory": None if (low, high) == (0.0, math.inf) else [low, _finite(high)],
        "composed": each.composed or None,
        "parts": {part: _time(time) for part, time in each.parts.items()},
    }
    return {key: value for key, value in found.items() if value is not None}


def _time(time: FittedTime) -> Document:
    errors = fields(time.statistics.errors, "mean", "largest", "leave_one_out")
    return {
        "terms": {str(term): float(value) for term, value in zip(time.terms, time.coefficients, strict=True)},
        "covariance": time.statistics.covariance.tolist(),
        "domain": {name: list(span) for name, span in time.domain.items()},
        "deviation": _finite(time.statistics.deviation),
        **{name: _finite(value) for name, value in errors.items()},
        "points": time.statistics.points,
        "outliers": [dict(each) for each in time.statistics.outliers],
    }


def _footprint(model: Model) -> Document | None:
    footprint = model.cluster.footprint
    return None if footprint is None else {"bytes": footprint.coefficient, "term": str(footprint.term)}


def _adjustment(model: Model) -> Document | None:
    if not model.cluster.adjusted:
        return None
    lines = [{"processes": each, **fields(by, "factor", "offset")} for each, by in model.cluster.adjustments.items()]
    return {"processor": model.cluster.adjusted, "lines": lines}


def _run(run: Run) -> Document:
    several = {kind: use.processes for kind, use in run.uses.items() if use.processes > 1}
    return {
        "size": run.size,
        "processors": {kind: use.processors for kind, use in run.uses.items()},
        **({"processes": several} if several else {}),
        "seconds": run.seconds,
        **({"parts": dict(run.parts)} if run.parts else {}),
    }
