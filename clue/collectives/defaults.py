"""The algorithms that libraries choose by default. The rules are in :mod:`.mpich` and :mod:`.openmpi`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from clue.collectives import mpich, openmpi
from clue.collectives.schedule import Collective
from clue.errors import UsageError

_CHOICES: Mapping[str, Callable[[Collective], str]] = {
    "mpich": mpich.choose,
    "mpich-flat": mpich.choose_flat,
    "openmpi": openmpi.choose,
}
#: Libraries whose default choices are known; ``"mpich-flat"`` is MPICH without regard to nodes, like libraries of the
#: 1990s.
LIBRARIES = tuple(_CHOICES)
#: Those whose choices depend on which ranks share nodes.
LIBRARIES_BY_NODES = frozenset({"mpich"})


def default_choice(library: str, collective: Collective) -> str:
    """Return the algorithm that a library chooses by default.

    Args:
        library: One of :data:`LIBRARIES`.
        collective: The collective operation; its mean size decides, or each size for a reduce-scatter.

    Raises:
        UsageError: If the library or the collective is unknown.
    """
    if library not in _CHOICES:
        raise UsageError(f"collectives: library must be one of {', '.join(LIBRARIES)}, got {library!r}")
    if collective.name not in mpich.BLOCKING:
        raise UsageError(f"collectives: name must be one of {', '.join(mpich.BLOCKING)}, got {collective.name!r}")
    return _CHOICES[library](collective)
