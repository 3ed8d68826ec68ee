"""Load the model of a program: what ``clue model graph -o`` has written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from clue.config.document import Document, Path
from clue.config.forms import Form, Name
from clue.config.reading import Reading
from clue.models.parts import Part, ProgramModel, Repeated, Runs

_NotNegative = Annotated[float, Field(ge=0, strict=False)]
_Positive = Annotated[float, Field(gt=0, strict=False)]
_COMPOSED = "composed"


class PartForm(Form):
    """A part of a program: what it took, or how often its parts were repeated."""

    name: Name
    seconds: list[_NotNegative] | None = Field(
        None, description="What one iteration of the loop around it took, by run."
    )
    others: Annotated[int, Field(ge=0)] = Field(
        0, description="How many ranks there are beside those that share its work."
    )
    times: list[_NotNegative] | None = Field(None, description="How often its parts are repeated, by run.")
    parts: Annotated[list[PartForm], Field(min_length=1)] | None = Field(None, description="What is repeated.")


class ProgramModelForm(Form):
    """The model of a program."""

    model: Literal[1] = Field(description="Version of the form.")
    form: Literal["composed"]
    name: Name
    fit: Literal["plausible", "in-turn"] = Field("plausible", description="How parts are fitted.")
    machine: str = Field("", description="Where parts took so long.")
    source: str = Field("", description="Which recordings they are of.")
    made: str = Field("", description="When they were measured.")
    described: str = Field("", description="Tells the description of the machine at that time from others.")
    sizes: Annotated[list[_NotNegative], Field(min_length=1)] = Field(description="Size of each run.")
    ranks: Annotated[list[_Positive], Field(min_length=1)] = Field(description="Ranks of each run.")
    parts: Annotated[list[PartForm], Field(min_length=1)]


def is_composed(document: Document) -> bool:
    """Tell whether a document is the model of a program, composed of its parts, and not one of kinds of processors."""
    return isinstance(document.value, dict) and document.value.get("form") == _COMPOSED


def program_model(document: Document) -> ProgramModel:
    """Return the model of a program that a document describes.

    Raises:
        ConfigError: With everything that is wrong with it.
    """
    form = Reading(document).checked(ProgramModelForm, _faults_of)
    runs = Runs(tuple(form.sizes), tuple(form.ranks), tuple(map(_part, form.parts)))
    return ProgramModel(form.name, form.fit, form.machine, form.source, form.made, runs, form.described)


def _faults_of(form: ProgramModelForm) -> Iterator[tuple[Path, str]]:
    runs = len(form.sizes)
    if len(form.ranks) != runs:
        yield ("ranks",), f"must be as many as sizes ({runs}), got {len(form.ranks)}"
    for i, part in enumerate(form.parts):
        yield from _faults_of_part(part, ("parts", i), runs, min(form.ranks))


def _faults_of_part(part: PartForm, path: Path, runs: int, least: float) -> Iterator[tuple[Path, str]]:
    if (part.seconds is None) is (part.parts is None) or (part.times is None) is not (part.parts is None):
        yield path, "must have either seconds, or times and parts, got others"
    for name in ("seconds", "times"):
        values = getattr(part, name)
        if values is not None and len(values) != runs:
            yield (*path, name), f"must be as many as sizes ({runs}), got {len(values)}"
    if part.others >= least:
        yield (*path, "others"), f"must be fewer than the ranks of all runs ({least:g}), got {part.others}"
    for i, each in enumerate(part.parts or ()):
        yield from _faults_of_part(each, (*path, "parts", i), runs, least)


def _part(form: PartForm) -> Part | Repeated:
    if form.parts is not None:
        return Repeated(form.name, tuple(form.times or ()), tuple(map(_part, form.parts)))
    return Part(form.name, tuple(form.seconds or ()), form.others)
