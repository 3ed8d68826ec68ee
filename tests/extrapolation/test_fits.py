"""Models of bursts and their measurements: figures by hand, and their picture."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clue.cli import main
from clue.extrapolation import Family
from clue.extrapolation.inference import Structure, infer
from clue.report.extrapolation.plot import draw_bursts
from tests.extrapolation.families import STEPS, saved
from tests.report.pictures import faults, texts

GRID = tuple((size, ranks) for size in (8, 20, 33) for ranks in (2, 4, 8))


@pytest.fixture(scope="module")
def pattern(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the pattern of recordings of a ring whose bursts take n² / P ms."""
    return saved(tmp_path_factory.mktemp("ring"), GRID)


@pytest.fixture(scope="module")
def structure(pattern: str) -> Structure:
    """Return the structure learned from the recordings."""
    return infer(Family.open(pattern))


def test_a_pool_knows_what_it_was_fitted_to_and_what_it_takes_at_a_target(structure: Structure) -> None:
    """The pool has nine measurements of n² / P ms; at size 40 on 16 ranks, each rank has 3 bursts of 100 ms."""
    (ring,) = (each for each in structure.fits(40, 16) if each.seconds > 0)
    assert (ring.role, structure.program.parts[ring.part].part.call) == ("", "Sendrecv")
    measured = ring.pool.measured
    np.testing.assert_allclose(measured["seconds"], 1e-3 * measured["n"] ** 2 / measured["P"], rtol=1e-6)
    assert sorted(zip(measured["n"].tolist(), measured["P"].tolist(), strict=True)) == sorted(GRID)
    assert {name: column.tolist() for name, column in ring.target.items()} == {"n": [40], "P": [16], "m": [100]}
    assert ring.seconds == pytest.approx(16 * STEPS * 0.1, rel=1e-3)


def test_the_picture_names_pools_recordings_and_the_target(structure: Structure) -> None:
    """The picture names pool, ranks, target and local size, and no words are cut or overlap."""
    drawn = draw_bursts(structure.program, structure.fits(40, 16), "ring.py")
    found = texts(drawn)
    assert any("ring.py:3 step Sendrecv: 100%" in text for text in found)
    assert {"measured on 2 ranks", "measured on 8 ranks", "target, with its interval", "m = n^2 / P"} <= set(found)
    assert not faults(drawn)


def test_pools_of_one_call_site_have_one_name_for_it(structure: Structure) -> None:
    """Two roles at a call site are two pools; numbers are for call sites that share a line."""
    (ring,) = (each for each in structure.fits(40, 16) if each.seconds > 0)
    drawn = draw_bursts(structure.program, [replace(ring, role=role) for role in ("first", "others")], "ring.py")
    found = {" ".join(text.split()) for text in texts(drawn)}
    assert {"ring.py:3 step Sendrecv (first): 50%", "ring.py:3 step Sendrecv (others): 50%"} <= found


def test_a_picture_of_no_bursts(structure: Structure) -> None:
    """A program without bursts gives a picture that says so."""
    assert "ring.py: no bursts" in texts(draw_bursts(structure.program, (), "ring.py"))


def test_the_command_draws_it(pattern: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command writes the picture beside the trace; for a recorded target it fails and writes nothing."""
    words = [
        "extrapolate",
        pattern,
        "--ranks",
        "16",
        "--plots",
        str(tmp_path / "plots"),
        "-o",
        str(tmp_path / "x.clue"),
    ]
    assert main([*words, "--size", "40"]) == 0
    assert (tmp_path / "plots" / "bursts.png").read_bytes().startswith(b"\x89PNG")
    words[3] = "4"
    words[-1] = str(tmp_path / "y.clue")
    capsys.readouterr()
    assert main([*words, "--size", "20"]) == 2
    told = f"{pattern}: --plots must go with a target that was not recorded, got one that was"
    assert told in capsys.readouterr().err and not (tmp_path / "y.clue").exists()
