"""The reference engine: the meaning of every op, in SimPy, written to be read.

Each rank is a SimPy process with a clock of its own. It runs ahead of the others as long as nothing they do can
matter to it, and yields only when it must block: for a message that has not been sent, a rendezvous that is still
open, a processor it shares, or - where messages slow each other down - its turn to send. What it waits for becomes
*known* at some point; it then sets its clock and goes on. Definitions: ARCHITECTURE.md, "What an operation means".

Here is the simulation as a whole and where messages meet receives; :mod:`.actor` says what messages and collectives
are, :mod:`.rank` what the ops of a trace are, :mod:`.processors` what a burst is on a node that is shared.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import simpy

from clue.errors import Blocked, DeadlockError
from clue.kernel.model.costs import Costs
from clue.kernel.model.crowding import disturbed_nodes
from clue.kernel.model.observation import Observation
from clue.kernel.model.program import Program, ranks_with_wildcards
from clue.kernel.model.replay import Replay
from clue.kernel.model.turns import Turns, joined_nodes, shares_in_turns
from clue.kernel.model.wildcards import count_wildcards
from clue.kernel.reference.actor import UNSHARED
from clue.kernel.reference.matching import Mailboxes, Message, Receive
from clue.kernel.reference.processors import SharedNode
from clue.kernel.reference.rank import Rank
from clue.kernel.reference.transport import transport_of
from clue.kernel.reference.virtual_time import VirtualTime
from clue.machine import Machine, Placement


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
        self,
        program: Program,
        machine: Machine,
        placement: Placement,
        instances: int,
        observation: Observation,
    ) -> None:
        self.env = VirtualTime()
        self.machine = machine
        self.placement = placement
        self.costs = Costs(machine, placement, program.regions, program.host_speeds)
        self.observation = observation
        self.network = transport_of(self)
        self.joined = joined_nodes(placement, program.worlds)
        self.shared = self._shared_nodes()
        self.shares_in_turns = self._shares_in_turns()
        self.jobs = self._jobs(program, instances)

    def _jobs(self, program: Program, instances: int) -> list[Job]:
        return [Job(self, program, i * program.ranks) for i in range(instances)]

    def _shared_nodes(self) -> dict[int, SharedNode]:
        """Return the nodes whose ranks disturb each other."""
        nodes = disturbed_nodes(self.machine, self.placement, self.joined)
        return {node: SharedNode(self.env, node, self.costs) for node in nodes}

    def _shares_in_turns(self) -> dict[int, float]:
        """Return the nodes whose ranks take turns with background load, with the share of a processor each has."""
        return shares_in_turns(self.machine, self.placement, self.joined)

    def turns_on(self, node: int) -> Turns | None:
        """Return the turns of a rank on a node, if it takes turns there."""
        share = self.shares_in_turns.get(node)
        return None if share is None else Turns(share, self.machine.nodes[node].time_slice)

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

    def at(self, time: float, order: int, happens: Callable[[], None]) -> simpy.Event:
        """Let something happen at a time, in its place among events of that time."""
        event = self.env.at(time, order)
        event.callbacks = [lambda _: happens()]
        return event

    def meet(self, message: Message, receive: Receive) -> None:
        """Go on with a message that has met its receive."""
        if receive.posted is not None and message.sent is None:
            self.open_rendezvous(message, receive)
        elif receive.posted is None or message.arrival is not None:
            # After a matched probe the data of a rendezvous follow at the receive.
            wake(receive)

    def open_rendezvous(self, message: Message, receive: Receive) -> None:
        """Let the answer travel back, then the data start."""
        assert receive.posted is not None
        cost = self.costs.message(message.source, message.dest, message.nbytes, message.ready)
        # A receive from any source may be decided on later, where programs run live.
        start = max(max(message.ready, receive.posted) + cost.answer, self.env.now)
        if self.network.takes_turns and cost.between_nodes:
            self.at(start, message.order, lambda: self._transfer(message, start))
        else:
            self._transfer(message, start)

    def _transfer(self, message: Message, start: float) -> None:
        """Let the data of a rendezvous go."""
        cost = self.costs.message(message.source, message.dest, message.nbytes, start)
        network = self.network if cost.between_nodes else UNSHARED
        message.answered = start
        network.begin(message, start, cost)
        message.sent = message.leaves + message.busy
        wake(message)
        if message.arrival is not None:
            wake(message.receive)

    def arrived(self, message: Message, time: float, head: float) -> None:
        """Note that a message arrives at a time which nothing can change any more, and an eager one's head before."""
        message.arrival = time
        if message.envelope is None:
            message.envelope = min(time, head)
            wake(message)
        wake(message.receive)


def wake(holder: Message | Receive | None) -> None:
    """Let whoever waits for the outcome of a message or receive go on."""
    if holder is not None and holder.waiter is not None:
        holder.waiter.succeed()
        holder.waiter = None


class Job:
    """One running copy of a program: its ranks share mailboxes, collectives and spawned worlds."""

    def __init__(self, simulation: Simulation, program: Program, base: int) -> None:
        self.simulation = simulation
        self.program = program
        self.mailboxes = self._mailboxes()
        self.worlds: dict[int, simpy.Event] = {world: simulation.env.event() for world in set(program.worlds) if world}
        self.wild = frozenset(ranks_with_wildcards(program))
        self.base = base
        self.ranks = self._ranks()

    def _mailboxes(self) -> Mailboxes:
        return Mailboxes()

    def _ranks(self) -> list[Rank]:
        return [Rank(self, rank, self.base + rank) for rank in range(self.program.ranks)]

    def world_of(self, rank: int) -> int:
        """Return the world of a rank: 0, or that of a spawned one."""
        return self.program.worlds[rank]


def replay(program: Program, machine: Machine, placement: Placement, instances: int, seen: Observation) -> Replay:
    """Replay a program on a machine with the reference engine.

    Raises:
        DeadlockError: If the program deadlocks in virtual time.
    """
    simulation = Simulation(program, machine, placement, instances, seen)
    simulation.run()
    ranks = [rank for job in simulation.jobs for rank in job.ranks]
    counts = [count_wildcards(rank.seen()) for rank in ranks if rank.received]
    return Replay(
        engine="reference",
        finish=np.array([rank.clock for rank in ranks]),
        compute=np.array([rank.compute for rank in ranks]),
        communicate=np.array([rank.communicate for rank in ranks]),
        by_region=np.sum([rank.compute_by_region for rank in ranks], axis=0),
        wildcards=(sum(otherwise for otherwise, _ in counts), sum(wild for _, wild in counts)),
        left_over=sum(len(job.mailboxes.left_over()) for job in simulation.jobs),
        seen=seen,
    )
