"""Windows in a rank process: the memory that ranks expose to each other, and the operations on it.

An origin's operation (``RMA``) travels to the target as a message, unless the kernel lets the origin do it itself. When
its time has come, the layer of the sleeping target does it on its memory and answers. An epoch ends when all its
operations are answered; the kernel grants locks. Within an epoch, operations of one origin on one target are done in
order.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from clue.trace.ops import Access, Op
from virtual_layer.meaning.arguments import argument, put
from virtual_layer.meaning.epochs import UnderWay, access_to
from virtual_layer.substitutes.contributions import Contribution, ask
from virtual_layer.substitutes.factories import Factory
from virtual_layer.substitutes.making import agree
from virtual_layer.substitutes.meeting import alone, private

if TYPE_CHECKING:
    from virtual_layer.substitutes.comms import LiveComm
    from virtual_layer.substitutes.layer import Layer

Deliver = Callable[[Any], None]

_WAIT, _RMA = int(Op.WAIT), int(Op.RMA)
_SHARED, _EXCLUSIVE, _UNLOCK = int(Access.SHARED_LOCK), int(Access.EXCLUSIVE_LOCK), int(Access.UNLOCK)
#: Operations on memory that an origin requests from a target.
PUT, GET, ACCUMULATE, SWAP = range(4)
#: Mark of a reply with an error.
_FAILED = "failed"


class Region(NamedTuple):
    """Memory that a member exposes: address, bytes (any number if it is dynamic), bytes of a displacement unit."""

    base: int
    room: int
    unit: int


class RemotePlace(NamedTuple):
    """Where an operation acts at its target: address, number of elements, and their datatype."""

    address: int
    elements: int
    kind: Any

    @property
    def nbytes(self) -> int:
        """Bytes of data."""
        return int(self.elements * self.kind.Get_size())


class RemoteAccess(NamedTuple):
    """An origin's operation on a target's memory, with its data and the function that takes the reply."""

    target: int
    what: int
    where: RemotePlace
    data: Any = None
    back: int = 0
    deliver: Deliver | None = None
    extra: Any = None


class Window:
    """A rank's knowledge of a window.

    Attributes:
        comm: A private communicator of its members.
        regions: Memory that each member exposes.
        flavor: Its flavour: how it was made.
        does: What an operation on its memory does, as an :class:`Access`.
        under_way: This rank's operations, by the kernel's numbers.
        delivers: By these numbers, the functions that take the replies, where there are data to take.
        exposed, accessed: Groups of the exposure and of the access epoch, as ranks of the program.
        block: Memory that all members share, if they do; each member's part begins at its entry in ``starts``.
    """

    def __init__(self, comm: LiveComm, regions: Sequence[Region], flavor: int, does: int) -> None:
        self.comm = comm
        self.regions = regions
        self.flavor, self.does = flavor, does
        self.under_way = UnderWay()
        self.delivers: dict[int, Deliver] = {}
        self.exposed: list[int] = []
        self.accessed: tuple[int, ...] = ()
        self.block: Any = None
        self.starts: Sequence[int] = ()


class Windows:
    """The windows of one rank, by the handles of the real ones."""

    def __init__(self, layer: Layer) -> None:
        self._layer = layer
        self._mpi = layer.mpi
        self._port = layer.port
        self.by_handle: dict[int, Window] = {}
        layer.port.serve = self.serve
        layer.duties.append(self.leave)

    def open(self, comm: LiveComm, real: Any, region: Region, flavor: int) -> None:
        """Let a real window of this process stand for one of all members, who announce the memory that they expose.

        With a single member, it is the real window.
        """
        if alone(comm):
            return
        place = private(self._layer, comm, f"window {self._layer.next_serial('window', comm.key)}")
        said, _ = agree(self._layer, comm, tuple(region))
        window = Window(place, [Region(*each) for each in said], flavor, access_to(self._mpi, flavor))
        self.by_handle[real.handle] = window

    def close(self, handle: int) -> None:
        """Forget a window."""
        del self.by_handle[handle]

    def leave(self) -> None:
        """Keep this rank running until no rank uses its memory any more: like MPI_Finalize, this is collective."""
        for window in self.by_handle.values():
            self.finish_all(window)
            ask(self._layer, Contribution(window.comm, Op.BARRIER))

    # -- at the origin ------------------------------------------------------------------------------------

    def act(self, window: Window, access: RemoteAccess) -> None:
        """Start an operation; the epoch's end waits for it."""
        serial = self._layer.requests.serial()
        self._send(window, serial, access)
        window.under_way.begin(access.target, serial, brings=access.deliver is not None)
        if access.deliver is not None:
            window.delivers[serial] = access.deliver

    def act_with_request(self, window: Window, access: RemoteAccess) -> Any:
        """Start an operation; return a request for which the program waits."""

        def done(reply: Any) -> None:
            window.under_way.seen(access.target, serial)
            self._take(reply, access.deliver)

        request, serial = self._layer.requests.begin(done)
        self._send(window, serial, access)
        window.under_way.begin_loose(access.target, serial, brings=access.deliver is not None)
        return request

    def _send(self, window: Window, serial: int, access: RemoteAccess) -> None:
        target, what, where, data, back, _, extra = access
        place = where.address, where.elements, self._tell_kind(where.kind)
        self._tell(
            window, target, window.does, serial, back, 0 if data is None else len(self._port.view(data)),
            (what, place, data, extra),
        )  # fmt: skip

    def _tell(
        self, window: Window, target: int, does: int, serial: int, back: int = 0, nbytes: int = 0, payload: Any = None
    ) -> None:
        self._port.tell(
            _RMA, peer=window.comm.group[target], tag=does, context=window.comm.context, request=serial,
            entries=(back,) if back else (), nbytes=nbytes, payload=payload,
        )  # fmt: skip

    def _begin(self, window: Window, target: int, does: int, *, brings: bool = False) -> None:
        """Start an operation that does nothing to the target's memory."""
        serial = self._layer.requests.serial()
        self._tell(window, target, does, serial)
        window.under_way.begin(target, serial, brings=brings)

    def finish(self, window: Window, targets: Sequence[int], *, local: bool = False) -> None:
        """Wait for operations on some targets, and take their replies.

        Args:
            window: Their window.
            targets: Their targets.
            local: Whether to wait only for those that bring data back; the data of others were copied when they began.
        """
        for target in window.under_way.to_ask(targets, local=local):
            self._begin(window, target, window.does, brings=local)
        ended = window.under_way.take(targets, local=local)
        if ended:
            for serial, reply in zip(ended, self._port.ask(_WAIT, entries=ended), strict=True):
                self._take(reply, window.delivers.pop(serial, None))

    def _take(self, reply: Any, deliver: Deliver | None) -> None:
        """Take a reply, or raise the target's error here."""
        if type(reply) is tuple and reply[0] == _FAILED:
            raise self._mpi.Exception(reply[1])
        if deliver is not None:
            deliver(reply)

    def finish_all(self, window: Window) -> None:
        """Wait for all operations."""
        self.finish(window, window.under_way.targets)

    def lock(self, window: Window, targets: Sequence[int], exclusive: bool) -> None:
        """Wait until locks are granted."""
        for target in targets:
            self._begin(window, target, _EXCLUSIVE if exclusive else _SHARED)
        self.finish(window, targets)

    def unlock(self, window: Window, targets: Sequence[int]) -> None:
        """Release locks once all operations are done."""
        for target in targets:
            self._begin(window, target, _UNLOCK)
        self.finish(window, targets)

    # -- at the target ------------------------------------------------------------------------------------

    def serve(self, asked: Any) -> Any:
        """Do another rank's operation on this one's memory; return the reply."""
        try:
            return self._do(*asked)
        except self._mpi.Exception as error:
            return _FAILED, error.Get_error_class()

    def _do(self, what: int, place: Any, data: Any, extra: Any) -> Any:
        address, count, told = place
        kind = self._hear_kind(told)
        memory = self._memory(address, count, kind)
        blocks = self._layer.blocks
        if what == PUT:
            blocks.unpack(memory, data)
            return None
        if what == GET:
            return blocks.pack(memory)
        before = blocks.pack_inline(memory)
        if what == ACCUMULATE and before:
            self._accumulate(memory, kind, before, data, extra)
        elif what == SWAP and before == extra:
            blocks.unpack(memory, data)
        return before

    def _accumulate(self, memory: Any, kind: Any, before: bytearray, data: Any, operation: int) -> None:
        op = self._mpi.Op.fromhandle(operation)
        if op == self._mpi.NO_OP:
            self._port.release(data)
            return
        if op == self._mpi.REPLACE:
            after = data
        else:
            after = self._layer.blocks.fold(op, self._element(kind), [self._port.view(data), before])
            self._port.release(data)
        self._layer.blocks.unpack(memory, after)

    def _memory(self, address: int, count: int, kind: Any) -> Any:
        low, extent = kind.Get_true_extent()
        span = max(low + extent + (count - 1) * kind.Get_extent()[1], 0) if count else 0
        return [self._mpi.memory.fromaddress(address, span), count, kind]

    def _element(self, kind: Any) -> Any:
        """Return the predefined datatype that a datatype consists of."""
        while not kind.is_predefined:
            made_of = kind.decode()[0]
            kind = made_of[0] if isinstance(made_of, list | tuple) else made_of
        return kind

    # -- datatypes: ranks are forked from one process, so that handles of the library's own mean the same in all ---

    def _tell_kind(self, kind: Any) -> Any:
        return kind.handle if kind.is_predefined else pickle.dumps(kind)

    def _hear_kind(self, told: Any) -> Any:
        if isinstance(told, int):
            return self._mpi.Datatype.fromhandle(told)
        kind = pickle.loads(told)
        return kind.Commit()


