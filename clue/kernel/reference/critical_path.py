"""The critical path: from the last finish back to time 0, always along what ended each wait.

Every actor's steps cover its time without gaps (:mod:`clue.kernel.model.history`). The walk goes back through them. At
a wait it follows the message that ended the wait, and continues with the actor that let the message start: the sender
when it was ready, or the receiver of a rendezvous if it posted its receive later. So all parts add up to the makespan,
and no part is waiting: the cause of each wait stands in its place.

All of a message counts for the call site that sends it, whichever rank waited for it.

The reference engine keeps the histories; the fast one does not.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter

import numpy as np

from clue.garbage import no_search_for_garbage
from clue.kernel.model.costs import Costs, MessageCost
from clue.kernel.model.history import Awaited, Computed, History, Spawned, Step, Until, Who
from clue.kernel.model.observation import Observation
from clue.kernel.model.program import Program
from clue.kernel.model.replay import Replay
from clue.kernel.reference.accesses import Access
from clue.kernel.reference.actor import Background
from clue.kernel.reference.matching import Message, Receive
from clue.kernel.reference.simulation import replay
from clue.kernel.reference.virtual_time import actor_of
from clue.machine import Machine, Placement, Progress
from clue.result import STRETCH, Activity, AtSites, CriticalPath, Part

#: Relative difference below which two times are equal but for rounding.
_ROUNDING = 1e-13
_PARTS = {Activity.SEND: Part.SEND, Activity.RECEIVE: Part.RECEIVE}


@dataclass(frozen=True, slots=True, eq=False)
class ExplainedReplay:
    """A replay by the reference engine, with the parts of its makespan.

    Attributes:
        replay: The figures.
        path: The critical path.
        alone: By rank, the computation time on a processor of its own, without cold starts, seconds.
        sites: What ranks do at each call site.
    """

    replay: Replay
    path: CriticalPath
    alone: tuple[float, ...]
    sites: AtSites


def explained_replay(program: Program, machine: Machine, placement: Placement, instances: int = 1) -> ExplainedReplay:
    """Replay a program with the reference engine and find the critical path.

    Raises:
        DeadlockError: If the program deadlocks in virtual time.
    """
    histories: dict[Who, History] = {}
    sent: Counter[int] = Counter()
    # Histories keep nearly every object alive, so a search for garbage would find nothing.
    with no_search_for_garbage():
        done = replay(program, machine, placement, instances, Observation(histories=histories, sent=sent))
    ranks = len(done.finish)
    walk = _Walk(histories, Costs(machine, placement, program.regions, program.host_speeds))
    if ranks:
        last = int(done.finish.argmax())
        walk.back_from((last, 0), float(done.finish[last]))
    path = CriticalPath(
        np.array(walk.stretches[::-1], dtype=STRETCH),
        program.regions,
        placement.nodes,
        tuple(machine.nodes[node].name for node in placement.nodes),
        program.sites,
    )
    alone = tuple(_alone(histories.get((rank, 0), [])) for rank in range(ranks))
    own = [histories.get((rank, 0), []) for rank in range(ranks)]
    return ExplainedReplay(done, path, alone, _at_sites(own, sent, len(program.sites)))


def _alone(history: History) -> float:
    return sum(about.alone - about.cold for _, _, _, about, _ in history if isinstance(about, Computed))


def _at_sites(histories: Iterable[History], sent: Mapping[int, int], sites: int) -> AtSites:
    """Add up the activities of ranks by call site."""
    seconds = np.zeros((len(Activity), sites))
    for history in histories:
        for begin, end, activity, _, site in history:
            seconds[activity, site] += end - begin
    nbytes = np.zeros(sites, np.int64)
    nbytes[list(sent)] = list(sent.values())
    return AtSites(
        seconds[Activity.COMPUTE],
        seconds[Activity.SEND] + seconds[Activity.RECEIVE],
        seconds[Activity.WAIT],
        nbytes,
    )


@dataclass(slots=True)
class _Walk:
    """The walk back along the critical path.

    Attributes:
        histories: What every actor did.
        costs: What messages cost.
        stretches: The parts of the path found so far, the last first.
    """

    histories: dict[Who, History]
    costs: Costs
    stretches: list[tuple[int, int, Part, int, int, float, float]] = field(default_factory=list)

    def back_from(self, who: Who, time: float) -> None:
        """Walk back from a time of an actor to the beginning."""
        at: tuple[Who, float] | None = (who, time)
        while at is not None:
            at = self._through(*at)

    def _through(self, who: Who, time: float) -> tuple[Who, float] | None:
        """Walk back through an actor's steps to a wait or to its beginning; return where to go on."""
        history = self.histories[who]
        for i in range(bisect_right(history, time, key=itemgetter(1)) - 1, -1, -1):
            step = history[i]
            if isinstance(step[3], Awaited):
                return self._awaited(who, step)
            self._worked(who[0], step)
        # A nonblocking collective began where its rank was then.
        rank, place = who
        return ((rank, 0), history[0][0] if history else time) if place else None

    def _cost(self, message: Message) -> MessageCost:
        """Return the delays of a message without contention, at the time at which its data start."""
        cost = self.costs.message(message.source, message.dest, message.nbytes, _start(message))
        if cost.copy is None:
            return cost
        return self.costs.message(message.source, message.dest, message.nbytes, message.leaves)

    def _add(
        self, rank: int, site: int, part: Part, begin: float, end: float, *, peer: int = -1, region: int = 0
    ) -> None:
        if not _equal(begin, end):
            self.stretches.append((rank, peer, part, region, site, begin, end))

    # -- steps of an actor's own ------------------------------------------------------------------------------

    def _worked(self, rank: int, step: Step) -> None:
        begin, end, activity, about, site = step
        if isinstance(about, Computed):
            alone = end if _equal(begin + about.alone, end) else begin + about.alone
            self._add(rank, site, Part.SHARING, alone, end, region=about.region)
            warm = alone - about.cold
            self._add(rank, site, Part.COLD_START, warm, alone, region=about.region)
            self._add(rank, site, Part.COMPUTATION, begin, warm, region=about.region)
        elif isinstance(about, Message):
            self._sent(about, begin, end)
        else:
            self._add(rank, site, about if isinstance(about, Part) else _PARTS[activity], begin, end)

    def _sent(self, message: Message, begin: float, end: float) -> None:
        """Account for the time from the start of a message's data, or when they may start, until they have left."""
        send = _before(begin, end, self._cost(message).send)
        self._add(message.source, message.site, Part.SEND, send, end, peer=message.dest)
        self._left(message, begin, send)

    def _left(self, message: Message, begin: float, end: float) -> None:
        """Account for the time for which only the data of a message keep its sender, and for what delays the data."""
        leaves = _before(begin, end, message.leaving) if end > begin else end
        self._add(message.source, message.site, Part.TRANSMISSION, leaves, end, peer=message.dest)
        self._add(message.source, message.site, Part.CONTENTION, begin, leaves, peer=message.dest)

    # -- waits ------------------------------------------------------------------------------------------------

    def _awaited(self, who: Who, step: Step) -> tuple[Who, float]:
        """Replace a wait by its cause; return the actor and the time from which to go on."""
        _, end, _, about, site = step
        assert isinstance(about, Awaited)
        what, until = about
        if isinstance(what, Background):
            return (what.number, 0 if until is Until.CALL else what.place), end
        if isinstance(what, Spawned):
            self._add(who[0], site, Part.SPAWN, what.time, end)
            return (what.rank, 0), what.time
        if isinstance(what, Access):
            return self._answered(what, end)
        if isinstance(what, Receive):
            assert what.message is not None
            return self._arrived(what.message, end)
        assert isinstance(what, Message)
        return self._gone(what, until, end)

    def _gone(self, message: Message, until: Until, end: float) -> tuple[Who, float]:
        """Go back from an event of a message that its sender, or a probe, waited for."""
        if until is Until.ENVELOPE:
            return self._announced(message, end)
        if until is Until.LEAVES:
            self._left(message, _start(message), end)
        elif message.acknowledged:
            return self._acknowledged(message, end)
        else:
            self._sent(message, _start(message), end)
        return self._began(message)

    def _acknowledged(self, message: Message, end: float) -> tuple[Who, float]:
        """Go back along an acknowledgement to the message, or to what kept its receiver outside calls."""
        assert message.called is not None and message.arrival is not None
        self._add(message.dest, message.site, Part.HANDSHAKE, message.called, end, peer=message.source)
        if message.called > message.arrival:
            return (message.dest, 0), message.called
        return self._arrived(message, message.called)

    def _answered(self, access: Access, end: float) -> tuple[Who, float]:
        """Go back along the answer to a one-sided operation, and from a lock that was held to its release."""
        message, answer = access.message, access.answer
        assert answer is not None
        cost = self._cost(answer)
        leaves = _before(access.done, end, cost.send + cost.transmission)
        self._add(message.dest, message.site, Part.TRANSMISSION, leaves, end, peer=message.source)
        self._add(message.dest, message.site, Part.CONTENTION, access.done, leaves, peer=message.source)
        access = access.released or access
        message, arrival = access.message, access.message.arrival
        assert arrival is not None
        if access.done > access.reached:
            return (message.dest, 0), access.done  # which was not within a call before
        self._add(message.source, message.site, Part.CONTENTION, arrival, access.done, peer=message.dest)
        return self._arrived(message, arrival)

    def _arrived(self, message: Message, arrival: float) -> tuple[Who, float]:
        cost, start = self._cost(message), _start(message)
        leaves = _before(start, arrival, cost.send + cost.transmission)
        self._add(message.source, message.site, Part.TRANSMISSION, leaves + cost.send, arrival, peer=message.dest)
        self._add(message.source, message.site, Part.SEND, leaves, leaves + cost.send, peer=message.dest)
        self._add(message.source, message.site, Part.CONTENTION, start, leaves, peer=message.dest)
        return self._began(message)

    def _announced(self, message: Message, envelope: float) -> tuple[Who, float]:
        """Go back along the envelope that ended a probe: for an eager message its head, which ports may delay."""
        leaves = message.ready
        if message.answered is None and message.sent is not None:
            if message.envelope == message.arrival:
                return self._arrived(message, envelope)
            leaves = _before(message.ready, envelope, self._cost(message).envelope)
        self._add(message.source, message.site, Part.HANDSHAKE, leaves, envelope, peer=message.dest)
        self._add(message.source, message.site, Part.CONTENTION, message.ready, leaves, peer=message.dest)
        return _sender(message), message.ready

    def _began(self, message: Message) -> tuple[Who, float]:
        """Return the actor that let the data of a message start, and when it did so."""
        if message.answered is None:
            return _sender(message), message.ready
        receive = message.receive
        assert receive is not None and receive.posted is not None
        assert message.called is not None
        cost = self.costs.message(message.source, message.dest, message.nbytes, message.ready)
        known = message.known(by_envelope=cost.reads or self.costs.machine.network.progress is Progress.CALLS)
        late = receive.posted > known
        # Data that the receiver reads start when its library sees their envelope; by now it has told the sender, too.
        called = message.answered if cost.reads else message.called
        if not cost.reads and message.answered > called + cost.answer:
            # The sender was not within a call when the answer came.
            return (message.source, 0), message.answered
        self._add(message.dest, message.site, Part.HANDSHAKE, called, message.answered, peer=message.source)
        if called > max(receive.posted, known):
            return (message.dest, 0), called
        if late:
            return (message.dest, receive.place), receive.posted
        self._add(message.source, message.site, Part.HANDSHAKE, message.ready, known, peer=message.dest)
        return _sender(message), message.ready


def _start(message: Message) -> float:
    """Return when the data of a message may start; a send port may still delay them."""
    return message.ready if message.answered is None else message.answered


def _sender(message: Message) -> Who:
    return actor_of(message.order)


def _equal(one: float, other: float) -> bool:
    return abs(one - other) <= _ROUNDING * max(one, other)


def _before(begin: float, end: float, seconds: float) -> float:
    """Return the time ``seconds`` before the end: exactly the beginning where the two differ by rounding alone."""
    return begin if abs(end - seconds - begin) <= _ROUNDING * end else end - seconds
