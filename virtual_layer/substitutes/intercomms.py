"""Intercommunicators in a rank process: how two groups meet and merge, and mpi4py's own duplicates for them.

One process alone cannot make a real intercommunicator: the layer's have the handle of a real intracommunicator.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from clue.trace.ops import Op
from virtual_layer.communicators import derive_key
from virtual_layer.meaning.making import RANK_BYTES
from virtual_layer.substitutes.factories import Factory, of_comm, of_layer
from virtual_layer.substitutes.making import agree, register, shared_key
from virtual_layer.substitutes.meeting import private

if TYPE_CHECKING:
    from virtual_layer.substitutes.comms import LiveComm
    from virtual_layer.substitutes.layer import Layer

Members = Sequence[int]

_ISEND, _RECV, _WAIT = int(Op.ISEND), int(Op.RECV), int(Op.WAIT)
#: Number of tags that every MPI library supports.
_TAGS = 32768


def intercomm(layer: Layer, of: type | None = None) -> Any:
    """Return an ``Intercomm`` whose handle is that of a real communicator of one process."""
    made = (of or layer.mpi.Intercomm)()
    layer.set_handle(made, layer.real_comm())
    return made


def _create_intercomm(
    layer: Layer, local: LiveComm, local_leader: int, peer_comm: Any, remote_leader: int, tag: int = 0
) -> Any:
    if not 0 <= local_leader < len(local.group):
        raise layer.mpi.Exception(layer.mpi.ERR_RANK)
    remote = None
    if local.rank == local_leader:
        remote = _introduce(layer, layer.comm_of(peer_comm), local.group, remote_leader, int(tag))
    remote = agree(layer, local, remote)[0][local_leader]
    return bridged(layer, "Create_intercomm", int(tag), local.group, remote)


def bridged(layer: Layer, name: str, tag: object, group: Members, remote: Members) -> Any:
    """Return the intercommunicator of two groups that know each other."""
    key = shared_key(layer, name, tag, *sorted([tuple(group), tuple(remote)]))
    made = intercomm(layer)
    layer.add(made, key, group, remote)
    return made


def _create_from_groups(
    layer: Layer, cls: type, local_group: Any, local_leader: int, remote_group: Any, remote_leader: int,
    stringtag: str = "org.mpi4py", info: Any = None, errhandler: Any = None,
) -> Any:  # fmt: skip
    groups = [layer.groups.members(local_group), layer.groups.members(remote_group)]
    if layer.port.rank not in groups[0] or not groups[1]:
        raise layer.mpi.Exception(layer.mpi.ERR_GROUP)
    made = bridged(layer, "Create_from_groups", stringtag, *groups)
    if errhandler is not None:
        made.Set_errhandler(errhandler)
    agree(layer, layer.comm_of(made))
    return made


def _introduce(layer: Layer, peer: LiveComm, group: Members, leader: int, tag: int) -> list[int]:
    """Exchange groups with the leader of the other group."""
    reach = peer.group if peer.remote is None else peer.remote
    if not 0 <= leader < len(reach):
        raise layer.mpi.Exception(layer.mpi.ERR_RANK)
    return exchange_groups(layer, private(layer, peer, "bridge"), group, reach[leader], tag)


def exchange_groups(layer: Layer, channel: LiveComm, group: Members, other: int, tag: int) -> list[int]:
    """Send a group to another rank of the program and return the one that it sends."""
    serial, nbytes = layer.requests.serial(), RANK_BYTES * len(group)
    layer.port.tell(
        _ISEND, peer=other, tag=tag, context=channel.context, nbytes=nbytes, request=serial, payload=list(group)
    )
    _, _, remote = layer.port.ask(_RECV, peer=other, tag=tag, context=channel.context)
    layer.port.ask(_WAIT, entries=(serial,))
    return list(remote)


def _merge(layer: Layer, parent: LiveComm, high: bool = False) -> Any:
    assert parent.remote is not None
    _, remote = agree(layer, parent, bool(high))
    first = parent.group[0] < parent.remote[0] if bool(high) == remote[0] else not high
    group = (*parent.group, *parent.remote) if first else (*parent.remote, *parent.group)
    return register(layer, parent, layer.real_comm(), group)


# -- mpi4py's own duplicates, over which its Python parts send ---------------------------------------------------


def _inner_intracomm(layer: Layer, comm: Any) -> tuple[Any, int]:
    known = layer.comm_of(comm)
    return _inner(layer, known, "inner", known.group), _inner_tag(layer, known)


def _inner_intercomm(layer: Layer, comm: Any) -> tuple[Any, int, Any, bool]:
    known = layer.comm_of(comm)
    assert known.remote is not None
    local = _inner(layer, known, f"inner {known.group[0]}", known.group)
    low = known.group[0] < known.remote[0]
    return _inner(layer, known, "inner", known.group, known.remote), _inner_tag(layer, known), local, low


def _inner(layer: Layer, owner: LiveComm, purpose: str, group: Members, remote: Members | None = None) -> Any:
    """Return a communicator that mpi4py makes once for each other communicator, at no cost, as for a reduction."""
    key = derive_key(owner.key, purpose)
    known = layer.privates.get(key)
    if known is None:
        real = layer.real_comm() if remote is None else intercomm(layer)
        known = layer.privates[key] = layer.add(real, key, group, remote)
    return known.real


def _inner_tag(layer: Layer, owner: LiveComm) -> int:
    """Return the next tag on it, the same on all members."""
    return layer.next_serial("inner", owner.key) % _TAGS


# -- queries --------------------------------------------------------------------------------------------------


def _is_bridge(comm: LiveComm) -> bool:
    return comm.remote is not None


def _from_handle(layer: Layer, original: Any) -> Any:
    """Return the communicator of a handle: the library knows our intercommunicators as intracommunicators."""

    def call(cls: type, *args: Any, **kwargs: Any) -> Any:
        found = original(cls, *args, **kwargs)
        known = layer.comms.get(found.handle)
        if known is not None and known.remote is not None and not isinstance(found, layer.mpi.Intercomm):
            made = layer.mpi.Intercomm()
            layer.set_handle(made, found)
            return made
        return found

    return call


CALLS: dict[tuple[str, str], Factory] = {
    ("Intracomm", "Create_intercomm"): of_comm(_create_intercomm),
    ("Intercomm", "Merge"): of_comm(_merge, _is_bridge),
    ("", "_commctx_intra"): of_layer(_inner_intracomm),
    ("", "_commctx_inter"): of_layer(_inner_intercomm),
    ("Intercomm", "Create_from_groups"): of_layer(_create_from_groups),
}

QUERIES: dict[tuple[str, str], Factory] = {
    ("Intercomm", "Get_remote_group"): of_comm(lambda layer, comm: layer.groups.make(comm.remote), _is_bridge),
    ("Comm", "fromhandle"): _from_handle,
    ("Comm", "fromint"): _from_handle,
    ("Comm", "f2py"): _from_handle,
}
