"""``clue convert`` of measurements at several sizes to the format of Extra-P."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clue.cli import main
from clue.trace import Op, TraceBuilder
from tests.extrapolation.families import SITE, STEPS, ring, saved


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def converted(source: str, *more: str) -> list[dict[str, object]]:
    """Convert measurements and return the written lines."""
    assert main(("convert", source, "x.jsonl", *more)) == 0
    return [json.loads(line) for line in Path("x.jsonl").read_text().splitlines()]


def test_what_recordings_measured(capsys: pytest.CaptureFixture[str]) -> None:
    """By hand: a rank of 4 computes 3 bursts of 16² / 4 ms; each call path has all points, 0 where it was absent."""
    saved(Path(), [(8, 2), (16, 4)])
    lines = converted("ring-{size}-{ranks}.clue")
    found = {(str(line["params"]), line["callpath"], line["metric"]): line["value"] for line in lines}
    at = str({"size": 16, "ranks": 4})
    assert found[at, "main->ring.py:9->ring.py:3", "time"] == found[at, "main", "time"]
    assert found[at, "main", "time"] == pytest.approx([STEPS * 16**2 / 4 * 1e-3])
    assert found[at, "main", "calls"] == [STEPS]
    assert found[at, "main", "bytes"] == [STEPS * 8 * 16]
    assert len(lines) == 2 * len({(line["callpath"], line["metric"]) for line in lines})
    assert "Extra-P asks for 5 values of size, and got 2 (8, 16)" in capsys.readouterr().err


def test_each_repeat_has_its_own_time() -> None:
    """By hand: 3 bursts of 8² / 2 = 32 times 1.0, 1.2 and 1.4 ms, not the medians that represent all three."""
    for repeat, seconds in enumerate((1.0e-3, 1.2e-3, 1.4e-3), 1):
        ring(8, 2, seconds).save(Path(f"ring-8-2-{repeat}.clue"))
    (line,) = (
        line
        for line in converted("ring-{size}-{ranks}-{repeat}.clue")
        if (line["callpath"], line["metric"]) == ("main", "time")
    )
    assert line["value"] == pytest.approx([0.096, 0.1152, 0.1344])


def test_bytes_in_lists_count() -> None:
    """By hand: a rank sends 8 and 16 B in each of two calls, 48 B; a sleep has no bytes."""
    built = TraceBuilder(2, "all.py")
    for own in built:
        own.at(SITE)
        for _ in range(2):
            own.collective(Op.ALLTOALLV, extras=(8, 16))
        own.add(Op.SLEEP, nbytes=10**9)
    built.build().save("all-8-2.clue")
    lines = converted("all-{size}-{ranks}.clue")
    assert [each["value"] for each in lines if (each["callpath"], each["metric"]) == ("main", "bytes")] == [[48]]


def test_calls_and_bytes_are_those_that_clue_inspect_shows() -> None:
    """By hand: each of 4 ranks makes 2 calls between 3 bursts and sends 4 blocks of 8 B; one sends 100 B: 57 B each."""
    built = TraceBuilder(4, "all.py")
    for own in built:
        own.at(SITE)
        own.compute(1e-3, "solve")
        own.compute(1e-3)
        own.collective(Op.ALLTOALL, 8)
        own.collective(Op.BCAST, 100, root=2)
        own.compute(1e-3)
    built.build().save("all-8-4.clue")
    lines = converted("all-{size}-{ranks}.clue")
    found = {line["metric"]: line["value"] for line in lines if line["callpath"] == "main"}
    assert found["calls"] == [2]
    assert found["bytes"] == [57]


def test_run_times_of_a_table() -> None:
    """Runs of one case form one line, whether they share a row or not; program and machine are the call path."""
    Path("t.csv").write_text(
        "program,machine,ranks,size,measured,runs\ncg,one,4,64,0.5,\ncg,one,4,64,0.25,\ncg,two,8,128,,0.5 0.75\n"
    )
    assert converted("t.csv", "--to", "extrap") == [
        {"params": {"size": 64, "ranks": 4}, "callpath": "cg->one", "metric": "time", "value": [0.5, 0.25]},
        {"params": {"size": 128, "ranks": 8}, "callpath": "cg->two", "metric": "time", "value": [0.5, 0.75]},
    ]


@pytest.mark.parametrize(
    ("source", "text", "said"),
    [
        ("t.csv", "size,ranks,measured\nbig,4,1\n", "t.csv:2:1: size must be a whole number, got "),
        ("t.csv", "size,measured\n8,1\n", "t.csv:2:1: ranks must be a number of ranks, got "),
        ("t.csv", "size,ranks,measured\n", "t.csv:1:1: file must have rows, got none"),
        ("x-{size}-{ranks}.clue", "", "x-{size}-{ranks}.clue: recordings must exist, got none"),
        ("x.clue", "", "x.clue: pattern must have {size} and {ranks} once"),
    ],
)
def test_faults(source: str, text: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The status is 2, and nothing is written."""
    Path("t.csv").write_text(text)
    assert main(("convert", source, "x.jsonl")) == 2
    assert said in capsys.readouterr().err
    assert not Path("x.jsonl").exists()


def test_no_recording_gets_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    """A further file would make a folder that no later recording may replace."""
    saved(Path(), [(8, 2), (16, 4)])
    assert main(("convert", "ring-{size}-{ranks}.clue", "ring-16-4.clue/m.jsonl")) == 2
    rule = "output must not be a file that the command reads, got ring-16-4.clue"
    assert capsys.readouterr().err == f"clue: ring-16-4.clue/m.jsonl: {rule}\n"
    assert not Path("ring-16-4.clue/m.jsonl").exists()
