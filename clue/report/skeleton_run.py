"""What a run of a skeleton says of its application, as a JSON document and as text."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from clue.report.document import Document, fields
from clue.report.text.table import bullets, facts, heading, stack
from clue.uncertainty import TAIL
from clue.units import count_of, format_time

if TYPE_CHECKING:
    from rich.console import RenderableType

    from clue.skeleton.prediction import Measured, SkeletonRun


def measured_document(measured: Measured) -> Document:
    """Describe what an application takes by a run of its skeleton."""
    low, high = _interval(measured)
    return {
        **fields(measured, "seconds", "scale", "skeleton", "ranks"),
        "low": low,
        "high": high,
        "measured_ratio": measured.is_ratio_measured,
        "warnings": [caveat.said for caveat in measured.caveats("")],
    }


def measured_text(measured: Measured, here: SkeletonRun) -> RenderableType:
    """Show what an application takes by a run of its skeleton."""
    low, high = _interval(measured)
    how = "measured where it was recorded" if measured.is_ratio_measured else "by construction"
    return stack(
        heading(f"{format_time(measured.seconds)} on {count_of(measured.ranks)}"),
        facts(
            (
                ("four of five", f"{format_time(low)} to {format_time(high)}"),
                ("skeleton", f"{measured.skeleton}: {format_time(here.seconds)}"),
                ("application / skeleton", f"{measured.scale:.4g}, {how}"),
                ("recorded", format_time(here.application)),
            )
        ),
        bullets([caveat.said for caveat in measured.caveats("")]),
    )


def _interval(measured: Measured) -> tuple[float, float]:
    reach = math.exp(TAIL * measured.deviation)
    return measured.seconds / reach, measured.seconds * reach
