"""The communication matrix: bytes from every rank to every rank, with each rank's totals at the edges."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10

import numpy as np
import numpy.typing as npt
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, LogNorm
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.ticker import FuncFormatter

from clue.report.shared import style
from clue.result import Traffic
from clue.units import count_of, format_size

#: Largest number of ranks at which cells show their bytes as text.
_LABELLED = 12
#: Largest number of ranks with cells of their own, and with bars of their own for their totals.
MOST_CELLS, _BARS = 600, 64
#: Ratio of the ends of the colour bar below which they count as one.
_ONE_SIZE = 1.001
#: Least distance of labels of the colour bar, as a share of its length.
_APART = 0.1
# Without the palest colours, which could not be distinguished from the white of no bytes.
_MAP = LinearSegmentedColormap.from_list("bytes", colormaps["YlGnBu"](np.linspace(0.2, 1.0, 256)))


def draw_communication(traffic: Traffic, title: str, instances: int = 1) -> Figure:
    """Draw the bytes sent between ranks on a logarithmic colour scale; pairs that sent none stay white.

    Args:
        traffic: Bytes sent from each rank to each rank.
        title: Title of the picture.
        instances: Number of copies of the program that ran side by side; equal ones are drawn once.
    """
    shown = first_instance(traffic, instances)
    told = [_finding(shown)]
    if len(shown.nbytes) < len(traffic.nbytes):
        told.append(f"{instances:,} instances, all alike: one shown")
    drawn = style.figure(8.6, 7.9, title)
    grid = drawn.add_gridspec(2, 2, width_ratios=(5, 1), height_ratios=(1, 5))
    matrix = drawn.add_subplot(grid[1, 0])
    received = drawn.add_subplot(grid[0, 0], sharex=matrix)
    sent = drawn.add_subplot(grid[1, 1], sharey=matrix)
    _draw_matrix(drawn, matrix, shown.nbytes)
    _draw_totals(received, sent, shown.nbytes)
    received.set_title("\n".join(told), fontsize=style.LABEL, loc="left", color=style.INK)
    return drawn


def first_instance(traffic: Traffic, instances: int) -> Traffic:
    """Return the traffic of one instance if all have the same, else the whole."""
    each = len(traffic.nbytes) // instances
    one = Traffic(traffic.messages[:each, :each], traffic.nbytes[:each, :each])
    same = np.eye(instances, dtype=np.int64)
    is_alike = all(
        np.array_equal(np.kron(same, first), whole)
        for first, whole in ((one.messages, traffic.messages), (one.nbytes, traffic.nbytes))
    )
    return one if is_alike else traffic


def _finding(traffic: Traffic) -> str:
    ranks, nbytes = len(traffic.nbytes), traffic.nbytes
    who = count_of(ranks)
    if not traffic.messages.any():
        return f"{who}, no messages"
    sender, receiver = divmod(int(nbytes.argmax()), ranks)
    most = f"; most from rank {sender} to {receiver}: {format_size(float(nbytes.max()))}"
    whole = f"{who}, {format_size(float(nbytes.sum(dtype=float)))} in {int(traffic.messages.sum()):,} messages"
    return whole + most * (ranks > 2 and bool((nbytes[nbytes > 0] < nbytes.max()).any()))


def _draw_matrix(drawn: Figure, axes: Axes, nbytes: npt.NDArray[np.int64]) -> None:
    ranks, cells = len(nbytes), pool(nbytes.astype(float))
    shown = np.ma.masked_equal(cells, 0.0)
    least, most = (float(shown.min()), float(shown.max())) if shown.count() else (1.0, 10.0)
    # A scale needs two ends: if all pairs sent the same size, they get the dark end.
    norm = LogNorm(least if least * _ONE_SIZE < most else most / 10, most)
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
        style.round_ticks(axis, min(ranks, 12), whole=True)
    each = -(-ranks // len(cells))
    of = "rank to rank" if each == 1 else f"{each} ranks to {each} ranks"
    _draw_scale(drawn, axes, image, sizes_to_label(least, most) if shown.count() else [], of)
    if ranks <= _LABELLED:
        _label_cells(axes, nbytes, norm)


def _draw_scale(drawn: Figure, axes: Axes, image: AxesImage, sizes: Sequence[float], of: str) -> None:
    """Draw the colour bar with labels at its ends; if there is one size, or none, write that instead."""
    if len(sizes) < 2:
        told = f"coloured: {format_size(sizes[0])} from {of}; white: none" if sizes else "white: no bytes"
        axes.set_xlabel(f"receiving rank\n{told}")
        return
    bar = drawn.colorbar(
        image, ax=axes, orientation="horizontal", location="bottom", fraction=0.05, pad=0.02, aspect=40
    )
    bar.set_ticks(sizes, labels=[format_size(float(f"{size:.3g}")) for size in sizes])
    bar.minorticks_off()
    bar.ax.tick_params(labelsize=style.TICK)
    bar.outline.set_visible(False)
    bar.set_label(f"bytes from {of}; white: none", fontsize=style.LABEL, color=style.INK)


def sizes_to_label(least: float, most: float) -> list[float]:
    """Return the sizes labelled on a logarithmic scale: both ends, and round ones between, no two close together."""
    if most < least * _ONE_SIZE:
        return [most]
    whole = log10(most / least)
    powers = 10.0 ** np.arange(floor(log10(least)), ceil(log10(most)) + 1)
    for steps in ((1,), (1, 3), (1, 2, 5)):
        chosen = [least]
        for size in (float(power * step) for power in powers for step in steps):
            if log10(size / chosen[-1]) > _APART * whole and log10(most / size) > _APART * whole:
                chosen.append(size)
        if len(chosen) > 2:
            break
    return [*chosen, most]


def pool(nbytes: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the matrix with neighbouring ranks added up, so that it has at most :data:`MOST_CELLS` a side."""
    starts = np.arange(0, len(nbytes), -(-len(nbytes) // MOST_CELLS) or 1)
    pooled: npt.NDArray[np.float64] = np.add.reduceat(np.add.reduceat(nbytes, starts, axis=0), starts, axis=1)
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
    ranks, by_sender, by_receiver = (
        np.arange(len(nbytes)),
        nbytes.sum(axis=1, dtype=float),
        nbytes.sum(axis=0, dtype=float),
    )
    if len(nbytes) <= _BARS:
        received.bar(ranks, by_receiver, 0.8, color=style.UNUSED)
        sent.barh(ranks, by_sender, 0.8, color=style.UNUSED)
    else:
        edges = np.arange(len(nbytes) + 1) - 0.5
        received.stairs(by_receiver, edges, fill=True, color=style.UNUSED)
        sent.stairs(by_sender, edges, orientation="horizontal", fill=True, color=style.UNUSED)
    style.finish_axes(received, ylabel="received")
    style.finish_axes(sent, xlabel="sent")
    received.tick_params(labelbottom=False, bottom=False)
    sent.tick_params(labelleft=False, left=False)
    received.set_ylim(0, by_receiver.max(initial=0) * 1.1 or 1.0)
    sent.set_xlim(0, by_sender.max(initial=0) * 1.1 or 1.0)
    for axis in (received.yaxis, sent.xaxis):
        axis.set_major_formatter(FuncFormatter(style.size_label))
        style.round_ticks(axis, 2)
