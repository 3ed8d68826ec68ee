"""Pictures as PNG files with fixed names, one module per picture; matplotlib is loaded when one is drawn.

Figures are drawn without pyplot, so nothing here depends on a display or on global state. Every function that
draws takes the folder to write to, makes it if need be, and returns the paths of what it wrote.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from clue.report.scale import Window

if TYPE_CHECKING:
    from clue.explain import Explanation
    from clue.extrapolation.inference import Structure
    from clue.machine import Machine
    from clue.purchase import Ranking
    from clue.report.plots.scaling import Series
    from clue.result import Result
    from clue.uncertainty import Sampled

__all__ = [
    "Window",
    "plot_bursts",
    "plot_explanation",
    "plot_machine",
    "plot_performance",
    "plot_ranking",
    "plot_result",
    "plot_samples",
    "plot_speedup",
]


#: Letters of a workload in the name of a file.
_LONGEST_NAME = 60


def plot_result(
    result: Result, folder: Path, title: str, window: Window | None = None, *, by_site: bool = False
) -> list[Path]:
    """Draw a simulation: ``timeline.png`` if it has a timeline, ``communication.png`` if it has its traffic.

    Args:
        result: What to draw.
        folder: Where to.
        title: Above the pictures.
        window: A stretch of time that the timeline shows enlarged; if not given, one that stands for the others.
        by_site: Whether the timeline's colours tell call sites apart instead of regions and activities.

    Raises:
        ClueError: If a file cannot be written.
        UsageError: If the window begins after the end of the program.
    """
    from clue.report.plots.communication import draw_communication  # noqa: PLC0415 - matplotlib
    from clue.report.plots.style import save  # noqa: PLC0415
    from clue.report.plots.timeline import draw_timeline  # noqa: PLC0415

    written = []
    if result.timeline is not None:
        written.append(save(draw_timeline(result, title, window, by_site=by_site), folder, "timeline.png"))
    if result.traffic is not None:
        written.append(save(draw_communication(result.traffic, title, result.instances), folder, "communication.png"))
    return written


def plot_explanation(explanation: Explanation, folder: Path, title: str) -> Path:
    """Draw the critical path of a simulation and what each parameter does to its makespan: ``explanation.png``.

    Raises:
        ClueError: If the file cannot be written.
    """
    from clue.report.plots.explanation import draw_explanation  # noqa: PLC0415 - matplotlib
    from clue.report.plots.style import save  # noqa: PLC0415

    return save(draw_explanation(explanation, title), folder, "explanation.png")


def plot_samples(sampled: Sampled, folder: Path, title: str) -> Path:
    """Draw how a makespan is spread over samples of the noise: ``samples.png``.

    Raises:
        ClueError: If the file cannot be written.
    """
    from clue.report.plots.samples import draw_samples  # noqa: PLC0415 - matplotlib
    from clue.report.plots.style import save  # noqa: PLC0415

    return save(draw_samples(sampled, title), folder, "samples.png")


def plot_bursts(structure: Structure, size: int, ranks: int, folder: Path, title: str) -> Path:
    """Draw measured and modelled bursts by call site, and what they are at a target: ``bursts.png``.

    Raises:
        ClueError: If the file cannot be written.
    """
    from clue.report.plots.bursts import draw_bursts  # noqa: PLC0415 - matplotlib
    from clue.report.plots.style import save  # noqa: PLC0415

    return save(draw_bursts(structure.program, structure.fits(size, ranks), title), folder, "bursts.png")


def plot_ranking(ranking: Ranking, folder: Path) -> list[Path]:
    """Draw a ranking: score and price, the parts of makespans, and how each workload scales.

    The files are ``ranking.png``, ``breakdown.png``, and ``speedup-WORKLOAD.png`` for each workload that was tried at
    several numbers of ranks.

    Raises:
        ClueError: If a file cannot be written.
    """
    from clue.report.plots.breakdown import draw_breakdown  # noqa: PLC0415 - matplotlib
    from clue.report.plots.ranking import draw_ranking  # noqa: PLC0415
    from clue.report.plots.scaling import draw_common_speedup, fastest, scaling_of  # noqa: PLC0415
    from clue.report.plots.style import save  # noqa: PLC0415

    written = [save(draw_ranking(ranking), folder, "ranking.png")]
    if any(entry.workloads for entry in ranking.entries):
        written.append(save(draw_breakdown(ranking), folder, "breakdown.png"))
    scaling = scaling_of(ranking)
    for (workload, series), name in zip(scaling.items(), file_names(scaling), strict=True):
        title = f"{ranking.scenario}, {workload}: {fastest(series)}"
        written.append(save(draw_common_speedup(series, title), folder, f"speedup-{name}.png"))
    return written


def file_names(names: Iterable[str]) -> list[str]:
    """Return parts of file names for names of workloads, each its own."""
    found: list[str] = []
    for name in names:
        plain = "".join(c if c.isalnum() or c in "-_." else "-" for c in name)[:_LONGEST_NAME]
        again = (f"{plain}-{i}" for i in count(2))
        found.append(plain if plain not in found else next(each for each in again if each not in found))
    return found


def plot_machine(machine: Machine, folder: Path) -> Path:
    """Draw the delay curves of a machine: ``delays.png``.

    Raises:
        ClueError: If the file cannot be written.
    """
    from clue.report.plots.delays import draw_delays  # noqa: PLC0415 - matplotlib
    from clue.report.plots.style import save  # noqa: PLC0415

    return save(draw_delays(machine), folder, "delays.png")


def plot_speedup(series: Sequence[Series], folder: Path, title: str) -> Path:
    """Draw speed-up over processors from makespans: ``speedup.png``.

    Raises:
        ClueError: If the file cannot be written.
    """
    from clue.report.plots.scaling import draw_speedup  # noqa: PLC0415 - matplotlib
    from clue.report.plots.style import save  # noqa: PLC0415

    return save(draw_speedup(series, title), folder, "speedup.png")


def plot_performance(series: Sequence[Series], folder: Path, title: str) -> Path:
    """Draw performance over processors from flop/s: ``performance.png``.

    Raises:
        ClueError: If the file cannot be written.
    """
    from clue.report.plots.scaling import draw_performance  # noqa: PLC0415 - matplotlib
    from clue.report.plots.style import save  # noqa: PLC0415

    return save(draw_performance(series, title), folder, "performance.png")
