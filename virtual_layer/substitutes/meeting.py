"""The intracommunicators on which the members of a communicator meet for its collectives.

The kernel knows collectives on intracommunicators only. Collectives on an intercommunicator take place on private
intracommunicators: the union of both groups, or the root with the other group. All members derive the same keys for
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from virtual_layer.communicators import derive_key
from virtual_layer.substitutes.comms import LiveComm

if TYPE_CHECKING:
    from virtual_layer.substitutes.layer import Layer


class MeetingPlace(NamedTuple):
    """A communicator on which all meet, and the ranks in it of local and remote members, in order."""

    comm: LiveComm
    local: Sequence[int]
    remote: Sequence[int]


def alone(comm: LiveComm) -> bool:
    """Tell whether a communicator has one member, so that the real library can do everything on it."""
    return len(comm.group) == 1 and comm.remote is None


def meeting(layer: Layer, comm: LiveComm) -> MeetingPlace:
    """Return the meeting place of all members: the communicator itself, or the union of both groups."""
    if comm.remote is None:
        return MeetingPlace(comm, range(len(comm.group)), ())
    first = comm.group[0] < comm.remote[0]
    near, far = range(len(comm.group)), range(len(comm.remote))
    if first:
        union = private(layer, comm, "union", (*comm.group, *comm.remote))
        return MeetingPlace(union, near, [len(near) + each for each in far])
    union = private(layer, comm, "union", (*comm.remote, *comm.group))
    return MeetingPlace(union, [len(far) + each for each in near], far)


def rooted(layer: Layer, comm: LiveComm, root: int) -> LiveComm | None:
    """Return the communicator of the root and the other group, for a rooted collective on an intercommunicator.

    The root is its first member. ``None`` for ranks without a part in it.
    """
    mpi: Any = layer.mpi
    assert comm.remote is not None
    if root == mpi.PROC_NULL:
        return None
    if root == mpi.ROOT:
        return private(layer, comm, f"root {layer.port.rank}", (layer.port.rank, *comm.remote))
    if not 0 <= root < len(comm.remote):
        raise mpi.Exception(mpi.ERR_ROOT)
    return private(layer, comm, f"root {comm.remote[root]}", (comm.remote[root], *comm.group))


def private(layer: Layer, owner: LiveComm, purpose: str, group: Sequence[int] | None = None) -> LiveComm:
    """Return a private communicator of another one; the program does not see it.

    Without a group it has the members of its owner, on both sides.
    """
    key = derive_key(owner.key, purpose)
    known = layer.privates.get(key)
    if known is None:
        members = tuple(owner.group if group is None else group)
        rank = members.index(layer.port.rank) if layer.port.rank in members else -1
        remote = owner.remote if group is None else None
        known = layer.privates[key] = LiveComm(layer, None, key, members, remote, rank)
    return known
