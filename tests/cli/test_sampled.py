"""``clue simulate --sampled``: the simulated part, its interval, and the reason if the whole program was replayed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clue.cli import main
from clue.trace import Op
from clue.trace.builder import RankBuilder
from tests.cli.commands import MACHINE
from tests.steady.programs import looped
from tests.steady.test_simulate import ping_pong

pytestmark = pytest.mark.usefixtures("folder")


@pytest.fixture
def config() -> str:
    """Save a ping-pong of 400 iterations and its configuration, and return the configuration's name."""
    looped(2, 400, ping_pong).save("long.clue")
    Path("long.yaml").write_text("program: {trace: long.clue}\nmachine: pair.yaml\n")
    return "long.yaml"


def test_the_document_tells_part_and_interval(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A makespan of 400 × (0.5 s + 2 × (11 + 40 + 5 us)) + 0.125 s is found from at most 15 % of the ops."""
    assert main(["simulate", config, "--sampled", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    makespan = 400 * (0.5 + 2 * 56e-6) + 0.125
    assert told["makespan"] == pytest.approx(makespan)
    part = told["sampled"]
    assert part["of"] == 4 * 400 + 2
    assert part["ops"] == told["ops"] <= 0.15 * part["of"]
    assert part["low"] == pytest.approx(makespan) == part["high"]
    assert (part["level"], part["why"]) == (0.8, None)
    assert part["loops"] == [{"name": "loop.py:10", "iterations": 400, "simulated": (part["ops"] - 2) / 4}]
    for rank in told["ranks"]:
        assert rank["compute"] + rank["communicate"] + rank["wait"] == pytest.approx(rank["finish"])


def test_the_text_tells_them_too(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The table has the interval, the iterations and the ops."""
    assert main(["simulate", config, "--sampled"]) == 0
    shown = capsys.readouterr().out
    for words in ("80 % interval", "of 400 iterations of loop.py:10", " of 1,602"):
        assert words in shown


def test_a_program_that_is_not_steady_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a long loop the whole program is replayed, with the figures of a full simulation and the reason."""
    assert main(["simulate", "run.yaml", "--sampled", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert main(["simulate", "run.yaml", "--json"]) == 0
    assert told["makespan"] == json.loads(capsys.readouterr().out)["makespan"]
    assert told["sampled"]["ops"] == told["sampled"]["of"] == told["ops"]
    assert "not steady: no loop has equally many iterations on all ranks" in told["sampled"]["why"]
    assert told["sampled"]["low"] is None
    assert any("the whole program was replayed" in warning for warning in told["warnings"])


def varied(own: RankBuilder, rank: int, i: int) -> None:
    """Compute for a time that varies without a period, and enter a barrier."""
    own.compute(1.0 + 0.3 * (i * 37 % 101) / 101 + 0.1 * rank)
    own.collective(Op.BARRIER)


RANKING = """\
name: which
criterion: makespan
workloads: {long: {program: {trace: varied.clue}, ranks: 2}}
options:
  one: {machine: pair.yaml, price: 1 EUR}
  as good: {machine: alike.yaml, price: 2 EUR}
  slow: {machine: slow.yaml, price: 3 EUR}
  turning: {machine: turning.yaml, price: 4 EUR}
"""


@pytest.fixture
def ranking() -> str:
    """Save a comparison of a machine, one 0.01 % slower, one half as fast, and one that changes over time."""
    looped(2, 600, varied).save("varied.clue")
    for name, factor in (("alike", "0.50005"), ("slow", "1.0"), ("turning", "2.0")):
        text = MACHINE.replace("name: pair", f"name: {name}").replace("factor: 0.5", f"factor: {factor}")
        changes = "changes: [{at: 1 s, network: {between_nodes: {transmission_delay: 80 us}}}]\n"
        Path(f"{name}.yaml").write_text(text + (changes if name == "turning" else ""))
    Path("ranking.yaml").write_text(RANKING)
    return "ranking.yaml"


def ranked(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """Return the JSON document of a ranking."""
    assert main(["simulate", *arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert isinstance(document, dict)
    return document


def test_a_ranking_replays_parts_and_shares_positions_aloud(ranking: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Options that differ by 0.01 % share a position, with a warning; one that is twice as slow does not.

    On the machine that changes, everything is replayed. Makespans lie within the reported intervals.
    """
    told, whole = ranked(capsys, ranking, "--sampled"), ranked(capsys, ranking)
    assert [(each["option"], each["position"]) for each in whole["ranking"]] == [
        ("one", 1), ("as good", 2), ("slow", 3), ("turning", 4),
    ]  # fmt: skip
    assert [(each["option"], each["position"]) for each in told["ranking"]] == [
        ("one", 1), ("as good", 1), ("slow", 3), ("turning", 4),
    ]  # fmt: skip
    warnings = told["warnings"]
    assert any(
        each.startswith("one, as good share position 1: only a part of their iterations was") for each in warnings
    )
    assert any(
        "a part of its iterations was replayed, so that the makespan is uncertain by up to" in w for w in warnings
    )
    assert [each for each in warnings if "the whole program was replayed" in each] == [
        "long on turning: the whole program was replayed, because a sample would not represent it: turning: a "
        "sampled simulation must have a machine that stays as it is"
    ]
    assert told["uncertainty"] == {"samples": 400, "seed": 0, "noise": False, "level": 0.8}
    for part, all_of_it in zip(told["ranking"], whole["ranking"], strict=True):
        assert part["score"] == pytest.approx(all_of_it["score"], rel=0.02)
    assert told["ranking"][3]["score"] == whole["ranking"][3]["score"]


def test_a_ranking_of_what_is_not_steady_is_that_of_whole_replays(capsys: pytest.CaptureFixture[str]) -> None:
    """The scores equal those of a full simulation, there are no intervals, and a warning gives the reason."""
    told, whole = ranked(capsys, "which.yaml", "--sampled"), ranked(capsys, "which.yaml")
    assert [each["score"] for each in told["ranking"]] == [each["score"] for each in whole["ranking"]]
    assert "uncertainty" not in told
    assert [each.split(":")[0] for each in told["warnings"] if "the whole program was replayed" in each] == ["pp"]


@pytest.mark.long
def test_noise_comes_on_top_of_what_parts_may_be_off_by(ranking: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Samples of the noise and of the model's errors widen the intervals of a sampled simulation."""
    noisy = "price: 900 EUR, noise: {computation: 0.2}"
    Path("pair.yaml").write_text(MACHINE.replace("price: 900 EUR", noisy))
    narrow, wide = (
        ranked(capsys, ranking, "--sampled", *more)["ranking"][0]["uncertainty"]["score"]
        for more in ((), ("--samples", "40"))
    )
    assert narrow["low"] < narrow["high"]
    assert wide["high"] / wide["low"] > narrow["high"] / narrow["low"]


def test_what_a_first_place_depends_on_needs_whole_replays(ranking: str, capsys: pytest.CaptureFixture[str]) -> None:
    """``--sampled`` with ``--explain`` is refused with status 2 and the reason."""
    assert main(["simulate", ranking, "--sampled", "--explain"]) == 2
    assert "--sampled must go without options that need a whole replay, got --explain" in capsys.readouterr().err
