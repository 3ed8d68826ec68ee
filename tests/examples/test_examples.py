"""Each example prints the output that is kept next to it, and each is tested."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from clue.cli import main
from tests.examples.running import EXAMPLES, examples, output_of

#: Files that are not examples: other examples name them, or they need servers or recordings of a user.
PARTS = {
    "forecast/complex-product.yaml",
    "record-small/narrow.yaml",
    "record-small/which.yaml",
    "record-small/wide.yaml",
}


def name(file: Path) -> str:
    """Return an example's path relative to the folder of examples."""
    return str(file.relative_to(EXAMPLES))


def test_there_are_a_dozen_and_none_is_forgotten() -> None:
    """Each example states its command and has its output and an entry in the index; there are at least twelve."""
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
    """The output is equal; after an intended change, python -m tests.examples renews the kept output."""
    monkeypatch.setenv("CLUE_CACHE", str(tmp_path))
    assert output_of(file) == file.with_suffix(".out").read_text()


def test_the_page_on_models_shows_what_its_commands_print(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All commands of the page run in turn, and the page's table begins the output of the third."""
    page = (EXAMPLES / "models/README.md").read_text()
    commands, table = re.findall(r"```(?:sh)?\n(.*?)```", page, re.DOTALL)
    shutil.copy(EXAMPLES / "models/hpl.csv", tmp_path)
    monkeypatch.chdir(tmp_path)
    printed = []
    for command in commands.replace(" --plots plots", "").splitlines():  # other tests cover plots
        assert main(shlex.split(command)[1:]) == 0, command
        printed.append(capsys.readouterr().out)
    shown = table.splitlines()
    assert [line.rstrip() for line in printed[2].splitlines()][: len(shown)] == shown
