"""Load the model of a program, as ``clue model graph -o`` writes it."""

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
    """A part of a program: its times, or the repetitions of its parts."""

    name: Name
    seconds: list[_NotNegative] | None = Field(
        None, description="Time of one iteration of the enclosing loop, by run, seconds."
    )
    others: Annotated[int, Field(ge=0)] = Field(0, description="Number of ranks that do not share its work.")
    times: list[_NotNegative] | None = Field(None, description="Number of repetitions of its parts, by run.")
    parts: Annotated[list[PartForm], Field(min_length=1)] | None = Field(None, description="The repeated parts.")


class ProgramModelForm(Form):
    """The model of a program."""

    model: Literal[1] = Field(description="Version of the form.")
    form: Literal["composed"]
    name: Name
    fit: Literal["plausible", "in-turn"] = Field("plausible", description="How parts are fitted.")
    machine: str = Field("", description="The machine on which the parts were timed.")
    source: str = Field("", description="The recordings that were used.")
    made: str = Field("", description="When they were measured.")
    described: str = Field("", description="Digest of the machine's description at that time.")
    node_ranks: Annotated[int, Field(ge=0)] = Field(
        0, description="Number of ranks up to which all share one node there; 0: unknown."
    )
    sizes: Annotated[list[_NotNegative], Field(min_length=1)] = Field(description="Size of each run.")
    ranks: Annotated[list[_Positive], Field(min_length=1)] = Field(description="Ranks of each run.")
    parts: Annotated[list[PartForm], Field(min_length=1)]


def is_composed(document: Document) -> bool:
    """Tell whether a document is a program's model composed of its parts, rather than one of kinds of processors."""
    return isinstance(document.value, dict) and document.value.get("form") == _COMPOSED


def program_model(document: Document) -> ProgramModel:
    """Return the model of a program from its document.

    Raises:
        ConfigError: With all faults of the document.
    """
    form = Reading(document).checked(ProgramModelForm, _faults_of)
    runs = Runs(tuple(form.sizes), tuple(form.ranks), tuple(map(_part, form.parts)))
    return ProgramModel(
        form.name, form.fit, form.machine, form.source, form.made, runs, form.described, form.node_ranks
    )


def _faults_of(form: ProgramModelForm) -> Iterator[tuple[Path, str]]:
    runs = len(form.sizes)
    if len(form.ranks) != runs:
        yield ("ranks",), f"must have as many entries as sizes ({runs}), got {len(form.ranks)}"
    for i, part in enumerate(form.parts):
        yield from _faults_of_part(part, ("parts", i), runs, min(form.ranks))


def _faults_of_part(part: PartForm, path: Path, runs: int, least: float) -> Iterator[tuple[Path, str]]:
    if (part.seconds is None) is (part.parts is None) or (part.times is None) is not (part.parts is None):
        yield path, "must have either seconds, or times and parts, got others"
    for name in ("seconds", "times"):
        values = getattr(part, name)
        if values is not None and len(values) != runs:
            yield (*path, name), f"must have as many entries as sizes ({runs}), got {len(values)}"
    if part.others >= least:
        yield (*path, "others"), f"must be fewer than the ranks of all runs ({least:g}), got {part.others}"
    for i, each in enumerate(part.parts or ()):
        yield from _faults_of_part(each, (*path, "parts", i), runs, least)


def _part(form: PartForm) -> Part | Repeated:
    if form.parts is not None:
        return Repeated(form.name, tuple(form.times or ()), tuple(map(_part, form.parts)))
    return Part(form.name, tuple(form.seconds or ()), form.others)
