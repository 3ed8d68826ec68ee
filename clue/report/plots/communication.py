"""The communication matrix: bytes from every rank to every rank, with each rank's totals at the edges."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from clue.report.plots import style
from clue.result import Traffic
from clue.units import format_size

#: Ranks up to which each cell says its bytes, and colours from light to dark.
_LABELLED = 12
#: Ranks up to which each has cells of its own, and up to which its totals have bars of their own.
MOST_CELLS, _BARS = 600, 64
# Without the palest colours, which could not be told from the white of no bytes.
_MAP = LinearSegmentedColormap.from_list("bytes", colormaps["YlGnBu"](np.linspace(0.2, 1.0, 256)))


def draw_communication(traffic: Traffic, title: str) -> Figure:
    """Draw the bytes sent between ranks on a logarithmic colour scale; pairs that sent none stay white."""
    ranks = len(traffic.nbytes)
    drawn = style.figure(8.6, 7.8, title)
    grid = drawn.add_gridspec(2, 2, width_ratios=(5, 1), height_ratios=(1, 5))
    matrix = drawn.add_subplot(grid[1, 0])
    received = drawn.add_subplot(grid[0, 0], sharex=matrix)
    sent = drawn.add_subplot(grid[1, 1], sharey=matrix)
    _draw_matrix(drawn, matrix, traffic.nbytes)
    whole = f"{format_size(float(traffic.nbytes.sum()))} in {int(traffic.messages.sum()):,} messages"
    _draw_totals(received, sent, traffic.nbytes)
    received.set_title(f"{ranks} ranks, {whole}", fontsize=10, loc="left", color=style.INK)
    return drawn


def _draw_matrix(drawn: Figure, axes: Axes, nbytes: npt.NDArray[np.int64]) -> None:
    ranks = len(nbytes)
    shown = np.ma.masked_equal(pool(nbytes).astype(float), 0.0)
    least, most = (float(shown.min()), float(shown.max())) if shown.count() else (1.0, 10.0)
    # A scale needs two ends: where all pairs sent alike, they take the dark one.
    norm = LogNorm(least if least < most else most / 10, most)
    image = axes.imshow(
        shown,
        norm=norm,
        cmap=_MAP,
        extent=(-0.5, ranks - 0.5, ranks - 0.5, -0.5),
        aspect="auto",
        # No cell gets less than a pixel, so none is lost.
        interpolation="nearest",
    )
    style.finish_axes(axes, "receiving rank", "sending rank")
    axes.spines[["top", "right"]].set_visible(True)
    axes.spines[["top", "right"]].set_color(style.UNUSED)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=min(ranks, 12), integer=True, steps=[1, 2, 5, 10]))
    bar = drawn.colorbar(
        image, ax=axes, orientation="horizontal", location="bottom", fraction=0.05, pad=0.02, aspect=40
    )
    bar.ax.xaxis.set_major_formatter(FuncFormatter(style.size_label))
    bar.ax.xaxis.set_minor_formatter("")
    bar.ax.tick_params(labelsize=9)
    bar.outline.set_visible(False)
    bar.set_label("bytes from rank to rank; white: none", fontsize=10, color=style.INK)
    if ranks <= _LABELLED:
        _label_cells(axes, nbytes, norm)


def pool(nbytes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the matrix with neighbouring ranks added up, so that it has at most :data:`MOST_CELLS` a side."""
    starts = np.arange(0, len(nbytes), -(-len(nbytes) // MOST_CELLS) or 1)
    pooled: npt.NDArray[np.int64] = np.add.reduceat(np.add.reduceat(nbytes, starts, axis=0), starts, axis=1)
    return pooled


def _label_cells(axes: Axes, nbytes: npt.NDArray[np.int64], norm: LogNorm) -> None:
    small = len(nbytes) > 8
    for (sender, receiver), size in np.ndenumerate(nbytes):
        if size:
            dark = float(norm(float(size))) > 0.55
            axes.text(
                receiver,
                sender,
                format_size(float(f"{size:.2g}")),
                ha="center",
                va="center",
                fontsize=6.5 if small else 9,
                color=style.PAPER if dark else style.INK,
            )


def _draw_totals(received: Axes, sent: Axes, nbytes: npt.NDArray[np.int64]) -> None:
    ranks = np.arange(len(nbytes))
    if len(nbytes) <= _BARS:
        received.bar(ranks, nbytes.sum(axis=0), 0.8, color=style.UNUSED)
        sent.barh(ranks, nbytes.sum(axis=1), 0.8, color=style.UNUSED)
    else:
        edges = np.arange(len(nbytes) + 1) - 0.5
        received.stairs(nbytes.sum(axis=0), edges, fill=True, color=style.UNUSED)
        sent.stairs(nbytes.sum(axis=1), edges, orientation="horizontal", fill=True, color=style.UNUSED)
    style.finish_axes(received, ylabel="received")
    style.finish_axes(sent, xlabel="sent")
    received.tick_params(labelbottom=False, bottom=False)
    sent.tick_params(labelleft=False, left=False)
    received.set_ylim(0, nbytes.sum(axis=0).max(initial=0) * 1.1 or 1.0)
    sent.set_xlim(0, nbytes.sum(axis=1).max(initial=0) * 1.1 or 1.0)
    for axis in (received.yaxis, sent.xaxis):
        axis.set_major_formatter(FuncFormatter(style.size_label))
        axis.set_major_locator(MaxNLocator(nbins=3, steps=[1, 2, 5, 10]))
