"""A small comparison of generated options: two programs on 40 clusters."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from clue.config import load_config
from clue.predict.application import Application
from clue.purchase import Scenario
from clue.trace import Op, Trace, TraceBuilder
from tests.purchase.in_full import Outcome, all_outcomes

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
    """Add a burst and a message of 100 KB to the next rank, which arrives while other ranks compute."""
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


def source(application: Application, ranks: int) -> Trace:
    """Return the trace that a file of the scenario holds."""
    return trace(Path(application.trace or "").name.split("-")[0], ranks)


def write(folder: Path, criterion: str = "points") -> Scenario:
    """Write the comparison as ``s.yaml`` with its traces, and return it as loaded."""
    for name in PROGRAMS:
        for ranks in (1, 2, 3, 4):
            trace(name, ranks).save(folder / f"{name}-{ranks}.clue")
    (folder / "s.yaml").write_text(SCENARIO.format(criterion=criterion))
    scenario = load_config(folder / "s.yaml")
    assert isinstance(scenario, Scenario)
    return scenario


@cache
def outcomes() -> dict[str, list[Outcome]]:
    """Return the outcomes of the workloads on the options, which do not depend on the criterion."""
    with TemporaryDirectory() as folder:
        return all_outcomes(write(Path(folder)), source)
