"""Forecasts compared with runs on emulated hosts: forecasts, replays and the page; nothing is run here."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clue
from benchmarks.accuracy.models import fast_hosts
from benchmarks.accuracy.models.fast_hosts import (
    CLIENT,
    FULL,
    ONE,
    SMOKE,
    TWO,
    complex_trace,
    machine_like,
    plan_of,
    route_of,
    solve_trace,
)
from clue.forecasting.parallel import Grid, Pdtrsm, Sequential, grids
from clue.forecasting.routes import Route
from clue.forecasting.sequence import forecast_sequence
from clue.machine import Curve
from clue.trace import Trace, TraceBuilder

#: A message of 1 MB takes 11 ms.
ROUTE = Route(0.001, 1e8)


def take(routine: str, /, **sizes: int) -> float:
    """Return 1 ns per multiplication, and 1 us for an addition of 64 × 64."""
    product = 1.0
    for size in sizes.values():
        product *= size
    return product * (1e-9 if routine == "dgemm" else 1e-6 / 64**2)


def test_a_ping_pong_tells_a_route() -> None:
    """A route has a latency of 1 ms, and takes 10 us more for each 1000 B."""
    route = route_of({"0": 0.001, "32000": 0.5, "1000000": 0.011})
    assert (route.latency, route.bandwidth) == (pytest.approx(0.001), pytest.approx(1e8))


def test_the_complex_product_has_six_operations() -> None:
    """The plan has four products and two sums on the servers, as in the paper; results return to the client."""
    plan = plan_of(64)
    assert [step.routine for step in plan.steps] == ["dgemm"] * 4 + ["dgeadd"] * 2
    assert [step.host for step in plan.steps] == [ONE, ONE, TWO, TWO, ONE, TWO]
    assert plan.results == {"Cr": CLIENT, "Ci": CLIENT}


@pytest.mark.parametrize("n", [256, 512])
def test_a_replay_of_the_complex_product_is_near_its_forecast(n: int) -> None:
    """With the same times, replay and forecast agree within 10 %; in the program a server adds before it sends."""

    def seconds(routine: str, sizes: object, _: str) -> float:
        assert isinstance(sizes, dict)
        return take(routine, **sizes)

    said = forecast_sequence(plan_of(n), seconds, lambda _, __: ROUTE).seconds
    replayed = clue.simulate(complex_trace(n, take), machine_like(ROUTE, 3)).makespan
    assert replayed == pytest.approx(said, rel=0.1)


def test_a_replay_of_pdtrsm_on_a_row() -> None:
    """On 1 × 2 with two blocks: solve, send 32 KB, update, solve; added up by hand."""
    routine = Pdtrsm(64, 128, 64)
    trace = solve_trace(routine, Grid(1, 2), take)
    message = ROUTE.seconds(8 * 64 * 64)
    by_hand = 1e-6 + message + 64**3 * 1e-9 + 1e-6
    # The second block is passed on as well, although nothing is left to update.
    assert clue.simulate(trace, machine_like(ROUTE, 2)).makespan == pytest.approx(by_hand + message, rel=1e-6)


def buffered(routine: Pdtrsm, grid: Grid, take: Sequential) -> Trace:
    """Return the equations' steps as a trace of a program whose sends are nonblocking.

    Unlike :func:`solve_trace`, every processor has the number of columns that the equations give to all.
    """
    trace, block, (p, q) = TraceBuilder(grid.processors, "pdtrsm"), routine.block, (grid.rows, grid.columns)
    leaving: list[list[int]] = [[] for _ in trace]
    steps = -(-routine.n // block)

    def send(source: int, target: int, columns: int) -> None:
        leaving[source].append(trace[source].isend(target, 8 * block * columns))
        trace[target].recv(source)

    for i in range(steps):
        width = block * -(-(steps - i - 1) // q)
        first = width if p == 1 else min((p - 1) * block, width)
        here = [i % p * q + (i + place) % q for place in range(q)]
        below = [(i + 1) % p * q + rank % q for rank in here]
        trace[here[0]].compute(take("dtrsm", m=block, n=block))
        for source, target in pairwise(here):
            send(source, target, block)
        for rank, under in zip(here, below, strict=True):
            trace[rank].compute(take("dgemm", m=block, n=first, k=block))
            if p > 1:
                send(rank, under, first)
                trace[under].compute(take("dgeadd", m=block, n=first))
                trace[rank].compute(take("dgemm", m=block, n=width - first, k=block))
    for each, sends in zip(trace, leaving, strict=True):
        each.wait(*sends)
    return trace.build()


@given(
    st.builds(Grid, st.integers(1, 5), st.integers(1, 5)),
    st.integers(1, 10),
    st.tuples(*[st.floats(0, 1e-3)] * 3),
    st.builds(Route, st.sampled_from([0.0, 1e-4, 5e-3]), st.sampled_from([1e5, 1e6, 1e7])),
)
def test_pdtrsm_takes_as_long_as_its_program(
    grid: Grid, blocks: int, rates: tuple[float, float, float], route: Route
) -> None:
    """The equations of pdtrsm, with clocks of processors and ports, agree with a replay by the simulator."""
    routine = Pdtrsm(10, 10 * blocks, 10)
    seconds = dict(zip(("dtrsm", "dgemm", "dgeadd"), (round(rate, 9) for rate in rates), strict=True))

    def take(routine: str, /, **sizes: int) -> float:
        return seconds[routine] * sizes["n"]

    machine = machine_like(route, grid.processors)
    link = replace(machine.network.between_nodes, send_overhead=Curve.line(0.0))
    network = replace(machine.network, between_nodes=link)
    replayed = clue.simulate(buffered(routine, grid, take), replace(machine, network=network)).makespan
    assert replayed == pytest.approx(routine.on(grid, take, route).seconds, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("grid", list(grids(6)), ids=str)
def test_every_block_is_solved_and_updated_once(grid: Grid) -> None:
    """On any grid, the program computes the products of all blocks above the diagonal, each once."""

    def blocks(routine: str, /, **sizes: int) -> float:
        return sizes["n"] / 64 if routine == "dgemm" else 0.0

    trace = solve_trace(Pdtrsm(64, 512, 64), grid, blocks)
    assert sum(trace.bursts) * 1e-9 == pytest.approx(8 * 7 / 2)


def test_plans_fit_their_hosts() -> None:
    """Each host has a block; the smoke test has all experiments."""
    for plan in (FULL, SMOKE):
        assert all(n % 64 == 0 and n // 64 >= plan.hosts for n in plan.sizes.values())
        assert min(plan.loads) >= 1
    assert len(list(grids(FULL.hosts))) == 50


def test_the_page_is_made_of_what_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forecasts of 1.1 s for runs of 1.0 s are reported as 10 % off, for the grids that were measured."""
    plan = SMOKE
    asked = {"load": 1, "n": 256, "said": {"seconds": 1.1, "available": {"cpu": 0.5}}, "wall": 1.0, "cpu": 0.5}
    messages = {"8": 0.001, "1000000": 0.011}
    kept = {
        "between": {"asked": [asked], "way": {"latency": 0.001, "bandwidth": 1e8}, "port": 8457},
        "complex": {"times": {"128": 0.02}, "messages": messages},
        "pdgemm": {"grids": {"1x1": 0.002, "1x2": 0.004, "2x1": 0.004}, "messages": messages},
        "pdtrsm": {"grids": {"1x1": 0.002, "1x2": 0.004, "2x1": 0.004}, "messages": messages},
    }
    for name, value in kept.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(value))
    monkeypatch.setattr(fast_hosts, "_routines", lambda _plan, _forecaster: take)
    text = fast_hosts.page(plan, tmp_path, "command")
    assert "| dgemm on another host under load | 10 %, 22 % | mean ≤ 8 % | 10.0%, 10.0% | – |" in text
    assert "| pdtrsm on 3 grids | 12 % | mean ≤ 8 % |" in text
    assert "| 1 | 256 | 0.50 | 0.50 | 1100.0 ms | 1000.0 ms | +10.0% |" in text


def test_a_smoke_test_keeps_its_measurements_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small runs stay in a folder of their own, which the whole study does not read."""
    measured: list[tuple[fast_hosts.Plans, Path]] = []

    def page(plan: fast_hosts.Plans, folder: Path, *_: object) -> str:
        measured.append((plan, folder))
        return ""

    monkeypatch.setattr(fast_hosts, "page", page)
    for more in ("", "--smoke"):
        monkeypatch.setattr("sys.argv", ["fast_hosts", str(tmp_path), *more.split()])
        assert fast_hosts.main() == 0
    assert measured == [(FULL, tmp_path.resolve()), (SMOKE, tmp_path.resolve() / "smoke")]
