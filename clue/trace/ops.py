"""The meaning of a row of a trace: op codes, flags and layout. This is the contract between recorder and kernel.

A trace is a sequence of *ops* for each rank. An op is an MPI call with the computation burst before it. A call that
does several things at once (Sendrecv, Startall) is several ops: all but the first are flagged ``CONTINUED`` and have an
empty burst. Ranks in an op (``peer``, entries of ``extra``) are ranks of its communicator, as in the program; the
communicator table of the head translates them to ranks of the trace. The size of a message is in the sender's op.

========================= ===========================================================================================
op                        fields used beyond burst, times, call and region
========================= ===========================================================================================
``COMPUTE``               none: a burst without a call after it (the end of the program)
``SEND`` ``ISEND``        comm, peer = dest, tag, nbytes; mode flags; ISEND: request
``RECV`` ``IRECV``        comm, peer = source, tag as *matched* when recorded, wildcards flagged; IRECV: request
``WAIT``                  request (count = 0), or extra = the requests: all those that it completed when recorded
``POLL``                  a Test or probe that found nothing: comm, peer, tag if known; with ``CANCELLED``, a receive
                          that was cancelled: only the time of its call is left
``PROBE``                 comm, peer, tag as matched; also a successful Iprobe
``MPROBE`` ``MRECV``      the matched probe posts the receive: comm, peer, tag, request; MRECV: request; with
                          ``NONBLOCKING`` a wait ends it
``PACK``                  nbytes packed or unpacked
``RMA``                   a one-sided operation, under way until a wait for its request: comm = that of its window,
                          peer = target, tag = an :class:`Access`, nbytes = data taken to the target, request,
                          extra = bytes of data brought back, if there are any
``SLEEP``                 nbytes = nanoseconds that the program sleeps without a processor (live runs, SimGrid's traces)
                          or, with ``CONTINUED``, for which the poll before it goes on (a loop that reads the time)
collectives               comm; peer = root where there is one; NONBLOCKING: request; tag = bytes of an element of a
                          broadcast or reduction, 0 if not known (it counts as 8); IN_PLACE, USER_DEFINED,
                          NONCOMMUTATIVE, BLOCK; nbytes as follows
  ``BARRIER``             0
  ``BCAST``               the payload
  ``REDUCE`` ``ALLREDUCE``
  ``SCAN`` ``EXSCAN``     one rank's vector
  ``GATHER(V)``           this rank's contribution
  ``SCATTER(V)``          the block this rank receives
  ``ALLGATHER(V)``        this rank's contribution
  ``ALLTOALL``            the block to each rank
  ``ALLTOALLV``           extra = sizes sent to each rank of the communicator (also Alltoallw)
  ``REDUCE_SCATTER``      the block this rank receives
  ``NEIGHBOR``            extra = n_out, dests…, sizes…, n_in, sources… (any neighbourhood collective)
  ``COMM``                0: a collective communicator constructor on ``comm``, costed as an allreduce of 8 B
``SPAWN``                 comm, peer = root, nbytes = children, extra = the index of their world in the head
``LOCAL``                 a call that costs nothing in the model (Send_init, Attach_buffer, …); with ``CANCELLED``, a
                          send that was cancelled
``OTHER``                 a call the simulator does not model (MPI-IO, …): named and timed, reported, skipped
========================= ===========================================================================================

``peer`` is ``PROC_NULL`` (-1) for a null partner: such an op moves nothing and costs nothing. An ``IRECV`` with
``CANCELLED``, which older recordings contain, is skipped. The recorder completes ``IRECV`` rows when their requests
complete.

A window has a communicator of its own. Calls that end or begin an epoch are written as the operations that they wait
for: a fence waits for those under way, then it is a barrier; Lock is an ``RMA`` and the wait for it; the empty messages
of Post, Start, Complete and Wait have tags :data:`POSTED` and :data:`COMPLETED`.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag

TRACE_FORMAT = "clue-trace"
#: Version of the format, raised with every change of the layout or of a field's meaning; CHANGELOG.md has its history.
TRACE_VERSION = 3
#: Versions that can be read; version 1 has no sites, versions 1 and 2 have no one-sided operations.
TRACE_VERSIONS = (1, 2, TRACE_VERSION)

PROC_NULL = -1
ANY = -2
NO_REQUEST = -1
#: Tags of the messages by which exposure epochs of a window begin and end.
POSTED, COMPLETED = 1, 2


class Op(IntEnum):
    """Code of an op; 0 is not an op (an unwritten row)."""

    COMPUTE = 1
    SEND = 2
    RECV = 3
    ISEND = 4
    IRECV = 5
    WAIT = 6
    POLL = 7
    PROBE = 8
    MPROBE = 9
    MRECV = 10
    PACK = 11
    SPAWN = 12
    LOCAL = 13
    OTHER = 14
    SLEEP = 15
    RMA = 16
    BARRIER = 20
    BCAST = 21
    REDUCE = 22
    ALLREDUCE = 23
    SCAN = 24
    EXSCAN = 25
    GATHER = 26
    GATHERV = 27
    SCATTER = 28
    SCATTERV = 29
    ALLGATHER = 30
    ALLGATHERV = 31
    ALLTOALL = 32
    ALLTOALLV = 33
    REDUCE_SCATTER = 34
    NEIGHBOR = 35
    COMM = 36


#: Ops that every member of the communicator takes part in, lowered by :mod:`clue.collectives`.
COLLECTIVES = frozenset(op for op in Op if op >= Op.BARRIER)
#: Collectives with a root.
ROOTED = frozenset({Op.BCAST, Op.REDUCE, Op.GATHER, Op.GATHERV, Op.SCATTER, Op.SCATTERV})
#: Collectives that combine data.
REDUCTIONS = frozenset({Op.REDUCE, Op.ALLREDUCE, Op.SCAN, Op.EXSCAN, Op.REDUCE_SCATTER})


class Access(IntEnum):
    """What a one-sided operation does at its target."""

    DATA = 0  # reads or writes memory, or nothing, to find out that earlier operations are complete
    SHARED_LOCK = 1
    EXCLUSIVE_LOCK = 2
    UNLOCK = 3
    DIRECT = 4  # as DATA, in memory that MPI has allocated: ranks of one node need no target for it


#: Accesses that take or release a lock.
LOCKING = frozenset({Access.SHARED_LOCK, Access.EXCLUSIVE_LOCK, Access.UNLOCK})


class Flag(IntFlag):
    """Flags of an op."""

    CONTINUED = 1  # belongs to the call of the row before
    SYNCHRONOUS = 2  # Ssend family: rendezvous at any size
    BUFFERED = 4  # Bsend family: eager at any size
    READY = 8  # Rsend family
    ANY_SOURCE = 16  # the receive or probe named no source
    ANY_TAG = 32  # … or no tag
    NONBLOCKING = 64  # a nonblocking collective
    CANCELLED = 128  # a receive or send that was cancelled
    PERSISTENT = 256  # started from a persistent request
    PICKLED = 512  # a lower-case call
    INTER = 1024  # on an intercommunicator: peer counts in the remote group
    IN_PLACE = 2048  # a collective: this rank's send buffer is its receive buffer
    USER_DEFINED = 4096  # a reduction: its operation is not one of MPI's own
    NONCOMMUTATIVE = 8192  # … and does not commute
    BLOCK = 16384  # a REDUCE_SCATTER by Reduce_scatter_block


#: Columns of a trace in the order of a recorded row (:mod:`clue.trace.parts`): name, numpy type, struct code.
COLUMNS: tuple[tuple[str, str, str], ...] = (
    ("cpu", "<i8", "q"),  # CPU time of the burst before the call, ns
    ("begin", "<i8", "q"),  # wall time at which the call began, since the recording began, ns
    ("took", "<i8", "q"),  # wall time inside the call, ns
    ("nbytes", "<i8", "q"),
    ("peer", "<i4", "i"),
    ("tag", "<i4", "i"),
    ("comm", "<i4", "i"),  # index in the head's communicators
    ("request", "<i4", "i"),  # serial number within the rank, or NO_REQUEST
    ("extra", "<i4", "i"),  # where this op's entries begin in the rank's extra column
    ("count", "<i4", "i"),  # number of its entries there
    ("call", "<u2", "H"),  # index in the head's calls: the MPI call by name
    ("region", "<u2", "H"),  # index in the head's regions; 0 is outside any region
    ("site", "<u2", "H"),  # index in the head's sites: where in the program the call is; 0 if unknown
    ("flags", "<u2", "H"),
    ("op", "|u1", "B"),
)
#: Optional columns beside the ops, of type <i8: readings of the host's speed, and typical bursts.
BESIDE = READINGS, TYPICAL = "readings", "typical"
