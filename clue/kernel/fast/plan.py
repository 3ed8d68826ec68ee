"""A program as arrays: its columns, the send that each receive matches, and collectives as templates."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain
from threading import Lock
from typing import TypeVar
from weakref import finalize

import numpy as np
import numpy.typing as npt

from clue.collectives import Collective, Schedule, lower_all, neighbor
from clue.kernel.fast.calling import call, new_stop
from clue.kernel.fast.layout import CollectivesLayout, LoopsLayout, ProgramLayout, Status
from clue.kernel.fast.library import ENGINE
from clue.kernel.model.costs import algorithm_of, chooses_by_nodes, numbered, placed
from clue.kernel.model.program import Program, ranks_with_wildcards
from clue.machine import Network, Placement
from clue.trace import Flag, Op
from clue.trace.columns import within

_Ints = npt.NDArray[np.int32]
_Longs = npt.NDArray[np.int64]
_Number = TypeVar("_Number", bound=np.generic)
#: A collective, or the entries of each member of a neighbourhood collective (see :mod:`clue.trace.ops`).
_Call = Collective | tuple[tuple[int, ...], ...]
#: Number of the pattern in which each communicator's members share nodes, 0 if they do not: rows as above.
Sharing = tuple[tuple[int, ...], ...]

#: Number of placements whose sharing is kept, and of choices of algorithms.
_KEPT = 64
#: Number of members of collectives that are lowered together.
_TOGETHER = 1 << 14

_CANCELLED = int(Flag.CANCELLED)
#: Columns of a trace that the engine reads as they are.
_COLUMNS = ("op", "cpu", "region", "nbytes", "tag", "comm", "request", "extra", "count", "flags", "extras")


class NotCoveredError(Exception):
    """The fast engine cannot replay this program; the message says why."""


@dataclass(frozen=True, slots=True, eq=False)
class Template:
    """A collective lowered for all its members, as arrays; messages within it are numbered from 0.

    Attributes:
        rounds: Number of rounds of each member, shape (members,).
        sends: Number of sends of each round, all members' rounds one after the other.
        receives: Number of receives, the same.
        reduced: Bytes reduced, the same.
        send_peers: Destination of each send, as a position in the communicator.
        send_bytes: Its size.
        send_slots: Its message.
        receive_peers: Source of each receive.
        receive_slots: Its message.
        slots: Number of messages.
    """

    rounds: _Longs
    sends: _Longs
    receives: _Longs
    reduced: _Longs
    send_peers: _Ints
    send_bytes: _Longs
    send_slots: _Ints
    receive_peers: _Ints
    receive_slots: _Ints
    slots: int

    @property
    def members(self) -> int:
        """Number of members."""
        return len(self.rounds)

    def pairs(self) -> _Longs:
        """Return the distinct (sender, receiver) positions, shape (n, 2)."""
        senders = np.repeat(np.repeat(np.arange(self.members), self.rounds), self.sends)
        channels = np.unique(senders * self.members + self.send_peers)
        return np.stack([channels // max(1, self.members), channels % max(1, self.members)], 1)


@dataclass(frozen=True, slots=True, eq=False)
class Choices:
    """The template of each collective; equal ones of a plan are one object.

    Attributes:
        rows: Templates, a row for each copy of the program, or one if they agree.
        messages: Number of messages of a copy's collectives, averaged over the copies.
    """

    rows: tuple[tuple[int, ...], ...]
    messages: int


def templates_of(collectives: Sequence[Sequence[Schedule]]) -> list[Template]:
    """Lower collectives to arrays, each given by the schedules of its members.

    The k-th message from one member to another matches the k-th receive from it there, as in any channel. Lowering many
    collectives together is faster.
    """
    members = np.array([len(schedules) for schedules in collectives], np.int64)
    schedules = [schedule for each in collectives for schedule in each]
    rounds = [step for schedule in schedules for step in schedule]
    lengths = np.array([len(schedule) for schedule in schedules], np.int64)
    sends = np.array([len(step.sends) for step in rounds], np.int64)
    receives = np.array([len(step.receives) for step in rounds], np.int64)
    reduced = np.array([step.reduced for step in rounds], np.int64)
    flat = chain.from_iterable(chain.from_iterable(step.sends for step in rounds))
    sent = np.fromiter(flat, np.int64, 2 * int(sends.sum())).reshape(-1, 2)
    taken = np.fromiter(chain.from_iterable(step.receives for step in rounds), np.int64, int(receives.sum()))
    first_member = _offsets(members)
    first_round = _offsets(lengths)[first_member]
    first_send, first_receive = _offsets(sends)[first_round], _offsets(receives)[first_round]
    # Senders are numbered across all collectives, so that no channel belongs to two of them.
    owner = np.repeat(np.arange(len(schedules)), lengths)
    sender = np.repeat(owner, sends)
    source = taken + np.repeat(first_member[:-1], np.diff(first_receive))
    receiver = np.repeat(owner, receives) - np.repeat(first_member[:-1], np.diff(first_receive))
    most = int(members.max(initial=1))
    send_slots, receive_slots, slots = _matched(
        sender * most + sent[:, 0], source * most + receiver, first_member * most
    )
    send_slots -= np.repeat(slots[:-1], np.diff(first_send))
    receive_slots -= np.repeat(slots[:-1], np.diff(first_receive))
    send_peers, send_bytes, receive_peers = sent[:, 0].astype(np.int32), sent[:, 1].copy(), taken.astype(np.int32)
    spans = [
        list(map(slice, first[:-1].tolist(), first[1:].tolist()))
        for first in (first_member, first_round, first_send, first_receive)
    ]
    return [
        Template(
            rounds=lengths[of_members],
            sends=sends[of_rounds],
            receives=receives[of_rounds],
            reduced=reduced[of_rounds],
            send_peers=send_peers[of_sends],
            send_bytes=send_bytes[of_sends],
            send_slots=send_slots[of_sends],
            receive_peers=receive_peers[of_receives],
            receive_slots=receive_slots[of_receives],
            slots=number,
        )
        for of_members, of_rounds, of_sends, of_receives, number in zip(*spans, np.diff(slots).tolist(), strict=True)
    ]


def _matched(sent: _Longs, taken: _Longs, bounds: _Longs) -> tuple[_Ints, _Ints, _Longs]:
    """Number messages so that the k-th send and the k-th receive of a channel have the same number.

    Args:
        sent: Channel of each send.
        taken: Channel of each receive.
        bounds: The first channel of each collective, and the end of the channels of the last one.

    Returns:
        The number of each send; the number of each receive; and the first number of each collective, with the end of
        the numbers of the last one.
    """
    send_order, receive_order = np.argsort(sent, kind="stable"), np.argsort(taken, kind="stable")
    ordered_sends, ordered_takes = sent[send_order], taken[receive_order]
    if np.array_equal(ordered_sends, ordered_takes):
        # The normal case: there is a receive for every send.
        numbers = np.arange(len(sent), dtype=np.int32)
        slots_of_sends, slots_of_receives = np.empty_like(numbers), np.empty_like(numbers)
        slots_of_sends[send_order] = slots_of_receives[receive_order] = numbers
        return slots_of_sends, slots_of_receives, np.searchsorted(ordered_sends, bounds)
    channels = np.unique(np.concatenate([sent, taken]))
    sends = np.searchsorted(ordered_sends, channels, side="right") - np.searchsorted(ordered_sends, channels)
    takes = np.searchsorted(ordered_takes, channels, side="right") - np.searchsorted(ordered_takes, channels)
    begins = _offsets(np.maximum(sends, takes))
    send_slots, receive_slots = np.empty(len(sent), np.int32), np.empty(len(taken), np.int32)
    for slots, order, counts in ((send_slots, send_order, sends), (receive_slots, receive_order, takes)):
        slots[order] = np.repeat(begins[:-1], counts) + within(counts)
    return send_slots, receive_slots, begins[np.searchsorted(channels, bounds)]


class Plan:
    """A program made ready for any number of replays.

    Args:
        program: The program.
        loops: How often its parts are repeated, if not once.

    Attributes:
        lock: To be held while a machine is tabulated, which may add templates and sizes: threads share a plan.

    Raises:
        NotCoveredError: If the fast engine cannot replay it.
        NoLibraryError: If there is no compiled engine.
    """

    def __init__(self, program: Program, loops: LoopsLayout | None = None) -> None:
        self.program = program
        self.lock = Lock()
        self._loops = loops
        self._origin: Plan | None = None
        self._contexts, comm_context = np.unique(np.array(program.contexts), return_inverse=True)
        self._neighbors = _neighbor_rows(program, comm_context, len(self._contexts))
        self._templates: dict[tuple[_Call, str], int] = {}
        self._built: list[Template] = []
        self._choices: dict[object, Choices] = {}
        self._laid_out: dict[Choices, CollectivesLayout] = {}
        self._pairs: dict[Choices, _Longs] = {}
        self._distinct, self._calls, self._which = self._instances(comm_context)
        self._homes = list(dict.fromkeys(home for _, home in self._calls))
        self._ways: dict[tuple[int, ...], int] = {(): 0}
        self._apart: Sharing = ((0,) * len(self._homes),)
        self._sharing: dict[tuple[int, ...], Sharing] = {}
        self.layout, self._bytes = self._prepare(comm_context)
        self._size_index = {size: i for i, size in enumerate(self._bytes)}

    def with_bursts_of(self, program: Program) -> Plan:
        """Return the plan of a program that differs in its bursts alone; it shares everything else."""
        like = copy(self)
        like.__dict__["received"] = self.received
        like.program = program
        like._origin = self  # the owner of everything that was prepared
        like.layout = ProgramLayout()
        ctypes.memmove(ctypes.byref(like.layout), ctypes.byref(self.layout), ctypes.sizeof(ProgramLayout))
        like.layout.give("cpu", np.ascontiguousarray(program.columns.cpu))
        return like

    @property
    def takes_locks(self) -> bool:
        """Whether ranks take locks that exclude others, so that the order of their requests matters."""
        return bool(self.layout.locks)

    @property
    def accesses_directly(self) -> bool:
        """Whether origins do operations on the memory of ranks of their node, so that placements differ in more."""
        return bool(self.layout.empty_size >= 0)

    @property
    def sizes(self) -> list[int]:
        """Sizes of messages that occur, in bytes; grows as collectives are lowered."""
        return self._bytes

    def sharing(self, placement: Placement) -> Sharing:
        """Return how members of communicators share nodes.

        Args:
            placement: Node of each rank of all copies.
        """
        nodes = numbered(placement.nodes)
        if not nodes:
            return self._apart
        if nodes not in self._sharing:
            if len(self._sharing) == _KEPT:
                del self._sharing[next(iter(self._sharing))]  # the oldest
            copies = range(0, len(nodes), self.program.ranks)
            rows = [self._shared_by(nodes[first : first + self.program.ranks]) for first in copies]
            self._sharing[nodes] = _one_if_equal(rows)
        return self._sharing[nodes]

    def _shared_by(self, nodes: tuple[int, ...]) -> tuple[int, ...]:
        groups = self.program.groups
        found = [numbered([nodes[rank] for rank in groups[home]]) for home in self._homes]
        return tuple(self._ways.setdefault(each, len(self._ways)) for each in found)

    def choices(self, network: Network, sharing: Sharing) -> Choices:
        """Lower all collectives with the algorithms that a network uses for this sharing of nodes."""
        # Machines that differ in their links alone choose the same algorithms.
        if not chooses_by_nodes(network):
            sharing = self._apart
        key = network.collective_library, frozenset(network.collectives.items()), sharing
        if key not in self._choices:
            if len(self._choices) == _KEPT:
                del self._choices[next(iter(self._choices))]  # the oldest
            self._choices[key] = self._chosen(network, sharing)
        return self._choices[key]

    def _chosen(self, network: Network, sharing: Sharing) -> Choices:
        ways = list(self._ways)
        by_home = [dict(zip(self._homes, row, strict=True)) for row in sharing]
        pairs = list(dict.fromkeys((which, way[home]) for way in by_home for which, home in self._calls))
        numbers = self._numbered([(self._distinct[which], ways[way]) for which, way in pairs], network)
        templates = dict(zip(pairs, numbers, strict=True))
        rows = _one_if_equal([tuple(templates[which, way[home]] for which, home in self._calls) for way in by_home])
        known = next((each for each in self._choices.values() if each.rows == rows), None)
        return known or Choices(rows, self._messages(rows))

    def _messages(self, rows: tuple[tuple[int, ...], ...]) -> int:
        sizes = np.array([[self._built[number].slots for number in row] for row in rows], np.int64)
        return int(sizes[:, self._which].sum()) // len(rows)

    def collectives(self, choices: Choices) -> CollectivesLayout:
        """Lay out the collectives, each by its template."""
        if choices not in self._laid_out:
            self._laid_out = {choices: self._lay_out(choices)}
        return self._laid_out[choices]

    def pairs(self, choices: Choices) -> _Longs:
        """Return the (sender, receiver) ranks that exchange messages, those of collectives included, shape (n, 2).

        Args:
            choices: Template of each collective.
        """
        if choices not in self._pairs:
            self._pairs = {choices: self._paired(choices)}
        return self._pairs[choices]

    def _paired(self, choices: Choices) -> _Longs:
        program = self.program
        found = [self._channels]
        for (_, home), number in dict.fromkeys(
            pair for row in choices.rows for pair in zip(self._calls, row, strict=True)
        ):
            group = np.array(program.groups[home], np.int64)
            ranks = group[self._built[number].pairs()]
            found.append(ranks[:, 0] * program.ranks + ranks[:, 1])
        channels = np.unique(np.concatenate(found))
        return np.stack([channels // program.ranks, channels % program.ranks], 1)

    @cached_property
    def _channels(self) -> _Longs:
        """Sender · ranks + receiver of the program's own messages, and of the answers of one-sided operations."""
        program = self.program
        rows = np.flatnonzero(program.columns.are(Op.SEND, Op.ISEND, Op.RMA) & (program.peers >= 0))
        senders, receivers = (
            np.searchsorted(program.offsets, rows, side="right") - 1,
            program.peers[rows].astype(np.int64),
        )
        answered = program.columns.op[rows] == Op.RMA
        answers = receivers[answered] * program.ranks + senders[answered]
        return np.unique(np.concatenate([senders * program.ranks + receivers, answers]))

    @cached_property
    def received(self) -> tuple[list[int], _Longs]:
        """The ranks with wildcard receives, and the rows of all receives and probes of those ranks."""
        program, ops = self.program, self.program.columns
        wild = ranks_with_wildcards(program)
        if not wild:
            return wild, np.zeros(0, np.int64)
        skipped = ops.are(Op.RECV, Op.IRECV) & (ops.flags & _CANCELLED != 0)
        takes = ops.are(Op.RECV, Op.IRECV, Op.PROBE, Op.MPROBE) & (program.peers >= 0) & ~skipped
        rows = np.flatnonzero(takes)
        return wild, rows[np.isin(np.searchsorted(program.offsets, rows, side="right") - 1, wild)]

    # -- instances ----------------------------------------------------------------------------------------

    def _instances(self, comm_context: _Longs) -> tuple[list[_Call], list[tuple[int, int]], _Longs]:
        """List the collectives of every context, then the neighbourhood ones.

        Returns:
            The distinct collectives; pairs of collective and communicator that occur; and the pair of every collective.
        """
        comm_of = {int(context): comm for comm, context in reversed(list(enumerate(comm_context.tolist())))}
        queues: list[Sequence[_Call]] = [self.program.collectives.get(c, ()) for c in self._contexts.tolist()]
        queues += [self._neighbors.get(index, ()) for index in range(len(self._contexts))]
        homes = np.array([comm_of[i % len(self._contexts)] for i in range(len(queues))], np.int64)
        lengths = np.array([len(queue) for queue in queues], np.int64)
        self._instance_offsets = _offsets(lengths)
        # Equal collectives are mostly one object; comparing those of thousands of ranks takes long.
        place: dict[int, int] = {}
        distinct: list[_Call] = []
        for each in chain.from_iterable(queues):
            if id(each) not in place:
                place[id(each)] = len(distinct)
                distinct.append(each)
        which = np.array([place[id(each)] for each in chain.from_iterable(queues)], np.int64)
        comms = len(comm_context)
        calls, back = np.unique(which * comms + np.repeat(homes, lengths), return_inverse=True)
        return distinct, list(zip((calls // comms).tolist(), (calls % comms).tolist(), strict=True)), back

    @cached_property
    def left_over(self) -> int:
        """Number of messages that no receive takes, including those of neighbourhood collectives."""
        left: int = self.layout.left_over
        for i, (which, _) in enumerate(self._calls):
            each = self._distinct[which]
            if not isinstance(each, Collective):
                with self.lock:
                    template = self._built[self._numbered([(each, ())])[0]]
                left += (template.slots - len(template.receive_peers)) * int((self._which == i).sum())
        return left

    def _numbered(self, calls: Iterable[tuple[_Call, tuple[int, ...]]], network: Network | None = None) -> list[int]:
        """Return the numbers of the templates of collectives, each with the numbered nodes of its members."""
        keys: list[tuple[_Call, str]] = []
        lowered: dict[tuple[_Call, str], list[Schedule]] = {}
        members = 0
        for each, nodes in calls:
            key = each, ""
            if network and isinstance(each, Collective):
                algorithm = algorithm_of(network, each, nodes)
                key = placed(each, algorithm, nodes), algorithm
            keys.append(key)
            if key in self._templates or key in lowered:
                continue
            lowered[key] = _schedules(*key)
            members += len(lowered[key])
            if members >= _TOGETHER:
                self._build(lowered)
                lowered, members = {}, 0
        self._build(lowered)
        return [self._templates[key] for key in keys]

    def _build(self, lowered: Mapping[tuple[_Call, str], Sequence[Schedule]]) -> None:
        """Make the templates of collectives from the schedules of their members."""
        built = templates_of(list(lowered.values()))
        first = len(self._built)
        self._built += built
        self._templates |= zip(lowered, range(first, first + len(built)), strict=True)
        sizes = _joined((each.send_bytes for each in built), np.int64)
        for size in np.unique(sizes).tolist():
            if size not in self._size_index:
                self._size_index[size] = len(self._bytes)
                self._bytes.append(size)

    def _lay_out(self, choices: Choices) -> CollectivesLayout:
        used = tuple(dict.fromkeys(chain.from_iterable(choices.rows)))
        place = {number: i for i, number in enumerate(used)}
        templates = [self._built[number] for number in used]
        chosen = np.array([[place[number] for number in row] for row in choices.rows], np.int32)
        sizes, place_of_size = np.unique(
            _joined((each.send_bytes for each in templates), np.int64), return_inverse=True
        )
        size_of = np.array([self._size_index[size] for size in sizes.tolist()], np.int32)
        return CollectivesLayout(
            instance_template=chosen.take(self._which, axis=1),
            copy_templates=len(self._which) if len(choices.rows) > 1 else 0,
            position_base=np.array([0, *accumulate(each.members for each in templates)], np.int64),
            members=np.array([each.members for each in templates], np.int32),
            slots=np.array([each.slots for each in templates], np.int64),
            first_round=_offsets(_joined((each.rounds for each in templates), np.int64)),
            first_send=_offsets(_joined((each.sends for each in templates), np.int64)),
            first_receive=_offsets(_joined((each.receives for each in templates), np.int64)),
            reduced=_joined((each.reduced for each in templates), np.int64),
            send_peer=_joined((each.send_peers for each in templates), np.int32),
            send_size=size_of[place_of_size],
            send_slot=_joined((each.send_slots for each in templates), np.int32),
            receive_peer=_joined((each.receive_peers for each in templates), np.int32),
            receive_slot=_joined((each.receive_slots for each in templates), np.int32),
        )

    # -- the program --------------------------------------------------------------------------------------

    def _prepare(self, comm_context: _Longs) -> tuple[ProgramLayout, list[int]]:
        program, columns = self.program, self.program.columns
        n = len(columns)
        layout = ProgramLayout(
            ranks=program.ranks,
            ops=n,
            regions=len(program.regions),
            worlds=max(program.worlds, default=0) + 1,
            contexts=len(self._contexts),
            communicators=len(program.groups),
            instances=int(self._instance_offsets[-1]),
            probes=int(bool(self.received[0]) or bool(columns.are(Op.PROBE, Op.MPROBE).any())),
            offsets=np.array(program.offsets, np.int64),
            extra_offsets=np.array(program.extra_offsets, np.int64),
            peer=np.ascontiguousarray(program.peers),
            **{name: np.ascontiguousarray(getattr(columns, name)) for name in _COLUMNS},
            context=comm_context.astype(np.int32),
            group_offsets=np.array([0, *accumulate(map(len, program.groups))], np.int64),
            group=np.fromiter(chain.from_iterable(program.groups), np.int32),
            instance_offsets=self._instance_offsets,
            world=np.array(program.worlds, np.int32),
            **_positions(program),
            loops=None if self._loops is None else ctypes.addressof(self._loops),
        )
        prepared, stop, library = ctypes.c_void_p(), new_stop(), ENGINE.load()
        given = ctypes.byref(layout), ctypes.byref(prepared), ctypes.c_void_p(stop.ctypes.data)
        status = call(lambda: library.clue_prepare(*given), n + len(columns.extras), stop)
        if status == Status.NO_MEMORY:
            raise MemoryError("the fast engine has too little memory for this program")
        if status:
            raise NotCoveredError(f"{program.name} has too many messages for the fast engine")
        finalize(self, library.clue_release, prepared)
        sizes = ctypes.cast(layout.sizes, ctypes.POINTER(ctypes.c_int64))
        return layout, sizes[: layout.distinct_sizes]


def _positions(program: Program) -> dict[str, npt.NDArray[np.int32] | _Longs]:
    """Return, for each rank, the communicators that it is in and its positions there."""
    comms = np.repeat(np.arange(len(program.groups)), [len(group) for group in program.groups])
    ranks = np.fromiter(chain.from_iterable(program.groups), np.int64)
    positions = np.fromiter(chain.from_iterable(range(len(group)) for group in program.groups), np.int64)
    order = np.lexsort((comms, ranks))
    return {
        "position_offsets": np.searchsorted(ranks[order], np.arange(program.ranks + 1)).astype(np.int64),
        "position_comm": comms[order].astype(np.int32),
        "position": positions[order].astype(np.int32),
    }


def _neighbor_rows(program: Program, comm_context: _Longs, contexts: int) -> dict[int, list[_Call]]:
    """Put together the members' entries of every neighbourhood collective, by context."""
    rows = np.flatnonzero(program.columns.op == Op.NEIGHBOR)
    if not len(rows):
        return {}
    ranks = np.searchsorted(program.offsets, rows, side="right") - 1
    where = comm_context[program.columns.comm[rows]]
    found: dict[int, list[_Call]] = {}
    for index in range(contexts):
        comm = int(np.flatnonzero(comm_context == index)[0])
        group = program.groups[comm]
        mine = [rows[(where == index) & (ranks == rank)].tolist() for rank in group]
        if len(set(map(len, mine))) > 1:
            raise NotCoveredError(
                f"members of a communicator of {program.name} make different numbers of neighbourhood collectives"
            )
        found[index] = [tuple(program.row(row).entries for row in calls) for calls in zip(*mine, strict=True)]
    return found


def _one_if_equal(rows: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    return (rows[0],) if all(row == rows[0] for row in rows) else tuple(rows)


def _offsets(counts: _Longs) -> _Longs:
    """Return where each of adjacent spans of these lengths begins, and where the last one ends."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])


def _joined(arrays: Iterable[npt.NDArray[_Number]], kind: type[_Number]) -> npt.NDArray[_Number]:
    return np.concatenate([np.zeros(0, kind), *arrays]).astype(kind, copy=False)


def _schedules(each: _Call, algorithm: str) -> list[Schedule]:
    """Return the schedule of each member of a collective."""
    if isinstance(each, Collective):
        return lower_all(each, algorithm)
    return [neighbor(entries) for entries in each]


def plan_of(program: Program) -> Plan:
    """Return the plan of a program, made on first use and kept as long as the program."""
    if program.like is not None:
        return plan_of(program.like).with_bursts_of(program)
    if Plan not in program.prepared:
        ENGINE.load()  # fails before anything is prepared for a missing engine
        program.prepared[Plan] = Plan(program)
    plan: Plan = program.prepared[Plan]
    return plan
