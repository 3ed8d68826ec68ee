"""The programs on which clue and other simulators are timed, and the figures of these times."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

import clue
from benchmarks.processes import FailedRunError, ProcessTimes
from benchmarks.speed import goals
from benchmarks.speed.contest import Clue, Contest, NetworkCase
from benchmarks.speed.peers import ReplayTime
from benchmarks.speed.settings import NetworkSetting
from benchmarks.speed.workloads import (
    BenchProgram,
    BurstLengths,
    allreduce,
    alltoall,
    count_messages,
    halo,
    large,
    pipeline,
    ring,
)
from clue.machine import Curve, Link, Machine, Network, NodeType
from clue.trace import Op

SMALL: list[tuple[Callable[..., BenchProgram], int, int]] = [
    (halo, 16, 1500),
    (ring, 4, 40),
    (pipeline, 4, 40),
    (alltoall, 8, 500),
    (allreduce, 8, 500),
]


def _machine(nodes: int) -> Machine:
    link = Link(Curve.line(0.0), Curve.line(1e-3))
    return Machine("flat", (NodeType("node"),) * nodes, Network(link, link))


@pytest.mark.parametrize(("make", "ranks", "messages"), SMALL)
def test_message_count(make: Callable[..., BenchProgram], ranks: int, messages: int) -> None:
    """A workload sends its stated number of messages, by the traffic of a replay."""
    workload = make(ranks, messages)
    result = clue.simulate(workload.trace, _machine(ranks), engine="reference", traffic=True)
    assert result.traffic is not None
    assert workload.messages == result.traffic.messages.sum() == count_messages(workload.trace)
    assert messages / 2 <= workload.messages <= messages * 2


@pytest.mark.parametrize(("make", "ranks", "messages"), SMALL)
def test_rows_mean_something(make: Callable[..., BenchProgram], ranks: int, messages: int) -> None:
    """Each row of a workload is valid in a trace."""
    make(ranks, messages).trace.check()


def test_halo_without_jitter() -> None:
    """Without jitter each iteration takes a burst and a message; the allreduce takes a message per doubling."""
    workload = halo(16, messages=1, bursts=BurstLengths(seconds=1e-3, jitter=0.0))
    assert clue.simulate(workload.trace, _machine(16)).makespan == pytest.approx(10 * 2e-3 + 4e-3)


def test_ring_passes_one_token() -> None:
    """One token travels at a time: a round takes the bursts of all ranks and a message to each."""
    workload = ring(4, messages=8, bursts=BurstLengths(seconds=1e-3, jitter=0.0))
    assert clue.simulate(workload.trace, _machine(4)).makespan == pytest.approx(2 * 4 * 2e-3)


def test_pipeline_overlaps() -> None:
    """The last of n items passes p - 1 senders: (n + p - 2) bursts and p - 1 messages."""
    workload = pipeline(4, messages=30, bursts=BurstLengths(seconds=2e-3, jitter=0.0))
    assert clue.simulate(workload.trace, _machine(4)).makespan == pytest.approx(12 * 2e-3 + 3 * 1e-3)


def test_bursts_repeat() -> None:
    """The same seed gives the same program, and bursts stay within their jitter."""
    first, again = halo(16, 1500).trace.ops, halo(16, 1500).trace.ops
    assert (first.cpu == again.cpu).all()
    drawn = first.cpu[first.cpu > 0]
    assert drawn.min() >= 25_000
    assert drawn.max() <= 75_000


def test_large_has_as_many_ops_as_asked() -> None:
    """The largest workload has about the requested number of ops."""
    assert 10_000 <= large(16, 10_000).ops < 12_000


def test_requests_of_a_halo_exchange() -> None:
    """A Waitall names the eight requests of its iteration."""
    rank = halo(16, 1500).trace.rank(5)
    second = int(np.flatnonzero(rank.op == Op.WAIT)[1])
    begin, count = int(rank.extra[second]), int(rank.count[second])
    assert rank.extras[begin : begin + count].tolist() == rank.request[second - 8 : second].tolist()


@pytest.mark.parametrize(
    ("seconds", "rows"), [((1.0, 2.0, 3.0), [[1.0, 2.0, 3.0]]), ((1.0, 2.0, 0.0), [[1.0, 2.0]]), ((0.0,), [])]
)
def test_a_simulator_that_fails_keeps_its_earlier_replays(
    seconds: Sequence[float], rows: list[list[float]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A replay that fails (here: 0 s) ends a simulator's turns; earlier ones count, and without any there is no row."""
    turns = iter(seconds)

    def replay(*_: object) -> ReplayTime:
        found = next(turns)
        if not found:
            raise FailedRunError("out of memory")
        return ReplayTime(found, 0.0, 0, 1.0)

    monkeypatch.setattr(Clue, "replay", replay)
    contest = Contest("fast", [], repeats=3, patience=1e9, folder=tmp_path, tell=lambda _: None)
    timings = contest.measure([NetworkCase(lambda messages: ring(4, messages), (NetworkSetting(),), 40)])
    assert [[each.seconds for each in timing.replays] for timing in timings] == rows


@pytest.mark.parametrize(("equal", "reached"), [(6, True), (5, False)])
def test_a_sweep_reaches_its_goal_if_replays_alone_agree(
    equal: int, reached: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fast sweep, all of it exact, misses its goal if one of six machines takes another time when replayed alone."""
    said = json.dumps({"seconds": 1e-6, "exact": goals.SWEPT, "checked": 6, "equal": equal})
    monkeypatch.setattr(goals, "run", lambda *_: ProcessTimes(1.0, 1.0, 0, said))
    goal = goals.sweep_goal(tmp_path, 1000)
    assert goal.reached is reached
    assert f"{equal} of 6 replayed alone are equal" in goal.measured
