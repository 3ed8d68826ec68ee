"""The rebuilt cluster of Kishimoto and Ichikawa: its program is an LU, and its times are near the published ones."""

import numpy as np
import pytest

from benchmarks.accuracy.models.cluster import FAST, NL, SLOW, Cluster
from benchmarks.accuracy.models.kishimoto import PAPER, table
from benchmarks.accuracy.models.linpack import _columns, linpack
from clue.models import Composition, Method, Use, fit_cluster


@pytest.mark.parametrize(("size", "ranks"), [(400, 1), (500, 3), (1600, 5)])
def test_every_column_is_somebodys(size: int, ranks: int) -> None:
    """Each column belongs to a rank: blocks are dealt out in turn, and the last one is narrower."""
    for first in range(-(-size // 80) + 1):
        assert sum(_columns(size, first, rank, ranks) for rank in range(ranks)) == max(0, size - 80 * first)


def test_more_ranks_compute_the_same_in_all() -> None:
    """More ranks compute about the same in total, apart from losses of narrow blocks."""
    one, four = (sum(linpack(1600, [1.0] * ranks, 1).bursts) * 1e-9 for ranks in (1, 4))
    assert one == pytest.approx(2.8, rel=0.05)
    assert 1.0 < four / one < 1.6


@pytest.mark.parametrize(("size", "uses", "printed"), [
    (1600, {FAST: Use(1)}, 2.82), (3200, {FAST: Use(1)}, 20.4), (3200, {FAST: Use(1, 2)}, 26.1),
    (4800, {FAST: Use(1), SLOW: Use(8)}, 64.0), (6400, {FAST: Use(1), SLOW: Use(8)}, 129.7),
])  # fmt: skip
def test_runs_are_near_those_printed(size: int, uses: dict[str, Use], printed: float) -> None:
    """Simulated runs are within a sixth of the paper's measured times, with published figures of such hardware."""
    assert Cluster().run(size, uses).seconds == pytest.approx(printed, rel=1 / 6)


@pytest.mark.long
def test_the_example_is_made_of_it() -> None:
    """The shipped table equals the command's output, and a model fitted to it predicts n = 9600 within 5 %."""
    cluster = Cluster()
    runs = [*cluster.measured(NL), *cluster.adjusting(NL, (4, 8))]
    lines = list(table(runs))
    assert len(lines) == 1 + 120 + 8
    assert lines[1].startswith("athlon,1,1,1600,")
    model = fit_cluster(runs, Method(), compositions={FAST: PAPER}, adjusted=FAST)
    both = {FAST: Use(1, 4), SLOW: Use(8)}
    assert model.predict(9600, both).seconds == pytest.approx(cluster.run(9600, both).seconds, rel=0.05)
    assert isinstance(PAPER, Composition)
    assert np.isfinite(model.predict(9600, both).high)
