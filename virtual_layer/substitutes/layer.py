"""The state of a live rank: its port, the real MPI, and the real object for each virtual communicator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from clue.trace.calls import LiveOp
from virtual_layer.below import Objects
from virtual_layer.communicators import derive_key
from virtual_layer.sockets import Sockets
from virtual_layer.substitutes.blocks import Blocks
from virtual_layer.substitutes.comms import LiveComm
from virtual_layer.substitutes.group_handles import Groups
from virtual_layer.substitutes.real import RealMPI
from virtual_layer.substitutes.requests import LiveRequests

if TYPE_CHECKING:
    from virtual_layer.substitutes.port import Port

Thing = TypeVar("Thing")
_NODE = int(LiveOp.NODE)


class Layer(RealMPI):
    """Everything that substitutes need.

    Attributes:
        comms: Virtual communicators by the handle of the real one.
        requests: Requests under way.
        initialised: Whether MPI is initialised for the program, too.
        finalised: Whether MPI is finalised for the program.
        parent: For a spawned world, key and members of the communicator that spawned it.
        world: Members of this process's world as ranks of the program.
        groups: Groups of virtual processes.
        blocks: Buffers of collectives.
        privates: Communicators that the program does not see, by key.
        duties: Functions that this rank still performs for others before it leaves.
        objects: Loaded objects that can call MPI past mpi4py.
        sockets: Addresses of this rank's sockets, and those that they reach.
    """

    def __init__(self, mpi: Any, port: Port) -> None:
        super().__init__(mpi, port)
        self.comms: dict[int, LiveComm] = {}
        self.world: tuple[int, ...] = ()
        self.initialised = True
        self.finalised = False
        self.parent: Any = None
        self.requests = LiveRequests(self)
        self.groups = Groups(mpi)
        self.blocks = Blocks(self)
        self.privates: dict[str, LiveComm] = {}
        self._serials: dict[tuple[object, ...], int] = {}
        self.duties: list[Callable[[], None]] = []
        self._made: dict[Callable[[Layer], Any], Any] = {}
        self._node = -1
        self._codes: dict[tuple[int, str], int] = {}
        self.objects, self.sockets = Objects(), Sockets()

    def begin(self, world_key: str, world: Sequence[int], parent: Any) -> None:
        """Become the layer of a rank of this world; everything else was prepared before the process was forked."""
        me = self.port.rank
        self.world, self.parent = tuple(world), parent
        self.groups.begin(me, self.world)
        self.add(self.mpi.COMM_WORLD, derive_key("world", world_key), self.world, None)
        self.add(self.mpi.COMM_SELF, derive_key("self", me), (me,), None)

    def initialise(self) -> None:
        """Initialise MPI for the program: its time begins, as in a recording."""
        self.initialised = True
        self.port.restart()

    @property
    def node(self) -> int:
        """Index of the node that this rank is on."""
        if self._node < 0:
            self._node = self.port.ask(_NODE)[0]
        return self._node

    def only(self, make: Callable[[Layer], Thing]) -> Thing:
        """Return an object that is made once for each rank, on first use."""
        made = self._made.get(make)
        if made is None:
            made = self._made[make] = make(self)
        return cast(Thing, made)

    def next_serial(self, *shared: object) -> int:
        """Return the next serial number, from 0, for ``shared``: all ranks that share it get the same numbers."""
        serial = self._serials[shared] = self._serials.get(shared, -1) + 1
        return serial

    def error(self, kind: int, why: str) -> Exception:
        """Return an exception of MPI with an error code of its own.

        Args:
            kind: Its error class.
            why: What is wrong, for its text.
        """
        code = self._codes.get((kind, why))
        if code is None:
            code = self._codes[kind, why] = self.mpi.Add_error_code(kind)
            self.mpi.Add_error_string(code, f"{self.mpi.Get_error_string(kind)}: {why}")
        return cast(Exception, self.mpi.Exception(code))

    # -- communicators ------------------------------------------------------------------------------------

    def real_comm(self) -> Any:
        """Return a new real communicator of this process alone."""
        return self.original("Comm", "Dup")(self.mpi.COMM_SELF)

    def add(
        self, real: Any, key: str, group: Sequence[int], remote: Sequence[int] | None = None, rank: int | None = None
    ) -> LiveComm:
        """Let a real communicator of this process alone stand for a virtual one with this rank as a member."""
        rank = tuple(group).index(self.port.rank) if rank is None else rank
        known = self.comms[real.handle] = LiveComm(self, real, key, group, remote, rank)
        return known

    def comm_of(self, comm: Any) -> LiveComm:
        """Return the virtual communicator for a real one.

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

    def leave(self) -> None:
        """Keep this rank running until the other ranks no longer need it."""
        for duty in self.duties:
            duty()
