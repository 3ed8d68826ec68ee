"""A sequence of operations on several hosts: which runs where, and what the whole takes with transfers between them.

Rules: operations start in their order; a host computes one at a time, as soon as it is free and all that the operation
reads is there. Data go from where they are to where they are read, once, in the order in which operations read them; a
host sends one message at a time and receives one at a time, beside what it computes. Each time is that of the moment
at which the forecast is made, also for what begins later.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from clue.errors import ForecastError, UsageError
from clue.forecasting.routes import Route

#: Up to so many ways to choose hosts are all tried; beyond, operations go in turn where each ends first.
MOST = 20_000


@dataclass(frozen=True, slots=True)
class Step:
    """An operation.

    Attributes:
        makes: The name of what it makes.
        routine: What computes it.
        sizes: The routine's sizes.
        reads: The names of what it reads.
        nbytes: Bytes of what it makes.
        host: Where it runs; ``None``: wherever the whole ends first.
    """

    makes: str
    routine: str
    sizes: Mapping[str, int]
    reads: tuple[str, ...]
    nbytes: float
    host: str | None = None


@dataclass(frozen=True, slots=True)
class Data:
    """Data that are there before anything runs.

    Attributes:
        nbytes: Their bytes.
        host: Where they are.
    """

    nbytes: float
    host: str


@dataclass(frozen=True, slots=True)
class Plan:
    """A sequence of operations.

    Attributes:
        data: What is there, by name.
        steps: The operations, in their order.
        results: Where what is made must be in the end, by name.
        hosts: Where operations may run that name no host.
    """

    data: Mapping[str, Data]
    steps: tuple[Step, ...]
    results: Mapping[str, str] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()

    def check(self) -> None:
        """Check that all that is read is there or made before.

        Raises:
            UsageError: If anything is not.
        """
        known = set(self.data)
        for step in self.steps:
            for name in step.reads:
                if name not in known:
                    raise UsageError(f"{step.makes}: what is read must be there or made before, got {name}")
            if step.makes in known:
                raise UsageError(f"{step.makes}: names must be those of one thing each, got it twice")
            if step.host is None and not self.hosts:
                raise UsageError(f"{step.makes}: host must be given where there are none to choose from, got none")
            known.add(step.makes)
        for name in self.results:
            if name not in known:
                raise UsageError(f"{name}: results must be data or made by a step, got neither")


@dataclass(frozen=True, slots=True)
class Event:
    """Something that takes place.

    Attributes:
        what: The name of the data that are computed, or sent.
        host: Where they are then.
        begin: Seconds from the begin of the whole.
        end: The same.
        source: The host that sends them; ``""``: they are computed.
    """

    what: str
    host: str
    begin: float
    end: float
    source: str = ""


@dataclass(frozen=True, slots=True)
class Timeline:
    """What a sequence takes.

    Attributes:
        seconds: All of it.
        hosts: Where each step runs, by what it makes.
        events: What takes place, by the begin of each.
        tried: How many ways to choose hosts were compared.
        exhaustive: Whether these were all.
    """

    seconds: float
    hosts: Mapping[str, str]
    events: tuple[Event, ...]
    tried: int = 1
    exhaustive: bool = True


#: What a routine of some sizes takes on a host, and the way between two hosts.
Seconds = Callable[[str, Mapping[str, int], str], float]
Between = Callable[[str, str], Route]


def forecast_sequence(plan: Plan, seconds: Seconds, between: Between) -> Timeline:
    """Return what a sequence takes, with the choice of hosts by which it ends first.

    Args:
        plan: The sequence.
        seconds: What a routine takes on a host; raises ForecastError where it cannot run there.
        between: The way between two hosts.

    Raises:
        UsageError: If the sequence is none.
        ForecastError: If a step can run on none of its hosts.
    """
    plan.check()
    choices = [_possible(step, plan, seconds) for step in plan.steps]
    ways = 1
    for hosts in choices:
        ways *= len(hosts)
    if ways <= MOST:
        every = (_run(plan, hosts, seconds, between) for hosts in itertools.product(*choices))
        return replace(min(every, key=lambda each: each.seconds), tried=ways)
    return _in_turn(plan, choices, seconds, between)


def _possible(step: Step, plan: Plan, seconds: Seconds) -> list[str]:
    """Return the hosts on which a step can run."""
    hosts, refused = [step.host] if step.host is not None else list(dict.fromkeys(plan.hosts)), []
    possible = []
    for host in hosts:
        try:
            seconds(step.routine, step.sizes, host)
            possible.append(host)
        except ForecastError as error:
            refused.append(error)
    if not possible:
        raise ForecastError(f"{step.makes}: {refused[0]}")
    return possible


def _in_turn(plan: Plan, choices: Sequence[Sequence[str]], seconds: Seconds, between: Between) -> Timeline:
    """Choose the host of one step after the other: that by which all that is chosen by then ends first."""
    chosen: tuple[str, ...] = ()
    for hosts in choices:
        part = replace(plan, steps=plan.steps[: len(chosen) + 1], results={})
        ends = [(_run(part, (*chosen, host), seconds, between).seconds, i) for i, host in enumerate(hosts)]
        chosen = (*chosen, hosts[min(ends)[1]])
    return replace(_run(plan, chosen, seconds, between), tried=sum(map(len, choices)), exhaustive=False)


def _run(plan: Plan, hosts: Sequence[str], seconds: Seconds, between: Between) -> Timeline:
    """Let a sequence run, each step on a given host."""
    course = _Course(plan.data, between)
    for step, host in zip(plan.steps, hosts, strict=True):
        course.compute(step, host, seconds(step.routine, step.sizes, host))
    for name, host in plan.results.items():
        course.bring(name, host)
    events = tuple(sorted(course.events, key=lambda each: (each.begin, each.end)))
    placed = {step.makes: host for step, host in zip(plan.steps, hosts, strict=True)}
    return Timeline(max((each.end for each in events), default=0.0), placed, events)


class _Course:
    """What hosts are doing until when, and which data are where from when on."""

    def __init__(self, data: Mapping[str, Data], between: Between) -> None:
        self.events: list[Event] = []
        self._between = between
        self._nbytes = {name: each.nbytes for name, each in data.items()}
        self._there = {name: {each.host: 0.0} for name, each in data.items()}
        self._computing: defaultdict[str, float] = defaultdict(float)
        self._sending: defaultdict[str, float] = defaultdict(float)
        self._receiving: defaultdict[str, float] = defaultdict(float)

    def compute(self, step: Step, host: str, seconds: float) -> None:
        """Let a step run on a host as soon as this is free and all data are there."""
        begin = max([self._computing[host], *(self.bring(name, host) for name in step.reads)])
        self._computing[host] = begin + seconds
        self._nbytes[step.makes], self._there[step.makes] = step.nbytes, {host: begin + seconds}
        self.events.append(Event(step.makes, host, begin, begin + seconds))

    def bring(self, name: str, host: str) -> float:
        """Return when data are on a host, sent from wherever they come first."""
        there = self._there[name]
        if host not in there:
            event = min((self._sent(name, source, host) for source in there), key=lambda each: each.end)
            self._sending[event.source] = self._receiving[host] = there[host] = event.end
            self.events.append(event)
        return there[host]

    def _sent(self, name: str, source: str, host: str) -> Event:
        begin = max(self._there[name][source], self._sending[source], self._receiving[host])
        return Event(name, host, begin, begin + self._between(source, host).seconds(self._nbytes[name]), source)
