"""The explanation of a simulation as text: critical path, ranks that others waited for, efficiencies, sensitivities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clue.report.shared.call_sites import labels
from clue.report.shared.scale import time_scale
from clue.report.shared.table import NONE, add_row, heading, stack, table, words
from clue.units import count_of, format_share, format_size, format_time

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from clue.explain import Efficiencies, Explanation, Sensitivity

#: Largest numbers of ranks and call sites of the path that are listed, the largest shares first.
MOST_RANKS, MOST_SITES = 8, 12
_EFFICIENCIES = (
    ("parallel", "parallel efficiency", "mean computation / makespan = load balance × communication efficiency"),
    ("load_balance", "  load balance", "mean / largest computation of a rank, each on a processor of its own"),
    ("communication", "  communication efficiency", "largest computation / makespan = product of the following"),
    (
        "serialisation",
        "    serialisation",
        "largest computation / makespan if messages took no time and no processor were shared or cold",
    ),
    ("sharing", "    processor sharing, cold starts", "that makespan / makespan if messages took no time"),
    ("transfer", "    transfer", "makespan if messages took no time / makespan"),
)


def explanation_text(explanation: Explanation) -> RenderableType:
    """Show an explanation."""
    return stack(
        _path(explanation) if explanation.makespan else None,
        _ranks(explanation) if explanation.makespan else None,
        _sites(explanation) if explanation.makespan else None,
        _efficiencies(explanation.efficiencies),
        _sensitivities(explanation),
    )


def _path(explanation: Explanation) -> RenderableType:
    from clue.explain.shares import part_shares  # noqa: PLC0415 - numpy

    scale = time_scale(explanation.makespan)
    time = f"time ({scale.unit})"
    shown = table("part", "region", "where", time, "share", numbers=(time, "share"))
    shares = part_shares(explanation.path)
    for each in shares:
        region = (each.region or "(no region)") if each.part.is_computation else ""
        share = _percent(each.seconds / explanation.makespan)
        add_row(
            shown,
            each.part.words,
            region,
            each.where,
            scale.format(each.seconds),
            share,
            end_section=each is shares[-1],
        )
    add_row(shown, "makespan", "", "", scale.format(explanation.makespan), "")
    return stack(
        heading(
            "Critical path: what the makespan is made of (by the reference engine; the fast one keeps no histories)"
        ),
        shown,
    )


def _ranks(explanation: Explanation) -> RenderableType:
    from clue.explain.shares import rank_shares  # noqa: PLC0415 - numpy

    scale = time_scale(explanation.makespan)
    times = [f"{name} ({scale.unit})" for name in ("computing", "calls", "messages")]
    numbers = ("rank", "node", *times, "share", "turns")
    shown = table("rank", "node", "type", *times, "share", "turns", title="Waiting for whom", numbers=numbers)
    shares = rank_shares(explanation.path)
    for each in shares[:MOST_RANKS]:
        figures = (scale.format(time) for time in (each.computing, each.calls, each.messages))
        share = _percent(each.seconds / explanation.makespan)
        add_row(shown, each.rank, each.node, each.node_type, *figures, share, each.turns)
    more = len(shares) - MOST_RANKS
    return stack(shown, words(f"and {count_of(more, 'more rank')} with less", "dim") if more > 0 else None)


def _sites(explanation: Explanation) -> RenderableType:
    from clue.explain.shares import site_shares  # noqa: PLC0415 - numpy

    shares = site_shares(explanation.path, explanation.sites)
    if not shares:
        return words(
            "Where in the program this arises is not known: the trace has no call sites; record it again", "dim"
        )
    scale = time_scale(explanation.makespan)
    on_path = [f"{name} ({scale.unit})" for name in ("computing", "in MPI")]
    numbers = (*on_path, "share", "Σ computing", "Σ waiting", "Σ sent")
    title = "Where in the program: the critical path by call site (computing before its calls), and Σ over all ranks"
    shown = table("site", "function", "called from", *numbers, title=title, numbers=numbers)
    names = labels(explanation.path.sites)
    for each in shares[:MOST_SITES]:
        label = names[each.number]
        add_row(
            shown,
            label.name,
            label.function,
            label.callers,
            scale.format(each.computing),
            scale.format(each.calls + each.messages),
            _percent(each.seconds / explanation.makespan),
            format_time(each.compute),
            format_time(each.wait),
            format_size(each.nbytes) if each.nbytes else "",
        )
    more = len(shares) - MOST_SITES
    return stack(shown, words(f"and {count_of(more, 'more call site')} with less", "dim") if more > 0 else None)


def _efficiencies(efficiencies: Efficiencies | None) -> Table | None:
    if efficiencies is None:
        return None
    shown = table("efficiency", "", "definition", title="Efficiencies (POP)", numbers=("",))
    for name, words_, definition in _EFFICIENCIES:
        value = getattr(efficiencies, name)
        if name != "sharing" or value != 1:
            add_row(shown, words_, f"{value:.1%}", definition)
    return shown


def _sensitivities(explanation: Explanation) -> RenderableType | None:
    from clue.explain.sensitivity import LEAST_EFFECT  # noqa: PLC0415 - numpy

    found = explanation.sensitivities
    if not found:
        return None
    changes = tuple(f"at {sign}{found[0].change:.0%}" for sign in "-+")
    shown = table("parameter", *changes, "elasticity", numbers=(*changes, "elasticity"))
    listed = [each for each in found if each.size >= LEAST_EFFECT]
    for each in listed:
        low, high = _change(each.change_if_lower), _change(each.change_if_higher)
        add_row(shown, each.parameter, low, high, _elasticity(each))
    little = [each.parameter for each in found if 0 < each.size < LEAST_EFFECT]
    without = [each.parameter for each in found if not each.has_effect]
    return stack(
        heading("Sensitivity: the makespan with one parameter of the machine changed"),
        shown if listed else None,
        words(f"Less than {LEAST_EFFECT:.2%}: {', '.join(little)}", "dim") if little else None,
        words(f"No effect at all: {', '.join(without)}", "dim") if without else None,
    )


def _percent(share: float) -> str:
    return f"{share:.1%}"


def _change(change: float | None) -> str:
    return "deadlock" if change is None else format_share(change, 2, "+")


def _elasticity(each: Sensitivity) -> str:
    return NONE if each.elasticity is None else f"{each.elasticity:+.3f}"
