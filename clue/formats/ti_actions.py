"""The actions of time-independent traces: the meaning of each word of a line.

They are those of SimGrid 3.32 (src/smpi/internals/smpi_replay.cpp). Words are numbered from 0: the rank comes first,
then the action.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clue.trace import Op

#: Default rate for converting computation into flops, flop/s: one flop is a nanosecond.
FLOPS_PER_SECOND = 1e9
#: Position of a word that an action does not have.
NOWHERE = -1


@dataclass(frozen=True, slots=True)
class Action:
    """One action: the positions of its words, ``NOWHERE`` for words that it does not have.

    Attributes:
        words: Minimum number of words.
        most: Maximum number of words; 0 if further words do not matter.
        op: The op that represents it; ``None`` if no op or several ops do.
        peer: The partner.
        tag: The tag.
        size: The size, in elements.
        datatype: The number of the elements' datatype, which may be missing.
        sender: The number of the root's datatype, which holds if the line ends before ``datatype``.
        root: The root, which may be missing and is then 0.
        flops: The computation that follows, in flop.
        lists: Positions at which lists with one number for each rank begin.
        sent: Which of these lists contains the sizes that the rank sends to each rank.
    """

    words: int = 2
    most: int = 0
    op: Op | None = None
    peer: int = NOWHERE
    tag: int = NOWHERE
    size: int = NOWHERE
    datatype: int = NOWHERE
    sender: int = NOWHERE
    root: int = NOWHERE
    flops: int = NOWHERE
    lists: tuple[int, ...] = ()
    sent: int = NOWHERE


def actions(rank: int, size: int) -> Mapping[str, Action]:
    """Return the actions of one of several ranks, by name."""
    n = size
    return _SAME | {
        "gatherv": Action(3 + n, 6 + n, Op.GATHERV, size=2, root=3 + n, datatype=4 + n, lists=(3,)),
        # Only the root knows the sizes of all ranks: SMPI writes zeros on the others.
        "scatterv": Action(3 + n, 6 + n, Op.SCATTERV, size=2 + n, root=3 + n, datatype=5 + n, sender=4 + n, lists=(2,)),
        "allgatherv": Action(3 + n, 5 + 2 * n, Op.ALLGATHERV, size=2, datatype=3 + n, lists=(3,)),
        "alltoallv": Action(4 + 2 * n, 6 + 2 * n, Op.ALLTOALLV, datatype=4 + 2 * n, lists=(3, 4 + n), sent=3),
        "reducescatter": Action(
            3 + n, 4 + n, Op.REDUCE_SCATTER, size=2 + rank, flops=2 + n, datatype=3 + n, lists=(2,)
        ),
    }


_SAME: dict[str, Action] = {
    "init": Action(most=3),
    "finalize": Action(most=2),
    "location": Action(most=4),
    "comm_size": Action(),
    "comm_split": Action(),
    "comm_dup": Action(),
    "send": Action(5, 6, Op.SEND, peer=2, tag=3, size=4, datatype=5),
    "isend": Action(5, 6, Op.ISEND, peer=2, tag=3, size=4, datatype=5),
    "recv": Action(4, 6, Op.RECV, peer=2, tag=3),
    "irecv": Action(4, 6, Op.IRECV, peer=2, tag=3),
    "test": Action(5, 5),
    "sendRecv": Action(6, 8, peer=3, size=2, datatype=6),
    "wait": Action(5, 5),
    "waitall": Action(most=3),
    "barrier": Action(most=2, op=Op.BARRIER),
    "bcast": Action(3, 5, Op.BCAST, size=2, root=3, datatype=4),
    "reduce": Action(4, 6, Op.REDUCE, size=2, flops=3, root=4, datatype=5),
    "allreduce": Action(4, 5, Op.ALLREDUCE, size=2, flops=3, datatype=4),
    "alltoall": Action(3, 6, Op.ALLTOALL, size=2, datatype=4),
    "alltoallv": Action(),
    "gather": Action(3, 7, Op.GATHER, size=2, root=4, datatype=5),
    "scatter": Action(4, 7, Op.SCATTER, size=3, root=4, datatype=6, sender=5),
    "gatherv": Action(),
    "scatterv": Action(),
    "allgather": Action(3, 6, Op.ALLGATHER, size=2, datatype=4),
    "allgatherv": Action(),
    "reducescatter": Action(),
    "scan": Action(4, 5, Op.SCAN, size=2, flops=3, datatype=4),
    "exscan": Action(4, 5, Op.EXSCAN, size=2, flops=3, datatype=4),
    "compute": Action(3, 3, flops=2),
    "sleep": Action(3, 3, Op.SLEEP),
}
#: All names, in the order of SimGrid's list.
NAMES = tuple(_SAME)
#: The MPI call of each, in the same order.
CALLS = tuple({"reducescatter": "Reduce_scatter"}.get(name, name.capitalize()) for name in NAMES)
