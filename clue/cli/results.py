"""Results and rankings on the terminal, as JSON and as plots, for all commands."""

from __future__ import annotations

import argparse
from pathlib import Path

from clue.caveats import named
from clue.cli.signals import INTERRUPTED
from clue.cli.terminal import Volume, detail, plots_folder, say, show, show_json
from clue.explain import Explanation, RankingExplanation
from clue.machine import Machine
from clue.purchase import Ranking
from clue.report.explanation.document import explanation_document, ranking_explanation_document
from clue.report.explanation.ranking_text import ranking_explanation_text
from clue.report.explanation.text import explanation_text
from clue.report.ranking.document import ranking_document
from clue.report.ranking.text import ranking_text
from clue.report.result.document import result_document, steady_document
from clue.report.result.text import result_text
from clue.report.shared.scale import Window
from clue.result import Result
from clue.steady import Steady
from clue.uncertainty import Sampled

#: Largest number of reasons given why nothing is ranked.
_REASONS = 3


def show_result(
    result: Result,
    title: str,
    arguments: argparse.Namespace,
    *,
    sampled: Sampled | None = None,
    steady: Steady | None = None,
    explanation: Explanation | None = None,
) -> None:
    """Show a result as text, or as JSON if requested."""
    if arguments.json:
        say(result.warnings, prefix="clue: warning: ")
        explained = {} if explanation is None else {"explanation": explanation_document(explanation)}
        part = {} if steady is None else {"sampled": steady_document(steady)}
        show_json(result_document(result, sampled) | part | explained)
    else:
        show(result_text(result, title, sampled, steady))
        if explanation is not None:
            show("", explanation_text(explanation))


def plot_result(
    result: Result, machine: Machine, title: str, arguments: argparse.Namespace, explanation: Explanation | None = None
) -> list[Path]:
    """Plot a result and its machine, if requested; return the files."""
    if arguments.plots is None:
        return []
    from clue.report.explanation.plot import plot_explanation  # noqa: PLC0415 - matplotlib takes a second
    from clue.report.machine.plot import plot_machine  # noqa: PLC0415
    from clue.report.result import plot  # noqa: PLC0415

    folder = plots_folder(arguments.plots)
    window = None if arguments.window is None else Window(*arguments.window)
    by_site = getattr(arguments, "colour_by", None) == "site"
    explained = [] if explanation is None else [plot_explanation(explanation, folder, title)]
    return [
        *plot.plot_result(result, folder, title, window, by_site=by_site),
        *explained,
        plot_machine(machine, folder),
    ]


def show_ranking(
    ranking: Ranking, arguments: argparse.Namespace, explanation: RankingExplanation | None = None
) -> None:
    """Show a ranking as text, or as JSON if requested."""
    _tell_bounds(ranking)
    if arguments.json:
        say(ranking.warnings, prefix="clue: warning: ")
        explained = {} if explanation is None else {"explanation": ranking_explanation_document(explanation)}
        show_json(ranking_document(ranking) | explained)
    else:
        show(ranking_text(ranking))
        if explanation is not None:
            show("", ranking_explanation_text(explanation))


def _tell_bounds(ranking: Ranking) -> None:
    compared = sum(each.position is not None for each in ranking.entries)
    ruled_out = sum(each.bound is not None for each in ranking.entries)
    detail(f"{ranking.simulations:,} simulations ranked {compared:,} options")
    detail(f"engine: {ranking.engine or 'none'}; {ranking.engine_reason}")
    if ruled_out and not ranking.interrupted:
        detail(f"{ruled_out:,} options were ruled out by bounds: they cannot be among the first {ranking.first}")


def status_of(ranking: Ranking, place: str = "") -> int:
    """Return the exit status of a comparison; if nothing is ranked, say why and return 1.

    Args:
        ranking: Its result.
        place: Where a file states its options, ``FILE:LINE:COLUMN``; empty if unknown.
    """
    if ranking.interrupted:
        return INTERRUPTED
    if is_ranked(ranking):
        return 0
    why: dict[str, list[str]] = {}
    for each in ranking.entries:
        why.setdefault(each.reason, []).append(each.option)
    told = [f"{named(options, 'options')}: {reason}" for reason, options in why.items()]
    more = f"; and {len(told) - _REASONS:,} more reasons" if len(told) > _REASONS else ""
    reasons = "; ".join(told[:_REASONS]) + more
    where = place or ranking.scenario
    say([f"{where}: at least one option must be ranked, got none: {reasons}"], "clue: ", at=Volume.ERRORS)
    return 1


def is_ranked(ranking: Ranking) -> bool:
    """Tell whether any option has a position."""
    return any(each.position is not None for each in ranking.entries)


def plot_ranking(ranking: Ranking, arguments: argparse.Namespace) -> list[Path]:
    """Plot a ranking, if requested and not empty; return the files."""
    if arguments.plots is None or not is_ranked(ranking):
        return []
    from clue.report.ranking import plot  # noqa: PLC0415 - matplotlib takes a second

    return plot.plot_ranking(ranking, plots_folder(arguments.plots))
