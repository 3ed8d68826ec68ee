"""Requests under way: real ones, which this process completes itself when the kernel says that they are complete."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from clue.trace.ops import Op

if TYPE_CHECKING:
    from virtual_layer.live.layer import Layer

#: Told what the kernel answered for a request; makes its data arrive.
Deliver = Callable[[Any], None]

_WAIT = int(Op.WAIT)


class LiveRequest:
    """A request under way.

    Attributes:
        serials: Its numbers at the kernel: two after Isendrecv.
        deliver: What to do with the outcome of the first of them.
        source, tag: What its status is to say, once it is complete; ``None`` where the real one is right.
    """

    __slots__ = ("deliver", "serials", "source", "tag")

    def __init__(self, serials: tuple[int, ...], deliver: Deliver | None) -> None:
        self.serials = serials
        self.deliver = deliver
        self.source: int | None = None
        self.tag: int | None = None


class Requests:
    """The requests under way of one rank."""

    def __init__(self, layer: Layer) -> None:
        self._layer = layer
        self._under_way: dict[int, LiveRequest] = {}
        self._serial = 0

    def serial(self) -> int:
        """Return the next number."""
        self._serial += 1
        return self._serial


CALLS: dict[tuple[str, str], Any] = {}
QUERIES: dict[tuple[str, str], Any] = {}
