"""The reference engine: the meaning of every op, in SimPy, written to be read.

Each rank is a SimPy process with a clock of its own. It runs ahead of the others as long as nothing they do can
matter to it, and yields only when it must block: for a message that has not been sent, a rendezvous that is still
open, a processor it shares, or - where messages slow each other down - its turn to send. What it waits for becomes
*known* at some point; it then sets its clock and goes on. Definitions: ARCHITECTURE.md, "What an operation means".
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

import numpy as np
import numpy.typing as npt
import simpy

from clue.collectives import Collective, Round, Schedule, lower, neighbor
from clue.errors import Blocked, DeadlockError
from clue.kernel.costs import Costs, MessageCost
from clue.kernel.matching import Channel, Mailboxes, Message, Receive
from clue.kernel.processors import SharedNode
from clue.kernel.program import Program, Row
from clue.kernel.virtual_time import VirtualTime
from clue.kernel.wildcards import WildcardLog
from clue.machine import Machine, NodeType, Placement
from clue.result import Activity
from clue.trace import COLLECTIVES, NO_REQUEST, Flag, Op

Events = Generator[simpy.Event, Any, None]
Segment = tuple[int, int, int, float, float]


@dataclass(slots=True)
class Observation:
    """What a simulation collects beyond finish times, if asked to.

    Attributes:
        segments: Timeline entries (rank, activity, region, begin, end), or ``None`` if not wanted.
        messages: Messages by sender and receiver, or ``None``.
        nbytes: Bytes by sender and receiver, or ``None``.
        most_simultaneous: Most communications under way at once, where contention is modelled.
    """

    segments: list[Segment] | None = None
    messages: npt.NDArray[np.int64] | None = None
    nbytes: npt.NDArray[np.int64] | None = None
    most_simultaneous: int = 0


class SharedNetwork:
    """The paper's contention: communications between nodes slow each other by a factor of their number."""

    def __init__(self, costs: Costs, observation: Observation) -> None:
        self._costs = costs
        self._observation = observation
        self._ends: list[float] = []

    def begin(self, time: float, cost: MessageCost) -> float:
        """Start a communication; returns its factor. Times must not decrease from call to call."""
        while self._ends and self._ends[0] <= time:
            heappop(self._ends)
        simultaneous = len(self._ends) + 1
        factor = self._costs.contention(time, simultaneous)
        heappush(self._ends, time + factor * (cost.send + cost.transmission))
        self._observation.most_simultaneous = max(self._observation.most_simultaneous, simultaneous)
        return factor


class Simulation:
    """One replay: jobs (copies of a program) on a machine.

    Args:
        program: What runs.
        machine: What it runs on.
        placement: Node of each rank of all instances, instance by instance.
        instances: How many copies run side by side.
        observation: What to collect.
    """

    def __init__(
        self, program: Program, machine: Machine, placement: Placement, instances: int, observation: Observation
    ) -> None:
        self.env = VirtualTime()
        self.machine = machine
        self.placement = placement
        self.costs = Costs(machine, placement, program.regions, program.host_speeds)
        self.observation = observation
        contended = any(m.network.contention for m in (machine, *(m for _, m in machine.changes)))
        self.network = SharedNetwork(self.costs, observation) if contended else None
        self.shared = self._shared_nodes()
        self.jobs = [Job(self, program, i * program.ranks) for i in range(instances)]

    def _shared_nodes(self) -> dict[int, SharedNode]:
        """Return the nodes whose ranks disturb each other."""
        ranks_on: dict[int, int] = {}
        for node in self.placement.nodes:
            ranks_on[node] = ranks_on.get(node, 0) + 1
        return {
            node: SharedNode(self.env, node, self.costs)
            for node, ranks in ranks_on.items()
            if _disturbed(self.machine, node, ranks)
        }

    def run(self) -> None:
        """Run to the end.

        Raises:
            DeadlockError: If nothing can happen any more and ranks are unfinished.
        """
        ranks = [rank for job in self.jobs for rank in job.ranks]
        for rank in ranks:
            self.env.process(rank.run())
        self.env.run()
        blocked = [Blocked(rank.number, rank.clock, rank.waits_for()) for rank in ranks if not rank.finished]
        if blocked:
            raise DeadlockError(blocked)

    def meet(self, message: Message, receive: Receive) -> None:
        """Go on with a message that has met its receive."""
        if receive.posted is None:  # a matched probe: the data follow at the receive
            _wake(receive)
        elif message.arrival is None:
            self.open_rendezvous(message, receive)
        else:
            _wake(receive)

    def open_rendezvous(self, message: Message, receive: Receive) -> None:
        """Let the answer travel back, then the data start."""
        assert receive.posted is not None
        cost = self.costs.message(message.source, message.dest, message.nbytes, message.ready)
        start = max(message.ready, receive.posted) + cost.answer
        if self.network is None or not cost.between_nodes:
            self._transfer(message, receive, start)
            return
        turn = self.env.at(start, message.source)
        assert turn.callbacks is not None
        turn.callbacks.append(lambda _: self._transfer(message, receive, start))

    def _transfer(self, message: Message, receive: Receive, start: float) -> None:
        cost = self.costs.message(message.source, message.dest, message.nbytes, start)
        factor = self.network.begin(start, cost) if self.network is not None and cost.between_nodes else 1.0
        message.busy = factor * cost.send
        message.sent = start + message.busy
        message.arrival = message.sent + factor * cost.transmission
        _wake(message)
        _wake(receive)


