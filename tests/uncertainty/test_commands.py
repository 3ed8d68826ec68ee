"""Samples on the command line: files with noise, options, and the output."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from clue.config import load_config, load_machine
from clue.errors import ConfigError
from clue.machine import LinkNoise, NodeNoise
from clue.purchase import Scenario
from tests.cli.commands import MACHINE, ping_pong, run
from tests.cli.conftest import folder
from tests.config.test_machines import LINK, mapping

__all__ = ["folder"]

pytestmark = pytest.mark.usefixtures("folder")

NOISE = MACHINE.replace("performance_factor: 0.5", "performance_factor: 0.5, noise: {computation: 0.03, factor: 0.05}")


def test_noise_of_nodes_and_links_arrives() -> None:
    """Noise is stated by node type and by link; the network's noise holds for links that state none."""
    network = {
        "noise": {"send": 0.1, "transmission": 0.2},
        "between_nodes": LINK,
        "within_node": {**LINK, "noise": {"send": 0.3}},
        "pairs": [{"between": ["a", "a"], "noise": {"transmission": 0.4}}, {"within": "a", "receive_delay": "1 us"}],
    }
    machine = load_machine(mapping(node_types={"a": {"noise": {"computation": 0.5, "factor": 0.6}}}, network=network))
    assert machine.nodes[0].noise == NodeNoise(0.5, 0.6)
    assert machine.network.between_nodes.noise == LinkNoise(0.1, 0.2)
    assert machine.network.within_node.noise == machine.network.within["a"].noise == LinkNoise(0.3, 0.0)
    assert machine.network.pairs["a", "a"].noise == LinkNoise(0.0, 0.4)


def test_noise_of_a_loggops_network_is_that_of_the_network() -> None:
    """A LogGOPS network has no link that could state noise, so the network's noise holds."""
    loggops = {"L": "1 us", "o": "1 us", "g": "1 us", "G": "1 ns/B"}
    machine = load_machine(mapping(network={"loggops": loggops, "noise": {"send": 0.1}}))
    assert machine.network.between_nodes.noise == LinkNoise(0.1, 0.0)


@pytest.mark.parametrize(
    ("noise", "rule"),
    [({"computation": -0.1}, "must be"), ({"computation": "3 %"}, "must be"), ({"bursts": 0.1}, "must be")],
)
def test_noise_that_makes_no_sense(noise: object, rule: str) -> None:
    """A negative deviation, a text and an unknown key are errors with their place."""
    with pytest.raises(ConfigError, match=f"node_types.a.noise.*{rule}"):
        load_machine(mapping(node_types={"a": {"noise": noise}}))


@pytest.mark.long
def test_a_simulation_has_an_interval(capsys: pytest.CaptureFixture[str]) -> None:
    """With --samples the JSON output has an interval beside the unchanged makespan, and the text states it."""
    Path("pair.yaml").write_text(NOISE)
    _, plain, _ = run(capsys, "simulate", "run.yaml", "--json")
    status, out, _ = run(capsys, "simulate", "run.yaml", "--json", "--samples", "50", "--seed", "3")
    document = json.loads(out)
    assert status == 0
    assert document["makespan"] == json.loads(plain)["makespan"]
    found = document.pop("uncertainty")
    assert {key: found[key] for key in ("samples", "seed", "level")} == {"samples": 50, "seed": 3, "level": 0.8}
    assert found["makespan"]["low"] < found["makespan"]["median"] < found["makespan"]["high"]
    assert document == json.loads(plain)
    _, text, _ = run(capsys, "simulate", "run.yaml", "--samples", "50", "--seed", "3", "--plots", "plots")
    assert Path("plots/samples.png").exists()
    assert "80 % interval" in text and "50 samples" in text and "seed 3" in text


def test_without_noise_that_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """Without noise, the interval is at least as wide as the model's errors, and reasons state what is missing."""
    status, out, _ = run(capsys, "simulate", "run.yaml", "--json", "--samples", "50")
    document = json.loads(out)
    assert status == 0
    found = document["uncertainty"]
    interval = found["makespan"]
    assert interval["low"] <= document["makespan"] * math.exp(-found["model_error"])
    assert interval["high"] >= document["makespan"] * math.exp(found["model_error"])
    one, none, model = found["reasons"]
    assert "differences between recordings are not included, as no repeats of this one are given" in one
    assert "noise of the machine is not included, as it states none" in none
    assert "by the model's errors in" in model


