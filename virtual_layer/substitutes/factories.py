"""Factories of substitutes: each makes the replacement of an mpi4py function from the layer and the function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from virtual_layer.substitutes.meeting import alone

if TYPE_CHECKING:
    from virtual_layer.substitutes.comms import LiveComm
    from virtual_layer.substitutes.layer import Layer

Function = Callable[..., Any]
Factory = Callable[["Layer", Function], Function]


def of_layer(function: Function) -> Factory:
    """Make the factory of a call of (layer, its arguments), which never needs mpi4py's own function."""
    return lambda layer, _original: lambda *args, **kwargs: function(layer, *args, **kwargs)


def of_comm(function: Function, covers: Callable[[LiveComm], object] = lambda _comm: True) -> Factory:
    """Make the factory of a call of (layer, virtual communicator, its arguments).

    Unknown communicators, null ones above all, and those not covered are left to the real library.
    """

    def make(layer: Layer, original: Function) -> Function:
        comms = layer.comms

        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            comm = comms.get(self.handle)
            if comm is None or not covers(comm):
                return original(self, *args, **kwargs)
            return function(layer, comm, *args, **kwargs)

        return call

    return make


def of_several(function: Function) -> Factory:
    """Make the factory of a call on several processes; one process alone needs the real library only."""
    return of_comm(function, lambda comm: not alone(comm))
