"""Load what ``clue forecast sequence`` is given: data, operations, and where results go."""

from __future__ import annotations

from pathlib import Path as FilePath

from pydantic import Field

from clue.config.forms import Form, Name
from clue.config.quantities import PositiveInt, Size
from clue.config.reading import Reading
from clue.config.sources import Source, read_source
from clue.forecasting.sequence import Data, Plan, Step


class DataForm(Form):
    """Data that are there before anything runs."""

    size: Size = Field(description="How large they are.")
    host: Name = Field(description="Where they are.")


class StepForm(Form):
    """An operation."""

    makes: Name = Field(description="The name of what it makes.")
    routine: Name = Field(description="What computes it: dgemm, or MODULE:FUNCTION.")
    sizes: dict[Name, PositiveInt] = Field(description="The routine's sizes.")
    reads: list[Name] = Field(default_factory=list, description="The names of what it reads.")
    size: Size = Field(description="How large what it makes is.")
    host: Name | None = Field(None, description="Where it runs; left out: wherever the whole ends first.")


class SequenceForm(Form):
    """A sequence of operations on several hosts."""

    data: dict[Name, DataForm] = Field(default_factory=dict, description="What is there, by name.")
    steps: list[StepForm] = Field(min_length=1, description="The operations, in their order.")
    results: dict[Name, Name] = Field(default_factory=dict, description="Where what is made must be in the end.")
    hosts: list[Name] = Field(default_factory=list, description="Where operations may run that name no host.")


def load_sequence(source: Source, *, relative_to: FilePath | None = None) -> Plan:
    """Load a sequence of operations.

    Args:
        source: A path, or the mapping itself.
        relative_to: Folder that a relative path starts from; left out: the current one.

    Raises:
        ConfigError: With everything that is wrong with it.
    """
    document, _ = read_source(source, ("sequences",), relative_to)
    form = Reading(document).checked(SequenceForm)
    data = {name: Data(each.size, each.host) for name, each in form.data.items()}
    steps = (Step(each.makes, each.routine, each.sizes, tuple(each.reads), each.size, each.host) for each in form.steps)
    return Plan(data, tuple(steps), form.results, tuple(form.hosts))
