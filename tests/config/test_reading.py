"""Reading a document: faults of its form, of several keys together, and of documents that it refers to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path as FilePath

import pytest

from clue.config.document import Path, from_python
from clue.config.forms import Form
from clue.config.reading import Reading
from clue.errors import ConfigError


class Span(Form):
    """A range from the least to the largest number."""

    least: int
    most: int


def rising(form: Span) -> Iterator[tuple[Path, str]]:
    """Yield a fault if the largest number is below the least."""
    if form.most < form.least:
        yield ("most",), f"must be at least {form.least}, got {form.most}"


def test_a_document_in_its_form_is_returned() -> None:
    """A document in its form is returned, and there are no faults."""
    reading = Reading(from_python({"least": 1, "most": 2}, "a.yaml"))
    assert reading.checked(Span, rising) == Span(least=1, most=2)
    assert not reading.faults


def test_what_several_keys_say_together_is_a_fault_of_the_document() -> None:
    """A fault of several keys together is raised with place, subject, rule and value."""
    with pytest.raises(ConfigError, match=r"^a\.yaml: most must be at least 3, got 2$"):
        Reading(from_python({"least": 3, "most": 2}, "a.yaml")).checked(Span, rising)


def test_keys_are_judged_together_only_where_each_is_right() -> None:
    """If one key is wrong by itself, only that fault is raised."""
    with pytest.raises(ConfigError) as raised:
        Reading(from_python({"least": "many", "most": 2}, "a.yaml")).checked(Span, rising)
    assert raised.value.faults == ('a.yaml: least must be a whole number, got "many"',)


def test_faults_of_documents_that_are_referred_to_are_raised_together() -> None:
    """Faults of several documents are raised together, in the order in which the documents were read."""
    reading = Reading(from_python({"least": 1}, "a.yaml"), FilePath("folder"))
    other = reading.of(from_python({"most": 1}, "b.yaml"))
    assert reading.form(Span) is None and other.form(Span) is None
    assert other.base == FilePath("folder")
    with pytest.raises(ConfigError) as raised:
        reading.check()
    assert raised.value.faults == (
        "a.yaml: most must be given, got nothing",
        "b.yaml: least must be given, got nothing",
    )
