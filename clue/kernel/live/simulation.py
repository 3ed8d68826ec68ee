"""A live program on a machine: ranks begin as they are spawned, communicators and regions as they are announced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from clue.errors import Blocked, DeadlockError, LiveError, ReplayError
from clue.kernel.live.mailboxes import LiveMailboxes
from clue.kernel.live.meetings import Meeting
from clue.kernel.live.messages import LiveMessage, Settled
from clue.kernel.live.polls import PollingRank
from clue.kernel.live.rank import LiveRank
from clue.kernel.live.record import Record
from clue.kernel.live.source import BurstRule, Source, Spawner
from clue.kernel.model.crowding import disturbed_nodes
from clue.kernel.model.observation import Observation
from clue.kernel.model.program import Program, Row
from clue.kernel.model.turns import shares_in_turns
from clue.kernel.reference.matching import Message, Receive
from clue.kernel.reference.processors import SharedNode
from clue.kernel.reference.simulation import Job, Simulation, wake
from clue.machine import Machine, Placement

if TYPE_CHECKING:
    from clue.kernel.reference.rank import Rank

#: So often ranks that spin while nothing can happen are let on before that counts as a deadlock.
_LET_ON = 10_000


class LiveJob(Job):
    """The running program.

    Attributes:
        program: What is known of it.
        record: What happened.
        burst: What bursts take, where that is not what was measured.
        children: Ranks of each world that was spawned.
        meetings: Collectives under way, by context and number.
        lines: By rank and index a line of the program: file and number.
        unmodelled: Calls that the model leaves out, by name.
        spinning: Ranks that poll without end, until something changes.
        open_services: By origin and request a one-sided operation that is not done: its request, the bytes of its
            reply, and the rank it is at.
    """

    mailboxes: LiveMailboxes
    ranks: list[LiveRank]  # type: ignore[assignment]

    def __init__(
        self,
        simulation: LiveSimulation,
        program: Program,
        sources: Sequence[Source],
        *,
        spawn: Spawner | None,
        burst: BurstRule | None,
        record: Record,
    ) -> None:
        self.record, self.burst = record, burst
        self.children: dict[int, tuple[int, ...]] = {}
        self.meetings: dict[tuple[int, int], Meeting] = {}
        self.lines: dict[tuple[int, int], tuple[str, int]] = {}
        self.spinning: dict[int, PollingRank] = {}
        self.open_services: dict[tuple[int, int], tuple[Settled, int, int]] = {}
        self._live, self._sources, self._spawner = simulation, list(sources), spawn
        self._world_of = [0] * len(self._sources)
        self._contexts: dict[Any, int] = {}
        self._members: dict[tuple[int, int], tuple[int, ...]] = {}
        self._spawns: dict[tuple[int, int], int] = {}
        self._regions: dict[str, int] = {"": 0}
        self.unmodelled: Counter[str] = Counter()
        super().__init__(simulation, program, 0)

    def _mailboxes(self) -> LiveMailboxes:
        return LiveMailboxes(self._live)

    def _ranks(self) -> list[Rank]:
        return [LiveRank(self, rank, source) for rank, source in enumerate(self._sources)]

    def world_of(self, rank: int) -> int:
        """Return the world of a rank: 0, or that of a spawned one."""
        return self._world_of[rank]

    # -- communicators and collectives --------------------------------------------------------------------

    def announce(self, rank: int, key: Any, group: tuple[int, ...], remote: Sequence[int] | None, name: str) -> int:
        """Take note of a communicator of a rank; returns its context, the same for all who give this key."""
        context = self._contexts.setdefault(key, len(self._contexts))
        self._members[context, rank] = tuple(group)
        self.record.communicator(context, rank, tuple(group), None if remote is None else tuple(remote), name)
        return context

    def members(self, context: int, rank: int) -> tuple[int, ...]:
        """Return the group of a communicator that a rank is in.

        Raises:
            ReplayError: If the rank has not announced it.
        """
        try:
            return self._members[context, rank]
        except KeyError:
            raise ReplayError(f"rank {rank}: communicator must be announced, got context {context}") from None

    def meeting(self, context: int, serial: int, row: Row) -> Meeting:
        """Return a collective, begun if this is its first member."""
        meeting = self.meetings.get((context, serial))
        if meeting is None:
            meeting = self.meetings[context, serial] = Meeting.begin(row)
        return meeting

    def leave(self, context: int, serial: int, meeting: Meeting) -> None:
        """Let a member go from a collective; the last one ends it."""
        if meeting.is_over:
            self.meetings.pop((context, serial), None)

    # -- worlds -------------------------------------------------------------------------------------------

    def spawned(self, context: int, serial: int) -> int:
        """Return the world that a Spawn on a communicator begins, the same for all members."""
        world = self._spawns.get((context, serial))
        if world is None:
            world = self._spawns[context, serial] = len(self._spawns) + 1
            self.worlds[world] = self._live.env.event()
        return world

    def begin_world(self, world: int, count: int, payload: Any) -> None:
        """Start the ranks of a world.

        Raises:
            LiveError: If nobody can start them.
        """
        if self._spawner is None:
            raise LiveError(f"{self.program.name}: ranks cannot be spawned here")
        first = len(self.ranks)
        children = self.children[world] = tuple(range(first, first + count))
        self._live.make_room(children)
        self._world_of += [world] * count
        for rank, source in zip(children, self._spawner(world, children, payload), strict=True):
            self.ranks.append(LiveRank(self, rank, source))
        self.record.world(world, children)
        for rank in children:
            self._live.env.process(self.ranks[rank].run())

    # -- words --------------------------------------------------------------------------------------------

    def region(self, name: str) -> int:
        """Return the index of a region, new or known."""
        known = self._regions.get(name)
        if known is None:
            known = self._regions[name] = len(self._regions)
            self._live.take_region(name)
        return known

    @property
    def regions(self) -> list[str]:
        """Names of regions, by index."""
        return list(self._regions)

    def place(self, rank: LiveRank) -> str:
        """Return where in its program a rank is, in words; empty where that is not known."""
        line = self.lines.get((rank.rank, rank.call.line))
        return "" if line is None else f" ({PurePath(line[0]).name}:{line[1]})"


class LiveSimulation(Simulation):
    """A live program on a machine.

    Args:
        program: What is known of it: no ops.
        machine: What it runs on.
        placement: Node of each rank, and of those that may be spawned.
        started: How many ranks there are at the start.
        rate: flop/s of the recording host in every region, or by region, where that is known.
        observation: What to collect.
    """

    #: Given to it once it can place its ranks.
    job: LiveJob

    def __init__(
        self,
        program: Program,
        machine: Machine,
        placement: Placement,
        *,
        started: int,
        rate: float | Mapping[str, float] | None,
        observation: Observation,
    ) -> None:
        self._present = list(placement.nodes[:started])
        self._rate = rate
        super().__init__(program, machine, placement, 1, observation)
        self.costs.occupy(self._present)

    def _jobs(self, program: Program, instances: int) -> list[Job]:  # noqa: ARG002 - the one job comes later
        return []

    def _shared_nodes(self) -> dict[int, SharedNode]:
        nodes = disturbed_nodes(self.machine, Placement(tuple(self._present)), self.joined)
        return {node: SharedNode(self.env, node, self.costs) for node in nodes}

    def _shares_in_turns(self) -> dict[int, float]:
        return shares_in_turns(self.machine, Placement(tuple(self._present)), self.joined)

    def run(self) -> None:
        """Run to the end.

        Raises:
            DeadlockError: If nothing can happen any more and ranks are unfinished.
            BaseException: Whatever a source raises.
        """
        for rank in self.job.ranks:
            self.env.process(rank.run())
        try:
            self.env.run()
            for _ in range(_LET_ON):
                if not self._let_on():
                    break
                self.env.run()
        except BaseException as error:
            # SimPy raises a copy, which has lost what the original carries beside its text.
            original = error.__cause__
            raise original if original is not None and original.args == error.args else error from None
        blocked = [Blocked(rank.number, rank.clock, rank.waits_for()) for rank in self.job.ranks if not rank.finished]
        if blocked:
            raise DeadlockError(blocked)

    def _let_on(self) -> bool:
        """Let the rank that has spun longest go on; tells whether there is one."""
        spinning = self.job.spinning.values()
        if not spinning:
            return False
        min(spinning, key=lambda rank: (rank.clock, rank.rank)).let_on()
        return True

    # -- messages -----------------------------------------------------------------------------------------

    def arrived(self, message: Message, time: float, head: float) -> None:
        """Note that a message arrives at a time which nothing can change any more, and an eager one's head before."""
        super().arrived(message, time, head)
        if not isinstance(message, LiveMessage):
            return
        if message.landed is not None:
            message.landed()
        elif message.box is not None and message.receive is None:
            self.job.mailboxes.changed(message.box, message)

    def earliest(self, message: Message, posted: float) -> float:
        """Return when a message arrives or, if its data must wait for a receive posted at a time, when they start."""
        if message.sent is not None:
            return self.env.now if message.arrival is None else message.arrival
        answer = self.costs.message(message.source, message.dest, message.nbytes, message.ready).answer
        return max(message.ready, posted) + answer

    def price(self, receive: Receive, posted: float) -> None:
        """Let a receive from any source, posted at a time, cost what it does from the one that it got."""
        message = receive.message
        assert message is not None
        receive.cost = self.costs.message(message.source, message.dest, 0, posted).receive

    @staticmethod
    def found(probe: Receive, message: Message) -> None:
        """Tell a probe what it found."""
        probe.message = message
        wake(probe)

    # -- what becomes known later ---------------------------------------------------------------------------

    def take_region(self, name: str) -> None:
        """Take one more region into account."""
        costs = self.costs
        costs.regions = (*costs.regions, name)
        rate = self._rate.get(name) if isinstance(self._rate, Mapping) else self._rate
        if rate is not None:
            costs.host_speeds = {**costs.host_speeds, name: rate}
        for rank in self.job.ranks:
            rank.factors = costs.factors(self.machine.nodes[rank.node])
            rank.compute_by_region.append(0.0)
        for node in self.shared.values():
            node.take_regions()

    def make_room(self, children: Sequence[int]) -> None:
        """Take ranks into account that begin now.

        Raises:
            LiveError: If the placement has no node for them.
        """
        nodes = self.placement.nodes
        if children[-1] >= len(nodes):
            raise LiveError(f"{self.machine.name}: room must be for {children[-1] + 1} ranks, got {len(nodes)}")
        begun = [nodes[child] for child in children]
        self._present += begun
        self.costs.occupy(self._present)
        self.joined |= set(begun)
        for node, shared in self._shared_nodes().items():
            if node not in self.shared:
                self.shared[node] = shared
                self._let_share(node, shared)
        before, self.shares_in_turns = self.shares_in_turns, self._shares_in_turns()
        for rank in self.job.ranks:
            if self.shares_in_turns.get(rank.node) != before.get(rank.node):
                rank.turns = self.turns_on(rank.node)
        seen = self.observation
        if seen.messages is not None and seen.nbytes is not None:
            seen.messages, seen.nbytes = (np.pad(each, (0, len(children))) for each in (seen.messages, seen.nbytes))

    def _let_share(self, node: int, shared: SharedNode) -> None:
        """Let the ranks that are on a node already share it from their next burst on."""
        for rank in self.job.ranks:
            if rank.node == node and not rank.finished:
                rank.processor = shared
                if rank.began:
                    shared.begin()
