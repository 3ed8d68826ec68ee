"""Ports in a rank process: ranks of one world meet by the name of a port that one of them opened.

Other programs cannot connect. A port is a tag on a private communicator of the world: its name contains the owner and
the tag. Names are not published: the program must pass them on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clue.trace.ops import ANY, Op
from virtual_layer.substitutes.factories import Factory, of_layer
from virtual_layer.substitutes.intercomms import bridged, exchange_groups
from virtual_layer.substitutes.making import agree
from virtual_layer.substitutes.meeting import private

if TYPE_CHECKING:
    from virtual_layer.substitutes.comms import LiveComm
    from virtual_layer.substitutes.layer import Layer


_RECV = int(Op.RECV)
_PREFIX = "clue"


def _open(layer: Layer, info: Any = None) -> str:
    return f"{_PREFIX}:{layer.port.rank}:{layer.next_serial('port')}"


def _close(layer: Layer, port_name: str) -> None:
    _parse(layer, port_name)


def _parse(layer: Layer, name: str) -> tuple[int, int]:
    """Return the owner of a port and its tag.

    Raises:
        MPI.Exception: ``ERR_PORT`` if it is not a port of this world.
    """
    words = name.split(":")
    if len(words) == 3 and words[0] == _PREFIX and int(words[1]) in layer.world:
        return int(words[1]), int(words[2])
    raise layer.mpi.Exception(layer.mpi.ERR_PORT)


def _accept(layer: Layer, self: Any, port_name: str, info: Any = None, root: int = 0) -> Any:
    return _meet(layer, layer.comm_of(self), port_name, root, accepts=True)


def _connect(layer: Layer, self: Any, port_name: str, info: Any = None, root: int = 0) -> Any:
    return _meet(layer, layer.comm_of(self), port_name, root, accepts=False)


def _meet(layer: Layer, comm: LiveComm, name: str, root: int, *, accepts: bool) -> Any:
    """Return the intercommunicator of the two groups whose roots meet at a port."""
    if not 0 <= root < len(comm.group):
        raise layer.mpi.Exception(layer.mpi.ERR_ROOT)
    said = None
    if comm.rank == root:
        owner, tag = _parse(layer, name)
        place = private(layer, layer.comm_of(layer.mpi.COMM_WORLD), "ports")
        if accepts:
            # A connection begins with a message that names the caller; then the two exchange their groups.
            owner, _, _ = layer.port.ask(_RECV, peer=ANY, tag=2 * tag, context=place.context)
        else:
            layer.port.tell(int(Op.SEND), peer=owner, tag=2 * tag, context=place.context)
        said = name, exchange_groups(layer, place, comm.group, owner, 2 * tag + 1)
    name, remote = agree(layer, comm, said)[0][root]
    return bridged(layer, "Accept", name, comm.group, remote)


CALLS: dict[tuple[str, str], Factory] = {
    ("", "Open_port"): of_layer(_open),
    ("", "Close_port"): of_layer(_close),
    ("Intracomm", "Accept"): of_layer(_accept),
    ("Intracomm", "Connect"): of_layer(_connect),
}
