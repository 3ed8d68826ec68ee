"""A sequence of operations on several hosts: their mapping to hosts, and the total time including transfers.

Rules: operations start in their order; a host computes one at a time, as soon as it is free and all operands have
arrived. Data are sent once to each host that reads them, in the order in which operations read them; a host sends one
message at a time and receives one at a time, overlapped with computation. All times use the load at the moment of the
forecast, also for operations that begin later. Memory is checked for each operation by itself: data that a host keeps
for later operations are not counted.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from clue.errors import ForecastError, UsageError, written_at
from clue.forecasting.routes import Route

#: Maximum number of mappings for an exhaustive search; beyond it, a greedy choice by earliest completion.
MOST = 20_000


@dataclass(frozen=True, slots=True)
class Step:
    """An operation.

    Attributes:
        makes: Name of its result.
        routine: Routine that computes it.
        sizes: The routine's sizes.
        reads: Names of its operands.
        nbytes: Size of its result, bytes.
        host: Host that it runs on; ``None``: the one with which the whole sequence ends first.
    """

    makes: str
    routine: str
    sizes: Mapping[str, int]
    reads: tuple[str, ...]
    nbytes: float
    host: str | None = None


@dataclass(frozen=True, slots=True)
class Data:
    """Data that exist before the first operation.

    Attributes:
        nbytes: Their size, bytes.
        host: Host that holds them.
    """

    nbytes: float
    host: str


@dataclass(frozen=True, slots=True)
class Plan:
    """A sequence of operations.

    Attributes:
        data: Initial data by name.
        steps: Operations in their order.
        results: Host on which each result must be in the end, by name.
        hosts: Hosts for operations that name none.
    """

    data: Mapping[str, Data]
    steps: tuple[Step, ...]
    results: Mapping[str, str] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()

    def check(self) -> None:
        """Check that all operands are initial data or results of earlier operations.

        Raises:
            UsageError: If one is not.
        """
        known = set(self.data)
        for step in self.steps:
            for name in step.reads:
                if name not in known:
                    raise UsageError(
                        f"{step.makes}: what is read must be given as data or made by an earlier step, got {name}"
                    )
            if step.makes in known:
                raise UsageError(f"{step.makes}: each name must stand for one thing, got it twice")
            if step.host is None and not self.hosts:
                raise UsageError(f"{step.makes}: host must be given where there are none to choose from, got none")
            known.add(step.makes)
        for name in self.results:
            if name not in known:
                raise UsageError(f"{name}: results must be data or made by a step, got neither")


@dataclass(frozen=True, slots=True)
class Event:
    """A computation or a transfer.

    Attributes:
        what: Name of the data that are computed or sent.
        host: Host that has them afterwards.
        begin: Start, seconds from the start of the sequence.
        end: End, likewise.
        source: Sending host; ``""``: they are computed.
    """

    what: str
    host: str
    begin: float
    end: float
    source: str = ""


@dataclass(frozen=True, slots=True)
class Timeline:
    """Timeline of a sequence.

    Attributes:
        seconds: Total time.
        hosts: Host of each step, by the name of its result.
        events: Computations and transfers, by their start.
        tried: Number of mappings compared.
        exhaustive: Whether all mappings were compared.
    """

    seconds: float
    hosts: Mapping[str, str]
    events: tuple[Event, ...]
    tried: int = 1
    exhaustive: bool = True


#: Functions for the time of a routine with some sizes on a host, s, and for the route between two hosts.
Seconds = Callable[[str, Mapping[str, int], str], float]
Between = Callable[[str, str], Route]


def forecast_sequence(plan: Plan, seconds: Seconds, between: Between) -> Timeline:
    """Return the timeline of a sequence with the mapping by which it ends first.

    Mappings by which a step would run where it cannot, or data would go where no route leads, are left out.

    Args:
        plan: The sequence.
        seconds: Time of a routine on a host; raises ForecastError where it cannot run there. It is called once for
            each step and host, so that all mappings are compared under the same load.
        between: Route between two hosts; raises ForecastError if there is none.

    Raises:
        UsageError: If the sequence is invalid.
        ForecastError: If a step can run on none of its hosts, or every mapping that was compared needs a route that
            does not exist.
    """
    plan.check()
    choices = [_possible(step, plan, seconds) for step in plan.steps]
    ways = 1
    for times in choices:
        ways *= len(times)
    if ways <= MOST:
        every = _runs(plan, itertools.product(*choices), choices, between)
        return replace(min(every, key=lambda each: each.seconds), tried=ways)
    return _in_turn(plan, choices, between)


def _possible(step: Step, plan: Plan, seconds: Seconds) -> dict[str, float]:
    """Return the hosts on which a step can run, with its time on each."""
    hosts, refused = [step.host] if step.host is not None else list(dict.fromkeys(plan.hosts)), []
    possible: dict[str, float] = {}
    for host in hosts:
        try:
            with written_at(step.makes):
                possible[host] = seconds(step.routine, step.sizes, host)
        except ForecastError as error:
            refused.append(error)
    if not possible:
        raise ForecastError(f"{step.makes}: {refused[0]}")
    return possible


def _in_turn(plan: Plan, choices: Sequence[Mapping[str, float]], between: Between) -> Timeline:
    """Choose the host of each step greedily: the one by which the steps so far end first.

    Where routes are missing for a later step or for the results, go back to the next best host, through at most
    ``MOST`` further mappings.
    """
    tried, most = 0, sum(map(len, choices)) + MOST
    waiting: list[tuple[str, ...]] = [()]  # mappings of the first steps; the next one to continue is the last
    refused: ForecastError | None = None
    while waiting and tried <= most:
        chosen = waiting.pop()
        try:
            if len(chosen) == len(choices):
                return replace(_run(plan, chosen, choices, between), tried=tried, exhaustive=False)
            hosts = choices[len(chosen)]
            tried += len(hosts)
            part = replace(plan, steps=plan.steps[: len(chosen) + 1], results={})
            every = sorted(
                _runs(part, [(*chosen, host) for host in hosts], choices, between), key=lambda each: each.seconds
            )
            waiting += [tuple(each.hosts.values()) for each in every][::-1]
        except ForecastError as error:
            refused = refused or error
    assert refused is not None
    raise refused


def _runs(
    plan: Plan, every: Iterable[Sequence[str]], choices: Sequence[Mapping[str, float]], between: Between
) -> Iterator[Timeline]:
    """Yield the timelines of all mappings for which there are routes.

    Raises:
        ForecastError: If there are none.
    """
    refused: ForecastError | None = None
    found = False
    for hosts in every:
        try:
            timeline = _run(plan, hosts, choices, between)
        except ForecastError as error:
            refused = refused or error
            continue
        found = True
        yield timeline
    if refused is not None and not found:
        raise refused


def _run(plan: Plan, hosts: Sequence[str], choices: Sequence[Mapping[str, float]], between: Between) -> Timeline:
    """Simulate a sequence, each step on a given host."""
    course = _Course(plan.data, between)
    for step, host, times in zip(plan.steps, hosts, choices, strict=False):
        course.compute(step, host, times[host])
    for name, host in plan.results.items():
        course.bring(name, host)
    events = tuple(sorted(course.events, key=lambda each: (each.begin, each.end)))
    placed = {step.makes: host for step, host in zip(plan.steps, hosts, strict=True)}
    return Timeline(max((each.end for each in events), default=0.0), placed, events)


class _Course:
    """State of a simulated sequence: when each host is free, and when which data are on which host."""

    def __init__(self, data: Mapping[str, Data], between: Between) -> None:
        self.events: list[Event] = []
        self._between = between
        self._nbytes = {name: each.nbytes for name, each in data.items()}
        self._there = {name: {each.host: 0.0} for name, each in data.items()}
        self._computing: defaultdict[str, float] = defaultdict(float)
        self._sending: defaultdict[str, float] = defaultdict(float)
        self._receiving: defaultdict[str, float] = defaultdict(float)

    def compute(self, step: Step, host: str, seconds: float) -> None:
        """Run a step on a host as soon as this is free and all operands have arrived."""
        begin = max([self._computing[host], *(self.bring(name, host) for name in step.reads)])
        self._computing[host] = begin + seconds
        self._nbytes[step.makes], self._there[step.makes] = step.nbytes, {host: begin + seconds}
        self.events.append(Event(step.makes, host, begin, begin + seconds))

    def bring(self, name: str, host: str) -> float:
        """Return when data are on a host, sent from the host from which they arrive first."""
        there = self._there[name]
        if host not in there:
            event = min((self._sent(name, source, host) for source in there), key=lambda each: each.end)
            self._sending[event.source] = self._receiving[host] = there[host] = event.end
            self.events.append(event)
        return there[host]

    def _sent(self, name: str, source: str, host: str) -> Event:
        begin = max(self._there[name][source], self._sending[source], self._receiving[host])
        return Event(name, host, begin, begin + self._between(source, host).seconds(self._nbytes[name]), source)
