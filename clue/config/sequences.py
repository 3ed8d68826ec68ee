"""Load the input of ``clue forecast sequence``: data, operations, and the destinations of results."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path as FilePath

from pydantic import Field

from clue.config.document import Path
from clue.config.faults import did_you_mean
from clue.config.forms import Form, Name
from clue.config.quantities import PositiveInt, Size
from clue.config.reading import Reading
from clue.config.sources import Source, read_source
from clue.forecasting.sequence import Data, Plan, Step


class DataForm(Form):
    """Data that exist before anything runs."""

    size: Size = Field(description="Size of the data.")
    host: Name = Field(description="Host that has them.")


class StepForm(Form):
    """An operation."""

    makes: Name = Field(description="Name of its result.")
    routine: Name = Field(description="Routine that computes it: dgemm, or MODULE:FUNCTION.")
    sizes: dict[Name, PositiveInt] = Field(description="The routine's sizes.")
    reads: list[Name] = Field(default_factory=list, description="Names of the data that it reads.")
    size: Size = Field(description="Size of its result.")
    host: Name | None = Field(
        None, description="Host that runs it; default: the one with which the whole sequence ends first."
    )


class SequenceForm(Form):
    """A sequence of operations on several hosts."""

    data: dict[Name, DataForm] = Field(default_factory=dict, description="Data that exist at the start, by name.")
    steps: list[StepForm] = Field(min_length=1, description="The operations, in their order.")
    results: dict[Name, Name] = Field(default_factory=dict, description="Host that must have each result in the end.")
    hosts: list[Name] = Field(default_factory=list, description="Hosts for operations that name none.")


def load_sequence(source: Source, *, relative_to: FilePath | None = None) -> Plan:
    """Load a sequence of operations.

    Args:
        source: A path, or the mapping itself.
        relative_to: Base directory of a relative path; default: the current one.

    Raises:
        ConfigError: With all faults of the file.
    """
    document, _ = read_source(source, ("sequences",), relative_to)
    form = Reading(document).checked(SequenceForm, _faults)
    data = {name: Data(each.size, each.host) for name, each in form.data.items()}
    steps = (Step(each.makes, each.routine, each.sizes, tuple(each.reads), each.size, each.host) for each in form.steps)
    return Plan(data, tuple(steps), form.results, tuple(form.hosts))


def _faults(form: SequenceForm) -> Iterator[tuple[Path, str]]:
    """Yield the faults that :meth:`Plan.check` finds one at a time, all and with their places."""
    known = set(form.data)
    for index, step in enumerate(form.steps):
        for position, name in enumerate(step.reads):
            if name not in known:
                rule = f'must be given as data or made by an earlier step, got "{name}"{did_you_mean(name, known)}'
                yield ("steps", index, "reads", position), rule
        if step.makes in known:
            yield ("steps", index, "makes"), f'must be a name that stands for nothing else, got "{step.makes}" again'
        if step.host is None and not form.hosts:
            yield ("steps", index, "host"), "must be given where there are no hosts to choose from, got nothing"
        known.add(step.makes)
    for name in form.results:
        if name not in known:
            yield ("results", name), f'must be data or made by a step, got "{name}"{did_you_mean(name, known)}'
