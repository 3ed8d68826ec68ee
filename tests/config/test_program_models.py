"""Files of program models: a round trip, and faults in them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clue.config.models import load_any_model, load_model
from clue.config.yaml12 import parse_yaml
from clue.errors import ConfigError
from clue.models.parts import FITS, Part, ProgramModel, Repeated, Runs
from clue.report.model.program_document import program_model_yaml

SIZES, RANKS = (1.0, 2.0, 3.0, 1.0, 2.0, 3.0), (2.0, 2.0, 2.0, 3.0, 3.0, 3.0)


def model(seconds: list[float], how: str = "in-turn") -> ProgramModel:
    """Return a model of a loop in which a worker computes, followed by a barrier."""
    loop = Repeated("loop", (4.0,) * 6, (Part("before Send", tuple(seconds), 1),))
    runs = Runs(SIZES, RANKS, (loop, Part("Barrier", (0.5,) * 6)))
    return ProgramModel("deal", how, "bio", "deal-{size}-{ranks}.clue", "2026-11-23", runs)


@pytest.mark.long
@given(st.lists(st.floats(1e-6, 100), min_size=6, max_size=6), st.sampled_from(sorted(FITS)))
def test_what_was_written_is_read_again(seconds: list[float], how: str) -> None:
    """A model that was written and read again predicts the same, to the last bit."""
    written = model(seconds, how)
    read = load_any_model(parse_yaml(program_model_yaml(written), "deal.yaml").value)  # type: ignore[arg-type]
    assert isinstance(read, ProgramModel)
    assert (read.name, read.how, read.machine, read.source, read.made) == (
        "deal", how, "bio", "deal-{size}-{ranks}.clue", "2026-11-23",
    )  # fmt: skip
    assert read.time(7, 9) == written.time(7, 9)
    assert read.off == written.off


def test_what_runs_took_is_the_sum_of_their_parts() -> None:
    """Runs take four times each computation and half a second; a composed time that goes through them has no error."""
    found = model([n / (p - 1) for n, p in zip(SIZES, RANKS, strict=True)])
    assert found.runs.seconds == (4.5, 8.5, 12.5, 2.5, 4.5, 6.5)
    assert found.off == pytest.approx([0] * 6, abs=1e-12)
    assert found.time(6, 4) == pytest.approx(0.5 + 4 * 6 / 3)


def test_a_model_of_a_program_is_none_of_processors() -> None:
    """The form of a composed model is refused where a model of processors is needed."""
    document: Any = parse_yaml(program_model_yaml(model([1.0] * 6)), "deal.yaml").value
    with pytest.raises(ConfigError, match="form must be nt or pt for this command, got composed"):
        load_model(document)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"model": 2}, "model must be 1, got 2"),
        ({"fit": "guess"}, "fit must be 'plausible' or 'in-turn', got"),
        ({"ranks": [2.0]}, "ranks must have as many entries as sizes (6), got 1"),
        ({"sizes": []}, "sizes must"),
        ({"parts": []}, "parts must"),
        ({"parts": [{"name": "a", "seconds": [1.0]}]}, "parts.0.seconds must have as many entries as sizes (6), got 1"),
        ({"parts": [{"name": "a"}]}, "parts.0 must have either seconds, or times and parts, got others"),
        ({"parts": [{"name": "a", "seconds": [-1.0] * 6}]}, "seconds"),
        (
            {"parts": [{"name": "a", "seconds": [1.0] * 6, "others": 2}]},
            "parts.0.others must be fewer than the ranks of all runs (2), got 2",
        ),
        (
            {"parts": [{"name": "a", "times": [1.0] * 6, "parts": [{"name": "b", "seconds": [1.0]}]}]},
            "parts.0.parts.0.seconds must have as many entries as sizes (6), got 1",
        ),
    ],
)
def test_faults_are_named_with_their_place(change: dict[str, object], fault: str) -> None:
    """Each fault has its place, the rule and the value."""
    document: Any = parse_yaml(program_model_yaml(model([1.0] * 6)), "deal.yaml").value
    with pytest.raises(ConfigError) as caught:
        load_any_model({**document, **change})
    assert fault in str(caught.value).replace("[", ".").replace("]", "")
