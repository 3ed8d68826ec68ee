"""A rank of a program: the meaning of every op, whether it comes from a trace or from a program that runs."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence

import simpy

from clue.collectives import Collective, Schedule, lower, neighbor
from clue.kernel.model.blocked import NEVER_BEGUN, channel_context, describe_wait
from clue.kernel.model.cold import Cold
from clue.kernel.model.costs import numbered, placed
from clue.kernel.model.history import Computed, Spawned, Until
from clue.kernel.model.program import Row
from clue.kernel.model.wildcards import Received
from clue.kernel.reference.actor import Actor, Background, Events, Instance, is_acknowledged, is_eager
from clue.kernel.reference.matching import Message, Pending, Receive
from clue.kernel.reference.processors import SharedNode
from clue.kernel.reference.virtual_machine import VirtualMachine
from clue.kernel.reference.virtual_time import burst_end
from clue.result import Activity, Part
from clue.trace import ANY, COLLECTIVES, NO_REQUEST, PROC_NULL, Access, Flag, Op

# Plain integers, as in clue.kernel.reference.actor.
_ANY_SOURCE, _CANCELLED, _NONBLOCKING = int(Flag.ANY_SOURCE), int(Flag.CANCELLED), int(Flag.NONBLOCKING)
_CONTINUED = int(Flag.CONTINUED)
_SEND, _DIRECT = int(Op.SEND), int(Access.DIRECT)


#: Ops that are not MPI calls: successive ones, with no call between them that waits or tests, form one absence.
APART = frozenset({int(Op.COMPUTE), int(Op.SLEEP)})
#: Calls that only start a message, or concern no other rank.
_STARTS = frozenset({int(Op.ISEND), int(Op.IRECV), int(Op.LOCAL), int(Op.PACK), int(Op.RMA)})
#: Function that executes an op; it returns ``None`` when the op is done, or the events to wait for.
Handler = Callable[["Rank", Row], "Events | None"]


class Rank(Actor):
    """A rank of a program.

    Args:
        machine: What it runs on.
        instance: What it shares with other ranks.
        rank: Its rank.
        world: Its world: 0, or the number of a spawned one.
        wild: Whether to keep what its receives and probes found.

    Attributes:
        began: Whether its program has begun.
        compute: Computation time so far, seconds.
        compute_by_region: The same by region index.
        finished: Whether its program has ended.
        cold: Its debt of cold starts, where the machine has them.
        requests: Its open operations, by request number.
        received: What its receives and probes found, in the order in which they were posted, if that is kept.
    """

    def __init__(self, machine: VirtualMachine, instance: Instance, rank: int, world: int = 0, *, wild: bool) -> None:
        super().__init__(machine, instance, rank, 0, 0.0)
        self.world = world
        self.compute = 0.0
        self.compute_by_region = [0.0] * len(self.costs.regions)
        self.began = self.finished = False
        self.segments = machine.observation.segments
        self.keeps |= self.segments is not None
        self.processor = machine.shared.get(self.node)
        self.turns = machine.turns_on(self.node)
        self.absence = machine.absences[self.number] if machine.absences else None
        self.cold = Cold() if machine.machine.nodes[self.node].name in self.costs.cold_types else None
        self.factors = self.costs.factors(machine.machine.nodes[self.node])
        self.requests: dict[int, Pending] = {}
        self.serials: dict[int, int] = {}
        self.positions: dict[int, int] = {}
        self.backgrounds = 0
        self.received: list[tuple[Row, Receive | Message]] | None = [] if wild else None

    # -- the program --------------------------------------------------------------------------------------

    def run(
        self,
        ops: Iterable[Row],
        meaning: Mapping[int, Handler] | Sequence[Handler] | None = None,
        apart: Container[int] = APART,
    ) -> Events:
        """Do the ops one after the other.

        Args:
            ops: The rows of a trace, or calls as a running program makes them: the next one is asked for when the one
                before is done.
            meaning: Handlers of ops by op code; the default is those of a trace.
            apart: Ops that are not MPI calls: they end no absence.
        """
        yield from self._start()
        self.began = True
        handlers = HANDLERS if meaning is None else meaning
        for row in ops:
            self.region, self.site = row.region, row.site
            if row.cpu:
                if self.processor is None:
                    self.compute_alone(row.cpu, row.region)
                else:
                    yield from self.compute_among_others(row.cpu, row.region)
            if self.absence is not None and row.op not in apart:
                if self._only_starts(row):
                    self.absence.begin(self.clock)
                else:
                    self.absence.end(self.clock)
            blocking = handlers[row.op](self, row)
            if blocking is not None:
                self.blocked_on = row
                yield from blocking
        yield from self._stop()

    def _only_starts(self, row: Row) -> bool:
        """Tell whether a call neither waits nor tests: it only starts something, and its library makes no progress."""
        if row.op == _SEND:
            if row.peer < 0:
                return True
            cost = self.costs.message(self.number, self.offset + row.peer, row.nbytes, self.clock)
            return is_eager(cost, row.flags) and not is_acknowledged(cost, row.flags)
        return row.op in _STARTS or bool(row.flags & _NONBLOCKING)

    def _start(self) -> Events:
        if self.world:
            spawned = yield self.instance.worlds[self.world]
            node_type = self.costs.node_type(self.node, spawned.time)
            self.sleep_until(spawned.time + node_type.initialisation_delay, spawned)
            if self.cold is not None:
                self.cold.end(self.clock, self.communicate)
        if self.processor is not None:
            # The rank itself does not wait for that: what it does first may be no action, such as a receive.
            self.machine.at(self.clock, burst_end(self.number), self.processor.begin)

    def share_processor(self, shared: SharedNode | None) -> None:
        """Share processors from the next burst on, if the ranks of the node share them by now."""
        if shared is not self.processor and not self.finished:
            self.processor = shared
            if self.began and shared is not None:
                shared.begin()

    def _stop(self) -> Events:
        if self.absence is not None:
            self.absence.end(self.clock)
        if self.processor is not None:
            yield from self.in_turn()
            self.processor.end()
        self.finished = True

    def compute_alone(self, cpu: float, region: int) -> None:
        """Run a burst on a processor that no other rank uses."""
        alone = cpu * self.factors[region]
        cold = self._begin_cold(alone)
        alone = seconds = alone + cold
        begin = self.clock
        if self.absence is not None:
            self.absence.begin(begin)
        if self.turns is None:
            self.clock = begin + seconds
        else:
            self.clock = self.turns.run(begin, alone)
            seconds = self.clock - begin
        self._computed(region, seconds)
        if self.keeps:
            self.keep(Activity.COMPUTE, begin, Computed(region, alone, cold))

    def compute_among_others(self, cpu: float, region: int) -> Events:
        """Run a burst on a node whose ranks disturb each other."""
        yield from self.in_turn()
        begin, cold = self.clock, 0.0
        if self.cold is not None:
            factor = self.processor.factor(region)  # type: ignore[union-attr]
            cold = self._begin_cold(cpu * factor)
            cpu += cold / factor
        if self.absence is not None:
            self.absence.begin(begin)
        alone = yield from self.processor.compute(self.number, region, cpu)  # type: ignore[union-attr]
        self.clock = self.env.now
        self._turn = -1.0
        self._computed(region, self.clock - begin)
        if self.keeps:
            self.keep(Activity.COMPUTE, begin, Computed(region, alone, cold))

    def _begin_cold(self, seconds: float) -> float:
        """Return the extra time, seconds, of a burst that begins now because this rank has waited."""
        if self.cold is None:
            return 0.0
        start = self.costs.node_type(self.node, self.clock).cold_start
        return self.cold.begin(start, self.clock, self.communicate, seconds)

    def _computed(self, region: int, seconds: float) -> None:
        """Account for a burst that has just ended."""
        self.compute += seconds
        self.compute_by_region[region] += seconds
        if self.cold is not None:
            self.cold.end(self.clock, self.communicate)

    # -- ops: each returns None when done, or what to wait for --------------------------------------------

    def _nothing(self, row: Row) -> None:
        """Do nothing: the op costs nothing in the model, or is not modelled (and reported as such)."""

    def _send(self, row: Row) -> Events | None:
        if row.peer < 0:
            return None
        if self.takes_turns_with(row.peer):
            return self._send_in_turn(row)
        return self._launched(row)

    def _send_in_turn(self, row: Row) -> Events:
        yield from self.in_turn()
        rest = self._launched(row)
        if rest is not None:
            yield from rest

    def _launched(self, row: Row) -> Events | None:
        """Send, and finish a blocking send, or keep a nonblocking one as a request."""
        blocking = row.request == NO_REQUEST
        channel = (row.context, self.rank, row.peer, row.tag)
        message = self.launch(channel, row.nbytes, row.flags, blocking=blocking)
        if blocking:
            return None if message.sent is not None and message.sent <= self.clock else self.finish_send(message)
        self.keep_sending(message)
        self.requests[row.request] = message
        return None

    def _receive(self, row: Row) -> Events | None:
        if row.peer == PROC_NULL or row.flags & _CANCELLED:
            return None
        receive = self._post_row(row)
        if row.request != NO_REQUEST:
            # The sender is not known when the receive is posted, so the cost does not depend on it.
            wild = row.flags & _ANY_SOURCE
            self.spend(Activity.RECEIVE, self.receive_cost(ANY) if wild else receive.cost)
            self.requests[row.request] = receive
            return None
        end = receive.end
        if end is None:
            return self.finish_receive(receive)
        self.sleep_until(end, receive)
        self.spend(Activity.RECEIVE, receive.cost)
        if receive.completion:
            self.spend(Activity.RECEIVE, receive.completion)
        return None

    def note(self, row: Row, found: Receive | Message) -> None:
        """Note what a receive or probe found, if another order of arrivals might have changed it."""
        if self.received is not None:
            self.received.append((row, found))

    def _post_row(self, row: Row) -> Receive:
        receive = self.post((row.context, row.peer, self.rank, row.tag))
        if self.received is not None:  # checked here, too: most ranks keep nothing, and a call costs more
            self.note(row, receive)
        return receive

    def wait(self, row: Row) -> Events | None:
        """Wait for requests."""
        names = row.entries or (row.request,)
        latest, last = self.clock, None
        for name in names:
            pending = self.requests.get(name)
            if pending is not None:
                end = pending.end
                if end is None or self.costs.completes:
                    return self._wait_for_all(names)
                if end > latest:
                    latest, last = end, pending
        for name in names:
            self.requests.pop(name, None)
        self.sleep_until(latest, last)
        return None

    def _wait_for_all(self, names: tuple[int, ...]) -> Events:
        since, taken = self.clock, []
        # Taken one by one: a rank that is stuck still has those that it has not come to.
        for name in names:
            pending = self.requests.pop(name, None)
            if pending is not None:
                taken.append(pending)
                if pending.end is None:
                    yield from self.until_known(pending)
                self.wait_until(pending.end, pending)  # type: ignore[arg-type]
        self.wake(since)
        self.complete(taken)

    def poll(self, row: Row) -> None:
        """Pay for one poll: the time of a Test or probe call."""
        self.spend(Activity.RECEIVE, self.receive_cost(row.peer))

    def _probe(self, row: Row) -> Events | None:
        return None if row.peer == PROC_NULL else self._await_envelope(row)

    def _await_envelope(self, row: Row) -> Events:
        channel = (row.context, row.peer, self.rank, row.tag)
        message = self.mailboxes.peek(channel)
        while message is None:
            event = self.env.event()
            self.mailboxes.await_message(channel, event)
            yield from self.until(event)
            message = self.mailboxes.peek(channel)
        self.note(row, message)
        yield from self.until_seen(message)
        self.poll(row)

    def until_seen(self, message: Message) -> Events:
        """Block in a probe until a message that has been sent can be seen here."""
        if message.envelope is None:
            message.looker = event = self.env.event()
            yield from self.until(event)
        assert message.envelope is not None
        self.sleep_until(message.envelope, message, Until.ENVELOPE)

    def _matched_probe(self, row: Row) -> Events | None:
        return None if row.peer == PROC_NULL else self._reserve(row)

    def _reserve(self, row: Row) -> Events:
        channel = (row.context, row.peer, self.rank, row.tag)
        receive = Receive(None)
        self.price(receive, row.peer)
        self.mailboxes.post(channel, receive)
        self.note(row, receive)
        if receive.message is None:
            yield from self.until_known(receive)
        assert receive.message is not None
        yield from self.until_seen(receive.message)
        self.spend(Activity.RECEIVE, receive.cost)
        self.requests[row.request] = receive

    def until_spawned(self, started: simpy.Event) -> Events:
        """Wait until a Spawn is done."""
        spawned = yield from self.until(started)
        self.sleep_until(spawned.time, spawned)

    def receive_matched(self, row: Row) -> Events | None:
        """Receive the message that a matched probe has taken."""
        receive = self.requests.get(row.request)
        if not isinstance(receive, Receive) or receive.message is None:
            return None
        receive.posted = self.clock
        if not receive.message.eager:
            self.machine.open_rendezvous(receive.message, receive)
        if row.flags & _NONBLOCKING:
            self.spend(Activity.RECEIVE, receive.cost)
            return None
        del self.requests[row.request]
        return self.finish_receive(receive)

    def _access(self, row: Row) -> Events | None:
        if row.peer < 0:
            return None
        within = self.nodes[self.offset + row.peer] == self.node
        if within and row.tag == _DIRECT:
            self.instance.accesses.start_directly(self, row)
            return None
        if self.costs.copies_in_turn if within else self.ordered:
            return self._access_in_turn(row)
        self.instance.accesses.start(self, row)
        return None

    def _access_in_turn(self, row: Row) -> Events:
        yield from self.in_turn()
        self.instance.accesses.start(self, row)

    def _pack(self, row: Row) -> None:
        self.spend(Activity.SEND, row.nbytes * self.costs.node_type(self.node, self.clock).packing_delay, Part.PACKING)

    def _sleep(self, row: Row) -> None:
        polls = row.flags & _CONTINUED  # then the program has not left its call, nor its processor
        if self.absence is not None and not polls:
            self.absence.begin(self.clock)
        begin, self.clock = self.clock, self.clock + row.nbytes / 1e9
        if self.keeps:
            self.keep(Activity.WAIT, begin, Part.SLEEP)
        if not polls:
            self.wake(begin)

    def _collective(self, row: Row) -> Events | None:
        serial = self.next_serial(row.context)
        collective, algorithm = self._chosen(row, self.instance.collectives[row.context][serial])
        return self.run_schedule(row, lower(collective, self.position(row), algorithm), serial)

    def _chosen(self, row: Row, collective: Collective) -> tuple[Collective, str]:
        """Return a collective on an op's communicator as it is lowered, and its algorithm."""
        # By context: hashing the nodes of all members at every collective would take longer than everything else in it.
        known = self.instance.chosen.get((row.context, collective))
        if known is None:
            nodes = self.nodes_of(row)
            algorithm = self.costs.algorithm(collective, nodes)
            known = self.instance.chosen[row.context, collective] = placed(collective, algorithm, nodes), algorithm
        return known

    def next_serial(self, context: int) -> int:
        """Count the collectives of this rank on a context; returns the number of the next one, from 0."""
        serial = self.serials.get(context, 0)
        self.serials[context] = serial + 1
        return serial

    def position(self, row: Row) -> int:
        """Return this rank's place within the communicator of an op."""
        position = self.positions.get(row.context)
        if position is None:
            position = self.positions[row.context] = row.members.index(self.rank)
        return position

    def nodes_of(self, row: Row) -> tuple[int, ...]:
        """Return the numbered nodes of the members of an op's communicator."""
        nodes = self.instance.nodes.get(row.context)
        if nodes is None:
            nodes = numbered([self.nodes[self.offset + member] for member in row.members])
            self.instance.nodes[row.context] = nodes
        return nodes

    def neighbor_exchange(self, row: Row) -> Events | None:
        """Exchange messages with neighbours."""
        context = channel_context(row)
        serial = self.next_serial(context)
        return self.run_schedule(row._replace(context=context), neighbor(row.entries), serial)

    def run_schedule(self, row: Row, schedule: Schedule, serial: int) -> Events | None:
        """Run this rank's part of a collective, in the background if it is nonblocking."""
        if not row.flags & _NONBLOCKING:
            return self.rounds(schedule, row.context, serial, row.members) if schedule else None
        self.backgrounds += 1
        background = Background(self, self.backgrounds)
        self.requests[row.request] = background
        self.env.process(background.run(schedule, row.context, serial, row.members))
        return None

    def _spawn(self, row: Row) -> Events:
        started = self.instance.worlds.get(row.entries[0] if row.entries else -1)
        if started is None:
            return
        if self.rank == row.peer:
            self.spend(Activity.SEND, self.costs.node_type(self.node, self.clock).spawn_delay, Part.SPAWN)
            started.succeed(Spawned(self.number, self.clock))
        else:
            yield from self.until_spawned(started)

    # -- words --------------------------------------------------------------------------------------------

    def waits_for(self) -> str:
        """Say in words what this rank is blocked on."""
        row = self.blocked_on
        if row is None:
            return NEVER_BEGUN
        pending = 0
        if row.op == Op.WAIT:  # which has already forgotten the request that blocks it
            others = [self.requests[each] for each in row.entries if each in self.requests]
            pending = 1 + sum(each.end is None for each in others)
        return describe_wait(row, self.offset, pending, self.serials.get(channel_context(row), 0))

    def seen(self) -> list[Received]:
        """Return the messages that its receives and probes found, with the time from which a probe could see each."""
        found = ((row, each.message if isinstance(each, Receive) else each) for row, each in self.received or ())
        return [(row, None if message is None else message.envelope) for row, message in found]


def _handlers() -> list[Handler]:
    table: list[Handler] = [Rank._nothing] * (max(Op) + 1)
    table[Op.SEND] = table[Op.ISEND] = Rank._send
    table[Op.RECV] = table[Op.IRECV] = Rank._receive
    table[Op.WAIT] = Rank.wait
    table[Op.POLL] = Rank.poll
    table[Op.PROBE] = Rank._probe
    table[Op.MPROBE] = Rank._matched_probe
    table[Op.MRECV] = Rank.receive_matched
    table[Op.RMA] = Rank._access
    table[Op.PACK] = Rank._pack
    table[Op.SLEEP] = Rank._sleep
    table[Op.SPAWN] = Rank._spawn
    for op in COLLECTIVES:
        table[op] = Rank._collective
    table[Op.NEIGHBOR] = Rank.neighbor_exchange
    return table


#: The meaning of the ops of a trace.
HANDLERS = _handlers()
