"""The one-sided operations of an origin in a window: how they act on its memory, and which of them an epoch waits for.

Recordings and live runs wait for the same operations. Operations with a request (Rput, …) are the program's to wait
for. If it has not done so, an operation without data behind them tells the end of an epoch that they are complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clue.trace.ops import Access


def access_to(mpi: Any, flavor: int) -> int:
    """Return what an operation on the memory of a window does, by the window's flavour: how it was made."""
    by_mpi = flavor in {mpi.WIN_FLAVOR_ALLOCATE, mpi.WIN_FLAVOR_SHARED}
    return int(Access.DIRECT if by_mpi else Access.DATA)


class UnderWay:
    """The operations under way, by target and request number; some bring data back."""

    __slots__ = ("_loose", "_own")

    def __init__(self) -> None:
        self._own: dict[int, list[tuple[int, bool]]] = {}
        #: Those with a request that the program has not seen complete.
        self._loose: dict[int, dict[int, bool]] = {}

    def begin(self, target: int, request: int, *, brings: bool) -> None:
        """Note an operation that ends with its epoch, and whether it brings data back."""
        self._own.setdefault(target, []).append((request, brings))

    def begin_loose(self, target: int, request: int, *, brings: bool) -> None:
        """Note an operation with a request for which the program can wait."""
        self._loose.setdefault(target, {})[request] = brings

    def seen(self, target: int, request: int) -> None:
        """Note that the program has seen that such an operation is complete."""
        self._loose.get(target, {}).pop(request, None)

    @property
    def targets(self) -> list[int]:
        """The targets of all operations, in order."""
        return sorted({*self._own, *self._loose})

    def to_ask(self, targets: Sequence[int], *, local: bool) -> list[int]:
        """Return the targets to which an operation without data must go before :meth:`take`; it is asked for once.

        Args:
            targets: Targets whose operations the program waits for.
            local: Whether it waits only for data that are brought back.
        """
        if local:
            return [each for each in targets if any(self._loose.get(each, {}).values())]
        return [each for each in targets if self._loose.pop(each, None)]

    def take(self, targets: Sequence[int], *, local: bool) -> list[int]:
        """Return the requests to wait for, which then are no longer under way; arguments as of :meth:`to_ask`."""
        taken: list[int] = []
        for target in targets:
            own = self._own.pop(target, [])
            taken += [request for request, brings in own if brings or not local]
            if local:
                self._own[target] = [each for each in own if not each[1]]
        return taken
