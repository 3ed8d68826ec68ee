"""One program on one machine, as a file describes it. Values only; :mod:`clue.config.loading` reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from clue.display import html, short_repr
from clue.errors import written_at
from clue.machine import Machine, Placement
from clue.predict.application import Application
from clue.units import count_of


@dataclass(frozen=True, slots=True)
class PlacementChoice:
    """A placement for any number of ranks.

    Attributes:
        order: ``"block"`` or ``"cyclic"``.
        ranks_per_processor: Largest number of ranks that share a processor.
        nodes: Node index of each rank, if listed; then the order does not apply.
    """

    order: str = "block"
    ranks_per_processor: int = 1
    nodes: tuple[int, ...] | None = None

    def place(self, machine: Machine, ranks: int) -> Placement:
        """Place a number of ranks on a machine.

        Raises:
            UsageError: If they do not fit, or the list has another length.
        """
        if self.nodes is not None:
            return Placement.listed(machine, self.nodes, ranks)
        place = Placement.cyclic if self.order == "cyclic" else Placement.block
        return place(machine, ranks, self.ranks_per_processor)


@dataclass(frozen=True, slots=True)
class SimulationConfig:
    """One program on one machine.

    Attributes:
        name: Its name.
        program: What runs; its trace, if any, may be for any number of ranks.
        machine: What it runs on.
        ranks: Number of ranks; ``None`` if only the trace states it.
        placement: Where the ranks run.
        instances: Independent copies that run side by side.
        path: The file it was read from, or ``None``.
        places: Where the file states ``placement`` (or else the ranks) and ``instances``: ``FILE:LINE:COLUMN``.
    """

    name: str
    program: Application
    machine: Machine
    ranks: int | None = None
    placement: PlacementChoice = PlacementChoice()
    instances: int = 1
    path: Path | None = None
    places: Mapping[str, str] = field(default_factory=dict)

    def place_of(self, key: str) -> str:
        """Return where the file states ``placement`` or ``instances``, for messages; if unknown, the name."""
        return self.places.get(key) or self.name

    def placed(self, ranks: int) -> Placement:
        """Place the ranks of all instances; of ranks that only the trace states, faults show no earlier.

        Raises:
            UsageError: With the place in the file, if they do not fit, or the list has another length.
        """
        with written_at(self.place_of("placement")):
            return self.placement.place(self.machine, ranks * self.instances)

    def __repr__(self) -> str:
        """Return a short form: what runs where."""
        return short_repr(
            self, self.name, "" if self.ranks is None else count_of(self.ranks), f"on {self.machine.name}"
        )

    def _repr_html_(self) -> str:
        facts = (
            ("program", str(self.program.script or "")),
            ("trace", self.program.trace or ""),
            ("ranks", "" if self.ranks is None else f"{self.ranks:,}"),
            ("instances", f"{self.instances:,}" if self.instances > 1 else ""),
            ("machine", self.machine.name),
        )
        return html(self.name, facts)
