"""What a live rank knows: its port, the real MPI, and which real object stands for which virtual communicator."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from clue.trace.calls import LiveOp
from virtual_layer.below import Objects
from virtual_layer.communicators import derive_key
from virtual_layer.live.blocks import Blocks
from virtual_layer.live.groups import Groups
from virtual_layer.live.requests import Requests
from virtual_layer.sockets import Sockets

if TYPE_CHECKING:
    from virtual_layer.live.port import Payload, Port
    from virtual_layer.live.shapes import Shape
    from virtual_layer.live.windows import Windows

_ANNOUNCE, _NODE = int(LiveOp.ANNOUNCE), int(LiveOp.NODE)
#: Tags of the real messages by which data are handed over, one after the other.
_TAGS = 1 << 20


class LiveComm:
    """A virtual communicator.

    Attributes:
        real: The real communicator of this process alone that stands for it; ``None`` if the program does not see it.
        key: The same on all members.
        group: Its members as ranks of the program; of an intercommunicator, the local ones.
        remote: The remote members of an intercommunicator, else ``None``.
        rank: This process's rank in it.
        peers: Those that ranks in calls mean: ``remote`` or ``group``.
        context: The kernel's number for it, the same on all members.
        made: Number of communicators made of it so far by collective calls.
        shape: Its topology, or ``None``.
    """

    __slots__ = (
        "_layer", "_sources", "_tag", "context", "group", "key", "made", "peers", "rank", "real", "remote", "shape",
    )  # fmt: skip

    context: int

    def __init__(  # noqa: PLR0917 - six fields of one thing
        self, layer: Layer, real: Any, key: str, group: Sequence[int], remote: Sequence[int] | None, rank: int
    ) -> None:
        self._layer = layer
        self.real = real
        self.key = key
        self.group = tuple(group)
        self.remote = None if remote is None else tuple(remote)
        self.rank = rank
        self.peers = self.group if self.remote is None else self.remote
        self.made = 0
        self.shape: Shape | None = None
        self._tag = 0
        self._sources: dict[int, int] | None = None

    def __getattr__(self, name: str) -> int:
        """Ask for the context on its first use; it is an attribute from then on, because every message has it."""
        if name != "context":
            raise AttributeError(name)
        title = "" if self.real is None else self.real.Get_name()
        context: int = self._layer.port.ask(_ANNOUNCE, entries=self.group, payload=(self.key, self.remote, title))
        self.context = context
        return context

    def source(self, member: int) -> int:
        """Return the rank in it of a rank of the program, as statuses tell it."""
        if member < 0:
            return int(self._layer.mpi.PROC_NULL)
        if self._sources is None:
            self._sources = {each: place for place, each in enumerate(self.peers)}
        return self._sources[member]

    def next_tag(self) -> int:
        """Return a tag for one real message on ``real``."""
        self._tag = self._tag % _TAGS + 1
        return self._tag


class Layer:
    """Everything that substitutes need.

    Attributes:
        mpi: The module ``mpi4py.MPI``.
        port: The way to the kernel.
        originals: The untouched functions by type and name.
        comms: Virtual communicators by the handle of the real one.
        requests: Requests under way.
        parcels: A real communicator of this process alone, on which data are packed.
        messages: Those that matched probes have found, if any.
        initialised: Whether the program, too, takes MPI for initialised.
        finalised: … or for finalised.
        parent: Of a spawned world: key and members of the communicator that spawned it.
        world: Members of this process's world as ranks of the program.
        groups: Groups of virtual processes.
        blocks: Buffers of collectives.
        privates: Communicators that the program does not see, by key.
        serials: How often the members of a group have made a communicator in a way that only they know of.
        windows: Memory that this rank opens to others; made by those who substitute its calls.
        objects: What is mapped into this process and can call MPI past mpi4py.
        sockets: Where this rank's own sockets can be reached, and what they reach.
    """

    def __init__(self, mpi: Any, port: Port) -> None:
        self.mpi = mpi
        self.port = port
        self.originals: dict[tuple[str, str], Any] = {}
        self.comms: dict[int, LiveComm] = {}
        self.world: tuple[int, ...] = ()
        self.parcels = mpi.COMM_SELF.Dup()
        self.messages: Any = None
        self.initialised = True
        self.finalised = False
        self.parent: Any = None
        self._tag = 0
        self.requests = Requests(self)
        self.groups = Groups(mpi)
        self.blocks = Blocks(self)
        self.privates: dict[str, LiveComm] = {}
        self.serials: dict[tuple[object, ...], int] = {}
        self._node = -1
        self.windows: Windows | None = None
        self.objects, self.sockets = Objects(), Sockets()
        self._probe, self._receive, self._isend = (self.original("Comm", name) for name in ("Probe", "Recv", "Isend"))
        self._status = mpi.Status()
        self._wait = self.original("Request", "Wait")

    def begin(self, world_key: str, world: Sequence[int], parent: Any) -> None:
        """Be the layer of a rank of this world; everything else was prepared before the rank's process was there."""
        me = self.port.rank
        self.world, self.parent = tuple(world), parent
        self.groups.begin(me, self.world)
        self.add(self.mpi.COMM_WORLD, derive_key("world", world_key), self.world, None)
        self.add(self.mpi.COMM_SELF, derive_key("self", me), (me,), None)

    @property
    def node(self) -> int:
        """Index of the node that this rank is on."""
        if self._node < 0:
            self._node = self.port.ask(_NODE)[0]
        return self._node

    def original(self, of: str, name: str) -> Callable[..., Any]:
        """Return mpi4py's own function, substituted or not."""
        found = self.originals.get((of, name))
        if found is None:
            found = getattr(self.mpi, name) if of == "" else getattr(self.mpi, of).__dict__[name]
            found = found.__func__ if isinstance(found, classmethod) else found
        return found

    # -- communicators ------------------------------------------------------------------------------------

    def add(
        self, real: Any, key: str, group: Sequence[int], remote: Sequence[int] | None = None, rank: int | None = None
    ) -> LiveComm:
        """Let a real communicator of this process alone stand for a virtual one of which this rank is a member."""
        rank = tuple(group).index(self.port.rank) if rank is None else rank
        known = self.comms[real.handle] = LiveComm(self, real, key, group, remote, rank)
        return known

    def comm_of(self, comm: Any) -> LiveComm:
        """Return what is known of a communicator.

        Raises:
            MPI.Exception: If it is null or was freed.
        """
        known = self.comms.get(comm.handle)
        if known is None:
            raise self.mpi.Exception(self.mpi.ERR_COMM)
        return known

    def forget(self, handle: int) -> None:
        """Forget a communicator that is freed."""
        self.comms.pop(handle, None)

    def set_handle(self, holder: Any, like: Any) -> None:
        """Give one MPI object the handle of another, which may be of another class."""
        address = self.original("", "_addressof")
        ctypes.memmove(address(holder), address(like), self.mpi._sizeof(like))

    def next_tag(self) -> int:
        """Return a tag for one real message on ``parcels``; 0 is for packing."""
        self._tag = self._tag % _TAGS + 1
        return self._tag

    # -- objects ------------------------------------------------------------------------------------------

    def dump(self, value: Any) -> bytes:
        """Pickle as mpi4py does; the program's own work."""
        return self.port.work(self.mpi.pickle.dumps, value)  # type: ignore[no-any-return]

    def load(self, data: Any) -> Any:
        """Make an object of its pickle as mpi4py does; the program's own work."""
        return self.port.work(self.mpi.pickle.loads, data)

    def leave(self) -> None:
        """Stay until the other ranks need nothing of this one any more."""
        if self.windows is not None:
            self.windows.leave()

    # -- data ---------------------------------------------------------------------------------------------

    def collect(self, sent: Any, readers: int = 1, comm: Any = None) -> tuple[Payload, int]:
        """Take in what a real send to this process itself has sent; returns payload and size.

        Args:
            sent: The request of the send, which has tag 0.
            readers: Number of ranks that will release the payload.
            comm: The real communicator of the send; ``parcels`` if not given.
        """
        comm, status = comm or self.parcels, self._status
        self._probe(comm, 0, 0, status)
        length = status.Get_count(self.mpi.BYTE)
        payload, memory = self.port.room(length, readers)
        self._receive(comm, [memory, self.mpi.BYTE], 0, 0)
        self._wait(sent)
        return payload, length

    def inject(self, comm: Any, tag: int, payload: Payload) -> Any:
        """Send a payload to this process itself, to be received there by a real call; returns the real request."""
        return self._isend(comm, [self.port.view(payload), self.mpi.BYTE], 0, tag)

    def settle(self, sent: Any, payload: Payload) -> None:
        """End an injection whose message has been received."""
        self._wait(sent)
        self.port.release(payload)
