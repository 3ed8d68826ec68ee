"""No contention."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from clue.machine.link import Link


@dataclass(frozen=True, slots=True)
class NoContention:
    """Messages do not slow each other, however many there are."""

    name: ClassVar = "none"
    speeds_up: ClassVar = False
    keeps_ports: ClassVar = False
    topology: ClassVar = None
    busy: ClassVar = None
    figures: ClassVar = ()
    parameters: ClassVar[Mapping[str, Callable[[float], NoContention]]] = {}

    def busier(self, _: float) -> NoContention:
        """Return the model unchanged."""
        return self

    later = stronger = busier

    def described(self, _: int, __: Sequence[Link]) -> str:
        """Return the model in words."""
        return "none: simultaneous messages do not slow each other down, however many there are"

    def document(self, _: int) -> dict[str, object]:
        """Return an empty document: the model has no figures."""
        return {}
