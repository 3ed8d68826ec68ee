"""Figures with an expiry: cached in memory, and in the store for later runs, and measured again once too old."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from clue.errors import ForecastError
from clue.forecasting.store import Store
from clue.units import format_time

#: Lifetime of figures of a host and of the network, s (FAST paper, section 6.1).
HOST, NETWORK = 30.0, 120.0
#: Time until a failed measurement is retried, s; until then no query waits for it.
RETRY = 5.0


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure.

    Attributes:
        value: Measured value, as JSON.
        measured: Time of measurement, seconds since 1970.
        stale: Why it is older than its lifetime; ``""``: it is not.
    """

    value: Any
    measured: float
    stale: str = ""


@dataclass(slots=True, eq=False)
class Figures:
    """All figures that are known.

    Attributes:
        store: Store that keeps them.
        clock: Returns the seconds since 1970.
    """

    store: Store
    clock: Callable[[], float] = time.time
    _known: dict[str, Figure] = field(default_factory=dict)
    #: What a measurement that failed gave instead, and when.
    _silent: dict[str, tuple[float, Figure | ForecastError]] = field(default_factory=dict)

    def get(self, name: str, deadline: float, measure: Callable[[], tuple[Any, float]]) -> Figure:
        """Return a figure that is no older than its deadline; an older one where it cannot be measured.

        Args:
            name: Name of the figure.
            deadline: Its lifetime, seconds.
            measure: Measures it, and returns its value and its age.

        Raises:
            ForecastError: If it cannot be measured and never was.
        """
        known = self._known.get(name)
        if known is not None and self._is_fresh(known, deadline):
            return known
        known = self._latest(name)
        if known is not None and self._is_fresh(known, deadline):
            self._known[name] = known
            return known
        if self.is_silent(name):
            _, stale = self._silent[name]
            if isinstance(stale, ForecastError):
                raise ForecastError(str(stale))
            return stale
        try:
            value, age = measure()
        except ForecastError as error:
            if known is None:
                self._silent[name] = self.clock(), error
                raise
            age = max(0.0, self.clock() - known.measured)
            stale = Figure(known.value, known.measured, f"{error}: the figure used is {format_time(age)} old")
            self._silent[name] = self.clock(), stale
            return stale
        return self.put(name, value, age)

    def is_silent(self, name: str) -> bool:
        """Return whether measuring a figure failed so recently that it is not tried again yet."""
        since, _ = self._silent.get(name, (-RETRY, None))
        return 0 <= self.clock() - since < RETRY

    def put(self, name: str, value: object, age: float = 0.0) -> Figure:
        """Keep a figure with its age in seconds."""
        figure = Figure(value, self.clock() - max(0.0, age))
        self._known[name] = figure
        self._silent.pop(name, None)
        self.store.note(name, value, figure.measured)
        return figure

    def put_if_newer(self, name: str, value: object, age: float) -> None:
        """Keep a figure with its age in seconds, unless a newer one is known."""
        known = self._latest(name)
        if known is None or not self.clock() - max(0.0, age) < known.measured <= self.clock():
            self.put(name, value, age)

    def all(self, prefix: str) -> dict[str, Figure]:
        """Return figures whose names begin with a prefix, of any age; the store may have newer ones of other processes.

        Figures dated in the future come last, as the clock has gone back since.
        """
        found = {name: Figure(value, measured) for name, (value, measured) in self.store.noted(prefix).items()}
        now = self.clock()
        # A copy, as another thread may add a figure meanwhile.
        for name, figure in self._known.copy().items():
            if name.startswith(prefix):
                both = figure, found.get(name, figure)
                found[name] = max(both, key=lambda each: (each.measured <= now, each.measured))
        return found

    def _latest(self, name: str) -> Figure | None:
        return self.all(name).get(name)

    def _is_fresh(self, figure: Figure, deadline: float) -> bool:
        return 0 <= self.clock() - figure.measured < deadline
