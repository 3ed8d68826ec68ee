"""Pictures of a ranking as PNG files with fixed names."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from pathlib import Path

from clue.analysis.scaling import scaling_of
from clue.purchase import Ranking
from clue.report.queue.plot import draw_waiting
from clue.report.ranking.breakdown import draw_breakdown
from clue.report.ranking.scaling import draw_common_speedup, fastest
from clue.report.ranking.scores import draw_ranking
from clue.report.shared.style import save

#: Largest number of letters of a workload in the name of a file.
_LONGEST_NAME = 60


def plot_ranking(ranking: Ranking, folder: Path) -> list[Path]:
    """Draw a ranking: score and price, the parts of makespans, and how each workload scales.

    The files are ``ranking.png``, ``breakdown.png``, ``waiting.png`` if jobs are stated, and ``speedup-WORKLOAD.png``
    for each workload that was tried at several numbers of ranks.

    Raises:
        ClueError: If a file cannot be written.
    """
    written = [save(draw_ranking(ranking), folder, "ranking.png")]
    if any(entry.workloads for entry in ranking.entries):
        written.append(save(draw_breakdown(ranking), folder, "breakdown.png"))
    if (waiting := draw_waiting(ranking)) is not None:
        written.append(save(waiting, folder, "waiting.png"))
    scaling = scaling_of(ranking)
    for (workload, series), name in zip(scaling.items(), file_names(scaling), strict=True):
        title = f"{ranking.scenario}, {workload}: {fastest(series)}"
        written.append(save(draw_common_speedup(series, title), folder, f"speedup-{name}.png"))
    return written


def file_names(names: Iterable[str]) -> list[str]:
    """Return a distinct part of a file name for each workload."""
    found: list[str] = []
    for name in names:
        plain = "".join(c if c.isalnum() or c in "-_." else "-" for c in name)[:_LONGEST_NAME]
        again = (f"{plain}-{i}" for i in count(2))
        found.append(plain if plain not in found else next(each for each in again if each not in found))
    return found
