"""Skeletons as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clue.report.shared.table import add_row, bullets, facts, heading, stack, table, words
from clue.report.shared.warnings import warnings_text
from clue.units import count_of, format_share, format_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType
    from rich.table import Table

    from clue.report.skeleton.document import Replayed, Written
    from clue.skeleton.construction import DominantSequence
    from clue.skeleton.prediction import Measured, SkeletonRun

#: Largest number of shown letters of a signature.
_LONGEST = 600


def skeleton_text(written: Written, command: str) -> RenderableType:
    """Show the parts of a skeleton, how short it could be, and how to run it."""
    made = written.skeleton
    signature = str(made.signature)
    more = f" … ({len(signature):,} letters)" if len(signature) > _LONGEST else ""
    works = (f"{each.region or 'outside any region'}: {each.text} ({each.why})" for each in written.characters.values())
    return stack(
        heading(f"{written.target}: {format_time(made.seconds)} on {count_of(made.trace.ranks)}"),
        facts(
            (
                ("skeleton", written.identity),
                ("stands for", f"{format_time(made.application)} when recorded, {made.scale:.4g} times as long"),
                ("signature", signature[:_LONGEST] + more),
                ("compression", f"Q = {made.ratio:.4g} at similarity threshold {made.threshold:g}"),
                ("dominant sequence", _sequence(made.dominant)),
                ("shortest good", f"{format_time(made.shortest)}{'' if made.good else ', longer than this one'}"),
                ("statements", f"{written.statements:,}, {len(made.trace.ops):,} ops"),
                ("work", "; ".join(works)),
            )
        ),
        *([_replayed(written.replayed)] if written.replayed else []),
        warnings_text(made.caveats),
        words(f"Next: {command}"),
    )


def _sequence(dominant: DominantSequence | None) -> str:
    if dominant is None:
        return "none: no loop makes half of the application"
    times = count_of(dominant.iterations, "iteration")
    share = format_share(dominant.share)
    return f"{dominant.name}: {times} of {format_time(dominant.seconds)}, {share} of the application"


def _replayed(replayed: Sequence[Replayed]) -> Table:
    numbers = ("application", "skeleton", "predicted", "error")
    shown = table("machine", *numbers, title="What scaling costs in simulation", numbers=numbers)
    for each in replayed:
        times = (format_time(time) for time in (each.application, each.skeleton, each.predicted))
        add_row(shown, each.machine, *times, format_share(each.error, 1, "+"))
    return shown


def measured_text(measured: Measured, here: SkeletonRun) -> RenderableType:
    """Show the prediction of an application's time from a run of its skeleton."""
    interval = measured.interval
    how = "measured where it was recorded" if measured.is_ratio_measured else "by construction"
    return stack(
        heading(f"{format_time(measured.seconds)} on {count_of(measured.ranks)}"),
        facts(
            (
                ("four of five", f"{format_time(interval.low)} to {format_time(interval.high)}"),
                ("skeleton", f"{measured.skeleton}: {format_time(here.seconds)}"),
                ("application / skeleton", f"{measured.scale:.4g}, {how}"),
                ("recorded", format_time(here.application)),
            )
        ),
        bullets([caveat.said for caveat in measured.caveats("")]),
    )
