"""Load a fitted model, as ``clue model fit`` writes it."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path as FilePath
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from clue.config.document import Document, Path, format_value
from clue.config.forms import Form, Name
from clue.config.program_models import is_composed, program_model
from clue.config.quantities import PositiveInt
from clue.config.reading import Reading
from clue.config.sources import Source, read_source
from clue.errors import ModelError
from clue.models import Adjustment, Bin, ClusterModel, Errors, FittedTime, Footprint, Run, Statistics, Term, Use
from clue.models.model import Model
from clue.models.parts import ProgramModel

#: The version of the form that is written and read.
VERSION = 1

_NotNegative = Annotated[float, Field(ge=0)]
_Number = Annotated[float, Field(strict=False)]
_Span = Annotated[list[_NotNegative], Field(min_length=2, max_length=2)]


class TimeForm(Form):
    """A fitted time: the sum of its terms; null means unknown."""

    terms: Annotated[dict[Name, _Number], Field(min_length=1)] = Field(description="Coefficients in seconds, by term.")
    covariance: list[list[_Number]] = Field(description="Covariance of the coefficients, s².")
    domain: dict[Name, _Span] = Field(description="Smallest and largest measured value of each feature.")
    deviation: _NotNegative | None = Field(
        description="Relative error at points left out of the fit: root mean square."
    )
    mean: _NotNegative = Field(description="Mean relative error.")
    largest: _NotNegative = Field(description="Largest relative error.")
    leave_one_out: _NotNegative | None = Field(description="Mean relative error at points left out of the fit.")
    points: PositiveInt = Field(description="Number of points fitted.")
    outliers: list[dict[Name, _Number]] = Field(default=[], description="Points that the fit of the others rejects.")


class BinForm(Form):
    """A model for one kind of processor, and where it holds."""

    processor: Name = Field(description="The kind of processor: a node type of machines.")
    processes: PositiveInt = Field(1, description="Number of processes that share each processor.")
    ranks: PositiveInt | None = Field(
        None, description="The only number of ranks for which it holds; default: any above the processes."
    )
    memory: Annotated[list[_NotNegative | None], Field(min_length=2, max_length=2)] | None = Field(
        None, description="Range of memory per processor in which it holds: above the first, at most the second, bytes."
    )
    composed: Name | None = Field(None, description="The kind whose models these are, scaled.")
    parts: Annotated[dict[Name, TimeForm], Field(min_length=1)] = Field(
        description="Parts whose sum is the time, by name."
    )


class FootprintForm(Form):
    """The memory of a process: bytes × term."""

    bytes: _NotNegative
    term: Name


class LineForm(Form):
    """Adjustment of whole times: offset + factor × seconds."""

    processes: PositiveInt = Field(description="Number of processes on each processor of the kind for which it holds.")
    factor: Annotated[float, Field(gt=0)]
    offset: _Number = Field(0.0, description="Seconds.")


class AdjustmentForm(Form):
    """Adjustment of times to runs on several kinds of processors."""

    processor: Name = Field(description="The kind whose number of processes selects the line.")
    lines: list[LineForm]


class RunForm(Form):
    """A run to which models were fitted."""

    size: _NotNegative
    processors: Annotated[dict[Name, PositiveInt], Field(min_length=1)] = Field(
        description="Number of processors, by kind."
    )
    processes: dict[Name, PositiveInt] = Field(
        default={}, description="Processes on each processor, by kind; default: 1."
    )
    seconds: _NotNegative
    parts: dict[Name, _NotNegative] = Field(default={}, description="Time of each part, seconds.")


class ModelForm(Form):
    """A fitted model."""

    model: Literal[1] = Field(description="Version of the form.")
    name: Name
    form: Literal["nt", "pt"]
    plain: bool = Field(
        False, description="Whether it was fitted by least squares in seconds, with coefficients of either sign."
    )
    source: str = Field("", description="Source of the runs.")
    made: str = Field("", description="When it was fitted.")
    footprint: FootprintForm | None = None
    adjustment: AdjustmentForm | None = None
    models: Annotated[list[BinForm], Field(min_length=1)]
    runs: list[RunForm] = Field(default=[], description="The runs to which it was fitted.")


def load_model(source: Source, *, relative_to: FilePath | None = None) -> Model:
    """Load a fitted model.

    Args:
        source: A path, the name of one shipped with clue, or the mapping itself.
        relative_to: Base directory of a relative path; default: the current one.

    Raises:
        ConfigError: With all faults of the file.
    """
    document, _ = read_source(source, ("models",), relative_to)
    if is_composed(document):
        reading = Reading(document)
        rule = (
            "must be nt or pt for this command, got composed: such a model serves clue model show, clue model "
            "predict and comparisons"
        )
        reading.fault(("form",), rule)
        reading.check()
    return _loaded(document)


def load_any_model(source: Source) -> Model | ProgramModel:
    """Load a model of kinds of processors, or one composed of a program's parts.

    Raises:
        ConfigError: As :func:`load_model`.
    """
    document, _ = read_source(source, ("models",))
    return program_model(document) if is_composed(document) else _loaded(document)


def _loaded(document: Document) -> Model:
    reading = Reading(document)
    form = reading.form(ModelForm)
    model = None if form is None else _model(reading, form)
    reading.check()
    assert model is not None
    return model


def _model(reading: Reading, form: ModelForm) -> Model:
    kinds: dict[str, list[Bin]] = {}
    for i, each in enumerate(form.models):
        kinds.setdefault(each.processor, []).append(_bin(reading, ("models", i), each))
    adjusted = "" if form.adjustment is None else form.adjustment.processor
    if adjusted and adjusted not in kinds:
        rule = f"must be a kind that has models ({', '.join(kinds)}), got {format_value(adjusted)}"
        reading.fault(("adjustment", "processor"), rule)
    footprint = None
    if form.footprint is not None:
        term = _term(reading, ("footprint", "term"), form.footprint.term)
        footprint = Footprint(form.footprint.bytes, term)
    lines = (
        {}
        if form.adjustment is None
        else {each.processes: Adjustment(each.factor, each.offset) for each in form.adjustment.lines}
    )
    cluster = ClusterModel({kind: tuple(bins) for kind, bins in kinds.items()}, footprint, adjusted, lines)
    runs = tuple(
        Run(
            each.size,
            {kind: Use(count, each.processes.get(kind, 1)) for kind, count in each.processors.items()},
            each.seconds,
            each.parts,
        )
        for each in form.runs
    )
    return Model(form.name, form.form, form.plain, form.source, form.made, runs, cluster)


def _bin(reading: Reading, path: Path, form: BinForm) -> Bin:
    parts = {part: _time(reading, (*path, "parts", part), each) for part, each in form.parts.items()}
    low, high = form.memory or (None, None)
    memory = (low or 0.0, math.inf if high is None else high)
    return Bin(form.processes, parts, form.ranks, memory, form.composed or "")


def _time(reading: Reading, path: Path, form: TimeForm) -> FittedTime:
    count, covariance = len(form.terms), form.covariance
    if [len(row) for row in covariance] != [count] * count:
        reading.fault((*path, "covariance"), f"must have {count} rows of {count}, got others")
        covariance = [[0.0] * count] * count
    for name, (low, high) in form.domain.items():
        if low > high:
            reading.fault((*path, "domain", name), f"must rise, got {low:g} to {high:g}")
    terms = tuple(_term(reading, (*path, "terms", text), text) for text in form.terms)
    needed = {name for term in terms for name in term.features}
    if missing := sorted(needed - form.domain.keys()):
        reading.fault((*path, "domain"), f"must have every feature of the terms, got none for {', '.join(missing)}")
    left = math.inf if form.leave_one_out is None else form.leave_one_out
    statistics = partial(
        Statistics,
        np.array(covariance),
        math.inf if form.deviation is None else form.deviation,
        Errors(form.mean, form.largest, left),
        form.points,
        tuple(form.outliers),
    )
    domain = {name: (low, high) for name, (low, high) in form.domain.items()}
    return FittedTime(terms, np.array(list(form.terms.values())), domain, statistics)


def _term(reading: Reading, path: Path, text: str) -> Term:
    try:
        return Term.parse(text)
    except ModelError as error:
        reading.fault(path, str(error).removeprefix("term "), of_key=path[-1] == text)
        return Term()
