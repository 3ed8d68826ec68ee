"""A machine in virtual time: its clock, processors and network, and the messages on it.

Nothing here knows ranks or programs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import simpy

from clue.kernel.model.costs import Costs, MessageCost
from clue.kernel.model.crowding import disturbed_nodes
from clue.kernel.model.observation import Observation
from clue.kernel.model.program import HostSpeed
from clue.kernel.model.turns import Turns, shares_in_turns
from clue.kernel.reference.absence import Absence
from clue.kernel.reference.matching import Message, Pending, Receive
from clue.kernel.reference.processors import SharedNode
from clue.kernel.reference.transport import Transport, copying, transport_of
from clue.kernel.reference.virtual_time import VirtualTime
from clue.machine import Machine, Placement, Progress


class VirtualMachine:
    """A machine on which something runs in virtual time.

    Args:
        machine: The machine.
        placement: Node of each rank of all instances, and of those that may be spawned.
        regions: Region names, by index.
        host_speeds: Speed of the recording host by region, where known.
        observation: What to collect.

    Attributes:
        shared: The nodes whose ranks disturb each other.
        shares_in_turns: The nodes whose ranks take turns with background load, with each rank's share of a processor.
        absences: When each rank is outside MPI calls; empty where the library makes progress at any time.
        on_arrival: Called with messages whose arrival becomes known only after their data have started.
    """

    def __init__(
        self,
        machine: Machine,
        placement: Placement,
        regions: tuple[str, ...],
        host_speeds: Mapping[str, HostSpeed],
        observation: Observation,
    ) -> None:
        self.env = VirtualTime()
        self.machine = machine
        self.placement = placement
        self.costs = Costs(machine, placement, regions, host_speeds)
        self.observation = observation
        self.transport = transport_of(self)
        self._copies = copying(self, self.transport)
        self.shared: dict[int, SharedNode] = {}
        self.shares_in_turns: dict[int, float] = {}
        in_calls = machine.network.progress is Progress.CALLS
        #: By rank, when it has copied the messages that it receives within its node.
        self._copied: dict[int, float] = {}
        self.absences = [Absence() for _ in placement.nodes] if in_calls else []
        self.on_arrival: Callable[[Message], None] | None = None

    # -- processors ---------------------------------------------------------------------------------------

    def occupy(self, nodes: tuple[int, ...], joined: Collection[int]) -> None:
        """Put ranks on nodes.

        Args:
            nodes: Node of each rank.
            joined: Nodes on which ranks begin later than others.
        """
        present = Placement(nodes)
        self.costs.occupy(nodes)
        for node in disturbed_nodes(self.machine, present, joined):
            if node not in self.shared:
                self.shared[node] = SharedNode(self.env, node, self.costs)
        self.shares_in_turns = shares_in_turns(self.machine, present, joined)

    def turns_on(self, node: int) -> Turns | None:
        """Return the turns of a rank on a node, if it takes turns there."""
        share = self.shares_in_turns.get(node)
        return None if share is None else Turns(share, self.machine.nodes[node].time_slice)

    # -- messages -----------------------------------------------------------------------------------------

    def at(self, time: float, order: int, happens: Callable[[], object]) -> simpy.Event:
        """Do something at a time, in its place among events of that time."""

        def call(_: simpy.Event) -> None:
            happens()

        event = self.env.at(time, order)
        event.callbacks = [call]
        return event

    def carrier(self, cost: MessageCost) -> Transport:
        """Return the transport of a message: between nodes, or within one."""
        return self.transport if cost.between_nodes else self._copies

    def meet(self, message: Message, receive: Receive) -> None:
        """Go on with a message that has met its receive."""
        if receive.posted is not None and not message.eager:
            self.open_rendezvous(message, receive)
        elif receive.posted is None or message.arrival is not None:
            # After a matched probe, the data of a rendezvous wait for the receive.
            wake(receive)

    def open_rendezvous(self, message: Message, receive: Receive) -> None:
        """Let the answer travel back, then the data start; a receiver that reads them starts them itself."""
        assert receive.posted is not None
        cost = self.costs.message(message.source, message.dest, message.nbytes, message.ready)
        # The sender of data that are read waits until the receiver has told it so.
        message.acknowledged = cost.reads

        def answer(time: float) -> None:
            message.called = time
            if cost.reads:
                start(time)
            else:
                self.within_call(message.source, time + cost.answer, message.order, start)

        def start(time: float) -> None:
            # In a live run a wildcard receive may be matched later than it was posted.
            time = max(time, self.env.now)
            if self.transport.takes_turns if cost.between_nodes else self.costs.copies_in_turn:
                self.at(time, message.order, lambda: self._transfer(message, time))
            else:
                self._transfer(message, time)

        # A library that answers only within calls, or reads the data, does not do so before it has seen the envelope.
        known = message.known(by_envelope=bool(self.absences) or cost.reads)
        self.within_call(message.dest, max(known, receive.posted), message.order, answer)

    def acknowledge(self, message: Message) -> None:
        """Let the receiver's library tell the sender that it has an eager message, or has read the data."""

        def acknowledged(time: float) -> None:
            message.called = time
            cost = self.costs.message(message.source, message.dest, message.nbytes, message.ready)
            message.sent = time + cost.answer
            wake(message)

        assert message.arrival is not None
        self.within_call(message.dest, message.arrival, message.order, acknowledged)

    def within_call(self, rank: int, time: float, order: int, then: Callable[[float], object]) -> None:
        """Go on at a time, or when a rank's next call begins if its library does nothing outside calls."""
        if self.absences:
            # All earlier events must have happened: until then it is unknown what the rank does at that time.
            self.at(max(time, self.env.now), order, lambda: self.absences[rank].after(self.env.now, then))
        else:
            then(time)

    def _transfer(self, message: Message, start: float) -> None:
        """Start the data of a rendezvous."""
        message.answered = start
        self.begin(message, start)
        if message.acknowledged:
            message.sent = None
            if message.arrival is not None:
                self.acknowledge(message)
        elif message.sent is not None:
            wake(message)
        if message.arrival is not None:
            wake(message.receive)

    def begin(self, message: Message, start: float) -> None:
        """Start the data of a rendezvous, of a one-sided operation or of its answer."""
        begin = self._copied_from(message, start)
        cost = self.costs.message(message.source, message.dest, message.nbytes, begin)
        self.carrier(cost).begin(message, begin, cost)

    def _copied_from(self, message: Message, start: float) -> float:
        """Return when the receiver begins to copy data that its sender has not copied: after those before."""
        cost = self.costs.message(message.source, message.dest, message.nbytes, start)
        if cost.copy is None or (message.eager and cost.eager):
            return start
        begin = max(start, self._copied.get(message.dest, 0.0))
        self._copied[message.dest] = begin + cost.copy
        return begin

    def gone(self, message: Message, time: float) -> None:
        """Note when a sender is free of its data, where that depends on other messages."""
        if not message.acknowledged:
            message.sent = time
            wake(message)

    def arrived(self, message: Message, time: float, head: float) -> None:
        """Note the time, now final, at which a message arrives, and that at which an eager message's head arrives."""
        message.arrival = time
        if message.envelope is None:
            message.envelope = min(time, head)
            if message.looker is not None:
                message.looker.succeed()
                message.looker = None
        wake(message.receive)
        if message.acknowledged:
            self.acknowledge(message)
        if message.landed is not None:
            message.landed()
        elif self.on_arrival is not None:
            self.on_arrival(message)


def wake(holder: Pending | None) -> None:
    """Wake the actor that waits for something."""
    if holder is not None and holder.waiter is not None:
        holder.waiter.succeed()
        holder.waiter = None
