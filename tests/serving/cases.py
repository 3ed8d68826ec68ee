"""A comparison to serve: two options computed by hand, and one beyond the budget."""

from __future__ import annotations

from pathlib import Path

from clue.config.changes import ChangeableScenario
from clue.config.model_errors import known_model_error
from clue.predict.replaying import ReplayPredictor
from clue.serving.live import LiveRanking
from clue.trace import Trace
from clue.uncertainty import Sampling
from tests.cli.commands import ping_pong

SCENARIO = """\
name: which
budget: 2000 EUR
criterion: cost_per_run
service_life: 1 years
costs:
  site:
    parts: {node: {per_node: 1, power: {idle: 90 W, busy: 210 W}}}
    electricity: {price: 0.24 EUR/kWh, source: contract, date: 2026-11-02}
workloads: {pp: {program: {trace: pingpong.clue}, ranks: 2}}
options:
  slow: {machine: slow.yaml, cost: site}
  fast: {machine: fast.yaml, cost: site}
  "<b>dear</b>": {machine: fast.yaml, price: 9000 EUR}
"""
MACHINE = """\
name: {name}
nodes: [{{count: 2, type: host}}]
node_types: {{host: {{processors: 1, performance_factor: {factor}, price: {price} EUR}}}}
network:
  between_nodes:
    send_delay: {{latency: 10 us, bandwidth: 1 GB/s}}
    transmission_delay: 40 us
    receive_delay: 5 us
    eager_limit: 64 KB
"""


def write(folder: Path) -> Path:
    """Write the comparison and the files that it names; return its path."""
    ping_pong().save(folder / "pingpong.clue")
    for name, factor, price in (("slow", 1.0, 600), ("fast", 0.5, 900)):
        (folder / f"{name}.yaml").write_text(MACHINE.format(name=name, factor=factor, price=price))
    path = folder / "which.yaml"
    path.write_text(SCENARIO)
    return path


def predictor() -> ReplayPredictor:
    """Return a predictor without known predictions."""
    return ReplayPredictor(lambda application, _ranks: Trace.open(application.trace or ""))


def live(
    folder: Path, asked: ReplayPredictor | None = None, sampling: Sampling | None = None, more: str = ""
) -> LiveRanking:
    """Return the comparison, ranked; with samples, or with lines added to its file."""
    path = write(folder)
    path.write_text(SCENARIO + more)
    error = None if sampling is None else known_model_error()
    ranking = LiveRanking(
        ChangeableScenario(path),
        asked or predictor(),
        sampling=sampling,
        error=error,
        command="clue serve which.yaml",
        by="clue 0.1",
    )
    ranking.begin()
    return ranking
