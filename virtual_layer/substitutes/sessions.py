"""Sessions: the library's process sets contain this process alone; those that programs see contain its world."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from virtual_layer.substitutes.factories import Factory

if TYPE_CHECKING:
    from virtual_layer.substitutes.layer import Layer


_WORLD, _SELF = "mpi://WORLD", "mpi://SELF"


def _members(layer: Layer, name: str) -> tuple[int, ...] | None:
    """Return the members of a process set; ``None`` if there is none of this name."""
    return {_WORLD: layer.world, _SELF: (layer.port.rank,)}.get(name)


def _group_of_set(layer: Layer, original: Callable[..., Any]) -> Callable[..., Any]:
    def call(cls: type, session: Any, pset_name: str) -> Any:
        members = _members(layer, pset_name)
        if members is None or not session:
            return original(cls, session, pset_name)
        return layer.groups.make(members, cls)

    return call


def _create_group(layer: Layer, original: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, pset_name: str) -> Any:
        members = _members(layer, pset_name)
        return original(self, pset_name) if members is None or not self else layer.groups.make(members)

    return call


def _set_info(layer: Layer, original: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, pset_name: str) -> Any:
        info, members = original(self, pset_name), _members(layer, pset_name)
        if members is not None:
            info.Set("mpi_size", str(len(members)))
        return info

    return call


QUERIES: dict[tuple[str, str], Factory] = {
    ("Group", "Create_from_session_pset"): _group_of_set,
    ("Session", "Create_group"): _create_group,
    ("Session", "Get_pset_info"): _set_info,
}
