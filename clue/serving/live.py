"""A ranking that is repeated whenever figures change, without repeating what does not depend on them.

Slow parts (samples, advice on what to buy with more money) are computed for a second request, which the next change
cancels. So the order appears at once, and every answer belongs to the current figures.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from clue.config.changes import ChangeableScenario, Figure
from clue.errors import ServeError, UsageError
from clue.garbage import no_search_for_garbage, search_no_more
from clue.predict.predictor import Predictor
from clue.predict.remembering import RememberingPredictor
from clue.progress import Progress, silent
from clue.purchase import Ranking, Scenario, rank_options
from clue.purchase.attempts import KnownRuns
from clue.purchase.ranking import check_samples
from clue.report.page import Field, live_page, ranking_pieces
from clue.uncertainty import ModelError, Sampling
from clue.units import count_of

#: Largest length of a changed figure, characters.
LONGEST = 200


@dataclass(frozen=True, slots=True)
class Answer:
    """A ranking with changed figures.

    Attributes:
        pieces: The page as pieces of HTML by their names, in order.
        seconds: Time that it took.
        simulations: Number of simulations that it took.
        awaited: Whether :meth:`LiveRanking.in_full` adds further parts.
    """

    pieces: Mapping[str, str]
    seconds: float
    simulations: int
    awaited: bool = False

    @property
    def page(self) -> str:
        """All pieces."""
        return "\n".join(self.pieces.values())


class SupersededError(ServeError):
    """Report that figures have changed during a computation for earlier ones."""


class LiveRanking:
    """Ranks a comparison, with the figures of its file or with changed ones; one ranking at a time.

    Args:
        changeable: The comparison.
        predictor: Predicts applications; it is asked for each prediction once.
        top: Number of requested positions; ``None``: as :func:`clue.purchase.rank_options` decides.
        sampling: The samples of uncertain figures to draw.
        error: The model's error, as far as known.
        command: The command that makes the page.
        by: Name and version of the program.
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
        self._known = KnownRuns()
        self._top, self._sampling, self._error = top, sampling, error
        self._command, self._by = command, by
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._turn = 0
        self._first: Ranking | None = None

    @property
    def figures(self) -> Sequence[Figure]:
        """The figures that can be changed."""
        return self._changeable.figures

    def begin(self, progress: Progress = silent) -> Ranking:
        """Rank the comparison with the figures of its file.

        Raises:
            ClueError: If it cannot be ranked.
        """
        self._first = self._rank(self._changeable.scenario, progress, self._sampling)
        if not self._first.interrupted:
            self._ranked({}, self._go_on, in_full=False)  # the first time takes longer than all others
        search_no_more()
        return self._first

    def page(self) -> str:
        """Return the whole page for the comparison of the file, which must have been ranked."""
        assert self._first is not None
        fields = _fields(self.figures)
        return live_page(self._first, self._changeable.scenario, self._command, self._by, fields)

    def changed(self, changes: Mapping[str, str]) -> Answer:
        """Rank the comparison with changed figures, without the parts that take longer.

        Args:
            changes: New texts by the names of figures.

        Raises:
            ChangeError: If a figure is wrong, or makes the comparison wrong.
            ClueError: If the changed comparison cannot be ranked.
        """
        self._turn += 1
        return self._answer(changes, self._go_on, in_full=False)

    def in_full(self, changes: Mapping[str, str]) -> Answer:
        """Rank the comparison with changed figures, with all requested parts.

        Raises:
            SupersededError: If figures change meanwhile.
            ClueError: As :meth:`changed`.
        """
        mine = self._turn

        def go_on(_what: str, _done: int = 0, _total: int = 0) -> None:
            self._go_on("")
            if self._turn != mine:
                raise SupersededError("figures must stay until all is worked out, got others")

        return self._answer(changes, go_on, in_full=True)

    def _answer(self, changes: Mapping[str, str], progress: Progress, *, in_full: bool) -> Answer:
        for name, text in changes.items():
            if len(text) > LONGEST:
                raise UsageError(f"{name} must have at most {count_of(LONGEST, 'character')}, got {len(text):,}")
        with self._lock, no_search_for_garbage():
            return self._ranked(changes, progress, in_full=in_full)

    def _ranked(self, changes: Mapping[str, str], progress: Progress, *, in_full: bool) -> Answer:
        begin, before = time.perf_counter(), self._predictor.asked
        scenario = self._changeable.changed(changes)
        if self._sampling is not None:
            check_samples(scenario)  # the first answer draws none, and would be followed by a refusal
        awaited = [] if in_full else list(self._awaited(scenario))
        sampling = None if awaited else self._sampling
        progress("ranking", 0, 0)
        ranking = self._rank(replace(scenario, next_amount=None) if awaited else scenario, progress, sampling)
        told = self._told(changes)
        pieces = ranking_pieces(ranking, scenario, self._command, self._by, told, awaited)
        return Answer(pieces, time.perf_counter() - begin, self._predictor.asked - before, bool(awaited))

    def _awaited(self, scenario: Scenario) -> Iterator[str]:
        """Yield the names of the parts that take longer."""
        if self._sampling is not None:
            yield f"How sure the order is: {count_of(self._sampling.samples, 'sample')} of the uncertainty."
        if scenario.next_amount is not None:
            yield f"Where {scenario.next_amount} more would go."

    def end(self) -> None:
        """Cancel the current ranking before its next simulation."""
        self._ended.set()

    def _go_on(self, _what: str, _done: int = 0, _total: int = 0) -> None:
        if self._ended.is_set():
            raise ServeError("server must run until the ranking is made, got its end")

    def _rank(self, scenario: Scenario, progress: Progress, sampling: Sampling | None) -> Ranking:
        error = self._error if sampling is not None else None
        return rank_options(
            scenario, self._predictor, progress, top=self._top, sampling=sampling, error=error, known=self._known
        )

    def _told(self, changes: Mapping[str, str]) -> list[str]:
        """Return lines that state the differences from the file."""
        stated = {figure.name: figure.text or figure.default for figure in self.figures}
        return [
            f"{name}: {text.strip() or 'left out'} (the file has {stated[name] or 'none'})"
            for name, text in changes.items()
        ]


def _fields(figures: Sequence[Figure]) -> list[tuple[str, list[Field]]]:
    """Return the figures in groups, in the order in which these first come."""
    groups: dict[str, list[Field]] = {}
    for each in figures:
        field = Field(each.name, each.label, each.text, each.default, each.choices, each.whole)
        groups.setdefault(each.group, []).append(field)
    return list(groups.items())
