"""Pictures of a simulation as PNG files with fixed names."""

from __future__ import annotations

from pathlib import Path

from clue.report.result.communication import draw_communication
from clue.report.result.samples import draw_samples
from clue.report.shared.scale import Window
from clue.report.shared.style import save
from clue.report.timeline.plot import draw_timeline
from clue.result import Result
from clue.uncertainty import Sampled


def plot_result(
    result: Result, folder: Path, title: str, window: Window | None = None, *, by_site: bool = False
) -> list[Path]:
    """Draw a simulation: ``timeline.png`` if it has a timeline, ``communication.png`` if it has its traffic.

    Args:
        result: The result.
        folder: The folder of the files.
        title: Title of the pictures.
        window: A stretch of time that the timeline shows enlarged; if not given, a typical one.
        by_site: Whether the timeline's colours distinguish call sites instead of regions and activities.

    Raises:
        ClueError: If a file cannot be written.
        UsageError: If the window begins after the end of the program.
    """
    written = []
    if result.timeline is not None:
        written.append(save(draw_timeline(result, title, window, by_site=by_site), folder, "timeline.png"))
    if result.traffic is not None:
        written.append(save(draw_communication(result.traffic, title, result.instances), folder, "communication.png"))
    return written


def plot_samples(sampled: Sampled, folder: Path, title: str) -> Path:
    """Draw the distribution of a makespan over samples of the noise: ``samples.png``.

    Raises:
        ClueError: If the file cannot be written.
    """
    return save(draw_samples(sampled, title), folder, "samples.png")
