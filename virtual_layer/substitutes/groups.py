"""The calls of ``MPI.Group``, all local: see :mod:`virtual_layer.substitutes.group_handles`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from virtual_layer.substitutes.factories import Factory, Function, of_layer

if TYPE_CHECKING:
    from virtual_layer.substitutes.group_handles import Groups, Members
    from virtual_layer.substitutes.layer import Layer


def spread(mpi: Any, ranges: Sequence[Sequence[int]]) -> list[int]:
    """List the ranks of ranges (first, last, stride), with the last rank included."""
    ranks: list[int] = []
    for each in ranges:
        first, last, stride = map(int, each)
        if stride == 0:
            raise mpi.Exception(mpi.ERR_ARG)
        ranks.extend(range(first, last + (1 if stride > 0 else -1), stride))
    return ranks


def _method(function: Function) -> Factory:
    """Make a call's factory of a function of (groups, group, its arguments)."""
    return of_layer(lambda layer, *args, **kwargs: function(layer.groups, *args, **kwargs))


def _class_method(combine: Callable[[Members, Members], Iterable[int]]) -> Factory:
    """Make the factory of a call that combines two groups."""

    def call(groups: Groups, cls: type, group1: Any, group2: Any) -> Any:
        return groups.make(combine(groups.members(group1), groups.members(group2)), cls)

    return _method(call)


def _size(groups: Groups, group: Any) -> int:
    return len(groups.members(group))


def _rank(groups: Groups, group: Any) -> int:
    members = groups.members(group)
    return members.index(groups.me) if groups.me in members else int(groups.mpi.UNDEFINED)


def _translate_ranks(groups: Groups, self: Any, ranks: Any = None, group: Any = None) -> list[int]:
    members = groups.members(self)
    others = groups.world if group is None else groups.members(group)
    return groups.translate(members, range(len(members)) if ranks is None else list(map(operator.index, ranks)), others)


def _compare(groups: Groups, self: Any, group: Any) -> int:
    return groups.compare(groups.members(self), groups.members(group))


def _dup(groups: Groups, self: Any) -> Any:
    return groups.make(groups.members(self), type(self))


def _incl(groups: Groups, self: Any, ranks: Sequence[int]) -> Any:
    return groups.make(groups.pick(groups.members(self), list(map(operator.index, ranks))), type(self))


def _excl(groups: Groups, self: Any, ranks: Sequence[int]) -> Any:
    members = groups.members(self)
    left_out = groups.pick(members, list(map(operator.index, ranks)))
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

QUERIES: dict[tuple[str, str], Factory] = {
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
