"""The picture of a machine's delays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from clue.errors import OutputError
from clue.report.machine.plot import MOST_PANELS, delays, draw_delays, message_sizes, plot_machine
from tests.report.cases import machine
from tests.report.pictures import texts


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    """A file in place of the folder raises an error of one line."""
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"delays\.png: output must be writable"):
        plot_machine(machine(), tmp_path / "file" / "plots")


def test_nothing_half_written_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk leaves no partial picture and keeps the earlier file."""
    (tmp_path / "delays.png").write_text("before")

    def fail(_drawn: Figure, path: Path, **_options: object) -> None:
        path.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Figure, "savefig", fail)
    with pytest.raises(OutputError, match=r"delays\.png: output must be writable, got: No space left"):
        plot_machine(machine(), tmp_path)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["before"]


def test_delays_are_those_of_the_curves() -> None:
    """For 1,000 bytes: send delay, transmission delay, and their sum with the receive delay, all by hand."""
    link = machine().network.between_nodes
    np.testing.assert_allclose(delays(link, np.array([1000.0]))[:, 0], [11e-6, 50e-6, 66e-6])


def test_delay_sizes_include_the_points_of_the_curves() -> None:
    """The sizes include every point of the curves, so no corner is missed."""
    sizes = message_sizes([machine().network.between_nodes])
    assert {1.0, 1000.0, 1_000_000.0} <= set(sizes.tolist())
    assert (np.diff(sizes) > 0).all()


def test_delays_have_a_panel_for_each_link_and_mark_the_eager_limit() -> None:
    """Five links have panels: between nodes, within a node, a pair, a type with itself, and within that type."""
    drawn = draw_delays(machine())
    titles = [axes.get_title(loc="left") for axes in drawn.axes]
    assert [title.split("\n")[0] for title in titles[:5]] == [
        "between nodes", "within a node", "big – pc", "big – big", "within big"
    ]  # fmt: skip
    assert titles[0].endswith("an empty message takes 55 us, 1 MB 10.01 ms")
    assert "eager up to\n64 KB" in texts(drawn)


@pytest.mark.long
def test_delays_of_very_many_pairs_are_cut() -> None:
    """Only the first 12 of 22 links are drawn, and the title says so."""
    link = machine().network.within_node
    within = {f"type {i}": link for i in range(20)}
    drawn = draw_delays(replace(machine(), network=replace(machine().network, pairs={}, within=within)))
    assert len(drawn.axes) == MOST_PANELS
    assert any(text.endswith("(the first 12 of 22 links)") for text in texts(drawn))
