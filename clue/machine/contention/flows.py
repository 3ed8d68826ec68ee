"""Contention on the links of a topology: messages flow at once, each at its fair share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, cast

if TYPE_CHECKING:
    # It needs numpy, which those who only look at machines do not load.
    from clue.machine.contention.topology import Topology
    from clue.machine.link import Link


@dataclass(frozen=True, slots=True)
class Flows:
    """Messages share the links of a topology max-min fairly.

    Attributes:
        topology: Which links there are, and which of them a message crosses.
    """

    name: ClassVar = "flows"
    speeds_up: ClassVar = False
    keeps_ports: ClassVar = False
    busy: ClassVar = None
    figures: ClassVar = ()

    topology: Topology

    @property
    def parameters(self) -> Mapping[str, Callable[[float], Flows]]:
        """The bandwidths of the topology."""
        return {name: partial(self.wider, [name]) for name in self._bandwidths}

    def busier(self, factor: float) -> Flows:
        """Return flows over a topology with all bandwidths divided."""
        return self.wider(self._bandwidths, 1 / factor)

    stronger = busier

    @property
    def _bandwidths(self) -> list[str]:
        return [each.name for each in fields(cast("Any", self.topology)) if "bandwidth" in each.name]

    def wider(self, names: Sequence[str], factor: float) -> Flows:
        """Return flows over a topology, of whose bandwidths those named are multiplied."""
        topology: Any = self.topology
        values = {name: getattr(topology, name) for name in names}
        more = {
            name: tuple(each * factor for each in value) if isinstance(value, tuple) else value * factor
            for name, value in values.items()
        }
        return Flows(replace(topology, **more))

    def described(self, nodes: int, _: Sequence[Link]) -> str:
        """Return it in words."""
        return f"flows: messages share links max-min fairly; {self.topology.described(nodes)}"

    def document(self, nodes: int) -> dict[str, object]:
        """Return its figures, and what they come to for so many nodes."""
        topology = self.topology
        return {
            "topology": topology.kind,
            "parameters": asdict(cast("Any", topology)),
            "places": topology.room,
            "links": topology.links(nodes),
            "bisection": topology.bisection(nodes),
        }
