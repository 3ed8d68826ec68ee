"""Identifies communicators, in the same way on every rank, without asking the other ranks.

A process is identified by its world and its rank there. A communicator is identified by a *key* that all its members
derive in the same way: from the key of its parent communicator, its serial number among the parent's children, and its
first member. Two communicators with equal groups are therefore never confused, and both sides of an intercommunicator
agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

try:  # The program may import hashlib itself; that work belongs to its first burst, so hashlib is not loaded here.
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

from clue.trace.ops import Flag

#: A process: the key of its world and its rank there.
Identity = tuple[str, int]


def derive_key(*parts: object) -> str:
    """Derive a key from values that all its holders know."""
    return blake2b(repr(parts).encode(), digest_size=8).hexdigest()


class RecordedComm:
    """A rank's knowledge of one communicator.

    Attributes:
        index: Number within the rank's table.
        key: The same on all members; ``None`` if the simulator cannot know the members (Connect, Join).
        group: Its members in order; of an intercommunicator, the local ones.
        remote: The remote members of an intercommunicator, else ``None``.
        peers: The members to which ranks in calls refer: the remote ones, or all.
        known: Whether its members are known, so that its messages can be simulated.
        plain: Whether it is known, and not an intercommunicator.
        made: Number of communicators and windows made of it so far by collective calls.
        neighbors: Sources and destinations of its topology, once asked for.
        privates: Its private communicators, which the program does not see, by purpose and members.
    """

    __slots__ = (
        "flags", "group", "index", "key", "known", "made", "name", "neighbors", "peers", "plain", "privates", "rank",
        "remote",
    )  # fmt: skip

    def __init__(  # noqa: PLR0917 - six fields of one thing
        self, index: int, name: str, key: str | None, rank: int, group: Sequence[Identity],
        remote: Sequence[Identity] | None,
    ) -> None:  # fmt: skip
        self.index = index
        self.name = name
        self.key = key
        self.rank = rank
        self.group = tuple(group)
        self.remote = None if remote is None else tuple(remote)
        self.peers = self.group if self.remote is None else self.remote
        self.flags = 0 if remote is None else int(Flag.INTER)
        self.made = 0
        self.neighbors: tuple[list[int], list[int]] | None = None
        self.privates: dict[tuple[str, object], RecordedComm] = {}
        self.known = key is not None
        self.plain = self.known and remote is None


class Communicators(dict[int, RecordedComm]):
    """The communicators of one rank, by their handles; an unknown one is examined on first use."""

    def __init__(self, mpi: Any, world: str) -> None:
        super().__init__()
        self._mpi = mpi
        self._serials: dict[tuple[object, ...], int] = {}
        self.table: list[RecordedComm] = []
        self.world_key = world
        self._lasting = {mpi.COMM_WORLD.handle, mpi.COMM_SELF.handle}
        comm = mpi.COMM_WORLD
        members = [(world, rank) for rank in range(comm.Get_size())]
        self.world = self._add(comm, "WORLD", derive_key("world", world), members, None)
        self.me: Identity = (world, self.world.rank)

    def __missing__(self, handle: int) -> RecordedComm:
        """Examine a communicator whose construction was not recorded: SELF, or one made by a library in C."""
        return self.adopt(self._mpi.Comm.fromhandle(handle))

    def made_of(self, parent: RecordedComm, comm: Any, name: str, *, same: bool = False) -> RecordedComm | None:
        """Register the result of a collective constructor on ``parent``, null or not.

        With ``same`` it has the members of its parent, as after Dup.
        """
        serial = parent.made
        parent.made += 1
        if not comm:
            return None
        if not parent.known:
            return self._add(comm, name, None, [], [] if comm.Is_inter() else None)
        group, remote = (parent.group, parent.remote) if same else self._members(comm, parent)
        leader = min(group[0], remote[0]) if remote else group[0]
        return self._add(comm, name, derive_key(parent.key, serial, leader), group, remote)

    def made_by_group(self, parent: RecordedComm, comm: Any, name: str, tag: object) -> RecordedComm | None:
        """Register the result of a constructor that only the new members call, null or not."""
        if not comm:
            return None
        if not parent.known:
            return self._add(comm, name, None, [], None)
        group, remote = self._members(comm, parent)
        shared = (name, parent.key, tag, *sorted([tuple(group), tuple(remote or ())]))
        return self._add(comm, name, derive_key(shared, self._serial(shared)), group, remote)

    def bridge(self, parent: RecordedComm, comm: Any, tag: int) -> RecordedComm:
        """Register the result of Create_intercomm: two groups whose leaders met."""
        group = parent.group
        # After Merge, a member may be of another world: any communicator may show it, above all that of the leaders.
        remote = self._identify(comm.Get_remote_group(), [each for each in self.values() if each.known])
        if not parent.known or remote is None:
            return self._add(comm, "Create_intercomm", None, [], [])
        shared = ("Create_intercomm", tag, *sorted([tuple(group), tuple(remote)]))
        return self._add(comm, "Create_intercomm", derive_key(shared, self._serial(shared)), group, remote)

    def join(
        self, comm: Any, name: str, key: str | None, group: Sequence[Identity], remote: Sequence[Identity]
    ) -> RecordedComm:
        """Register an intercommunicator with another world."""
        return self._add(comm, name, key, group, remote)

    def adopt(self, comm: Any, name: str = "unknown", tag: object = "") -> RecordedComm:
        """Register a communicator that was made of groups, or whose construction was not recorded.

        The makers of a communicator of groups share its ``tag``.
        """
        if not comm:
            return RecordedComm(0, "null", None, 0, [], None)
        if comm == self._mpi.COMM_SELF:
            return self._add(comm, "SELF", derive_key("self", self.me), [self.me], None)
        group = self._identify(comm.Get_group(), [self.world])
        remote = self._identify(comm.Get_remote_group(), [self.world]) if comm.Is_inter() else None
        if group is None or (remote is None and comm.Is_inter()):
            return self._add(comm, name, None, [], [] if comm.Is_inter() else None)
        shared = (name, tag, *sorted([tuple(group), tuple(remote or ())]))
        return self._add(comm, name, derive_key(shared, self._serial(shared)), group, remote)

    def forget(self, handle: int) -> None:
        """Drop a freed communicator, whose handle may be used again; WORLD and SELF cannot be freed.

        mpi4py frees its own duplicates of it, too.
        """
        if handle in self._lasting:
            return
        freed = self.pop(handle, None)
        if freed is not None and freed.privates:
            private = list(freed.privates.values())
            for each in [each for each, known in self.items() if known in private]:
                del self[each]

    def private(self, owner: RecordedComm, purpose: str, members: tuple[Identity, ...] | None = None) -> RecordedComm:
        """Return a private duplicate, which the program does not see: mpi4py reduces objects on one, for instance.

        With ``members`` it is an intracommunicator of these.
        """
        known = owner.privates.get((purpose, members))
        if known is None:
            group, remote = (owner.group, owner.remote) if members is None else (members, None)
            rank = owner.rank if members is None else members.index(self.me)
            key = derive_key(owner.key, purpose, *[members] * (members is not None)) if owner.known else None
            known = owner.privates[purpose, members] = self._list(purpose, key, rank, group, remote)
        return known

    def window(self, parent: RecordedComm) -> RecordedComm:
        """Return the communicator of a window that is made on ``parent``, which the program does not see."""
        serial = parent.made
        parent.made += 1
        return self._list("Win", derive_key(parent.key, serial, "window"), parent.rank, parent.group, None)

    def inner(self, owner: RecordedComm, comm: Any, local: Any = None) -> None:
        """Register the duplicate over which mpi4py's Python parts send; of an intercommunicator, also the local one.

        mpi4py makes them once for each communicator, and frees them with it.
        """
        self[comm.handle] = self.private(owner, "inner")
        if local is not None:
            self[local.handle] = self.private(owner, "inner local", owner.group)

    def _members(self, comm: Any, parent: RecordedComm) -> tuple[Sequence[Identity], Sequence[Identity] | None]:
        group = self._identify(comm.Get_group(), [parent])
        remote = self._identify(comm.Get_remote_group(), [parent]) if comm.Is_inter() else None
        return group or [], remote

    def _identify(self, group: Any, among: Sequence[RecordedComm]) -> list[Identity] | None:
        """Find the members of an MPI group among those of known communicators."""
        found: list[Identity | None] = [None] * group.Get_size()
        for known in among:
            for handle_group, identities in self._groups(known):
                for position, rank in enumerate(group.Translate_ranks(None, handle_group)):
                    if rank >= 0 and found[position] is None:
                        found[position] = identities[rank]
                handle_group.Free()
            if None not in found:
                break
        group.Free()
        return None if None in found else [each for each in found if each is not None]

    def _groups(self, known: RecordedComm) -> list[tuple[Any, tuple[Identity, ...]]]:
        comm = next(self._mpi.Comm.fromhandle(handle) for handle, each in self.items() if each is known)
        groups = [(comm.Get_group(), known.group)]
        if known.remote is not None:
            groups.append((comm.Get_remote_group(), known.remote))
        return groups

    def _serial(self, shared: tuple[object, ...]) -> int:
        serial = self._serials.get(shared, 0)
        self._serials[shared] = serial + 1
        return serial

    def _add(
        self, comm: Any, name: str, key: str | None, group: Sequence[Identity], remote: Sequence[Identity] | None
    ) -> RecordedComm:
        known = self._list(name, key, comm.Get_rank(), group, remote)
        self[comm.handle] = known
        return known

    def _list(
        self, name: str, key: str | None, rank: int, group: Sequence[Identity], remote: Sequence[Identity] | None
    ) -> RecordedComm:
        known = RecordedComm(len(self.table), name, key, rank, group, remote)
        self.table.append(known)
        return known
