"""Intercommunicators in a rank process: how two groups meet, merge, and what mpi4py itself makes for them.

One process alone cannot make a real intercommunicator: ours have the handle of a real intracommunicator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from clue.trace.ops import Op
from virtual_layer.communicators import derive_key
from virtual_layer.substitutes.making import agree, handle_errors, register, shared_key
from virtual_layer.substitutes.meeting import private

if TYPE_CHECKING:
    from virtual_layer.substitutes.comms import LiveComm
    from virtual_layer.substitutes.layer import Layer

Factory = Callable[["Layer", Any], Any]
Members = Sequence[int]

_ISEND, _RECV, _WAIT = int(Op.ISEND), int(Op.RECV), int(Op.WAIT)
#: Bytes of a rank's number in the messages by which leaders of two groups introduce them to each other.
_RANK_BYTES = 4
#: Tags that every MPI library has.
_TAGS = 32768


def intercomm(layer: Layer, of: type | None = None) -> Any:
    """Return an ``Intercomm`` whose handle is that of a real communicator of one process."""
    made = (of or layer.mpi.Intercomm)()
    layer.set_handle(made, layer.original("Comm", "Dup")(layer.mpi.COMM_SELF))
    return made


def _create_intercomm(layer: Layer, original: Any) -> Any:
    def call(self: Any, local_leader: int, peer_comm: Any, remote_leader: int, tag: int = 0) -> Any:
        local = layer.comms.get(self.handle)
        if local is None:
            return original(self, local_leader, peer_comm, remote_leader, tag)
        if not 0 <= local_leader < len(local.group):
            raise layer.mpi.Exception(layer.mpi.ERR_RANK)
        remote = None
        if local.rank == local_leader:
            remote = _introduce(layer, layer.comm_of(peer_comm), local.group, remote_leader, tag)
        remote = agree(layer, local, remote)[0][local_leader]
        return bridged(layer, "Create_intercomm", tag, local.group, remote)

    return call


def bridged(layer: Layer, name: str, tag: object, group: Members, remote: Members) -> Any:
    """Return the intercommunicator of two groups who know of each other."""
    key = shared_key(layer, name, tag, *sorted([tuple(group), tuple(remote)]))
    made = intercomm(layer)
    layer.add(made, key, group, remote)
    return made


def _create_from_groups(layer: Layer, _original: Any) -> Any:
    def call(
        cls: type, local_group: Any, local_leader: int, remote_group: Any, remote_leader: int,
        stringtag: str = "org.mpi4py", info: Any = None, errhandler: Any = None,
    ) -> Any:  # fmt: skip
        groups = [layer.groups.members(local_group), layer.groups.members(remote_group)]
        if layer.port.rank not in groups[0] or not groups[1]:
            raise layer.mpi.Exception(layer.mpi.ERR_GROUP)
        made = bridged(layer, "Create_from_groups", stringtag, *groups)
        handle_errors(layer, made, errhandler)
        agree(layer, layer.comm_of(made))
        return made

    return call


def _introduce(layer: Layer, peer: LiveComm, group: Members, leader: int, tag: int) -> list[int]:
    """Exchange groups with the leader of the other group."""
    reach = peer.group if peer.remote is None else peer.remote
    if not 0 <= leader < len(reach):
        raise layer.mpi.Exception(layer.mpi.ERR_RANK)
    return exchange_groups(layer, private(layer, peer, "bridge"), group, reach[leader], tag)


def exchange_groups(layer: Layer, channel: LiveComm, group: Members, other: int, tag: int) -> list[int]:
    """Send a group to another rank of the program and return the one that it sends."""
    serial, nbytes = layer.requests.serial(), _RANK_BYTES * len(group)
    layer.port.tell(
        _ISEND, peer=other, tag=tag, context=channel.context, nbytes=nbytes, request=serial, payload=list(group)
    )
    _, _, remote = layer.port.ask(_RECV, peer=other, tag=tag, context=channel.context)
    layer.port.ask(_WAIT, entries=(serial,))
    return list(remote)


def _merge(layer: Layer, original: Any) -> Any:
    def call(self: Any, high: bool = False) -> Any:
        parent = layer.comms.get(self.handle)
        if parent is None or parent.remote is None:
            return original(self, high)
        _, remote = agree(layer, parent, bool(high))
        first = parent.group[0] < parent.remote[0] if bool(high) == remote[0] else not high
        group = (*parent.group, *parent.remote) if first else (*parent.remote, *parent.group)
        real = layer.original("Comm", "Dup")(layer.mpi.COMM_SELF)
        return register(layer, parent, real, group)

    return call


# -- mpi4py's own duplicates, over which its Python parts send ---------------------------------------------------


def _inner_intracomm(layer: Layer, _original: Any) -> Any:
    def call(comm: Any) -> tuple[Any, int]:
        known = layer.comm_of(comm)
        return _inner(layer, known, "inner", known.group), _inner_tag(layer, known)

    return call


def _inner_intercomm(layer: Layer, _original: Any) -> Any:
    def call(comm: Any) -> tuple[Any, int, Any, bool]:
        known = layer.comm_of(comm)
        assert known.remote is not None
        local = _inner(layer, known, f"inner {known.group[0]}", known.group)
        low = known.group[0] < known.remote[0]
        return _inner(layer, known, "inner", known.group, known.remote), _inner_tag(layer, known), local, low

    return call


def _inner(layer: Layer, owner: LiveComm, purpose: str, group: Members, remote: Members | None = None) -> Any:
    """Return a communicator that mpi4py makes once for another."""
    key = derive_key(owner.key, purpose)
    known = layer.privates.get(key)
    if known is None:
        real = layer.original("Comm", "Dup")(layer.mpi.COMM_SELF) if remote is None else intercomm(layer)
        known = layer.privates[key] = layer.add(real, key, group, remote)
        agree(layer, known)
    return known.real


def _inner_tag(layer: Layer, owner: LiveComm) -> int:
    """Return the next tag there, the same on all members."""
    tag = layer.serials.get(("inner", owner.key), 0)
    layer.serials["inner", owner.key] = tag + 1
    return int(tag % _TAGS)


# -- queries --------------------------------------------------------------------------------------------------


def _remote_group(layer: Layer, original: Any) -> Any:
    def call(self: Any) -> Any:
        comm = layer.comms.get(self.handle)
        return original(self) if comm is None or comm.remote is None else layer.groups.make(comm.remote)

    return call


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


#: What stands in the place of calls that make intercommunicators.
CALLS: dict[tuple[str, str], Factory] = {
    ("Intracomm", "Create_intercomm"): _create_intercomm,
    ("Intercomm", "Merge"): _merge,
    ("", "_commctx_intra"): _inner_intracomm,
    ("", "_commctx_inter"): _inner_intercomm,
    ("Intercomm", "Create_from_groups"): _create_from_groups,
}

#: What stands in the place of local queries of them.
QUERIES: dict[tuple[str, str], Factory] = {
    ("Intercomm", "Get_remote_group"): _remote_group,
    ("Comm", "fromhandle"): _from_handle,
    ("Comm", "fromint"): _from_handle,
    ("Comm", "f2py"): _from_handle,
}
