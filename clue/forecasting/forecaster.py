"""Forecasts: a routine's need combined with a host's availability."""

from __future__ import annotations

import platform
import re
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
from clue.forecasting.memory import DEGREE
from clue.forecasting.routes import Route, find_route
from clue.forecasting.routines import specification, version_here
from clue.forecasting.segments import Need, Segments
from clue.forecasting.sequence import Plan, Timeline, forecast_sequence
from clue.forecasting.store import Measured, Store, told
from clue.forecasting.values import number, text
from clue.trace.computer import processor_name
from clue.units import format_size, format_time

#: Version of a module of the user's that is known by its text.
_BY_TEXT = re.compile(r"\S+ [0-9a-f]{12}")
#: Names of this computer.
_HERE = {"localhost", "127.0.0.1"}
#: Bounds of what other hosts may cost this one: links in an answer, hosts that are asked for links, and the largest age
#: of a figure, s.
_MOST_LINKS, _MOST_HOSTS, _OLDEST = 1000, 100, 1e10


@dataclass(frozen=True, slots=True)
class Forecast:
    """Forecast of a routine's time.

    Attributes:
        routine: Its name.
        host: Host that it is to run on.
        seconds: Most likely time under the current load.
        low: Low end of an interval meant to contain 80 % of true times at that load.
        high: High end of that interval.
        inside: Whether the sizes lie within the measured range.
        memory: Memory of its data, bytes.
        need: Its time on a dedicated processor.
        available: Availability of the host.
        measured: Time at which that was measured, seconds since 1970.
        warnings: Caveats.
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

    An answer is cached until a figure that it depends on expires; until then asking again costs one table lookup.

    Attributes:
        store: Store of measured routines.
        token: Token that other hosts require, if any.
        patience: Timeout of another host's answer, seconds.
        host: Name of this computer.
        figures: Figures of hosts and links.
        look: Measures the availability of this computer.
        processor: Model name of its processor.
    """

    store: Store
    token: str | None = None
    patience: float = 2.0
    host: str = field(default_factory=platform.node)
    look: Callable[[str], Availability] = field(default_factory=lambda: availability.here)
    processor: str = field(default_factory=processor_name)
    figures: Figures = field(init=False)
    _answers: dict[tuple[object, ...], tuple[float, float, Forecast]] = field(default_factory=dict)
    _routines: dict[tuple[str, str], tuple[Measured, Segments]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.figures = Figures(self.store)

    def time(self, routine: str, sizes: Mapping[str, int], host: str | None = None) -> Forecast:
        """Return the forecast of a routine on a host under its current load.

        Raises:
            UsageError: If the routine, its sizes or the host are invalid.
            ForecastError: If the host cannot run it, has too little memory, or does not answer and never did.
        """
        key = (routine, *sizes.items(), host)
        known = self._answers.get(key)
        if known is not None and known[0] <= self.figures.clock() < known[1]:
            return known[2]
        name = self.named(host)
        needed = self.need(routine, sizes, name)
        figure = self.available(name)
        answer = _combined(routine, name, needed, figure)
        now = self.figures.clock()
        left = RETRY if figure.stale else HOST - max(0.0, now - figure.measured)
        self._answers[key] = (now, now + left, answer)
        return answer

    def need(self, routine: str, sizes: Mapping[str, int], host: str | None = None) -> tuple[Need, int, list[str]]:
        """Return a routine's need on an unloaded host: time, bytes of memory, and caveats.

        Raises:
            UsageError: If the routine, its sizes or the host are invalid.
            ForecastError: If it was not measured there.
        """
        name = self.named(host)
        measured, segments, silent = self._routine(routine, name)
        given = measured.routine.sizes(sizes)
        need = segments.need(given)
        warnings = [*filter(None, [silent]), *_outside(measured, segments, given)]
        named = dict(zip(measured.routine.parameters, given, strict=True))
        warnings += _guessed(measured, segments, named)
        return need, measured.memory.of(named), warnings + self._changed(measured)

    def available(self, host: str | None = None) -> Figure:
        """Return the :class:`Availability` of a host, no older than 30 s if possible.

        Raises:
            ForecastError: If the host does not answer and never did.
        """
        name = self.named(host)

        def measure() -> tuple[Any, float]:
            if name == self.host:
                return self.look(name).document(), 0.0
            found = _understood(name, lambda: self.peer(name).ask("/availability"), _checked)
            return {**found["available"], "host": name}, float(found["age"])

        key = _host(name) + (f" {availability.conditions()}" if name == self.host else "")
        figure = self.figures.get(key, HOST, measure)
        with told(self.store.path):
            return Figure(Availability.of(figure.value), figure.measured, figure.stale)

    def route(self, source: str, target: str) -> tuple[Route, str]:
        """Return the route between two hosts, and why it is older than its lifetime, if it is.

        A link of this computer is measured; between other hosts a path is searched over the links that they have
        measured.

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
                with told(self.store.path):
                    return Route.of(figure.value, (one, other)), figure.stale
            except ForecastError as error:
                silent.append(str(error))
        silent += self._ask_for_links((one, other))
        figures = self.links()
        with told(self.store.path):
            links = {pair: Route.of(figure.value, pair) for pair, figure in figures.items()}
        found = find_route(links, one, other)
        why = "".join(f": {each}" for each in dict.fromkeys(silent))
        if found is None:
            got = f"none that was measured{why}"
            raise ForecastError(f"{one} to {other}: links must lead from one to the other, got {got}")
        pairs = (tuple(sorted(pair)) for pair in pairwise(found.hosts))
        age = self.figures.clock() - min(figures[here, there].measured for here, there in pairs)
        stale = f"{one} to {other}: links used are up to {format_time(age)} old{why}" if age > NETWORK else ""
        return found, stale

    def routine(self, name: str, host: str) -> tuple[Measured, Segments]:
        """Return the measurement of a routine on a host: from the store, else from that host.

        Another host may have measured more since it was asked, so it is asked again once its answer is older than the
        figures of a network. What was measured anew since it was read is read again.

        Raises:
            UsageError: If there is no such routine.
            ForecastError: If it was not measured there.
        """
        measured, segments, _ = self._routine(name, host)
        return measured, segments

    def _routine(self, name: str, host: str) -> tuple[Measured, Segments, str]:
        """Return what :meth:`routine` does, and why it was not fetched anew, if it was not."""
        silent = "" if host == self.host else self._fetch(name, host)
        known = self._routines.get((name, host))
        if known is None or known[0].measured != self.store.measured(host, name):
            measured = self.store.find(host, name)
            if measured is None:
                specification(name)
                raise ForecastError(
                    f"{name}: routine must have been measured on {host}, got none: run clue forecast benchmark {name}"
                )
            known = self._routines[name, host] = measured, measured.fit()
        return *known, silent

    def named(self, host: str | None) -> str:
        """Return the normalized name of a host.

        Raises:
            UsageError: If it is not a valid name.
        """
        if host is None or host == self.host:
            return self.host
        name = str(Address.parse(host))
        return self.host if name in _HERE or name == self.host else name

    def peer(self, host: str) -> Peer:
        """Return the peer for queries to a host."""
        return Peer(Address.parse(host), self.token, self.patience)

    def sequence(self, plan: Plan) -> tuple[Timeline, list[str]]:
        """Forecast a sequence of operations on hosts under their load; also returns caveats.

        Raises:
            UsageError: If the sequence, or a routine, size or host in it, is invalid.
            ForecastError: If a step can run on none of its hosts, or every choice of hosts that was compared needs a
                route that does not exist.
        """
        warnings: dict[str, None] = {}

        def seconds(routine: str, sizes: Mapping[str, int], host: str) -> float:
            try:
                found = self.time(routine, sizes, host)
            except ForecastError as error:
                warnings[f"choices of hosts with {routine} on {host} are left out: {error}"] = None
                raise
            warnings.update(dict.fromkeys(found.warnings))
            return found.seconds

        @cache
        def way(source: str, target: str) -> Route | str:
            """Return the route, or why there is none."""
            try:
                found, stale = self.route(source, target)
            except ForecastError as error:
                warnings[f"{error}: choices of hosts that need this route are left out"] = None
                return str(error)
            warnings.update({stale: None} if stale else {})
            return found

        def between(source: str, target: str) -> Route:
            found = way(source, target)
            if isinstance(found, str):
                raise ForecastError(found)
            return found

        return forecast_sequence(self._one_name_each(plan), seconds, between), list(warnings)

    def _one_name_each(self, plan: Plan) -> Plan:
        """Return a sequence in which each host has one name, the first by which the sequence calls it.

        A host under two names would compute two operations at a time.
        """
        names: dict[str, str] = {}

        def one(host: str) -> str:
            return names.setdefault(self.named(host), host)

        data = {name: replace(each, host=one(each.host)) for name, each in plan.data.items()}
        steps = tuple(replace(step, host=None if step.host is None else one(step.host)) for step in plan.steps)
        results = {name: one(host) for name, host in plan.results.items()}
        return Plan(data, steps, results, tuple(dict.fromkeys(map(one, plan.hosts))))

    def links(self) -> dict[tuple[str, str], Figure]:
        """Return all known links, of any age."""
        with told(self.store.path):
            return {_ends(name): figure for name, figure in self.figures.all("link ").items()}

    def measure_link(self, host: str) -> Figure:
        """Return the latency and bandwidth of the link to a host, no older than 120 s if possible.

        Raises:
            ForecastError: If the host does not answer and never did.
        """
        name = self.named(host)

        def measure() -> tuple[Any, float]:
            latency, bandwidth = self.peer(name).probe()
            return {"latency": latency, "bandwidth": bandwidth}, 0.0

        return self.figures.get(_name(self.host, name), NETWORK, measure)

    def _changed(self, measured: Measured) -> list[str]:
        """Return caveats if this computer's processor or library differs from the measured one."""
        if measured.host != self.host:
            return []
        name, of = measured.routine.name, measured.routine.library
        found = []
        if measured.processor != self.processor:
            found.append(f"on {measured.processor}, here is {self.processor}")
        if name in shipped.TERMS:
            now = shipped.scipy_version()
            if now is not None and not of.startswith(f"scipy {now},"):
                found.append(f"with {of}, here is scipy {now}")
        elif _BY_TEXT.fullmatch(of) and (here := version_here(name)) not in {None, of}:
            found.append(f"with {of}, here is {here} (digests of its text)")
        return [f"{name}: was measured {each}: clue forecast benchmark {name}" for each in found]

    def _fetch(self, name: str, host: str) -> str:
        """Fetch another host's measurement into the store, unless it was asked less than 120 s ago.

        Where the host does not answer, the stored one stays; returns why, unless its availability tells that anyway.
        """
        absent = (
            f"{name}: routine must have been measured on {host}, got none: run clue forecast benchmark {name} there"
        )

        def fetch() -> tuple[Any, float]:
            specification(name)
            stored = self.store.find(host, name)
            if stored is not None and self.figures.is_silent(_host(host)):
                return stored.measured, NETWORK - RETRY
            found = _understood(host, lambda: self.peer(host).ask(f"/routines/{name}", absent), Measured.of)
            measured = replace(Measured.of(found), host=host)
            if measured.routine.name != name:
                raise ForecastError(f"{host}: routine must be {name}, got {measured.routine.name}")
            self.store.keep(measured)
            return measured.measured, 0.0

        try:
            stale = self.figures.get(f"routine {name} {host}", NETWORK, fetch).stale
            return f"{name}: {stale}" if stale else ""
        except ForecastError as error:
            if self.store.find(host, name) is None:
                raise
            return f"{name}: {error}: what was measured there before is used"

    def _ask_for_links(self, ends: tuple[str, str]) -> list[str]:
        """Ask hosts for the links that they have measured, starting at known hosts; returns why some do not answer."""
        silent = []
        asked, left = {self.host}, {*ends, *(host for pair in self.links() for host in pair)} - {self.host}
        while left:
            if len(asked) > _MOST_HOSTS:
                silent.append(f"hosts asked for links must be at most {_MOST_HOSTS}, got more")
                break
            host = left.pop()
            asked.add(host)
            try:
                left |= {each for pair in self._told_links(host) for each in pair} - asked
            except ForecastError as error:
                silent.append(str(error))
        return sorted(silent)

    def _told_links(self, host: str) -> list[tuple[str, str]]:
        """Add the links that a host reports; returns their ends.

        A port of its own by which it reaches another host, as through ssh, is no name of that host here.
        """
        answer = _understood(host, lambda: self.peer(host).ask("/links"), _checked_links)
        found = []
        for link in answer["links"]:
            ends = [str(Address.parse(each)) for each in link["between"]]
            if any(each != answer["host"] and Address.parse(each).name in _HERE for each in ends):
                continue
            one, other = (host if each == answer["host"] else each for each in ends)
            figure = {key: link[key] for key in ("latency", "bandwidth")}
            self.figures.put_if_newer(_name(one, other), figure, link["age"])
            found.append((one, other))
        return found


def _combined(routine: str, host: str, needed: tuple[Need, int, list[str]], figure: Figure) -> Forecast:
    """Return the forecast from a routine's need and a host's availability."""
    need, memory, warnings = needed
    there: Availability = figure.value
    if memory > there.memory:
        got = f"{format_size(there.memory)} free for {format_size(memory)}"
        raise ForecastError(f"{routine}: memory must suffice on {host}, got {got}")
    seconds, low, high = (each / there.cpu for each in (need.seconds, need.low, need.high))
    said = (*warnings, *filter(None, (figure.stale,)))
    return Forecast(routine, host, seconds, low, high, need.inside, memory, need, there, figure.measured, said)


def _host(name: str) -> str:
    return f"host {name}"


def _name(one: str, other: str) -> str:
    return "link " + " ".join(sorted((one, other)))


def _ends(name: str) -> tuple[str, str]:
    _, one, other = name.split(" ")
    return one, other


def _understood(host: str, ask: Callable[[], Any], check: Callable[[Any], object]) -> Any:
    """Return an answer after checking its form."""
    answer = ask()
    try:
        check(answer)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ForecastError(
            f"{host}: answer must be that of clue forecast serve, got {type(error).__name__}: {error}"
        ) from None
    return answer


def _checked(answer: Any) -> None:
    Availability.of(answer["available"])
    number("age", answer["age"], 0, _OLDEST)


def _checked_links(answer: Any) -> None:
    text("host", answer["host"])
    if len(answer["links"]) > _MOST_LINKS:
        raise ValueError(f"links must be at most {_MOST_LINKS:,}, got {len(answer['links']):,}")
    for link in answer["links"]:
        one, other = link["between"]
        Address.parse(text("host", one)), Address.parse(text("host", other))
        Route.of(link, (one, other))
        link["age"] = max(0.0, number("age", link["age"], -_OLDEST, _OLDEST))


def _outside(measured: Measured, segments: Segments, sizes: tuple[int, ...]) -> list[str]:
    """Return a caveat for each size outside the measured range."""
    found = []
    for name, size in zip(measured.routine.parameters, sizes, strict=True):
        low, high = segments.domain[name]
        if not low <= size <= high:
            found.append(
                f"{measured.routine.name}: {name} = {size} lies outside what was measured, {low:.0f} to {high:.0f}"
            )
    return found


def _guessed(measured: Measured, segments: Segments, sizes: Mapping[str, int]) -> list[str]:
    """Return a caveat if memory does not follow its polynomial."""
    found = measured.memory
    if not found.is_guess(sizes, {name: low for name, (low, _) in segments.domain.items()}):
        return []
    off = f"off by up to {format_size(found.off)} where it was measured"
    rule = f"memory follows no polynomial of its sizes of up to degree {DEGREE} ({off})"
    return [f"{measured.routine.name}: {rule}, so {format_size(found.of(sizes))} is a guess"]
