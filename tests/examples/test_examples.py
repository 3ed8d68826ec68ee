"""Each example prints what stands beside it, and no example is without a test."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from clue.cli import main
from tests.examples.running import EXAMPLES, examples, output_of

#: Files that are no example of their own: other examples name them, or they need servers or recordings of a user.
PARTS = {
    "forecast/complex-product.yaml",
    "record-small/narrow.yaml",
    "record-small/which.yaml",
    "record-small/wide.yaml",
}


def name(file: Path) -> str:
    """Return the path of an example within their folder."""
    return str(file.relative_to(EXAMPLES))


def test_there_are_a_dozen_and_none_is_forgotten() -> None:
    """Who adds a file says in it how it is run, and keeps what it prints; the index names it."""
    found = {name(file) for file in examples()}
    files = {name(file) for file in [*EXAMPLES.rglob("*.yaml"), *EXAMPLES.rglob("*.py")]}
    outputs = {name(file.with_suffix("")) for file in EXAMPLES.rglob("*.out")}
    index = (EXAMPLES / "README.md").read_text()
    assert len(found) >= 12
    assert files - found == PARTS
    assert outputs == {each.rpartition(".")[0] for each in found}
    assert [each for each in found if f"]({each})" not in index] == []


@pytest.mark.parametrize("file", examples(), ids=name)
def test_an_example_prints_what_stands_beside_it(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the letter; if a change is meant, python -m tests.examples writes what is printed now."""
    monkeypatch.setenv("CLUE_CACHE", str(tmp_path))
    assert output_of(file) == file.with_suffix(".out").read_text()


def test_the_page_on_models_shows_what_its_commands_print(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All of them run, one after the other; the table is that of the third, whose warnings the page leaves out."""
    page = (EXAMPLES / "models/README.md").read_text()
    commands, table = re.findall(r"```(?:sh)?\n(.*?)```", page, re.DOTALL)
    shutil.copy(EXAMPLES / "models/hpl.csv", tmp_path)
    monkeypatch.chdir(tmp_path)
    printed = []
    for command in commands.replace(" --plots plots", "").splitlines():  # what pictures show, others test
        assert main(shlex.split(command)[1:]) == 0, command
        printed.append(capsys.readouterr().out)
    shown = table.splitlines()
    assert [line.rstrip() for line in printed[2].splitlines()][: len(shown)] == shown