def _wake(holder: Message | Receive) -> None:
    if holder.waiter is not None:
        holder.waiter.succeed()
        holder.waiter = None


def _disturbed(machine: Machine, node: int, ranks: int) -> bool:
    """Tell whether bursts on a node depend on what else happens there, or on when they happen."""

    def compute_parameters(node_type: NodeType) -> tuple[object, ...]:
        return (
            node_type.performance_factor,
            dict(node_type.performance_factors),
            dict(node_type.speeds),
            node_type.memory_contention,
            node_type.background_load,
        )

    first = machine.nodes[node]
    later = [changed.nodes[node] for _, changed in machine.changes]
    return (
        ranks > first.processors
        or first.background_load > 0
        or bool(first.memory_contention)
        or any(compute_parameters(each) != compute_parameters(first) for each in later)
    )


class Job:
    """One running copy of a program: its ranks share mailboxes, collectives and spawned worlds."""

    def __init__(self, simulation: Simulation, program: Program, base: int) -> None:
        self.simulation = simulation
        self.program = program
        self.mailboxes = Mailboxes()
        self.worlds: dict[int, simpy.Event] = {world: simulation.env.event() for world in set(program.worlds) if world}
        self.wildcards = WildcardLog(program)
        self.ranks = [Rank(self, rank, base + rank) for rank in range(program.ranks)]
        self.base = base


