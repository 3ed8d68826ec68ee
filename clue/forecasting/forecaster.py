"""Forecasts: what a routine needs, what of a host is available, and what follows from both."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from typing import Any

from clue.display import html, short_repr
from clue.errors import ForecastError
from clue.forecasting import availability, shipped
from clue.forecasting.asking import Address, Peer
from clue.forecasting.availability import Availability
from clue.forecasting.figures import HOST, NETWORK, RETRY, Figure, Figures
from clue.forecasting.routes import Route, find_route
from clue.forecasting.routines import specification
from clue.forecasting.segments import Need, Segments
from clue.forecasting.sequence import Plan, Timeline, forecast_sequence
from clue.forecasting.store import Measured, Store
from clue.units import format_size, format_time

#: Names of the computer that asks.
_HERE = {"localhost", "127.0.0.1"}


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a routine will take.

    Attributes:
        routine: Its name.
        host: Where it is to run.
        seconds: The most likely time, under the load that there is.
        low: The begin of an interval that is to hold 80 % of true times at that load.
        high: Its end.
        inside: Whether the sizes lie within what was measured.
        memory: What its data take, in bytes.
        need: What it takes on a processor of its own.
        available: What of the host is available.
        measured: When that was, in seconds since 1970.
        warnings: What a reader must know.
    """

    routine: str
    host: str
    seconds: float
    low: float
    high: float
    inside: bool
    memory: int
    need: Need
    available: Availability
    measured: float
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Tell the time."""
        return short_repr(self, self.routine, f"{format_time(self.seconds)} on {self.host}")

    def _repr_html_(self) -> str:
        facts = (
            ("time", format_time(self.seconds)),
            ("80 % interval", f"{format_time(self.low)} to {format_time(self.high)}"),
            ("host", self.host),
            ("memory", format_size(self.memory)),
            ("sizes", "" if self.inside else "beyond what was measured"),
        )
        return html(self.routine, facts, notes=self.warnings)


@dataclass(slots=True, eq=False)
class Forecaster:
    """Answers questions about routines and hosts, by a store and by other hosts' servers.

    An answer holds until a figure that it rests on is to be measured anew; until then it costs a look into a table.

    Attributes:
        store: What was measured.
        token: What other hosts want to be told, if anything.
        patience: Seconds that another host may take to answer.
        host: The name of this computer.
        figures: What is known of hosts and links.
        look: Measures what of this computer is available.
    """

    store: Store
    token: str | None = None
    patience: float = 2.0
    host: str = field(default_factory=platform.node)
    look: Callable[[str], Availability] = field(default_factory=lambda: availability.here)
    figures: Figures = field(init=False)
    _answers: dict[tuple[object, ...], tuple[float, Forecast]] = field(default_factory=dict)
    _routines: dict[tuple[str, str], tuple[Measured, Segments]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.figures = Figures(self.store)

    def time(self, routine: str, sizes: Mapping[str, int], host: str | None = None) -> Forecast:
        """Return what a routine will take on a host under the load that there is.

        Raises:
            UsageError: If the routine, its sizes or the host are no such things.
            ForecastError: If the host cannot run it, has too little memory, or does not answer and never did.
        """
        key = (routine, *sizes.items(), host)
        known = self._answers.get(key)
        if known is not None and time.monotonic() < known[0]:
            return known[1]
        name = self.named(host)
        needed = self.need(routine, sizes, name)
        figure = self.available(name)
        answer = _combined(routine, name, needed, figure)
        left = RETRY if figure.stale else HOST - max(0.0, self.figures.clock() - figure.measured)
        self._answers[key] = (time.monotonic() + left, answer)
        return answer

    def need(self, routine: str, sizes: Mapping[str, int], host: str | None = None) -> tuple[Need, int, list[str]]:
        """Return what a routine needs on an unloaded host: time, bytes of memory, and what a reader must know.

        Raises:
            UsageError: If the routine, its sizes or the host are no such things.
            ForecastError: If it was not measured there.
        """
        measured, segments = self.routine(routine, self.named(host))
        given = measured.routine.sizes(sizes)
        need = segments.need(given)
        return need, measured.memory.of(sizes), [*_outside(measured, segments, given), *_changed(measured, self.host)]

    def available(self, host: str | None = None) -> Figure:
        """Return what of a host is available: an :class:`Availability`, no older than 30 s if it can be had.

        Raises:
            ForecastError: If the host does not answer and never did.
        """
        name = self.named(host)

        def measure() -> tuple[Any, float]:
            if name == self.host:
                return self.look(name).document(), 0.0
            told = _understood(name, lambda: self.peer(name).ask("/availability"), _checked)
            return {**told["available"], "host": name}, float(told["age"])

        figure = self.figures.get(f"host {name}", HOST, measure)
        return Figure(Availability.of(figure.value), figure.measured, figure.stale)

    def route(self, source: str, target: str) -> tuple[Route, str]:
        """Return the way between two hosts, and why it is not as young as it should be, if so.

        A link of this computer is measured; between others a path is sought over links that they have measured.

        Raises:
            ForecastError: If there is none.
        """
        one, other = self.named(source), self.named(target)
        if one == other:
            return Route.within(one), ""
        silent = []
        if self.host in {one, other}:
            try:
                figure = self.measure_link(other if one == self.host else one)
                return Route.of(figure.value, (one, other)), figure.stale
            except ForecastError as error:
                silent.append(str(error))
        silent += self._ask_for_links((one, other))
        figures = self.links()
        found = find_route({pair: Route.of(figure.value, pair) for pair, figure in figures.items()}, one, other)
        why = "".join(f": {each}" for each in dict.fromkeys(silent))
        if found is None:
            got = f"none that was measured{why}"
            raise ForecastError(f"{one} to {other}: links must lead from one to the other, got {got}")
        pairs = (tuple(sorted(pair)) for pair in pairwise(found.hosts))
        age = self.figures.clock() - min(figures[here, there].measured for here, there in pairs)
        stale = f"{one} to {other}: links used are up to {format_time(age)} old{why}" if age > NETWORK else ""
        return found, stale

    def routine(self, name: str, host: str) -> tuple[Measured, Segments]:
        """Return what is known of a routine on a host: from the store, else from that host.

        Raises:
            UsageError: If there is no such routine.
            ForecastError: If it was not measured there.
        """
        known = self._routines.get((name, host))
        if known is None:
            measured = self.store.find(host, name)
            if measured is None:
                measured = self._fetched(name, host)
            known = self._routines[name, host] = measured, measured.fit()
        return known

    def named(self, host: str | None) -> str:
        """Return the name of a host as it is kept.

        Raises:
            UsageError: If it is none.
        """
        if host is None or host in _HERE or host == self.host:
            return self.host
        return str(Address.parse(host))

    def peer(self, host: str) -> Peer:
        """Return a host that can be asked."""
        return Peer(Address.parse(host), self.token, self.patience)

    def sequence(self, plan: Plan) -> tuple[Timeline, list[str]]:
        """Return what a sequence of operations takes on hosts under their load, and what a reader must know.

        Raises:
            UsageError: If the sequence, or a routine, size or host in it, is none.
            ForecastError: If a step can run on none of its hosts, or no links lead between them.
        """
        warnings: dict[str, None] = {}

        def seconds(routine: str, sizes: Mapping[str, int], host: str) -> float:
            found = self.time(routine, sizes, host)
            warnings.update(dict.fromkeys(found.warnings))
            return found.seconds

        @cache
        def between(source: str, target: str) -> Route:
            found, stale = self.route(source, target)
            warnings.update({stale: None} if stale else {})
            return found

        return forecast_sequence(plan, seconds, between), list(warnings)

    def links(self) -> dict[tuple[str, str], Figure]:
        """Return all links that are known, however old."""
        return {_ends(name): figure for name, figure in self.figures.all("link ").items()}

    def measure_link(self, host: str) -> Figure:
        """Return the link to a host, no older than 120 s if it can be had: its latency and bandwidth.

        Raises:
            ForecastError: If the host does not answer and never did.
        """

        def measure() -> tuple[Any, float]:
            latency, bandwidth = self.peer(host).probe()
            return {"latency": latency, "bandwidth": bandwidth}, 0.0

        return self.figures.get(_name(self.host, host), NETWORK, measure)

    def _fetched(self, name: str, host: str) -> Measured:
        """Return what another host has measured, and keep it."""
        specification(name)
        if host == self.host:
            raise ForecastError(
                f"{name}: routine must have been measured on {host}, got none: clue forecast benchmark {name}"
            )
        told = _understood(host, lambda: self.peer(host).ask(f"/routines/{name}"), Measured.of)
        measured = replace(Measured.of(told), host=host)
        if measured.routine.name != name:
            raise ForecastError(f"{host}: routine must be {name}, got {measured.routine.name}")
        self.store.keep(measured)
        return measured

    def _ask_for_links(self, ends: tuple[str, str]) -> list[str]:
        """Ask hosts for links that they have measured, from those that are known on; returns why some are silent."""
        silent = []
        asked, left = {self.host}, {*ends, *(host for pair in self.links() for host in pair)} - {self.host}
        while left:
            host = left.pop()
            asked.add(host)
            try:
                left |= {each for pair in self._told_links(host) for each in pair} - asked
            except ForecastError as error:
                silent.append(str(error))
        return sorted(silent)

    def _told_links(self, host: str) -> list[tuple[str, str]]:
        """Take the links that a host tells of; returns their ends."""
        told = _understood(host, lambda: self.peer(host).ask("/links"), _checked_links)
        found = []
        for link in told["links"]:
            one, other = (host if each == told["host"] else each for each in link["between"])
            self.figures.put(_name(one, other), {key: link[key] for key in ("latency", "bandwidth")}, link["age"])
            found.append((one, other))
        return found


def _combined(routine: str, host: str, needed: tuple[Need, int, list[str]], figure: Figure) -> Forecast:
    """Return what a routine takes that needs so much of a host of which so much is available."""
    need, memory, warnings = needed
    there: Availability = figure.value
    if memory > there.memory:
        got = f"{format_size(there.memory)} free for {format_size(memory)}"
        raise ForecastError(f"{routine}: memory must suffice on {host}, got {got}")
    seconds, low, high = (each / there.cpu for each in (need.seconds, need.low, need.high))
    said = (*warnings, *filter(None, (figure.stale,)))
    return Forecast(routine, host, seconds, low, high, need.inside, memory, need, there, figure.measured, said)


def _name(one: str, other: str) -> str:
    return "link " + " ".join(sorted((one, other)))


def _ends(name: str) -> tuple[str, str]:
    _, one, other = name.split(" ")
    return one, other


def _understood(host: str, ask: Callable[[], Any], check: Callable[[Any], object]) -> Any:
    """Return an answer that is what it should be."""
    told = ask()
    try:
        check(told)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ForecastError(
            f"{host}: answer must be that of clue forecast serve, got {type(error).__name__}: {error}"
        ) from None
    return told


def _checked(told: Any) -> None:
    Availability.of(told["available"])
    float(told["age"])


def _checked_links(told: Any) -> None:
    for link in told["links"]:
        one, other = link["between"]
        Address.parse(one), Address.parse(other)
        Route.of(link, (one, other))
        link["age"] = max(0.0, float(link["age"]))
    str(told["host"])


def _outside(measured: Measured, segments: Segments, sizes: tuple[int, ...]) -> list[str]:
    """Say which sizes lie outside what was measured."""
    found = []
    for name, size in zip(measured.routine.parameters, sizes, strict=True):
        low, high = segments.domain[name]
        if not low <= size <= high:
            found.append(
                f"{measured.routine.name}: {name} = {size} lies outside what was measured, {low:.0f} to {high:.0f}"
            )
    return found


def _changed(measured: Measured, here: str) -> list[str]:
    """Say if the library here is another than that which was measured."""
    if measured.host != here or measured.routine.name not in shipped.TERMS:
        return []
    now = shipped.scipy_version()
    if now is None or measured.routine.library.startswith(f"scipy {now},"):
        return []
    name = measured.routine.name
    return [
        f"{name}: was measured with {measured.routine.library}, here is scipy {now}: clue forecast benchmark {name}"
    ]
