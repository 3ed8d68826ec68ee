"""The makespan of a simulation over samples of its noise, with the interval and the makespan without noise."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from clue.report.shared import style
from clue.report.shared.lettering import fit
from clue.report.shared.scale import Window, span, time_scale
from clue.uncertainty import LEVEL, Sampled
from clue.units import format_time

#: Largest number of bars, and number of samples from which on there are that many.
_MOST_BARS = 40
#: Width of the text above, inches.
_TITLE = 7.8


def draw_samples(sampled: Sampled, title: str) -> Figure:
    """Draw a histogram of makespans.

    Args:
        sampled: Makespans of samples.
        title: Title of the picture.
    """
    makespan, spread = sampled.makespan, sampled.spread
    scale = time_scale(float(sampled.makespans.max(initial=makespan)))
    drawn = style.figure(9, 4.2, title)
    axes = drawn.subplots()
    bars = int(np.clip(np.sqrt(len(sampled.makespans)), 1, _MOST_BARS))
    axes.axvspan(spread.low / scale.length, spread.high / scale.length, color=style.FAINT, zorder=0)
    axes.hist(sampled.makespans / scale.length, bars, color=style.COMPUTE)
    axes.axvline(makespan / scale.length, color=style.INK, linewidth=1.4, linestyle=(0, (4, 3)))
    within = f"{sampled.sampling.samples:,} samples lie within {span(Window(spread.low, spread.high))}"
    told = f"at least {LEVEL:.0%} of {within} (grey); without noise (dashed): {format_time(makespan)}"
    style.finish_axes(axes, f"makespan ({scale.unit})", "samples", fit(told, _TITLE, 2, style.LABEL, prose=True))
    style.plain_numbers(axes.xaxis)
    style.round_ticks(axes.xaxis, 6)
    style.round_ticks(axes.yaxis, 8, whole=True)
    return drawn