class Actor:
    """Whoever sends and receives on a clock of its own: a rank, or a nonblocking collective in its background.

    Attributes:
        rank: Rank within the program.
        number: Rank among all instances.
        clock: Its virtual time, seconds.
        communicate: Processor time spent on messages so far.
    """

    def __init__(self, job: Job, rank: int, number: int, clock: float) -> None:
        self.job = job
        self.simulation = job.simulation
        self.env = job.simulation.env
        self.costs = job.simulation.costs
        self.mailboxes = job.mailboxes
        self.ordered = job.simulation.network is not None
        self.rank = rank
        self.number = number
        self.offset = number - rank
        self.clock = clock
        self.communicate = 0.0
        self.region = 0
        self.segments: list[Segment] | None = None
        self.blocked_on: Row | None = None
        self._turn = -1.0

    # -- time ---------------------------------------------------------------------------------------------

    def spend(self, activity: Activity, seconds: float) -> None:
        """Spend processor time on a message."""
        begin = self.clock
        self.clock = begin + seconds
        self.communicate += seconds
        if self.segments is not None and seconds:
            self.segments.append((self.number, activity, self.region, begin, self.clock))

    def wait_until(self, time: float) -> None:
        """Let time pass until then, if it has not come yet."""
        if time > self.clock:
            if self.segments is not None:
                self.segments.append((self.number, Activity.WAIT, self.region, self.clock, time))
            self.clock = time

    def in_turn(self) -> Events:
        """Wait until all that happens before this rank's clock has happened; ties go by rank."""
        if self._turn != self.clock:
            self._turn = self.clock
            yield self.env.at(self.clock, self.number)

    def until_known(self, holder: Message | Receive) -> Events:
        """Block until the outcome of a message or receive is known."""
        holder.waiter = self.env.event()
        self._turn = -1.0
        yield holder.waiter

    # -- messages -----------------------------------------------------------------------------------------

    def launch(self, channel: Channel, nbytes: int, flags: int = 0) -> Message:
        """Begin to send at this actor's clock; an eager send is done when this returns."""
        dest = channel[2]
        cost = self.costs.message(self.number, self.offset + dest, nbytes, self.clock)
        message = Message(self.number, self.offset + dest, nbytes, self.clock)
        if (cost.eager or flags & Flag.BUFFERED) and not flags & Flag.SYNCHRONOUS:
            factor = 1.0
            if self.ordered and cost.between_nodes:
                factor = self.simulation.network.begin(self.clock, cost)  # type: ignore[union-attr]
            self.spend(Activity.SEND, factor * cost.send)
            message.sent = self.clock
            message.arrival = message.envelope = message.sent + factor * cost.transmission
        else:
            message.envelope = self.clock + cost.envelope
            message.busy = cost.send
        self._observe(message)
        receive = self.mailboxes.deliver(channel, message)
        if receive is not None:
            self.simulation.meet(message, receive)
        return message

    def _observe(self, message: Message) -> None:
        seen = self.simulation.observation
        if seen.messages is not None and seen.nbytes is not None:
            seen.messages[message.source, message.dest] += 1
            seen.nbytes[message.source, message.dest] += message.nbytes

    def finish_send(self, message: Message) -> Events:
        """Block in a send until the message has gone."""
        if message.sent is None:
            yield from self.until_known(message)
        assert message.sent is not None
        if message.sent > self.clock:
            self.wait_until(message.sent - message.busy)
            self.spend(Activity.SEND, message.sent - self.clock)

    def post(self, channel: Channel) -> Receive:
        """Post a receive at this actor's clock."""
        receive = Receive(self.clock)
        receive.cost = self.costs.message(self.offset + channel[1], self.number, 0, self.clock).receive
        message = self.mailboxes.post(channel, receive)
        if message is not None:
            self.simulation.meet(message, receive)
        return receive

    def finish_receive(self, receive: Receive) -> Events:
        """Block in a receive until the message is there, then take it."""
        if receive.end is None:
            yield from self.until_known(receive)
        assert receive.end is not None
        self.wait_until(receive.end)
        self.spend(Activity.RECEIVE, receive.cost)

    # -- collectives --------------------------------------------------------------------------------------

    def rounds(self, schedule: Schedule, context: int, serial: int, members: tuple[int, ...]) -> Events:
        """Run one rank's part of a collective. Its messages travel in channels of their own."""
        tag = ~serial
        reduction = 0.0
        for step in schedule:
            if len(step.sends) + len(step.receives) == 1:
                yield from self._single(step, context, tag, members)
            else:
                yield from self._exchange(step, context, tag, members)
            if step.reduced:
                reduction = reduction or self._reduction_delay()
                self.spend(Activity.RECEIVE, step.reduced * reduction)

    def _reduction_delay(self) -> float:
        node = self.simulation.placement.nodes[self.number]
        return self.costs.node_type(node, self.clock).reduction_delay

    def _single(self, step: Round, context: int, tag: int, members: tuple[int, ...]) -> Events:
        """Run a round of one message: a blocking send or receive."""
        if step.receives:
            yield from self.finish_receive(self.post((context, members[step.receives[0]], self.rank, tag)))
            return
        peer, nbytes = step.sends[0]
        if self.ordered:
            yield from self.in_turn()
        message = self.launch((context, self.rank, members[peer], tag), nbytes)
        if message.sent is None or message.sent > self.clock:
            yield from self.finish_send(message)

    def _exchange(self, step: Round, context: int, tag: int, members: tuple[int, ...]) -> Events:
        """Run a round of several messages: nonblocking receives and sends, then the wait for all."""
        pending: list[Message | Receive] = []
        for peer in step.receives:
            receive = self.post((context, members[peer], self.rank, tag))
            self.spend(Activity.RECEIVE, receive.cost)
            pending.append(receive)
        for peer, nbytes in step.sends:
            if self.ordered:
                yield from self.in_turn()
            message = self.launch((context, self.rank, members[peer], tag), nbytes)
            if message.sent is None or message.sent > self.clock:
                self.spend(Activity.SEND, message.busy)
                pending.append(message)
        for each in pending:
            if each.end is None:
                yield from self.until_known(each)
            self.wait_until(each.end)  # type: ignore[arg-type]


