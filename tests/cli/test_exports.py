"""Tables and timelines from the command line: files, messages, and what is refused."""

from __future__ import annotations

import csv
import json
import os
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import pytest

from clue.cli.exports import write_ranking
from clue.cli.terminal import output_trace
from clue.errors import UsageError
from clue.purchase import Scenario
from clue.report import timeline
from tests.cli.commands import run
from tests.report.cases import ranking

pytestmark = pytest.mark.usefixtures("folder")


def rows(path: str) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    with Path(path).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_timeline_tells_what_the_result_tells(capsys: pytest.CaptureFixture[str]) -> None:
    """The timeline holds rank 0's burst of 0.5 s and the MPI calls; the result is unchanged, and the folder is made."""
    plain = json.loads(run(capsys, "simulate", "run.yaml", "--json")[1])
    status, out, err = run(capsys, "simulate", "run.yaml", "--json", "--trace-out", "new/t.json")
    assert status == 0
    assert json.loads(out)["ranks"] == plain["ranks"]
    assert err.splitlines()[-1] == "wrote new/t.json"
    events = json.loads(Path("new/t.json").read_text())["traceEvents"]
    assert [each["dur"] for each in events if each.get("cat") == "compute"] == [500_000.0]
    names = [each["name"] for each in events if each.get("cat") == "mpi"]
    assert names == ["MPI_Send", "MPI_Recv", "MPI_Recv", "MPI_Send"]


def test_paraver_gets_three_files(capsys: pytest.CaptureFixture[str]) -> None:
    """A Paraver timeline consists of three files, and all three are reported."""
    status, _, err = run(capsys, "simulate", "run.yaml", "--trace-out", "t.prv")
    assert status == 0
    assert err.splitlines()[-3:] == ["wrote t.prv", "wrote t.pcf", "wrote t.row"]
    assert Path("t.prv").read_text().partition(":")[0].startswith("#Paraver (")


def test_timeline_and_pictures_go_together(capsys: pytest.CaptureFixture[str]) -> None:
    """Timeline and pictures come from one replay, for which the result says why the fast engine was not used."""
    status, out, _ = run(capsys, "simulate", "run.yaml", "--plots", "p", "--trace-out", "t.json", "--engine", "fast")
    assert status == 0
    assert "it keeps no timeline" in " ".join(out.split())
    assert Path("t.json").is_file() and Path("p/timeline.png").is_file()


