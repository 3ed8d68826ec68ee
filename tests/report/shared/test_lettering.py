"""Fitting of text into a width and a number of lines, and letters that no font has."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import font_manager
from matplotlib.font_manager import FontEntry

from clue.report.shared.lettering import FAMILY, families, family_of, fit, visible, width
from tests.properties import examples

WORDS = st.text(st.characters(codec="utf-8"), max_size=120)


@settings(deadline=None, max_examples=examples(40))  # the first letter that the usual font lacks loads all fonts
@given(WORDS, st.sampled_from([0.5, 1.5, 4.0]), st.integers(1, 3), st.booleans(), st.booleans())
def test_what_fits_is_within_its_width_and_lines(text: str, inches: float, lines: int, prose: bool, bold: bool) -> None:
    """Any text is cut to fit its width and number of lines."""
    found = fit(text, inches, lines, prose=prose, bold=bold)
    assert found.count("\n") < lines
    assert all(width(line, 9.0, bold) <= inches for line in found.split("\n"))


def test_letters_that_only_some_faces_of_a_font_have_are_drawn_or_spelt() -> None:
    """Matplotlib warns if the face that it draws lacks a letter; here, such a warning is an error.

    Its own fonts have such letters: the bold face of DejaVu Sans lacks some of the normal one, and the normal face of
    STIX General lacks some of the bold one.
    """
    faces = [each for each in font_manager.fontManager.ttflist if each.style == "normal"]
    by_family = {
        name: [frozenset(font_manager.get_font(each.fname).get_charmap()) for each in faces if each.name == name]
        for name in (FAMILY, "STIXGeneral")
    }
    for name, letters in by_family.items():
        partly = sorted(frozenset.union(*letters) - frozenset.intersection(*letters))
        assert partly, name
        for letter in map(chr, partly[:: 1 + len(partly) // 40]):
            assert width(visible(letter), 9.0, bold=False) >= 0
            assert width(visible(letter), 9.0, bold=True) >= 0


def test_short_names_stay_and_long_ones_keep_both_ends() -> None:
    """A name that does not fit loses its middle, so that names that differ at an end stay distinct."""
    assert fit("short", 2.0) == "short"
    assert fit("", 2.0) == ""
    found = fit("node-type-with-a-very-long-name-and-the-number-17", 2.0)
    assert found.startswith("node-type") and found.endswith("number-17") and "…" in found


def test_prose_loses_its_end() -> None:
    """A sentence that does not fit loses its end."""
    assert fit("one two three four five six", 1.2, prose=True) == "one two three …"


def test_names_are_broken_between_words_before_hyphens() -> None:
    """A line is broken at a hyphen only if a word does not fit on a line by itself."""
    assert fit("9 × fast-dual, gigabit-ethernet", 1.4, lines=2) == "9 × fast-dual,\ngigabit-ethernet"
    assert fit("between_nodes.transmission_delay.bandwidth", 2.6, lines=2).split("\n")[1] == "bandwidth"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Größe, Кластер, κ²", "Größe, Кластер, κ²"),
        ("two\nlines\tof", "two lines of"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\U000f0000", "\\U000f0000"),
        ("$x_1$", "$x_1$"),
    ],
)
def test_letters_that_cannot_be_drawn_are_spelt(text: str, expected: str) -> None:
    """Control characters and letters of no font are written as Python escapes."""
    assert visible(text) == expected


def test_the_usual_font_comes_first() -> None:
    """A text in plain letters needs only the usual font."""
    assert families("plain") == [FAMILY]


def test_a_damaged_font_of_the_computer_is_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Damaged and missing fonts count as fonts without letters."""
    (tmp_path / "damaged.ttf").write_bytes(b"no font")
    fonts = [FontEntry(fname=str(tmp_path / name), name=name) for name in ("damaged.ttf", "gone.ttf")]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", fonts)
    family_of.cache_clear()
    assert visible("\U000f0001") == "\\U000f0001"
