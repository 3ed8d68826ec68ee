"""The substitution table: the replacements of mpi4py's functions."""

from __future__ import annotations

from functools import wraps
from types import GetSetDescriptorType
from typing import TYPE_CHECKING, Any

from virtual_layer.interpose import replace
from virtual_layer.substitutes import (
    access,
    below,
    clock,
    collectives,
    completion,
    epochs,
    groups,
    intercomms,
    making,
    neighborhoods,
    objects,
    packing,
    partitioned,
    point_to_point,
    ports,
    probes,
    process,
    reductions,
    refused,
    sessions,
    shared,
    topologies,
    windows,
    worlds,
)
from virtual_layer.substitutes.copies import let_copy
from virtual_layer.substitutes.factories import Factory, Function

if TYPE_CHECKING:
    from virtual_layer.substitutes.layer import Layer
    from virtual_layer.substitutes.port import Port

#: Modules with a ``CALLS`` table (their time is no burst) or a ``QUERIES`` table (local, part of the burst): factories
#: of substitutes by type and name in ``mpi4py.MPI`` (type ``""``: a function of the module).
MODULES: tuple[Any, ...] = (
    process, point_to_point, probes, completion, packing, partitioned, clock, groups, topologies, making, intercomms,
    collectives, reductions, neighborhoods, objects, windows, access, epochs, shared, sessions, worlds, ports, refused,
    below,
)  # fmt: skip


def substitute(layer: Layer) -> None:
    """Install the substitutes of all modules for the calls that this version of mpi4py has."""
    let_copy(layer)
    for module in MODULES:
        for name, make in getattr(module, "CALLS", {}).items():
            _put(layer, name, make, outside=True)
        for name, make in getattr(module, "QUERIES", {}).items():
            _put(layer, name, make, outside=False)


def _put(layer: Layer, call: tuple[str, str], make: Factory, *, outside: bool) -> None:
    of, name = call
    if of == "":
        original = getattr(layer.mpi, name, None)
        if original is not None:
            layer.originals["", name] = original
            setattr(layer.mpi, name, _outside(layer.port, make(layer, original), original, outside))
        return
    kind = getattr(layer.mpi, of, None)
    attribute = None if kind is None else kind.__dict__.get(name)
    if kind is None or attribute is None:
        return
    if isinstance(attribute, GetSetDescriptorType | property):
        layer.originals[of, name] = attribute.__get__
        replace(kind, name, property(make(layer, attribute.__get__), attribute.__set__, None, attribute.__doc__))
        return
    bound = isinstance(attribute, classmethod)
    original = attribute.__func__ if bound else attribute
    layer.originals[of, name] = original
    function = _outside(layer.port, make(layer, original), original, outside)
    replace(kind, name, classmethod(function) if bound else function)


def _outside(port: Port, function: Function, original: Function, outside: bool) -> Function:
    """Keep the time in a call out of the bursts around it."""
    return wraps(original)(port.outside(function) if outside else function)
