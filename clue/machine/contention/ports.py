"""Contention at ports: message by message."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from clue.machine.curve import SHOWN_SIZES, Curve
from clue.machine.figures import DELAY, check_figures
from clue.units import format_size, format_time

if TYPE_CHECKING:
    from clue.machine.link import Link


@dataclass(frozen=True, slots=True)
class Ports:
    """Each node has a send port and a receive port, which serve one message after another; short ones pass long ones.

    Attributes:
        busy: Time for which a message of a given size occupies either port, instead of the time that its link states;
            ``None``: the link's time (:class:`clue.machine.Link`).

    Raises:
        UsageError: If a time is impossible.
    """

    name: ClassVar = "ports"
    speeds_up: ClassVar = False
    keeps_ports: ClassVar = True
    topology: ClassVar = None
    figures: ClassVar = ()

    busy: Curve | None = None

    def __post_init__(self) -> None:
        """Check the times."""
        check_figures("ports", self, {"busy": DELAY.or_none})

    @property
    def parameters(self) -> Mapping[str, Callable[[float], Ports]]:
        """The time for which messages occupy ports, if the model states it."""
        return {} if self.busy is None else {"busy": self.busier}

    def busier(self, factor: float) -> Ports:
        """Return the model with the time on ports multiplied, if it states one."""
        return self if self.busy is None else Ports(self.busy.scaled(factor))

    stronger = busier

    def later(self, _: float) -> Ports:
        """Return the model unchanged: it states no latencies."""
        return self

    def described(self, _: int, links: Sequence[Link]) -> str:
        """Return the model in words."""
        kept = f"a message keeps a port for {self._kept(links)}"
        return f"ports: each node sends one message after the other, and receives so; short ones pass long ones; {kept}"

    def _kept(self, links: Sequence[Link]) -> str:
        if self.busy is not None:
            return ", ".join(f"{format_size(size)}: {format_time(self.busy(size))}" for size in SHOWN_SIZES)
        if any(link.busy is not None for link in links):
            return "as long as its link says"
        return "the part of its delays that grows with its size"

    def document(self, _: int) -> dict[str, object]:
        """Return the stated time on ports."""
        return {"busy": self.busy}
