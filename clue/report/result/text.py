"""One simulation as text: the makespan, and how every rank spent its time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from clue.report.shared.scale import Scale, time_scale
from clue.report.shared.table import add_row, facts, heading, stack, table
from clue.report.shared.warnings import warnings_text
from clue.units import count_of, format_size, format_time

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from clue.result import RankResult, Result
    from clue.steady import Steady
    from clue.uncertainty import Sampled

#: Largest number of listed ranks; beyond it, the table has a summary and the slowest ranks.
MOST_RANKS = 32
SLOWEST = 8
_TIMES = ("finish", "compute", "communicate", "wait")


def result_text(
    result: Result, title: str = "", sampled: Sampled | None = None, steady: Steady | None = None
) -> RenderableType:
    """Show a simulation: its makespan, the ranks (beyond 32 a summary and the slowest), regions and warnings."""
    return stack(
        heading(title) if title else None,
        facts(figures_of(result, sampled, steady)),
        ranks_table(result) if len(result.ranks) <= MOST_RANKS else _many_ranks(result),
        _regions(result),
        warnings_text(result.warnings),
    )


def figures_of(
    result: Result, sampled: Sampled | None = None, steady: Steady | None = None
) -> tuple[tuple[str, str], ...]:
    """Return the names and texts of the figures of a whole simulation; the text of one that it lacks is empty."""
    traffic = result.traffic
    part = steady if steady is not None and steady.loops else None
    return (
        ("makespan", format_time(result.makespan)),
        ("80 % interval", interval_of(sampled) if sampled is not None else ""),
        ("its width", "; ".join(sampled.reasons) if sampled is not None else ""),
        ("80 % interval", f"{format_time(part.low)} to {format_time(part.high)}" if part else ""),
        ("simulated", _parts(part) if part else ""),
        ("ranks", str(len(result.ranks))),
        ("instances", str(result.instances) if result.instances > 1 else ""),
        ("ops", f"{result.ops:,} of {part.of:,}" if part else f"{result.ops:,}"),
        ("messages", f"{traffic.messages.sum():,} ({format_size(traffic.nbytes.sum())})" if traffic else ""),
        ("engine", result.engine),
    )


def _parts(steady: Steady) -> str:
    return "; ".join(f"{each.simulated:,} of {each.iterations:,} iterations of {each.name}" for each in steady.loops)


def interval_of(sampled: Sampled) -> str:
    """Return the interval of a makespan with its median and the samples."""
    spread, sampling = sampled.spread, sampled.sampling
    ends = f"{format_time(spread.low)} to {format_time(spread.high)}, median {format_time(spread.median)}"
    return f"{ends} ({count_of(sampling.samples, 'sample')}, seed {sampling.seed})"


def _empty(scale: Scale, title: str = "") -> Table:
    columns = ("rank", "node", *_headings(scale), "computing")
    return table(*columns, title=title, numbers=columns)


def _headings(scale: Scale) -> list[str]:
    return [f"{time} ({scale.unit})" for time in _TIMES]


def ranks_table(result: Result) -> Table:
    """Return the figures of all ranks."""
    scale = time_scale(result.makespan)
    shown = _empty(scale)
    for rank in result.ranks:
        _add_rank(shown, rank, scale)
    return shown


def _many_ranks(result: Result) -> RenderableType:
    scale = time_scale(result.makespan)
    times = _headings(scale)
    summary = table("", *times, title=f"All {len(result.ranks)} ranks", numbers=times)
    mean: Callable[[Sequence[float]], float] = lambda times: sum(times) / len(times)  # noqa: E731
    for name, figure in (("least", min), ("mean", mean), ("most", max)):
        add_row(summary, name, *(scale.format(figure([getattr(r, t) for r in result.ranks])) for t in _TIMES))
    slowest = _empty(scale, f"The {SLOWEST} ranks that finish last")
    for rank in sorted(result.ranks, key=lambda each: (-each.finish, each.rank))[:SLOWEST]:
        _add_rank(slowest, rank, scale)
    return stack(summary, slowest)


def _add_rank(to: Table, rank: RankResult, scale: Scale) -> None:
    share = f"{rank.compute / rank.finish:.1%}" if rank.finish > 0 else ""
    add_row(to, rank.rank, rank.node, *(scale.format(getattr(rank, time)) for time in _TIMES), share)


def _regions(result: Result) -> Table | None:
    used = {name: time for name, time in result.compute_by_region.items() if time > 0}
    if not any(used):
        return None
    whole = sum(used.values())
    shown = table("region", "computation", "share", numbers=("computation", "share"), title="Computation of all ranks")
    for name, time in sorted(used.items(), key=lambda each: -each[1]):
        add_row(shown, name or "(no region)", format_time(time), f"{time / whole:.1%}")
    return shown
