"""``clue model graph``: structure graphs and composed models as text, JSON, pictures and Graphviz files."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from clue.cli import main
from clue.trace import Op, TraceBuilder
from clue.trace.sites import Frame, Site
from tests.extrapolation.families import ring, saved
from tests.structure.stub import run
from tests.structure.test_graph import sometimes

KEYS = [(n, p) for n in (100, 200, 300) for p in (2, 3, 4)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with recordings of the ring."""
    made = tmp_path_factory.mktemp("recordings")
    saved(made, KEYS)
    return made


def test_a_trace_as_a_graph(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The graph has the loop with its count, and in it the computation and the call, with recorded figures."""
    assert main(["model", "graph", str(folder / "ring-100-4.clue"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    (loop,) = (each for each in document["graph"]["children"] if each["kind"] == "loop")
    assert (document["ranks"], loop["count"], loop["place"], loop["ranks"]) == (4, 3, "ring.py:2", [0, 1, 2, 3])
    assert [each["kind"] for each in loop["children"]] == ["computation", "communication"]
    assert loop["children"][0]["seconds"] == pytest.approx(3 * 2.5)
    assert document["seconds"] == pytest.approx(7.5)


def test_a_loop_counts_each_time_it_is_entered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A loop of four iterations counts 4, although only two of the ten iterations around it enter it."""
    run(sometimes, 5, 2).save(tmp_path / "sometimes.clue")
    assert main(["model", "graph", str(tmp_path / "sometimes.clue"), "--json"]) == 0
    (outer,) = (each for each in json.loads(capsys.readouterr().out)["graph"]["children"] if each["kind"] == "loop")
    assert (outer["count"], [each["count"] for each in outer["children"] if each["kind"] == "loop"]) == (10, [4])


def test_text_dot_and_picture(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For Graphviz, loops are dotted clusters, computation is boxes, calls are triangles; a picture is written."""
    dot, plots = tmp_path / "ring.dot", tmp_path / "plots"
    argv = ["model", "graph", str(folder / "ring-100-4.clue"), "--machine", "pempis-het", "--dot", str(dot)]
    assert main([*argv, "--plots", str(plots)]) == 0
    shown = capsys.readouterr()
    assert "3 × loop in step" in shown.out and "the critical path of a replay on pempis-het" in shown.out
    text = dot.read_text()
    assert text.startswith("digraph program {") and "style=dotted" in text
    assert "shape=box" in text and "shape=invtriangle" in text and "n2 -> n3;" in text
    assert (plots / "graph.png").read_bytes()[:4] == b"\x89PNG"
    assert f"wrote {dot}" in shown.err


def _predicted(node: dict[str, Any]) -> list[float]:
    """Return the predictions of all nodes of a graph."""
    own = [node["predicted"]] if "predicted" in node else []
    return own + [seconds for child in node.get("children", []) for seconds in _predicted(child)]


@pytest.mark.parametrize("how", ["plausible", "in-turn"])
def test_a_composed_model(folder: Path, capsys: pytest.CaptureFixture[str], how: str) -> None:
    """Each node has a model, and they sum to the program's: at size 600 on 8 ranks, 3 bursts of 45 s divided by 0.8."""
    argv = ["model", "graph", str(folder / "ring-{size}-{ranks}.clue"), "--machine", "pempis-het", "--fit", how]
    assert main([*argv, "--size", "600", "--ranks", "8", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    model = document["model"]
    assert sum(_predicted(document["graph"])) == pytest.approx(model["seconds"], rel=1e-9)
    assert model["recordings"] == len(KEYS)
    assert model["seconds"] == pytest.approx(3 * 600**2 / 8 * 1e-3 / 0.8, rel=0.05)
    assert model["domain"] == {"n": [100, 300], "P": [2, 4]} and not model["inside"]
    assert main([*argv, "--size", "600", "--ranks", "8"]) == 0
    assert "size 600 on 8 ranks" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (
            ["ring-100-4.clue", "--size", "5"],
            "--size must go with a pattern such as cg-{size}-{ranks}.clue, got one trace",
        ),
        (["ring-{size}-{ranks}.clue"], "--machine must name the machine of the models, got none"),
        (["ring-{size}-{ranks}.clue", "--machine", "pempis-het", "--size", "5"], "--size and --ranks must go together"),
        (["none-{size}-{ranks}.clue", "--machine", "pempis-het"], "recordings must exist, got none"),
        (
            ["ring-{size}-{ranks}.clue", "--machine", "pempis-het", "-o", "x.yaml", "--dot", "./x.yaml"],
            "x.yaml: files must differ, got one for -o and --dot",
        ),
        (["old.clue"], "trace must have call sites, got none: record it again"),
    ],
)
def test_what_makes_no_sense_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], argv: list[str], message: str
) -> None:
    """The status is 2, and the message says what must be given."""
    old = TraceBuilder(1, "old.py")
    old[0].collective(Op.BARRIER)
    old.build().save(folder / "old.clue")
    assert main(["model", "graph", str(folder / argv[0]), *argv[1:]]) == 2
    assert message in capsys.readouterr().err


