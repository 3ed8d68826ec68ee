"""Groups of virtual processes: what ``MPI.Group`` is in a rank process, where the real library knows one process only.

A group is a tuple of program ranks. The program holds it as an ordinary ``MPI.Group`` with a handle of ours, which
never reaches the library because every call that takes a group is substituted. Equal groups share a handle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from virtual_layer.live.layer import Layer

Members = tuple[int, ...]

#: Handles of our own begin here: positive as a C int, far from those that MPI libraries give out.
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
        """Know who this process is."""
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
        # One of the real library, which knows this process only, as of a file.
        return (self.me,)

    def knows(self, group: Any) -> bool:
        """Whether a group's handle is one of ours, which the library must not see."""
        return group.handle >= FIRST_HANDLE and group.handle in self._members

    def pick(self, members: Members, ranks: Sequence[int]) -> Members:
        """Return the members at ranks of a group, which must be there and differ."""
        if len(set(ranks)) != len(ranks) or any(not 0 <= rank < len(members) for rank in ranks):
            raise self.mpi.Exception(self.mpi.ERR_RANK)
        return tuple(members[rank] for rank in ranks)

    def translate(self, members: Members, ranks: Sequence[int], others: Members) -> list[int]:
        """Return the ranks in another group of those who have ranks in this one."""
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


def spread(mpi: Any, ranges: Sequence[Sequence[int]]) -> list[int]:
    """List the ranks of ranges (first, last, stride), whose last is included."""
    ranks: list[int] = []
    for first, last, stride in ranges:
        if stride == 0:
            raise mpi.Exception(mpi.ERR_ARG)
        ranks.extend(range(first, last + (1 if stride > 0 else -1), stride))
    return ranks


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a call's factory of a function of (groups, group, its arguments)."""

    def make(layer: Layer, _original: Any) -> Any:
        groups = layer.groups

        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            return function(groups, self, *args, **kwargs)

        return call

    return make


def _class_method(combine: Callable[[Members, Members], Iterable[int]]) -> Callable[..., Any]:
    """Make the factory of a call that combines two groups."""

    def make(layer: Layer, _original: Any) -> Any:
        groups = layer.groups

        def call(cls: type, group1: Any, group2: Any) -> Any:
            return groups.make(combine(groups.members(group1), groups.members(group2)), cls)

        return call

    return make


def _size(groups: Groups, group: Any) -> int:
    return len(groups.members(group))


def _rank(groups: Groups, group: Any) -> int:
    members = groups.members(group)
    return members.index(groups.me) if groups.me in members else int(groups.mpi.UNDEFINED)


def _translate_ranks(groups: Groups, self: Any, ranks: Any = None, group: Any = None) -> list[int]:
    members = groups.members(self)
    others = groups.world if group is None else groups.members(group)
    return groups.translate(members, range(len(members)) if ranks is None else [int(r) for r in ranks], others)


def _compare(groups: Groups, self: Any, group: Any) -> int:
    return groups.compare(groups.members(self), groups.members(group))


def _dup(groups: Groups, self: Any) -> Any:
    return groups.make(groups.members(self), type(self))


def _incl(groups: Groups, self: Any, ranks: Sequence[int]) -> Any:
    return groups.make(groups.pick(groups.members(self), [int(r) for r in ranks]), type(self))


def _excl(groups: Groups, self: Any, ranks: Sequence[int]) -> Any:
    members = groups.members(self)
    left_out = groups.pick(members, [int(r) for r in ranks])
    return groups.make((member for member in members if member not in left_out), type(self))


def _range_incl(groups: Groups, self: Any, ranks: Any) -> Any:
    return _incl(groups, self, spread(groups.mpi, ranks))


def _range_excl(groups: Groups, self: Any, ranks: Any) -> Any:
    return _excl(groups, self, spread(groups.mpi, ranks))


def _free(layer: Layer, original: Any) -> Any:
    groups = layer.groups

    def call(self: Any) -> None:
        if groups.knows(self):
            layer.set_handle(self, layer.mpi.GROUP_NULL)
        else:
            original(self)

    return call


_union = _class_method(lambda one, other: (*one, *(member for member in other if member not in one)))
_intersection = _class_method(lambda one, other: [member for member in one if member in other])
_difference = _class_method(lambda one, other: [member for member in one if member not in other])

#: What stands in the place of the calls of ``MPI.Group``: all local.
QUERIES: dict[tuple[str, str], Callable[[Any, Any], Any]] = {
    ("Group", "Get_size"): _method(_size),
    ("Group", "Get_rank"): _method(_rank),
    ("Group", "Translate_ranks"): _method(_translate_ranks),
    ("Group", "Compare"): _method(_compare),
    ("Group", "Dup"): _method(_dup),
    ("Group", "Union"): _union,
    ("Group", "Intersection"): _intersection,
    ("Group", "Intersect"): _intersection,
    ("Group", "Difference"): _difference,
    ("Group", "Incl"): _method(_incl),
    ("Group", "Excl"): _method(_excl),
    ("Group", "Range_incl"): _method(_range_incl),
    ("Group", "Range_excl"): _method(_range_excl),
    ("Group", "Free"): _free,
}
