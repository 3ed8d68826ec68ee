"""Virtual communicators: their members, and the real communicator of this process that stands for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from clue.trace.calls import LiveOp
from virtual_layer.substitutes.real import TAGS

if TYPE_CHECKING:
    from virtual_layer.substitutes.real import RealMPI
    from virtual_layer.substitutes.shapes import Shape

_ANNOUNCE = int(LiveOp.ANNOUNCE)


class LiveComm:
    """A virtual communicator.

    Attributes:
        real: The real communicator of this process alone that stands for it; ``None`` if the program does not see it.
        key: The same on all members.
        group: Its members as ranks of the program; of an intercommunicator, the local ones.
        remote: The remote members of an intercommunicator, else ``None``.
        rank: This process's rank in it.
        peers: The group to which ranks in calls refer: ``remote`` or ``group``.
        context: The kernel's number for it, the same on all members.
        made: Number of communicators made of it so far by collective calls.
        shape: Its topology, or ``None``.
    """

    __slots__ = (
        "_null", "_port", "_sources", "_tag", "context", "group", "key", "made", "peers", "rank", "real", "remote",
        "shape",
    )  # fmt: skip

    context: int

    def __init__(  # noqa: PLR0917 - six fields of one thing
        self, own: RealMPI, real: Any, key: str, group: Sequence[int], remote: Sequence[int] | None, rank: int
    ) -> None:
        self._port = own.port
        self._null = int(own.mpi.PROC_NULL)
        self.real = real
        self.key = key
        self.group = tuple(group)
        self.remote = None if remote is None else tuple(remote)
        self.rank = rank
        self.peers = self.group if self.remote is None else self.remote
        self.made = 0
        self.shape: Shape | None = None
        self._tag = 0
        self._sources: dict[int, int] | None = None

    def __getattr__(self, name: str) -> int:
        """Ask for the context on its first use; it is then kept as an attribute, because every message needs it."""
        if name != "context":
            raise AttributeError(name)
        title = "" if self.real is None else self.real.Get_name()
        context: int = self._port.ask(_ANNOUNCE, entries=self.group, payload=(self.key, self.remote, title))
        self.context = context
        return context

    def source(self, member: int) -> int:
        """Return the rank, in this communicator, of a rank of the program, for a status."""
        if member < 0:
            return self._null
        if self._sources is None:
            self._sources = {each: place for place, each in enumerate(self.peers)}
        return self._sources[member]

    def next_tag(self) -> int:
        """Return a tag for one real message on ``real``."""
        self._tag = self._tag % TAGS + 1
        return self._tag