class Background(Actor):
    """A nonblocking collective: it progresses beside its rank, costing it nothing until it is waited for."""

    def __init__(self, rank: Rank) -> None:
        super().__init__(rank.job, rank.rank, rank.number, rank.clock)
        self.end: float | None = None
        self.waiter: simpy.Event | None = None

    def run(self, schedule: Schedule, context: int, serial: int, members: tuple[int, ...]) -> Events:
        """Run the collective to its end."""
        yield from self.rounds(schedule, context, serial, members)
        self.end = self.clock
        if self.waiter is not None:
            self.waiter.succeed()


class Rank(Actor):
    """A rank of the program, replaying its ops.

    Attributes:
        compute: Computation time so far, seconds.
        compute_by_region: The same by region index.
        finished: Whether its program has ended.
    """

    def __init__(self, job: Job, rank: int, number: int) -> None:
        super().__init__(job, rank, number, 0.0)
        self.compute = 0.0
        self.compute_by_region = [0.0] * len(job.program.regions)
        self.finished = False
        self.segments = job.simulation.observation.segments
        self.node = job.simulation.placement.nodes[number]
        self.processor = job.simulation.shared.get(self.node)
        self.factors = self.costs.factors(job.simulation.machine.nodes[self.node])
        self.requests: dict[int, Message | Receive | Background] = {}
        self.serials: dict[int, int] = {}

    # -- the program --------------------------------------------------------------------------------------

    def run(self) -> Events:
        """Replay all ops."""
        yield from self._start()
        handlers = _HANDLERS
        private, factors, by_region = self.processor is None, self.factors, self.compute_by_region
        for row in self.job.program.rows[self.rank]:
            cpu = row.cpu
            self.region = region = row.region
            if cpu:
                if private:
                    seconds = cpu * factors[region]
                    begin = self.clock
                    self.clock = begin + seconds
                    self.compute += seconds
                    by_region[region] += seconds
                    if self.segments is not None:
                        self.segments.append((self.number, Activity.COMPUTE, region, begin, self.clock))
                else:
                    yield from self._shared_burst(cpu, region)
            blocking = handlers[row.op](self, row)
            if blocking is not None:
                self.blocked_on = row
                yield from blocking
        yield from self._stop()

    def _start(self) -> Events:
        world = self.job.program.worlds[self.rank]
        if world:
            started = yield self.job.worlds[world]
            node_type = self.costs.node_type(self.node, started)
            self.wait_until(started + node_type.initialisation_delay)
        if self.processor is not None:
            yield from self.in_turn()
            self.processor.begin()

    def _stop(self) -> Events:
        if self.processor is not None:
            yield from self.in_turn()
            self.processor.end()
        self.finished = True

    def _shared_burst(self, cpu: float, region: int) -> Events:
        yield from self.in_turn()
        begin = self.clock
        yield from self.processor.compute(self.number, region, cpu)  # type: ignore[union-attr]
        self.clock = self.env.now
        self._turn = -1.0
        self.compute += self.clock - begin
        self.compute_by_region[region] += self.clock - begin
        if self.segments is not None:
            self.segments.append((self.number, Activity.COMPUTE, region, begin, self.clock))

    # -- ops: each returns None when done, or what to wait for --------------------------------------------

    def _nothing(self, row: Row) -> None:
        """Do nothing: the op costs nothing in the model, or is not modelled (and reported as such)."""

    def _send(self, row: Row) -> Events | None:
        if row.peer < 0:
            return None
        if self.ordered:
            return self._send_in_turn(row)
        message = self.launch((row.context, self.rank, row.peer, row.tag), row.nbytes, row.flags)
        return self._after_launch(row, message)

    def _send_in_turn(self, row: Row) -> Events:
        yield from self.in_turn()
        message = self.launch((row.context, self.rank, row.peer, row.tag), row.nbytes, row.flags)
        rest = self._after_launch(row, message)
        if rest is not None:
            yield from rest

    def _after_launch(self, row: Row, message: Message) -> Events | None:
        """Finish a blocking send, or keep a nonblocking one as a request once its call is paid for."""
        eager = message.sent is not None and message.sent <= self.clock
        if row.request == NO_REQUEST:
            return None if eager else self.finish_send(message)
        if not eager:
            cost = self.costs.message(message.source, message.dest, message.nbytes, self.clock)
            self.spend(Activity.SEND, cost.send)
        self.requests[row.request] = message
        return None

    def _receive(self, row: Row) -> Events | None:
        if row.peer < 0 or row.flags & Flag.CANCELLED:
            return None
        receive = self._post_row(row)
        if row.request != NO_REQUEST:
            self.spend(Activity.RECEIVE, receive.cost)
            self.requests[row.request] = receive
            return None
        end = receive.end
        if end is None:
            return self.finish_receive(receive)
        self.wait_until(end)
        self.spend(Activity.RECEIVE, receive.cost)
        return None

    def _post_row(self, row: Row) -> Receive:
        receive = self.post((row.context, row.peer, self.rank, row.tag))
        self.job.wildcards.note(self.rank, row, receive)
        return receive

    def _wait(self, row: Row) -> Events | None:
        names = row.entries or (row.request,)
        latest = self.clock
        for name in names:
            pending = self.requests.get(name)
            if pending is not None:
                end = pending.end
                if end is None:
                    return self._wait_for_all(names)
                latest = max(latest, end)
        for name in names:
            self.requests.pop(name, None)
        self.wait_until(latest)
        return None

    def _wait_for_all(self, names: tuple[int, ...]) -> Events:
        for name in names:
            pending = self.requests.pop(name, None)
            if pending is None:
                continue
            if pending.end is None:
                yield from self.until_known(pending)  # type: ignore[arg-type]
            self.wait_until(pending.end)  # type: ignore[arg-type]

    def _poll(self, row: Row) -> None:
        cost = (
            self.costs.message(self.offset + row.peer, self.number, 0, self.clock).receive
            if row.peer >= 0
            else self.costs.poll_delay(self.number, self.clock)
        )
        self.spend(Activity.RECEIVE, cost)

    def _probe(self, row: Row) -> Events | None:
        return None if row.peer < 0 else self._await_envelope(row)

    def _await_envelope(self, row: Row) -> Events:
        channel = (row.context, row.peer, self.rank, row.tag)
        message = self.mailboxes.peek(channel)
        while message is None:
            event = self.env.event()
            self.mailboxes.await_message(channel, event)
            self._turn = -1.0
            yield event
            message = self.mailboxes.peek(channel)
        self.job.wildcards.note(self.rank, row, message)
        self.wait_until(message.envelope)
        self._poll(row)

    def _matched_probe(self, row: Row) -> Events | None:
        return None if row.peer < 0 else self._reserve(row)

    def _reserve(self, row: Row) -> Events:
        channel = (row.context, row.peer, self.rank, row.tag)
        receive = Receive(None)
        receive.cost = self.costs.message(self.offset + row.peer, self.number, 0, self.clock).receive
        self.mailboxes.post(channel, receive)
        self.job.wildcards.note(self.rank, row, receive)
        if receive.message is None:
            yield from self.until_known(receive)
        assert receive.message is not None
        self.wait_until(receive.message.envelope)
        self.spend(Activity.RECEIVE, receive.cost)
        self.requests[row.request] = receive

    def _matched_receive(self, row: Row) -> Events | None:
        receive = self.requests.get(row.request)
        if not isinstance(receive, Receive) or receive.message is None:
            return None
        receive.posted = self.clock
        if receive.message.arrival is None:
            self.simulation.open_rendezvous(receive.message, receive)
        if row.flags & Flag.NONBLOCKING:
            self.spend(Activity.RECEIVE, receive.cost)
            return None
        del self.requests[row.request]
        return self.finish_receive(receive)

    def _pack(self, row: Row) -> None:
        self.spend(Activity.SEND, row.nbytes * self.costs.node_type(self.node, self.clock).packing_delay)

    def _collective(self, row: Row) -> Events | None:
        serial = self.serials.get(row.context, 0)
        self.serials[row.context] = serial + 1
        collective = self.job.program.collectives[row.context][serial]
        schedule = self._lowered(collective, row.members)
        return self._run_schedule(row, schedule, serial)

    def _lowered(self, collective: Collective, members: tuple[int, ...]) -> Schedule:
        return lower(collective, members.index(self.rank), self.costs.algorithm(collective))

    def _neighbor(self, row: Row) -> Events | None:
        # Neighbourhood collectives have channels of their own: they count apart from the others.
        context = ~row.context
        serial = self.serials.get(context, 0)
        self.serials[context] = serial + 1
        return self._run_schedule(row._replace(context=context), neighbor(row.entries), serial)

    def _run_schedule(self, row: Row, schedule: Schedule, serial: int) -> Events | None:
        if not row.flags & Flag.NONBLOCKING:
            return self.rounds(schedule, row.context, serial, row.members) if schedule else None
        background = Background(self)
        self.requests[row.request] = background
        self.env.process(background.run(schedule, row.context, serial, row.members))
        return None

    def _spawn(self, row: Row) -> Events:
        started = self.job.worlds.get(row.entries[0] if row.entries else -1)
        if started is None:
            return
        if self.rank == row.peer:
            self.spend(Activity.SEND, self.costs.node_type(self.node, self.clock).spawn_delay)
            started.succeed(self.clock)
        else:
            self._turn = -1.0
            time = yield started
            self.wait_until(time)

    # -- words --------------------------------------------------------------------------------------------

    def waits_for(self) -> str:
        """Say in words what this rank is blocked on."""
        row = self.blocked_on
        if row is None:
            return "its start: the Spawn that begins its world is never reached"
        op = Op(row.op)
        name = op.name.replace("_", " ").lower()
        if op in COLLECTIVES:
            return f"{name} number {self.serials[row.context if op is not Op.NEIGHBOR else ~row.context]} on communicator {row.context}"
        if op is Op.WAIT:
            pending = [each for each in row.entries or (row.request,) if each in self.requests]
            return f"requests, {len(pending) + 1} of them open" if len(row.entries) > 1 else "a request"
        partner = "to" if op in {Op.SEND, Op.ISEND} else "from"
        return f"{name} {partner} rank {row.peer + self.offset}, tag {row.tag}, on communicator {row.context}"


def _handlers() -> list[Callable[[Rank, Row], Events | None]]:
    table: list[Callable[[Rank, Row], Events | None]] = [Rank._nothing] * (max(Op) + 1)
    table[Op.SEND] = table[Op.ISEND] = Rank._send
    table[Op.RECV] = table[Op.IRECV] = Rank._receive
    table[Op.WAIT] = Rank._wait
    table[Op.POLL] = Rank._poll
    table[Op.PROBE] = Rank._probe
    table[Op.MPROBE] = Rank._matched_probe
    table[Op.MRECV] = Rank._matched_receive
    table[Op.PACK] = Rank._pack
    table[Op.SPAWN] = Rank._spawn
    for op in COLLECTIVES:
        table[op] = Rank._collective
    table[Op.NEIGHBOR] = Rank._neighbor
    return table


_HANDLERS = _handlers()
