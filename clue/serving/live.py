"""A ranking that is made anew whenever figures change; what has been simulated is not simulated again."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clue.config.changes import ChangeableScenario, Figure
from clue.errors import ServeError, UsageError
from clue.predict.predictor import Predictor
from clue.predict.remembering import RememberingPredictor
from clue.progress import Progress, silent
from clue.purchase import Ranking, Scenario, rank_options
from clue.report.page import Field, live_page, ranking_sections
from clue.uncertainty import ModelError, Sampling
from clue.units import count_of

#: Characters of a changed figure at most.
LONGEST = 200


@dataclass(frozen=True, slots=True)
class Answer:
    """A ranking with changed figures.

    Attributes:
        page: What stands on the page then, as HTML.
        seconds: What the ranking took.
        simulations: How many simulations it took.
    """

    page: str
    seconds: float
    simulations: int


class LiveRanking:
    """Ranks a comparison as its file has it, and with other figures, one at a time.

    Args:
        changeable: The comparison.
        predictor: Tells what applications take; each thing is asked of it once.
        top: How many positions are wanted; ``None``: as :func:`clue.purchase.rank_options` decides.
        sampling: Which samples of what is uncertain to draw.
        error: What is known of the model's error.
        command: The command that gives the page.
        by: By what it is made.
    """

    def __init__(
        self,
        changeable: ChangeableScenario,
        predictor: Predictor,
        *,
        top: int | None = None,
        sampling: Sampling | None = None,
        error: ModelError | None = None,
        command: str = "",
        by: str = "",
    ) -> None:
        self._changeable = changeable
        self._predictor = RememberingPredictor(predictor)
        self._top, self._sampling, self._error = top, sampling, error
        self._command, self._by = command, by
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._first: Ranking | None = None

    @property
    def figures(self) -> Sequence[Figure]:
        """What can be changed."""
        return self._changeable.figures

    def begin(self, progress: Progress = silent) -> Ranking:
        """Rank the comparison as its file has it.

        Raises:
            ClueError: If it cannot be ranked.
        """
        self._first = self._rank(self._changeable.scenario, progress)
        return self._first

    def page(self) -> str:
        """Return the whole page, as its file has the comparison, which has been ranked."""
        assert self._first is not None
        fields = _fields(self.figures)
        return live_page(self._first, self._changeable.scenario, self._command, self._by, fields)

    def changed(self, changes: Mapping[str, str]) -> Answer:
        """Rank the comparison with changed figures.

        Args:
            changes: By the names of figures what counts instead.

        Raises:
            ChangeError: If a figure is wrong, or the comparison is with it.
            ClueError: If it cannot be ranked then.
        """
        for name, text in changes.items():
            if len(text) > LONGEST:
                raise UsageError(f"{name} must have at most {count_of(LONGEST, 'character')}, got {len(text):,}")
        with self._lock:
            begin, before = time.perf_counter(), self._predictor.asked
            scenario = self._changeable.changed(changes)
            ranking = self._rank(scenario, self._go_on)
            seconds, simulations = time.perf_counter() - begin, self._predictor.asked - before
        page = ranking_sections(ranking, scenario, self._command, self._by, self._told(changes))
        return Answer(page, seconds, simulations)

    def end(self) -> None:
        """End a ranking that is being made, before its next simulation."""
        self._ended.set()

    def _go_on(self, _what: str, _done: int = 0, _total: int = 0) -> None:
        if self._ended.is_set():
            raise ServeError("server must go on until a ranking is made, got its end")

    def _rank(self, scenario: Scenario, progress: Progress) -> Ranking:
        return rank_options(
            scenario, self._predictor, progress, top=self._top, sampling=self._sampling, error=self._error
        )

    def _told(self, changes: Mapping[str, str]) -> list[str]:
        """Say what differs from the file."""
        stated = {figure.name: figure.text or figure.default for figure in self.figures}
        return [
            f"{name}: {text.strip() or 'left out'} (the file has {stated[name] or 'none'})"
            for name, text in changes.items()
        ]


def _fields(figures: Sequence[Figure]) -> list[tuple[str, list[Field]]]:
    """Return the figures in groups, in the order in which these first come."""
    groups: dict[str, list[Field]] = {}
    for each in figures:
        field = Field(each.name, each.label, each.text, each.default, each.choices)
        groups.setdefault(each.group, []).append(field)
    return list(groups.items())
