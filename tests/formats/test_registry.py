"""The registry of formats: unique names and suffixes, and functions with the listed options."""

from __future__ import annotations

import inspect
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

from clue.errors import UsageError
from clue.formats import BY_NAME, FORMATS, OWN, Format, format_of


def test_names_and_suffixes_tell_forms_apart() -> None:
    """Each name and suffix belongs to one format; a folder is a trace of clue; other names are undecided."""
    named = Counter(each for form in FORMATS for each in (form.name, *form.suffixes))
    assert set(named.values()) == {1}
    assert (format_of(Path("x.goal")), format_of(Path("x.clue.zip")), format_of(Path(__file__).parent)) == (
        BY_NAME["goal"],
        OWN,
        OWN,
    )
    assert format_of(Path("x.yaml")) is None


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_readers_and_writers_take_the_options_that_their_line_names(form: Format) -> None:
    """Readers and writers take exactly the options in their line of the registry."""
    for name, options in ((form.reader, form.read_with), (form.writer, form.write_with)):
        module, _, function = name.rpartition(".")
        found = inspect.signature(getattr(import_module(f"clue.formats.{module}"), function)) if name else None
        taken = {each.name for each in found.parameters.values() if each.kind is each.KEYWORD_ONLY} if found else set()
        assert taken == options


def test_what_nothing_reads_is_said() -> None:
    """A SimGrid platform can be written but not read."""
    with pytest.raises(UsageError, match=r"x\.xml: source must be one that clue reads, got SimG"):
        BY_NAME["simgrid"].read(Path("x.xml"))
