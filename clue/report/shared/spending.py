"""What the ranks of a run spend its time on, in words that its page and its pictures share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clue.result import Result

#: Parts below this share of the time are not told.
_LEAST = 5e-4


def percent(share: float) -> str:
    """Format a share; only a share of 0 is shown as 0%."""
    text = f"{share:.0%}"
    return "<1%" if share > 0 and text == "0%" else text


def spending(result: Result) -> str:
    """State the shares of all ranks' time: ``"38% computing, 12% communicating, 38% waiting and 12% already ended"``.

    The time between the end of a rank and that of the last one counts as *already ended*. ``""`` if the run takes none.
    """
    if result.makespan <= 0:
        return ""
    whole = result.makespan
    parts = {
        "computing": sum(rank.compute / whole for rank in result.ranks) / len(result.ranks),
        "communicating": sum(rank.communicate / whole for rank in result.ranks) / len(result.ranks),
        "waiting": sum(rank.wait / whole for rank in result.ranks) / len(result.ranks),
    }
    parts["already ended"] = 1 - sum(parts.values())
    *most, last = (f"{percent(share)} {what}" for what, share in parts.items() if share > _LEAST)
    return f"{', '.join(most)} and {last}" if most else last