def test_repeats_beside_the_trace_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    """``clue record`` writes repeats beside a trace: without ``repeats:`` a warning names them, with it none does."""
    again = ping_pong()
    again.ops.cpu[0] += 10**8
    again.save("pingpong.2.clue")
    warned = "pingpong.2.clue beside the trace: not used, name them under repeats:"
    _, out, _ = run(capsys, "simulate", "run.yaml", "--json", "--samples", "5")
    assert any(warned in each for each in json.loads(out)["warnings"])
    Path("run.yaml").write_text("program: {trace: pingpong.clue, repeats: [pingpong.2.clue]}\nmachine: pair.yaml\n")
    _, out, _ = run(capsys, "simulate", "run.yaml", "--json", "--samples", "5")
    assert not any(warned in each for each in json.loads(out)["warnings"])


def test_a_comparison_has_probabilities(capsys: pytest.CaptureFixture[str]) -> None:
    """Options have intervals of score and makespan, and a probability of being best; equal options share position 1."""
    Path("pair.yaml").write_text(NOISE)
    Path("which.yaml").write_text(
        Path("which.yaml").read_text().replace("2000 EUR", "4000 EUR") + "criterion: makespan\n"
    )
    status, out, _ = run(capsys, "simulate", "which.yaml", "--json", "--samples", "20")
    document = json.loads(out)
    assert status == 0
    assert document["uncertainty"].pop("model_error")["cases"] > 0
    assert document["uncertainty"] == {"samples": 20, "seed": 0, "level": 0.8}
    two, four = document["ranking"]
    assert (two["position"], four["position"]) == (1, 1)
    assert (two["uncertainty"]["best"], four["uncertainty"]["best"]) == (0.5, 0.5)
    assert two["uncertainty"]["score"] == two["workloads"]["pp"]["uncertainty"]["makespan"]
    _, text, _ = run(capsys, "simulate", "which.yaml", "--samples", "20", "--plots", "plots")
    assert "50%" in text and "20 samples" in text
    assert Path("plots/ranking.png").exists()


def test_repeated_recordings_tell_how_bursts_differ(capsys: pytest.CaptureFixture[str]) -> None:
    """Recordings of 0.9, 1 and 2 s give the median, 1 s: the makespan is 0.5 s and two messages, with an interval."""
    for name, seconds in (("a", 1.0), ("b", 0.9), ("c", 2.0)):
        trace = ping_pong()
        trace.ops.cpu[:] = (trace.ops.cpu * seconds).astype("i8")
        trace.save(f"{name}.clue")
    Path("run.yaml").write_text("program: {trace: c.clue, repeats: [a.clue, b.clue]}\nmachine: pair.yaml\n")
    status, out, _ = run(capsys, "simulate", "run.yaml", "--json", "--samples", "20")
    document = json.loads(out)
    assert status == 0
    assert document["makespan"] == pytest.approx(0.5 + 2 * 56e-6, rel=1e-12)
    assert document["uncertainty"]["makespan"]["low"] < document["uncertainty"]["makespan"]["high"]


def test_repeats_need_a_trace_and_have_to_be_there() -> None:
    """Repeats must exist and need a trace; in a comparison the path may contain the number of ranks."""
    Path("run.yaml").write_text("program: {trace: pingpong.clue, repeats: [gone.clue]}\nmachine: pair.yaml\n")
    with pytest.raises(ConfigError, match=r"program.repeats\[?.?0.*must be a trace that exists"):
        load_config("run.yaml")
    Path("p.py").write_text("")
    Path("run.yaml").write_text("program: {script: p.py, ranks: 2, repeats: [pingpong.clue]}\nmachine: pair.yaml\n")
    with pytest.raises(ConfigError, match=r"program.repeats.*must be given with a trace"):
        load_config("run.yaml")
    Path("which.yaml").write_text(
        Path("which.yaml").read_text().replace("trace: pingpong.clue", 'trace: x, repeats: ["r-{ranks}.clue"]')
    )
    with pytest.raises(ConfigError, match="must be a trace that exists"):
        load_config("which.yaml")
    Path("which.yaml").write_text(Path("which.yaml").read_text().replace("trace: x", "trace: pingpong.clue"))
    scenario = load_config("which.yaml")
    assert isinstance(scenario, Scenario)
    assert [Path(each).name for each in scenario.workloads[0].components[0].application.repeats] == ["r-{ranks}.clue"]


@pytest.mark.parametrize(
    ("option", "number", "rule"),
    [
        ("--samples", "0", "must be a whole number of at least 1, got '0'"),
        ("--samples", "x", "must be a whole number of at least 1, got 'x'"),
        ("--seed", "-1", "must be a whole number of at least 0, got '-1'"),
        ("--seed", "9" * 19, "must be a whole number of at least 0 and at most 18 digits, got '9999999999999999999'"),
    ],
)
def test_numbers_that_make_no_sense(option: str, number: str, rule: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Wrong numbers of samples and seeds end with status 2, and with the rule."""
    with pytest.raises(SystemExit) as ended:
        run(capsys, "simulate", "run.yaml", option, number)
    assert ended.value.code == 2
    assert rule in " ".join(capsys.readouterr().err.split())
