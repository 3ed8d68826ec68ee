"""Results and rankings on the terminal, as JSON and as pictures, whichever command they come from."""

from __future__ import annotations

import argparse
from pathlib import Path

from clue.cli.terminal import plots_folder, say, show, show_json
from clue.errors import UsageError
from clue.explain import Explanation, RankingExplanation
from clue.machine import Machine
from clue.purchase import Ranking
from clue.report.document import ranking_document, result_document
from clue.report.explanation import explanation_document, ranking_explanation_document
from clue.report.text.explanation import explanation_text
from clue.report.text.ranking import ranking_text
from clue.report.text.ranking_explanation import ranking_explanation_text
from clue.report.text.result import result_text
from clue.result import Result
from clue.uncertainty import Sampled


def show_result(
    result: Result,
    title: str,
    arguments: argparse.Namespace,
    *,
    sampled: Sampled | None = None,
    explanation: Explanation | None = None,
) -> None:
    """Show a result as text, or as JSON where that is asked for."""
    if arguments.json:
        say(result.warnings, prefix="clue: warning: ")
        explained = {} if explanation is None else {"explanation": explanation_document(explanation)}
        show_json(result_document(result, sampled) | explained)
    else:
        show(result_text(result, title, sampled))
        if explanation is not None:
            show("", explanation_text(explanation))


def refuse_window(arguments: argparse.Namespace, comparison: str = "") -> None:
    """Refuse a window on a timeline where none will be drawn.

    Raises:
        UsageError: If there is one without a folder for pictures, or with a comparison of this name.
    """
    if arguments.window is not None and arguments.plots is None:
        raise UsageError("--window must go with --plots, got no folder for plots")
    if arguments.window is not None and comparison:
        raise UsageError(f"{comparison}: --window must go with one program on one machine, got a comparison")


def plot_result(
    result: Result, machine: Machine, title: str, arguments: argparse.Namespace, explanation: Explanation | None = None
) -> list[Path]:
    """Draw a result and its machine, if pictures are asked for; returns their files."""
    if arguments.plots is None:
        return []
    from clue.report import plots  # noqa: PLC0415 - matplotlib takes a second

    folder = plots_folder(arguments.plots)
    window = None if arguments.window is None else plots.Window(*arguments.window)
    explained = [] if explanation is None else [plots.plot_explanation(explanation, folder, title)]
    return [*plots.plot_result(result, folder, title, window), *explained, plots.plot_machine(machine, folder)]


def show_ranking(
    ranking: Ranking, arguments: argparse.Namespace, explanation: RankingExplanation | None = None
) -> None:
    """Show a ranking as text, or as JSON where that is asked for."""
    if arguments.json:
        say(ranking.warnings, prefix="clue: warning: ")
        explained = {} if explanation is None else {"explanation": ranking_explanation_document(explanation)}
        show_json(ranking_document(ranking) | explained)
    else:
        show(ranking_text(ranking))
        if explanation is not None:
            show("", ranking_explanation_text(explanation))


def plot_ranking(ranking: Ranking, arguments: argparse.Namespace) -> list[Path]:
    """Draw a ranking, if pictures are asked for; returns their files."""
    if arguments.plots is None:
        return []
    from clue.report import plots  # noqa: PLC0415 - matplotlib takes a second

    return plots.plot_ranking(ranking, plots_folder(arguments.plots))
