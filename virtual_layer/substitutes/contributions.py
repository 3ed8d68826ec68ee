"""A member's part in a collective: its message to the kernel, its use of the answer, and the three ways to call it.

Each collective on buffers exists blocking, nonblocking (I…) and persistent (…_init); all three read the call into the
same :class:`Contribution`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from clue.trace.ops import NO_REQUEST, PROC_NULL, Flag
from virtual_layer.meaning.arguments import in_place
from virtual_layer.substitutes.factories import Factory, Function, of_several
from virtual_layer.substitutes.meeting import rooted

if TYPE_CHECKING:
    from virtual_layer.substitutes.comms import LiveComm
    from virtual_layer.substitutes.layer import Layer

Deliver = Callable[[Any], None]

_NONBLOCKING, _STARTED = int(Flag.NONBLOCKING), int(Flag.NONBLOCKING | Flag.PERSISTENT)
_IN_PLACE = int(Flag.IN_PLACE)


class Contribution(NamedTuple):
    """One member's part in a collective.

    Attributes:
        comm: The communicator on which it takes place.
        op: The kernel's op code.
        root: Rank of the root in it.
        nbytes: As :mod:`clue.trace.ops` defines it.
        entries: Sizes of all members, where the kernel needs them.
        payload: This member's data.
        deliver: Takes the kernel's answer; ``None`` if this member receives nothing.
        flags: Flags of the call, as in a trace.
        element: Bytes of an element, as in a trace.
    """

    comm: LiveComm
    op: int
    root: int = PROC_NULL
    nbytes: int = 0
    entries: Sequence[int] = ()
    payload: Any = None
    deliver: Deliver | None = None
    flags: int = 0
    element: int = 0


#: Reads a call: from (layer, communicator, arguments) to the part of this member; ``None`` if it has none.
Reader = Callable[..., Contribution | None]
#: Makes the factory of a call on the communicators that the layer covers.
Cover = Callable[[Function], Factory]


def say(layer: Layer, part: Contribution, flags: int = 0, request: int = NO_REQUEST) -> None:
    """Tell the kernel a part whose answer comes later or not at all."""
    layer.port.tell(
        int(part.op), peer=int(part.root), tag=part.element, context=part.comm.context, nbytes=part.nbytes,
        entries=part.entries, payload=part.payload, flags=flags | part.flags, request=request,
    )  # fmt: skip


def ask(layer: Layer, part: Contribution) -> Any:
    """Take part in a collective and return the kernel's answer."""
    return layer.port.ask(
        int(part.op), peer=int(part.root), tag=part.element, context=part.comm.context, nbytes=part.nbytes,
        entries=part.entries, payload=part.payload, flags=part.flags,
    )  # fmt: skip


def _take(deliver: Deliver | None, answer: Any) -> None:
    """Take an answer, unless nothing was due to this member."""
    if deliver is not None and answer is not None:
        deliver(answer)


def take_nothing(_answer: object) -> None:
    """Take an answer without data: the collective is over."""


def placed(layer: Layer, sendbuf: Any) -> int:
    """Return the flag of a call whose send buffer is IN_PLACE."""
    return _IN_PLACE if in_place(layer.mpi, sendbuf) else 0


def place_of(layer: Layer, comm: LiveComm, root: int) -> tuple[LiveComm, int] | None:
    """Return the communicator of a rooted collective, and the root's rank there; ``None`` for ranks without a part."""
    root = int(root)
    if comm.remote is None:
        if not 0 <= root < len(comm.group):
            raise layer.mpi.Exception(layer.mpi.ERR_ROOT)
        return comm, root
    place = rooted(layer, comm, root)
    return None if place is None else (place, 0)


def blocking(read: Reader, covered: Cover = of_several) -> Factory:
    """Make the factory of a blocking collective."""

    def call(layer: Layer, comm: LiveComm, *args: Any, **kwargs: Any) -> None:
        part = read(layer, comm, *args, **kwargs)
        if part is None:
            return
        if part.deliver is None:
            say(layer, part)
        else:
            _take(part.deliver, ask(layer, part))

    return covered(call)


def nonblocking(read: Reader, covered: Cover = of_several) -> Factory:
    """Make the factory of a nonblocking collective."""

    def call(layer: Layer, comm: LiveComm, *args: Any, **kwargs: Any) -> Any:
        part = read(layer, comm, *args, **kwargs)
        if part is None:
            return layer.requests.begin_complete()
        request, serial = layer.requests.begin(partial(_take, part.deliver))
        say(layer, part, _NONBLOCKING, serial)
        return request

    return covered(call)


def persistent(read: Reader, covered: Cover = of_several) -> Factory:
    """Make the factory of the set-up of a persistent collective."""

    def call(layer: Layer, comm: LiveComm, *args: Any, info: Any = None, **kwargs: Any) -> Any:
        del info
        if args and isinstance(args[-1], layer.mpi.Info):
            args = args[:-1]

        def start(serial: int) -> Deliver | None:
            part = read(layer, comm, *args, **kwargs)
            if part is None:
                layer.requests.end(request)
                return None
            say(layer, part, _STARTED, serial)
            return partial(_take, part.deliver)

        request = layer.requests.prepare(start)
        return request

    def make(layer: Layer, original: Function) -> Function:
        def on_one(self: Any, *args: Any, **kwargs: Any) -> Any:
            return layer.requests.add_alone(original(self, *args, **kwargs))

        return covered(call)(layer, on_one)

    return make


def ways(of: str, readers: dict[str, Reader], covered: Cover = of_several) -> dict[tuple[str, str], Factory]:
    """Return factories of the three ways to call each of some collectives of a type.

    ``covered`` says on which communicators: those of several ranks, because one rank alone needs no messages.
    """
    ways: dict[tuple[str, str], Factory] = {}
    for name, read in readers.items():
        ways[of, name] = blocking(read, covered)
        ways[of, "I" + name[0].lower() + name[1:]] = nonblocking(read, covered)
        ways[of, name + "_init"] = persistent(read, covered)
    return ways
