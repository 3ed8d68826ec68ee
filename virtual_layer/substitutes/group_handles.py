"""Groups of virtual processes: ``MPI.Group`` in a rank process, whose real library knows only this one process.

A group is a tuple of program ranks. The program holds it as an ordinary ``MPI.Group`` with a handle of ours, which
never reaches the library because every call that takes a group is substituted. Equal groups share a handle.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

Members = tuple[int, ...]

#: The layer's own handles begin here: positive as a C int, far from the handles of MPI libraries.
FIRST_HANDLE = 0x7E000000


class Groups:
    """The groups of one rank process.

    Attributes:
        mpi: ``mpi4py.MPI``.
        me: This process, a program rank.
        world: Members of its ``COMM_WORLD``.
    """

    def __init__(self, mpi: Any) -> None:
        self.mpi = mpi
        self.me = 0
        self.world: Members = ()
        self._members: dict[int, Members] = {mpi.GROUP_EMPTY.handle: ()}
        self._handles: dict[Members, int] = {(): mpi.GROUP_EMPTY.handle}

    def begin(self, me: int, world: Members) -> None:
        """Set this process's rank and world."""
        self.me = me
        self.world = world

    def make(self, members: Iterable[int], of: type | None = None) -> Any:
        """Return the ``MPI.Group`` (or of a subclass) of these members."""
        members = tuple(members)
        handle = self._handles.get(members)
        if handle is None:
            handle = self._handles[members] = FIRST_HANDLE + len(self._handles)
            self._members[handle] = members
        group = self.mpi.Group.fromhandle(handle)
        if of is not None and of is not self.mpi.Group:
            group = of(group)
        return group

    def members(self, group: Any) -> Members:
        """Return the members of an ``MPI.Group``.

        Raises:
            MPI.Exception: ``ERR_GROUP`` if it is null.
        """
        members = self._members.get(group.handle)
        if members is not None:
            return members
        if not group:
            raise self.mpi.Exception(self.mpi.ERR_GROUP)
        # A group of the real library, such as a file's: it contains this process only.
        return (self.me,)

    def knows(self, group: Any) -> bool:
        """Tell whether a group's handle is one of ours, which the library must not see."""
        return group.handle >= FIRST_HANDLE and group.handle in self._members

    def pick(self, members: Members, ranks: Sequence[int]) -> Members:
        """Return the members at ranks of a group; the ranks must exist and differ."""
        if len(set(ranks)) != len(ranks) or any(not 0 <= rank < len(members) for rank in ranks):
            raise self.mpi.Exception(self.mpi.ERR_RANK)
        return tuple(members[rank] for rank in ranks)

    def translate(self, members: Members, ranks: Sequence[int], others: Members) -> list[int]:
        """Translate ranks of one group to ranks of another."""
        places = {member: place for place, member in enumerate(others)}
        return [self._translate(members, rank, places) for rank in ranks]

    def _translate(self, members: Members, rank: int, places: dict[int, int]) -> int:
        if rank == self.mpi.PROC_NULL:
            return rank
        if not 0 <= rank < len(members):
            raise self.mpi.Exception(self.mpi.ERR_RANK)
        return places.get(members[rank], int(self.mpi.UNDEFINED))

    def compare(self, one: Members, other: Members) -> int:
        """Compare as ``MPI_Group_compare`` does."""
        if one == other:
            return int(self.mpi.IDENT)
        return int(self.mpi.SIMILAR if set(one) == set(other) else self.mpi.UNEQUAL)
