"""Contention on the links of a topology: messages flow at the same time, each with its fair share of bandwidth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, cast

if TYPE_CHECKING:
    # This needs numpy, which code that only looks at machines does not load.
    from clue.machine.contention.topology import Topology
    from clue.machine.link import Link


@dataclass(frozen=True, slots=True)
class Flows:
    """Messages share the links of a topology max-min fairly.

    Attributes:
        topology: The links, and which of them each message crosses.
        in_order: Whether messages from one rank to another travel one after the other, as on a TCP connection;
            otherwise they share links like any others.
    """

    name: ClassVar = "flows"
    speeds_up: ClassVar = False
    keeps_ports: ClassVar = False
    busy: ClassVar = None
    figures: ClassVar = ()

    topology: Topology
    in_order: bool = False

    @property
    def parameters(self) -> Mapping[str, Callable[[float], Flows]]:
        """The bandwidths of the topology, of a fat tree by level; over-subscription; latencies above 0."""
        found: dict[str, Callable[[float], Flows]] = {}
        for name in self._named("bandwidth"):
            value = getattr(self.topology, name)
            if isinstance(value, tuple):
                found |= {f"bandwidth[{level}]": partial(self._level_times, name, level) for level in range(len(value))}
            else:
                found[name] = partial(self._times, [name])
        others = [*self._named("oversubscription"), *self._named("latency")]
        return found | {name: partial(self._times, [name]) for name in others if getattr(self.topology, name)}

    def busier(self, factor: float) -> Flows:
        """Return the model with all bandwidths of its topology divided by a factor."""
        return self._times(self._named("bandwidth"), 1 / factor)

    stronger = busier

    def later(self, factor: float) -> Flows:
        """Return the model with all latencies of its topology multiplied."""
        return self._times(self._named("latency"), factor)

    def _named(self, kind: str) -> list[str]:
        return [each.name for each in fields(cast("Any", self.topology)) if kind in each.name]

    def _times(self, names: Sequence[str], factor: float) -> Flows:
        """Return the model with the named figures of its topology multiplied, at all levels."""
        values = {name: getattr(self.topology, name) for name in names}
        return self._with(
            {
                name: tuple(each * factor for each in value) if isinstance(value, tuple) else value * factor
                for name, value in values.items()
            }
        )

    def _level_times(self, name: str, level: int, factor: float) -> Flows:
        """Return the model with a figure of one level of its topology multiplied."""
        value = getattr(self.topology, name)
        return self._with({name: (*value[:level], value[level] * factor, *value[level + 1 :])})

    def _with(self, figures: Mapping[str, object]) -> Flows:
        topology: Any = self.topology
        return replace(self, topology=replace(topology, **figures))

    def described(self, nodes: int, _: Sequence[Link]) -> str:
        """Return the model in words."""
        order = ", those between two ranks in order" if self.in_order else ""
        return f"flows: messages share links max-min fairly{order}; {self.topology.described(nodes)}"

    def document(self, nodes: int) -> dict[str, object]:
        """Return its figures, and the figures that follow from them for a number of nodes."""
        topology = self.topology
        return {
            "topology": topology.kind,
            "parameters": asdict(cast("Any", topology)),
            "in_order": self.in_order,
            "places": topology.room,
            "links": topology.links(nodes),
            "bisection": topology.bisection(nodes),
        }
