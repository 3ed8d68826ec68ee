"""Results of one simulation as text."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from clue.report.result.text import result_text
from clue.result import Result
from tests.report.cases import (
    many_ranks,
    rendered,
    result,
    row,
)


def test_result_shows_every_rank_in_one_unit() -> None:
    """Each rank has its node, finish time, the three parts of it, and the share of computing."""
    text = rendered(result_text(result(), "pingpong"))
    assert text.startswith("pingpong")
    assert row(text, "makespan") == "makespan 4 s"
    assert "finish (s)" in text
    assert row(text, "0 0") == "0 0 4.0000 2.0000 1.0000 1.0000 50.0%"
    assert row(text, "1 1") == "1 1 3.0000 1.0000 0.0000 2.0000 33.3%"


def test_result_shows_regions_messages_and_warnings() -> None:
    """The text contains regions, traffic and warnings."""
    text = rendered(result_text(result()))
    assert row(text, "solve") == "solve 1 s 33.3%"
    assert row(text, "messages") == "messages 5 (4 KB)"
    assert text.endswith("Warnings\n- pair: no contention is stated")


def test_many_ranks_are_summed_up() -> None:
    """For more than 32 ranks, the text shows least, mean and most, and the ranks that finish last."""
    text = rendered(result_text(many_ranks(100)))
    assert row(text, "least").startswith("least 1.00 1.00 ")
    assert row(text, "mean").startswith("mean 50.50 50.50 ")
    assert row(text, "most").startswith("most 100.00 100.00 ")
    assert row(text, "99 99").startswith("99 99 100.00 ")
    assert "\n  91" not in text
    assert len(text.splitlines()) < 30


def test_exactly_32_ranks_are_listed() -> None:
    """A table of exactly 32 ranks is not cut."""
    assert row(rendered(result_text(many_ranks(32))), "0 0")


def test_an_empty_result_is_no_fault() -> None:
    """A program that does nothing has a makespan of 0 s."""
    text = rendered(result_text(Result(0.0, "reference", result().ranks[:0])))
    assert row(text, "makespan") == "makespan 0 s"


def test_colour_is_for_terminals_that_want_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file gets no escape codes, and a terminal under NO_COLOR gets no colours."""
    assert "\x1b" not in rendered(result_text(result()))
    monkeypatch.setenv("NO_COLOR", "1")
    file = StringIO()
    Console(file=file, width=100, force_terminal=True).print(result_text(result()))
    assert "\x1b[33" not in file.getvalue()
