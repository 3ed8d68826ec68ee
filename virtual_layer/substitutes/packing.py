"""Explicit packing: done by the real library, and reported to the kernel, because a machine may state its cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from clue.trace.ops import Op
from virtual_layer.meaning.arguments import argument
from virtual_layer.substitutes.factories import Function

if TYPE_CHECKING:
    from virtual_layer.substitutes.layer import Layer

_PACK = int(Op.PACK)


def packing(place: int) -> Callable[[Layer, Function], Function]:
    """Make a call that takes a position, as the argument at ``place``, and returns the position after packing."""
    before = argument(place, "position", 0)

    def make(layer: Layer, original: Function) -> Function:
        port = layer.port

        def substitute(*args: Any, **kwargs: Any) -> Any:
            after = original(*args, **kwargs)
            port.tell(_PACK, nbytes=max(int(after) - int(before(args, kwargs)), 0))
            return after

        return substitute

    return make


CALLS = {
    ("Datatype", "Pack"): packing(3),
    ("Datatype", "Unpack"): packing(2),
    ("Datatype", "Pack_external"): packing(4),
    ("Datatype", "Unpack_external"): packing(3),
}
