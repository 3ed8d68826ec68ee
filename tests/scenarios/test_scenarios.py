"""Each shipped scenario is compared with its expected output, so that a changed prediction is noticed and explained.

The expected figures are the last predictions and not the truth, which the tests of each rule compute.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from clue.cli import main
from clue.config import shipped

EXPECTED = Path(__file__).parents[2] / "scenarios" / "expected"
NAMES = sorted(name for name in shipped("scenarios") if (EXPECTED / f"{name}.json").exists())
#: Comparisons take seconds.
CASES = [name if name == "pingpong" else pytest.param(name, marks=pytest.mark.long) for name in NAMES]
TOLERANCE = 1e-9


def differences(expected: object, got: object, place: str = "") -> Iterator[str]:
    """Yield each place where two JSON values differ; numbers may differ by the tolerance."""
    if isinstance(expected, dict) and isinstance(got, dict) and expected.keys() == got.keys():
        for key in expected:
            yield from differences(expected[key], got[key], f"{place}.{key}" if place else key)
    elif isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        for i, (one, other) in enumerate(zip(expected, got, strict=True)):
            yield from differences(one, other, f"{place}[{i}]")
    elif isinstance(expected, float) and isinstance(got, int | float):
        if got != pytest.approx(expected, rel=TOLERANCE, abs=0):
            yield f"{place} must be {expected!r}, got {got!r}"
    elif expected != got:
        yield f"{place} must be {expected!r}, got {got!r}"


def simulate(name: str, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    """Return the figures of ``clue simulate NAME --json``, without warnings and the choice of the engine."""
    # A comparison would start other processes; a single simulation has none to limit.
    limit = () if name == "pingpong" else ("--workers", "1")
    status = main(("simulate", name, "--json", *limit))
    out, err = capsys.readouterr()
    assert status == 0, err
    document: dict[str, object] = json.loads(out)
    return figures(document)


def figures(document: dict[str, object]) -> dict[str, object]:
    """Return a document without its warnings and its engine, as both engines give the same figures."""
    return {name: value for name, value in document.items() if name not in {"warnings", "engine", "engine_reason"}}


@pytest.mark.parametrize("name", CASES)
def test_a_shipped_scenario_predicts_what_it_did(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Figures agree to 1e-9; scenarios/expected/README.md says how to renew the expected output."""
    expected = figures(json.loads((EXPECTED / f"{name}.json").read_text()))
    found = list(differences(expected, simulate(name, capsys)))
    renew = f"clue simulate {name} --json > scenarios/expected/{name}.json"
    if found:
        pytest.fail(
            f"{name}: {found[0]} ({len(found)} differences); if this is meant, renew it by `{renew}` "
            "and enter it in CHANGELOG.md with before and after",
            pytrace=False,
        )


def test_whatever_is_expected_is_shipped() -> None:
    """Each expected output has its scenario, and at least two scenarios have one."""
    assert {file.stem for file in EXPECTED.glob("*.json")} == set(NAMES) >= {"pingpong", "wien97"}


def test_a_difference_is_told_with_its_place() -> None:
    """Differences beyond the tolerance, in a name, and in a length are reported; others are not."""
    expected = {"ranking": [{"option": "Cheap", "score": 100.0}]}
    assert list(differences(expected, {"ranking": [{"option": "Cheap", "score": 100.0 + 1e-8}]})) == []
    assert list(differences(expected, {"ranking": [{"option": "Cheap", "score": 100.0 + 1e-6}]})) == [
        "ranking[0].score must be 100.0, got 100.000001"
    ]
    assert len(list(differences(expected, {"ranking": [{"option": "Fine", "score": 99}]}))) == 2
    assert len(list(differences(expected, {"ranking": []}))) == 1