def of_window(function: Callable[..., Any]) -> Factory:
    """Make the factory of a call of (layer, window, its arguments); the real library refuses null windows."""

    def make(layer: Layer, original: Any) -> Any:
        windows = layer.only(Windows)

        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            window = windows.by_handle.get(self.handle)
            if window is None:
                return original(self, *args, **kwargs)
            return function(layer, window, *args, **kwargs)

        return call

    return make


# -- making windows -------------------------------------------------------------------------------------------------


def _maker(flavor: str, place: int) -> Factory:
    """Make the factory of a constructor whose arguments, from ``place`` on, are info and communicator."""
    info_of, comm_of = argument(place, "info"), argument(place + 1, "comm")

    def make(layer: Layer, original: Any) -> Any:
        windows, mpi = layer.only(Windows), layer.mpi
        code = getattr(mpi, flavor)

        def call(*args: Any, **kwargs: Any) -> Any:
            comm = comm_of(args, kwargs)
            members = layer.comm_of(mpi.COMM_SELF if comm is None else comm)
            if info_of(args, kwargs) is None:
                args, kwargs = put(args, kwargs, place, "info", mpi.INFO_NULL)
            args, kwargs = put(args, kwargs, place + 1, "comm", mpi.COMM_SELF)
            real = original(*args, **kwargs)
            region = Region(0, 1 << 63, 1) if code == mpi.WIN_FLAVOR_DYNAMIC else Region(*real.attrs)
            windows.open(members, real, region, code)
            return real

        return call

    return make


def _free(layer: Layer, original: Any) -> Any:
    windows = layer.only(Windows)

    def call(self: Any) -> None:
        window = windows.by_handle.get(self.handle)
        if window is not None:
            windows.finish_all(window)
            ask(layer, Contribution(window.comm, Op.BARRIER))
            windows.close(self.handle)
        original(self)
        if window is not None:
            layer.port.release(window.block)

    return call


# -- queries --------------------------------------------------------------------------------------------------------


CALLS: dict[tuple[str, str], Factory] = {
    ("Win", "Create"): _maker("WIN_FLAVOR_CREATE", 3),
    ("Win", "Allocate"): _maker("WIN_FLAVOR_ALLOCATE", 3),
    ("Win", "Create_dynamic"): _maker("WIN_FLAVOR_DYNAMIC", 1),
    ("Win", "Free"): _free,
}

QUERIES: dict[tuple[str, str], Factory] = {
    ("Win", "Get_group"): of_window(lambda layer, window: layer.groups.make(window.comm.group)),
    ("Win", "group_size"): of_window(lambda _layer, window: len(window.comm.group)),
    ("Win", "group_rank"): of_window(lambda _layer, window: window.comm.rank),
}
