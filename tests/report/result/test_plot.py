"""Contents and file names of the pictures of a simulation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from clue.report.result.communication import MOST_CELLS, draw_communication, pool
from clue.report.result.plot import plot_result, plot_samples
from clue.report.result.samples import draw_samples
from clue.result import Traffic
from clue.uncertainty import Sampled, Sampling
from tests.report.cases import result
from tests.report.pictures import bars, is_picture, texts


def test_result_is_drawn_with_fixed_names(tmp_path: Path) -> None:
    """A result with a timeline and traffic gives two pictures; the folder is created."""
    written = plot_result(result(), tmp_path / "new" / "plots", "a title")
    assert [path.name for path in written] == ["timeline.png", "communication.png"]
    assert all(map(is_picture, written))
    assert sorted(path.name for path in written[0].parent.iterdir()) == ["communication.png", "timeline.png"]


def test_what_was_not_kept_is_not_drawn(tmp_path: Path) -> None:
    """A result without a timeline and traffic gives no picture."""
    assert plot_result(replace(result(), timeline=None, traffic=None), tmp_path, "a title") == []


def test_communication_matrix_shows_the_bytes() -> None:
    """The image shows the bytes, with senders as rows, and the title has the total."""
    nbytes = np.array([[0, 1000, 0], [20, 0, 300], [0, 0, 0]])
    drawn = draw_communication(Traffic(np.sign(nbytes), nbytes), "a title")
    matrix = drawn.axes[0].images[0].get_array()
    assert matrix is not None
    np.testing.assert_array_equal(np.ma.filled(matrix, 0), nbytes)
    assert {"3 ranks, 1.32 KB in 3 messages; most from rank 0 to 1: 1 KB", "1 KB", "20 B", "300 B"} <= set(texts(drawn))


def test_communication_totals_are_the_sums() -> None:
    """The bars at the edges are the bytes that each rank received and sent."""
    nbytes = np.array([[0, 1000], [20, 0]])
    drawn = draw_communication(Traffic(np.sign(nbytes), nbytes), "a title")
    received, sent = drawn.axes[1], drawn.axes[2]
    assert [bar.get_height() for bar in bars(received)] == [20, 1000]
    assert [bar.get_width() for bar in bars(sent)] == [1000, 20]


def test_pooling_keeps_all_bytes() -> None:
    """Cells of many ranks are sums, so no byte is lost; few ranks are not pooled."""
    nbytes = np.arange(1300.0 * 1300).reshape(1300, 1300)
    pooled = pool(nbytes)
    assert max(pooled.shape) <= MOST_CELLS
    assert pooled.sum() == nbytes.sum()
    assert pool(nbytes[:5, :5]).tolist() == nbytes[:5, :5].tolist()


def test_samples_are_counted_and_their_interval_is_marked(tmp_path: Path) -> None:
    """The bars count all 99 samples; the title gives the interval of 3.6 to 4.4 s and the makespan of 3.8 s."""
    sampled = Sampled(Sampling(99), np.linspace(3.51, 4.49, 99), 3.8)
    (axes,) = draw_samples(sampled, "a $title$").axes
    assert sum(bar.get_height() for bar in bars(axes) if bar.get_width() < 0.5) == 99
    assert axes.get_title(loc="left") == (
        "at least 80% of 99 samples lie within 3.6–4.4 s (grey); without noise (dashed): 3.8 s"
    )
    assert plot_samples(sampled, tmp_path, "title") == tmp_path / "samples.png"


def test_samples_that_are_all_the_same_are_drawn() -> None:
    """Samples of width zero can be drawn."""
    draw_samples(Sampled(Sampling(1), np.array([2.0]), 2.0), "one")
