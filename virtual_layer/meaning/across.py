"""Collectives on intercommunicators: the private intracommunicators on which they take place, as in live runs.

A rooted collective takes place on the root, as rank 0, and the other group; all others on the union of both groups.
There each member exchanges blocks with those of the other group.
"""

from __future__ import annotations

from clue.trace.ops import ROOTED, Op
from virtual_layer.communicators import RecordedComm
from virtual_layer.meaning.share import Share
from virtual_layer.recorder import Recorder

#: The root contributes nothing, so contributions differ.
_DIFFERENT = {Op.GATHER: Op.GATHERV, Op.SCATTER: Op.SCATTERV}


def union(recorder: Recorder, comm: RecordedComm) -> RecordedComm:
    """Return the communicator on which all members meet: the communicator itself, or the union of both groups."""
    if comm.remote is None:
        return comm
    return recorder.comms.private(comm, "union", (*min(comm.group, comm.remote), *max(comm.group, comm.remote)))


def place_of(recorder: Recorder, comm: RecordedComm, share: Share) -> tuple[RecordedComm, Share] | None:
    """Return where a collective takes place, and this rank's share there; ``None`` for ranks without a part in it."""
    if comm.remote is None:
        return comm, share
    if share.op not in ROOTED:
        return union(recorder, comm), share
    if share.root == recorder.mpi.PROC_NULL:
        return None
    if share.root == recorder.mpi.ROOT:
        members = (comm.group[comm.rank], *comm.remote)
    else:
        members = (comm.remote[share.root], *comm.group)
    return recorder.comms.private(comm, "root", members), share._replace(root=0)


def composed(recorder: Recorder, comm: RecordedComm, share: Share) -> tuple[RecordedComm, Share] | None:
    """Return the same for a collective on buffers, or on pickles whose sizes are known."""
    found = place_of(recorder, comm, share)
    if found is None or comm.remote is None or share.op == Op.BARRIER:
        return found
    place, share = found
    if share.op in ROOTED:
        return place, share._replace(op=_DIFFERENT.get(share.op, share.op))
    sizes = [0] * len(place.group)
    for member, size in zip(comm.remote, share.listed or [share.nbytes] * len(comm.remote), strict=True):
        sizes[place.group.index(member)] = size
    return place, Share(Op.ALLTOALLV, 0, sum(sizes), sizes)