def test_a_long_run_is_refused_before_it_is_simulated(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message advises a smaller size, and no file is written."""
    monkeypatch.setattr(timeline, "MOST_OPS", 3)
    status, _, err = run(capsys, "simulate", "run.yaml", "--trace-out", "t.json")
    assert status == 2
    assert err.startswith("clue: run: timeline must have at most 3 ops, got 4: simulate a smaller size")
    assert not Path("t.json").exists()


def test_tables_of_a_simulation(capsys: pytest.CaptureFixture[str]) -> None:
    """Each rank has a row, and all three formats can be written by one command."""
    files = ["--csv", "r.csv", "--latex", "r.tex", "--markdown", "new/r.md"]
    status, out, err = run(capsys, "simulate", "run.yaml", "--json", *files)
    assert status == 0
    assert err.splitlines()[-3:] == ["wrote r.csv", "wrote r.tex", "wrote new/r.md"]
    found = [float(row["finish (s)"]) for row in rows("r.csv")]
    assert found == [rank["finish"] for rank in json.loads(out)["ranks"]]
    assert Path("r.tex").read_text().startswith("% pingpong.py on pair\n")
    assert Path("new/r.md").read_text().startswith("**pingpong.py on pair**\n")


def test_tables_of_a_comparison(capsys: pytest.CaptureFixture[str]) -> None:
    """The table holds the figures of the document, and the reason why an option over the budget has no position."""
    files = ["--csv", "r.csv", "--latex", "r.tex", "--markdown", "r.md"]
    status, out, _ = run(capsys, "simulate", "which.yaml", "--json", *files)
    assert status == 0
    ranked = json.loads(out)["ranking"]
    two, four = rows("r.csv")
    assert (two["position"], two["option"], two["price (EUR)"]) == ("1", "two", "1800.0")
    assert float(two["makespan (s)"]) == ranked[0]["workloads"]["pp"]["makespan"]
    assert (four["position"], four["option"]) == ("", "four") and "budget" in four["reason"]
    assert "\\toprule" in Path("r.tex").read_text()
    assert "| 1 | two |" in Path("r.md").read_text()


def test_a_part_of_a_program_has_its_table_too(capsys: pytest.CaptureFixture[str]) -> None:
    """With ``--sampled`` the table of ranks is written as well."""
    assert run(capsys, "simulate", "run.yaml", "--sampled", "--csv", "r.csv")[0] == 0
    assert len(rows("r.csv")) == 2


@pytest.mark.parametrize("option", ["--csv", "--latex", "--markdown", "--trace-out"])
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("run.yaml/t.json", "run.yaml/t.json: output must be a file that can be made, got: "),
        ("taken.json", "taken.json: output must be a file, got a folder"),
        (f"{'x' * 300}.json", f"{'x' * 300}.json: output must be a file that can be made, got: File name too long"),
    ],
)
def test_where_nothing_can_be_written(option: str, name: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An output that cannot be written is refused with status 2, whichever option names it."""
    Path("taken.json").mkdir()
    status, out, err = run(capsys, "simulate", "run.yaml", option, name)
    assert (status, out) == (2, "")
    assert err.startswith(f"clue: {said}")


def test_a_folder_that_may_not_be_written_is_refused_at_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is simulated first; a trace replaces its folder, which takes the right to write to the parent, too."""
    Path("there").mkdir()
    monkeypatch.setattr(os, "access", lambda *_: False)
    status, out, err = run(capsys, "simulate", "run.yaml", "--csv", "r.csv")
    assert (status, out) == (2, "")
    assert err == "clue: r.csv: output must be a file that can be made, got: Permission denied\n"
    with pytest.raises(UsageError, match="there: output must be a file that can be made, got: Permission denied"):
        output_trace("there")


def test_a_circle_of_links_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """A link that leads to itself is no place for a file or a folder of plots; the message says so."""
    Path("loop").symlink_to("loop")
    status, out, err = run(capsys, "simulate", "run.yaml", "--csv", "loop")
    assert (status, out) == (2, "")
    assert err == "clue: loop: output must be a file that can be made, got: Too many levels of symbolic links\n"
    status, out, err = run(capsys, "simulate", "run.yaml", "--csv", "r.csv", "--plots", "loop")
    assert (status, out) == (2, "")
    assert err == "clue: loop: plots must go to a folder, got a file\n"


def test_files_beside_a_timeline_are_not_overwritten_by_tables(capsys: pytest.CaptureFixture[str]) -> None:
    """A table must not overwrite a file that the timeline consists of."""
    status, _, err = run(capsys, "simulate", "run.yaml", "--trace-out", "t.prv", "--csv", "t.row")
    assert status == 2
    assert err == "clue: t.row: files must differ, got one for --csv and --trace-out\n"


def test_a_page_of_a_comparison(capsys: pytest.CaptureFixture[str]) -> None:
    """The HTML page states the command that produced it and the first place."""
    status, _, err = run(capsys, "simulate", "which.yaml", "--html", "new/r.html")
    assert (status, err.splitlines()[-1]) == (0, "wrote new/r.html")
    page = Path("new/r.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "<code>clue simulate which.yaml --html new/r.html</code>" in page
    assert "two comes first: 100.0 points for 1,800 EUR." in page


def test_an_interrupted_comparison_leaves_no_files(capsys: pytest.CaptureFixture[str]) -> None:
    """Positions that may still change are not exported; a message names each file that is not written."""
    asked = Namespace(csv="r.csv", latex=None, markdown=None, html="r.html", answers=None)
    write_ranking(replace(ranking(), interrupted=True), Scenario("which", (), ()), asked)
    assert capsys.readouterr().err.splitlines() == [
        "clue: interrupted: r.csv is not written",
        "clue: interrupted: r.html is not written",
    ]
    assert not Path("r.csv").exists() and not Path("r.html").exists()


@pytest.mark.parametrize("option", ["--csv", "--latex", "--markdown", "--html", "--trace-out"])
@pytest.mark.parametrize("file", ["run.json", "pair.yaml", "pingpong.clue/head.json"])
def test_no_file_of_a_simulation_is_overwritten(capsys: pytest.CaptureFixture[str], option: str, file: str) -> None:
    """The configuration, its machine and a file of its trace are refused as outputs, and stay as they are."""
    Path("run.yaml").rename("run.json")
    before = Path(file).read_bytes()
    linked = file if "/" in file else f"{Path(file).stem}-linked.json"
    if linked != file:
        Path(linked).hardlink_to(file)
    status, out, err = run(capsys, "simulate", "run.json", option, linked)
    assert (status, out) == (2, "")
    assert err == f"clue: {linked}: output must not be a file that the command reads, got {file.partition('/')[0]}\n"
    assert Path(file).read_bytes() == before


def test_no_file_is_added_to_a_trace_that_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    """A new file in the folder of the simulated trace is refused like those that are there."""
    status, out, err = run(capsys, "simulate", "run.yaml", "--csv", "pingpong.clue/new.csv")
    assert (status, out) == (2, "")
    said = "output must not be a file that the command reads, got pingpong.clue"
    assert err == f"clue: pingpong.clue/new.csv: {said}\n"
    assert not Path("pingpong.clue/new.csv").exists()


@pytest.mark.parametrize(("option", "file"), [("--csv", "which.yaml"), ("--answers", "pair.yaml")])
def test_no_file_of_a_comparison_is_overwritten(capsys: pytest.CaptureFixture[str], option: str, file: str) -> None:
    """The comparison and the machines of its options are refused as outputs, and stay as they are."""
    before = Path(file).read_bytes()
    status, _, err = run(capsys, "simulate", "which.yaml", option, file)
    assert status == 2
    assert err == f"clue: {file}: output must not be a file that the command reads, got {file}\n"
    assert Path(file).read_bytes() == before


def test_no_program_or_input_of_a_comparison_is_overwritten(capsys: pytest.CaptureFixture[str]) -> None:
    """The script of a workload, and the files that it reads at its numbers of ranks, are refused as outputs."""
    Path("prog.py").write_text("pass\n")
    Path("in-2.txt").write_text("2\n")
    script = "{script: prog.py, inputs: ['in-{ranks}.txt']}"
    text = Path("which.yaml").read_text().replace("{trace: pingpong.clue}", script)
    Path("which.yaml").write_text(text)
    for file in ("prog.py", "in-2.txt"):
        status, _, err = run(capsys, "simulate", "which.yaml", "--csv", file)
        assert status == 2
        assert err == f"clue: {file}: output must not be a file that the command reads, got {file}\n"