def test_an_end_that_is_unknown_is_null(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Three sizes on two numbers of ranks leave nothing to leave out, so that the interval has no high end."""
    pattern = saved(tmp_path, [(n, p) for n in (100, 200, 300) for p in (2, 4)])
    argv = ["model", "graph", pattern, "--machine", "pempis-het", "--fit", "in-turn", "--size", "400", "--ranks", "8"]
    assert main([*argv, "--json"]) == 0
    model = json.loads(capsys.readouterr().out)["model"]
    assert model["high"] is None
    assert math.isfinite(model["low"]) and model["low"] <= model["seconds"]
    assert main(argv) == 0
    assert "(no interval)" in capsys.readouterr().out


PAIRS = """\
nodes: [{count: 2, type: two}]
node_types: {two: {processors: 2, performance_factor: 1}}
network: {between_nodes: {send_delay: 1 us, transmission_delay: 1 us, receive_delay: 1 us}}
"""


def test_graph_and_predict_agree_on_what_is_outside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two ranks share a node and four do not, so of three nothing is known, though three lies between two and four."""
    (tmp_path / "pairs.yaml").write_text(PAIRS)
    pattern, kept = saved(tmp_path, [(n, p) for n in (100, 200, 300) for p in (2, 4)]), str(tmp_path / "ring.yaml")
    at = ["--size", "200", "--ranks", "3", "--json"]
    assert main(["model", "graph", pattern, "--machine", str(tmp_path / "pairs.yaml"), "-o", kept, *at]) == 0
    drawn = json.loads(capsys.readouterr().out)["model"]
    assert main(["model", "predict", kept, *at]) == 0
    predicted = json.loads(capsys.readouterr().out)
    assert (drawn["inside"], predicted["inside"], len(predicted["outside"])) == (False, False, 1)


def test_one_size_cannot_be_fitted_in_turn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """If all sizes are equal, the message names the variable and the terms."""
    for ranks in (2, 3, 4):
        ring(100, ranks).save(tmp_path / f"ring-100-{ranks}.clue")
    argv = ["model", "graph", str(tmp_path / "ring-{size}-{ranks}.clue"), "--machine", "pempis-het", "--fit", "in-turn"]
    assert main(argv) == 2
    wanted = "n: values must be at least 3 different ones for the terms 1, n, n^2, got 1 (100)"
    assert wanted in capsys.readouterr().err


def test_a_model_is_kept_and_asked(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``show`` and ``predict`` give the figures that ``graph`` printed; ``best`` refuses a composed model."""
    kept = str(tmp_path / "ring.yaml")
    argv = ["model", "graph", str(folder / "ring-{size}-{ranks}.clue"), "--machine", "pempis-het", "-o", kept, "--json"]
    assert main([*argv, "--size", "250", "--ranks", "3"]) == 0
    said = json.loads(capsys.readouterr().out)["model"]
    assert main(["model", "predict", kept, "--size", "250", "--ranks", "3", "--json"]) == 0
    predicted = json.loads(capsys.readouterr().out)
    assert {key: predicted[key] for key in ("seconds", "low", "high", "inside")} == {
        key: said[key] for key in ("seconds", "low", "high", "inside")
    }
    assert predicted["inside"]
    assert main(["model", "show", kept, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["form"], shown["fit"], shown["runs"], shown["domain"]) == ("composed", "plausible", 9, said["domain"])
    assert shown["error"] == pytest.approx(said["error"])
    assert main(["model", "show", kept]) == 0
    assert "composed of a program's parts" in capsys.readouterr().out
    assert main(["model", "predict", kept, "--size", "250", "--ranks", "3"]) == 0
    capsys.readouterr()
    for more, message in (
        (["predict", kept, "--size", "5"], "--ranks must be given with a model composed of a program's parts"),
        (["predict", kept, "--size", "5", "--use", "a=1"], "--use must go with a model of kinds of processors"),
        (
            ["best", kept, "--size", "5", "--machine", "kishimoto"],
            "form must be nt or pt for this command, got composed",
        ),
    ):
        assert main(["model", *more]) == 2
        assert message in capsys.readouterr().err


COMPARISON = """\
name: which
workloads: {ring: {program: {model: "ring-{machine}.yaml", size: SIZE}, ranks: [3]}}
options: {here: {machine: pempis-het}, there: {machine: kishimoto}}
criterion: makespan
"""


def test_composed_models_in_a_comparison(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each machine uses its own model; a size beyond the recordings is a warning, and a missing model an error."""
    monkeypatch.chdir(tmp_path)
    said = {}
    for machine in ("pempis-het", "kishimoto"):
        kept = f"ring-{machine}.yaml"
        argv = ["model", "graph", str(folder / "ring-{size}-{ranks}.clue"), "--machine", machine, "-o", kept]
        assert main([*argv, "-q"]) == 0
        capsys.readouterr()
        assert main(["model", "predict", kept, "--size", "250", "--ranks", "3", "--json"]) == 0
        said[machine] = json.loads(capsys.readouterr().out)["seconds"]
    Path("which.yaml").write_text(COMPARISON.replace("SIZE", "250"))
    assert main(["simulate", "which.yaml", "--json"]) == 0
    ranking = json.loads(capsys.readouterr().out)
    found = {each["machine"]: each["workloads"]["ring"]["makespan"] for each in ranking["ranking"]}
    assert found == pytest.approx(said)
    assert not any("outside" in each for each in ranking["warnings"])
    Path("which.yaml").write_text(COMPARISON.replace("SIZE", "2500"))
    assert main(["simulate", "which.yaml", "--json"]) == 0
    warnings = json.loads(capsys.readouterr().out)["warnings"]
    assert any("n must be 100 to 300 to be inside what was fitted, got 2500" in each for each in warnings)
    Path("ring-kishimoto.yaml").unlink()
    assert main(["simulate", "which.yaml"]) == 2
    assert "ring-kishimoto.yaml: model must be a file that exists" in capsys.readouterr().err


def test_no_recording_is_overwritten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files within recordings that a pattern names are refused as outputs."""
    pattern, target = folder / "ring-{size}-{ranks}.clue", folder / "ring-100-4.clue/head.json"
    before = target.read_text()
    assert main(["model", "graph", str(pattern), "--machine", "pempis-het", "-o", str(target)]) == 2
    said = f"clue: {target}: output must not be a file that the command reads, got {target.parent}\n"
    assert capsys.readouterr().err == said
    assert target.read_text() == before


def test_a_model_that_its_own_recordings_refute_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A recording that computes for 30 s between others of 1 s: no model meets it, wherever the model is asked."""
    for n, seconds in ((10, 1.0), (20, 30.0), (30, 1.0), (40, 1.0)):
        trace = TraceBuilder(1, "odd.py")
        trace[0].at(Site((Frame("odd.py", "main", 1, 1, ()),)))
        trace[0].compute(seconds)
        trace[0].collective(Op.BARRIER)
        trace.build().save(tmp_path / f"odd-{n}-1.clue")
    kept, said = tmp_path / "odd.yaml", "at its own recordings and must not be used"
    pattern = str(tmp_path / "odd-{size}-{ranks}.clue")
    assert main(["model", "graph", pattern, "--machine", "pempis-het", "--json", "-o", str(kept)]) == 0
    assert said in json.loads(capsys.readouterr().out)["warnings"][0]
    for words in (["show", str(kept)], ["predict", str(kept), "--size", "20", "--ranks", "1"]):
        assert main(["model", *words]) == 0
        assert said in capsys.readouterr().err
        assert main(["model", *words, "--json"]) == 0
        assert said in json.loads(capsys.readouterr().out)["warnings"][0]
