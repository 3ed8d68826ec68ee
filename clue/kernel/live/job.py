"""The state that the ranks of a running program share: communicators, collectives, worlds, regions, their machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Protocol

import numpy as np

from clue.errors import LiveError, ReplayError
from clue.kernel.live.mailboxes import LiveMailboxes
from clue.kernel.live.meetings import Meeting
from clue.kernel.live.record import Record
from clue.kernel.live.source import BurstRule, Source, Spawner
from clue.kernel.model.program import HostSpeed, Row
from clue.kernel.reference.accesses import Access, Accesses, Origin
from clue.kernel.reference.actor import Instance
from clue.kernel.reference.matching import Message
from clue.kernel.reference.rank import Rank
from clue.kernel.reference.virtual_machine import VirtualMachine, wake
from clue.kernel.reference.virtual_time import ACTIONS_END
from clue.trace import REDUCTIONS


class Peer(Protocol):
    """The program of a rank, as other ranks see it."""

    def serve(self, access: Access) -> Any:
        """Execute a one-sided operation of another rank; return its outcome.

        Raises:
            ReplayError: If it has ended.
        """

    def waits_for(self) -> str:
        """Say in words what its rank is blocked on, and where in the program."""


class LiveAccesses(Accesses):
    """The one-sided operations of a running program, which its ranks execute on their memory.

    Args:
        mailboxes: They have the data of the operation that a rank starts now.
        peers: Program of each rank.
    """

    def __init__(self, mailboxes: LiveMailboxes, peers: Sequence[Peer]) -> None:
        super().__init__()
        self._mailboxes, self._peers = mailboxes, peers

    def started(self, rank: Origin, row: Row, message: Message) -> Access:
        """Note an operation, with its data."""
        access = super().started(rank, row, message)
        access.payload = self._mailboxes.outgoing[rank.rank]
        self._mailboxes.largest = max(self._mailboxes.largest, row.nbytes, access.back)
        return access

    def start_directly(self, rank: Origin, row: Row) -> Access:
        """Let an operation act on the memory of its target once all that happens before it has happened."""
        access = super().start_directly(rank, row)
        message, access.end = access.message, None

        def execute() -> None:
            access.outcome, access.end = self.execute(access), message.arrival
            wake(access)

        assert message.arrival is not None
        # The origin does this itself, so it is its own action: what it does next comes before what its messages do.
        rank.machine.at(message.arrival, rank.order, execute)
        return access

    def execute(self, access: Access) -> Any:
        """Let the target do what an operation asks for."""
        return self._peers[access.target].serve(access)


#: Connects a source of calls to its rank; returns the program as other ranks see it.
Starter = Callable[["Job", Rank, Source], Peer]


class Job:
    """A running program: the state that its ranks share.

    Args:
        name: Its name, for messages.
        machine: What it runs on.
        start: Connects a source of calls to its rank.
        spawn: Starts spawned ranks.
        burst: Durations of bursts, where they differ from the measured ones.
        rate: Speed of this computer in every region, or by region, where known.
        record: Keeps the run as a trace.

    Attributes:
        ranks: Its ranks, spawned ones included.
        peers: Program of each rank.
        children: Ranks of each world that was spawned.
        meetings: Collectives under way, by context and number.
        combined: Size of the longest vector that a reduction has combined, bytes.
        lines: By rank and index a line of the program: file and number.
        unmodelled: Calls that the model leaves out, by name.
        spinning: By rank that spins in a poll loop until something changes, the function that lets it go on.
        let_on: How often in a row spinning ranks went on because nothing else could happen.
        overlong: Number of polling loops that went on though they had found nothing, after polls that may have taken
            too long.
        overlong_timed: Number of such loops that read the time between their polls.
        failure: What has ended a rank, and so ends the run: an error, or a signal.
    """

    def __init__(
        self,
        name: str,
        machine: VirtualMachine,
        start: Starter,
        *,
        spawn: Spawner | None,
        burst: BurstRule | None,
        rate: HostSpeed | Mapping[str, HostSpeed] | None,
        record: Record,
    ) -> None:
        self.name, self.machine, self.burst, self.record = name, machine, burst, record
        self.ranks: list[Rank] = []
        self.peers: list[Peer] = []
        self.mailboxes = LiveMailboxes(machine, self.ranks)
        self.instance = Instance(self.mailboxes, accesses=LiveAccesses(self.mailboxes, self.peers))
        self.children: dict[int, tuple[int, ...]] = {}
        self.meetings: dict[tuple[int, int], Meeting] = {}
        self.combined = 0
        self.lines: dict[tuple[int, int], tuple[str, int]] = {}
        self.spinning: dict[int, Callable[[], None]] = {}
        self.let_on = self.overlong = self.overlong_timed = 0
        self.unmodelled: Counter[str] = Counter()
        self.failure: BaseException | None = None
        self._start, self._spawner, self._rate = start, spawn, rate
        self._joined: frozenset[int] = frozenset()
        self._contexts: dict[Any, int] = {}
        self._members: dict[tuple[int, int], tuple[int, ...]] = {}
        self._spawns: dict[tuple[int, int], int] = {}
        self._regions: dict[str, int] = {"": 0}

    # -- communicators and collectives --------------------------------------------------------------------

    def announce(self, rank: int, key: Any, group: tuple[int, ...], remote: Sequence[int] | None, name: str) -> int:
        """Note a communicator of a rank; return its context, the same for all ranks that give this key."""
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
        """Return a collective; begin it if this is its first member."""
        meeting = self.meetings.get((context, serial))
        if meeting is None:
            meeting = self.meetings[context, serial] = Meeting.begin(row)
            if row.op in REDUCTIONS:
                self.combined = max(self.combined, row.nbytes)
        return meeting

    def leave(self, context: int, serial: int, meeting: Meeting) -> None:
        """Note that a member leaves a collective; the last member ends it."""
        if meeting.is_over:
            self.meetings.pop((context, serial), None)

    # -- loops that spin ----------------------------------------------------------------------------------

    def let_longest_on(self, behind: float = float("inf")) -> bool:
        """Let the spinning rank whose clock is furthest behind go on; tell whether there is one.

        Args:
            behind: Virtual time that its clock must not have passed, seconds.
        """
        clock, longest = min(((self.ranks[rank].clock, rank) for rank in self.spinning), default=(float("inf"), -1))
        if longest < 0 or clock > behind:
            return False
        self.spinning[longest]()
        return True

    def stir(self) -> None:
        """Let one spinning rank go on, if its clock is behind, because another rank goes on.

        It may be counting its polls, and would otherwise wait as long as others go on: for ever if they wait for it.
        One poll for each call of the others at most doubles the number of calls to simulate.
        """
        self.let_on = 0
        if self.spinning:
            self.machine.at(self.machine.env.now, ACTIONS_END, self._let_one_on)

    def _let_one_on(self) -> None:
        self.let_longest_on(self.machine.env.now)

    # -- worlds -------------------------------------------------------------------------------------------

    def begin(self, sources: Sequence[Source], world: int = 0) -> None:
        """Start ranks of a world.

        Raises:
            LiveError: If the placement has no node for them.
        """
        self._make_room(len(sources), world)
        for source in sources:
            rank = Rank(self.machine, self.instance, len(self.ranks), world, wild=True)
            self.ranks.append(rank)
            self.peers.append(self._start(self, rank, source))

    def spawned(self, context: int, serial: int) -> int:
        """Return the world that a Spawn on a communicator begins, the same for all members."""
        world = self._spawns.get((context, serial))
        if world is None:
            world = self._spawns[context, serial] = len(self._spawns) + 1
            self.instance.worlds[world] = self.machine.env.event()
        return world

    def begin_world(self, world: int, count: int, payload: Any) -> None:
        """Start the ranks of a world that is spawned.

        Raises:
            LiveError: If they cannot be started, or the placement has no node for them.
        """
        if self._spawner is None:
            raise LiveError(f"{self.name}: ranks cannot be spawned here")
        first = len(self.ranks)
        children = self.children[world] = tuple(range(first, first + count))
        self._check_room(first + count)
        self.record.world(world, children)
        self.begin(self._spawner(world, children, payload), world)

    def _check_room(self, ranks: int) -> None:
        nodes = self.machine.placement.nodes
        if ranks > len(nodes):
            raise LiveError(f"{self.machine.machine.name}: room must be for {ranks} ranks, got {len(nodes)}")

    def _make_room(self, count: int, world: int) -> None:
        """Add newly started ranks to the machine."""
        machine, before = self.machine, self.machine.shares_in_turns
        nodes = machine.placement.nodes[: len(self.ranks) + count]
        if world:
            self._joined |= set(nodes[len(self.ranks) :])
        machine.occupy(nodes, self._joined)
        for rank in self.ranks:
            if machine.shares_in_turns.get(rank.node) != before.get(rank.node):
                rank.turns = machine.turns_on(rank.node)
            rank.share_processor(machine.shared.get(rank.node))
        seen = machine.observation
        if world and seen.messages is not None and seen.nbytes is not None:
            seen.messages, seen.nbytes = (np.pad(each, (0, count)) for each in (seen.messages, seen.nbytes))

    # -- regions and lines --------------------------------------------------------------------------------

    def region(self, name: str) -> int:
        """Return the index of a region, new or known."""
        known = self._regions.get(name)
        if known is None:
            known = self._regions[name] = len(self._regions)
            self._take_region(name)
        return known

    def _take_region(self, name: str) -> None:
        machine, costs = self.machine, self.machine.costs
        costs.regions = (*costs.regions, name)
        rate = self._rate.get(name) if isinstance(self._rate, Mapping) else self._rate
        if rate is not None:
            costs.host_speeds = {**costs.host_speeds, name: rate}
        for rank in self.ranks:
            rank.factors = costs.factors(machine.machine.nodes[rank.node])
            rank.compute_by_region.append(0.0)
        for node in machine.shared.values():
            node.take_regions()

    def place(self, rank: int, line: int) -> str:
        """Return where in its program a rank is, in words; empty where that is not known."""
        known = self.lines.get((rank, line))
        return "" if known is None else f" ({PurePath(known[0]).name}:{known[1]})"
