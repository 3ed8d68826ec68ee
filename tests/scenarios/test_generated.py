"""A comparison of generated options through the command line, held to a ranking worked out in full."""

from __future__ import annotations

import json
import stat
from functools import cache
from pathlib import Path

import pytest

from clue.cli import main
from clue.config import load_config
from clue.kernel.fast import library
from clue.kernel.fast.library import NoLibraryError, load
from clue.purchase import Program, Scenario
from clue.trace import Op, Trace, TraceBuilder
from tests.purchase.in_full import whole_ranking

SCENARIO = """\
name: generated
criterion: {criterion}
budget: 1400 EUR
service_life: 26280 h
workloads:
  ring: {{program: {{trace: "ring-{{ranks}}.clue"}}, instances: 2, ranks: [1, 2, 4], weight: 3}}
  sums: {{program: {{trace: "sums-{{ranks}}.clue"}}, instances: fill, ranks: [2, 3]}}
generate:
  nodes: {{from: 1, to: 4}}
  mixed: true
  node_types:
    single: {{performance_factor: 0.5, price: 200 EUR}}
    dual: {{processors: 2, price: 300 EUR}}
  networks:
    slow: {{between_nodes: &slow {{send_delay: {{latency: 1 ms, bandwidth: 1 MB/s}}, transmission_delay: 2 ms}}}}
    free: {{contention: none, between_nodes: *slow, price_per_node: 20 EUR}}
    fast:
      between_nodes: {{send_delay: {{latency: 10 us, bandwidth: 1 GB/s}}, transmission_delay: 40 us}}
      contention: {{flows: {{topology: switch, bandwidth: 10 MB/s}}}}
      price_per_node: 90 EUR
"""
OPTIONS = 3 * (2 * 4 + 6)
ROUNDS = 20


def ring(trace: TraceBuilder, ranks: int) -> None:
    """Add a burst and a message of 100 KB to the next rank, in the middle of the others' computation."""
    for rank in range(ranks):
        trace[rank].compute((1 + rank / 10) * 0.05 / ranks)
        trace[rank].sendrecv((rank + 1) % ranks, 100_000, (rank - 1) % ranks)


def sums(trace: TraceBuilder, ranks: int) -> None:
    """Add a short burst and a sum over all ranks."""
    for rank in range(ranks):
        trace[rank].compute(0.002)
        trace[rank].collective(Op.ALLREDUCE, 8000)


PROGRAMS = {"ring": ring, "sums": sums}


@cache
def trace(name: str, ranks: int) -> Trace:
    """Return a program at a number of ranks."""
    built = TraceBuilder(ranks, name)
    for _ in range(ROUNDS):
        PROGRAMS[name](built, ranks)
    return built.build()


def source(program: Program, ranks: int) -> Trace:
    """Return what the scenario's files hold."""
    return trace(Path(program.trace or "").name.split("-")[0], ranks)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder to work in, with the traces."""
    monkeypatch.chdir(tmp_path)
    for name in PROGRAMS:
        for ranks in (1, 2, 3, 4):
            trace(name, ranks).save(f"{name}-{ranks}.clue")
    return tmp_path


def write(criterion: str = "points") -> Scenario:
    """Write the scenario and return what it says."""
    Path("s.yaml").write_text(SCENARIO.format(criterion=criterion))
    scenario = load_config("s.yaml")
    assert isinstance(scenario, Scenario)
    return scenario


def simulated(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, list[dict[str, object]]]:
    """Return what ``clue simulate`` prints of it."""
    assert main(("simulate", "s.yaml", "--json", "--workers", "1", *arguments)) == 0
    document: dict[str, list[dict[str, object]]] = json.loads(capsys.readouterr().out)
    return document


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("engine", ["reference", "fast"])
@pytest.mark.parametrize("criterion", ["points", "makespan", "throughput", "cost_per_run"])
def test_generated_options_are_ranked_as_one_by_one(
    criterion: str, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """All scores, and the first five alone; no other option is better than its bound says."""
    scenario = write(criterion)
    assert len(scenario.options) + scenario.left_out == OPTIONS
    assert len(scenario.options) == 40
    whole = whole_ranking(scenario, source)
    every = simulated(capsys, "--engine", engine)["ranking"]
    assert [each["option"] for each in every if "position" in each] == [name for name, _ in whole]
    assert [each["score"] for each in every if "position" in each] == pytest.approx([score for _, score in whole])
    first = simulated(capsys, "--engine", engine, "--top", "5")
    assert [each["option"] for each in first["ranking"][:5]] == [name for name, _ in whole[:5]]
    assert [each["score"] for each in first["ranking"][:5]] == pytest.approx([score for _, score in whole[:5]])
    scores, sign = dict(whole), 1 if first["higher_is_better"] else -1
    for each in first["ranking"][5:]:
        if "bound" in each:
            assert sign * each["bound"] >= sign * scores[str(each["option"])] * (1 - sign * 1e-12)  # type: ignore[operator]


def forget() -> None:
    """Let the next simulation look for the compiled engine again."""
    library._key.cache_clear()
    library._found.cache_clear()


def test_without_a_compiler_the_ranking_is_the_same_and_says_so(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compiler that fails is asked once (with and without the instructions of this processor) for 40 options."""
    write()
    expected = simulated(capsys, "--engine", "reference", "--top", "5")
    compiler = folder / "compiler"
    compiler.write_text(f"#!/bin/sh\necho asked >> {folder}/asked\necho 'error: no such luck' >&2\nexit 1\n")
    compiler.chmod(compiler.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CLUE_CACHE", str(folder / "cache"))
    monkeypatch.setenv("CXX", str(compiler))
    forget()
    try:
        found = simulated(capsys, "--engine", "fast", "--top", "5")
        for _ in range(2):
            with pytest.raises(NoLibraryError, match="engine must compile, got error: no such luck"):
                load()
    finally:
        monkeypatch.undo()
        forget()
    told = [str(warning) for warning in found.pop("warnings") if "fast engine" in str(warning)]
    expected.pop("warnings")
    assert found == expected
    assert len(told) == 1
    assert "no such luck; the reference engine computed this" in told[0]
    assert (folder / "asked").read_text() == "asked\n" * 2
