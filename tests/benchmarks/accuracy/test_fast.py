"""The benchmark of forecasts: grids by equations and by replay, and the cost of an answer."""

from __future__ import annotations

from pathlib import Path
from platform import node

import pytest

from benchmarks.accuracy.models.fast import Errors, product_trace, replayed, response, under_load
from clue.forecasting.availability import Availability
from clue.forecasting.measuring import Bench
from clue.forecasting.parallel import Grid, Pdgemm, on_rate
from clue.trace import Op
from tests.forecasting.hosts import dgemm, forecasting


def test_equations_and_replays_order_grids_alike() -> None:
    """Equations and replays order all grids of up to six processors almost alike, and agree on one processor."""
    errors, tau, _, loss = replayed(6, n=512)
    assert tau is not None and tau >= 0.8 and len(errors.shares) == 14 and abs(errors.shares[0]) < 1e-6
    assert loss >= 0


def test_the_replayed_product_is_the_papers() -> None:
    """Two steps on 2 × 3 are a broadcast along each row and each column, and a product."""
    trace = product_trace(Pdgemm(8, 12, 8, 4), Grid(2, 3), on_rate(1e9))
    assert [int((trace.rank(rank).op == Op.BCAST).sum()) for rank in range(6)] == [4] * 6
    assert [len(each.group) for each in trace.head.communicators][-5:] == [3, 3, 2, 2, 2]


def test_errors_are_means_and_extremes_of_their_sizes() -> None:
    """Errors are printed as mean and maximum of their absolute values."""
    assert str(Errors((0.1, -0.3))) == "20.0%, 30.0%"


def test_a_cached_answer_is_far_quicker_than_a_probe(tmp_path: Path) -> None:
    """Cached answers come from a table: the host is not looked at again, which counts here instead of time."""
    looks: list[str] = []
    with forecasting(tmp_path) as forecaster:
        look = forecaster.look

        def noted(host: str) -> Availability:
            looks.append(host)
            return look(host)

        forecaster.look = noted
        response(forecaster)
    assert len(looks) == 1 + 30


def test_a_loaded_product_is_compared_with_its_wall_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under load, the forecast is compared with the wall time, for each number of processes."""
    monkeypatch.setattr(Bench, "elapsed", lambda _bench, _sizes, _seconds: (0.5, 1.0))
    with forecasting(tmp_path) as forecaster:
        forecaster.store.keep(dgemm(node()))
        assert [part for _, part in under_load(forecaster, 1)] == [1.0] * 3
