"""The calls of a program that runs in virtual time, one by one: the contract between rank processes and the kernel.

A trace tells afterwards what a program did (:mod:`clue.trace.ops`); a live program tells it as it happens and gets an
answer. Both use the same ops with the same fields, so one piece of code gives them meaning. Standard library only: the
virtual layer imports this inside the user's process.

The fields of a :class:`Call` are those of a row, except that ``peer`` of a message is a rank of the program (of all
worlds, in the order in which they began; ``PROC_NULL`` and ``ANY`` stay), and ``context`` is what ``ANNOUNCE`` returned
for the communicator. Ranks in collectives (``peer`` = root, entries of ``NEIGHBOR``) count within the communicator.

A call is either *asked*: the program sleeps until the kernel answers; or *told*: the program goes on, and the call
reaches the kernel with the next one that is asked. Any call may be asked; calls whose answer is always ``None`` may be
told.

============== ==================================================== ===================================================
op             fields beyond op, cpu, region, line                  answer
============== ==================================================== ===================================================
SEND           peer, tag, context, nbytes, flags, payload           None (told)
ISEND          … and request                                        None (told)
IRECV          peer and tag (each may be ANY), context, flags,      None (told)
               request
RECV           peer, tag, context, flags                            (source, tag, payload)
WAIT           request, or entries = requests                       list of outcomes, one for each request: see below
PROBE          peer, tag, context                                   (source, tag, nbytes)
MPROBE         peer, tag, context, request                          (source, tag, nbytes)
MRECV          request; flag NONBLOCKING: a wait ends it            (source, tag, payload); nonblocking: None (told)
POLL           none                                                 None, once time has passed: a look at own memory
                                                                    that others may change; so loops end
PACK, LOCAL    nbytes                                               None (told)
COMPUTE        a burst and no more, to end a region                 None (told)
OTHER          payload = the call's name: free, but reported        None (told)
collectives    context, peer = root, nbytes, tag and flags as in a  see below; nonblocking: None (told), and the wait
               trace, entries, payload; nonblocking: request        returns what is said below
SPAWN          context, peer = the root as a rank of the program,   (world, the children as ranks of the program)
               nbytes = children, payload = what to start (root)
ANNOUNCE       payload = (key, remote group or None, name), entries context, the same for all who give that key
               = group: ranks of the program
REGION         payload = name                                       index of the region, the same for all ranks
LINE           request = index, payload = (file, line)              None (told): what the line of calls refers to
NODE           none                                                 (index of its node in the machine, its type's name)
WTIME          none                                                 virtual time, seconds
SLEEP          nbytes = nanoseconds                                 None (told)
TEST           tag = a Mode, entries = requests; flag BLOCKING      [(position in entries, outcome), …] of what is
                                                                    complete, or None if that is not enough
IPROBE         peer, tag, context                                   (source, tag, nbytes) or None
IMPROBE        peer, tag, context, request                          (source, tag, nbytes) or None
CANCEL         request                                              None (told); the outcome is "cancelled" if it was a
                                                                    receive without a message
RESULT         context, request = serial, payload                   None (told): see below
SERVE          peer, payload, nbytes, entries = (bytes back,),      None (told); the outcome is the reply
               request
WORK           region, nbytes = flops done there                    None (told): declared work, for the record
ABORT          nbytes = exit status                                 never
END            nbytes = exit status, payload = addresses at which   never
               its sockets can be reached, and that they reached
RAISED         payload = text                                       never
REFUSED        payload = what a live run does not cover, in words   never
============== ==================================================== ===================================================

``cpu`` counts in all calls, live-only ones included, but must be 0 in ``RESULT``, ``LINE``, ``REGION``, ``WORK`` and
``ANNOUNCE``.

**Outcome of a request** (in the answers to ``WAIT`` and ``TEST``): None for a send, for an unknown or forgotten
request, and for a collective without an answer; (source, tag, payload) for a receive; ``"cancelled"``; the answer of a
collective; the reply of a ``SERVE``. The kernel forgets a request once it has told its outcome. ``TEST`` with
``Mode.ALL`` needs all to be complete; if none of its requests is known, it returns [] in every mode.

A receive that names ``PROC_NULL`` needs no kernel; it may be told for the record (a wait does not know its request).

**Sizes of collectives**: ``nbytes`` is this member's own size, as :mod:`clue.trace.ops` defines it. Every member of a
regular collective must know it, so pickled objects exchange sizes first. ``entries``, where given, holds the sizes of
all members; ALLGATHERV and REDUCE_SCATTER need it on all members, GATHERV and SCATTERV at the root. ALLTOALLV: the
entries are the sizes sent to each member, then those received from each (2 p entries); nbytes = a mean block, which
matters only where a machine chooses the algorithm by size. NEIGHBOR: entries as in a trace.

**Payloads and answers of collectives**. The answer is None where nothing is due to this member (nothing moved). In a
list, None stands for a member that sent nothing here (an empty block): it may not even have called yet.

=============== ===================================== =================================================================
collective      payload                               answer
=============== ===================================== =================================================================
BARRIER         none                                  None
BCAST           the root's                            the root's, to all but the root
GATHER(V),      each one's                            root: list by member; else None
REDUCE
SCATTER(V)      the root's list by member             this member's block
ALLGATHER(V),   each one's                            list by member
COMM
ALLTOALL(V)     list by member                        list by member of what each sent here
ALLREDUCE,      each one's whole vector               (serial, result, rest): see below
REDUCE_SCATTER
SCAN, EXSCAN    each one's                            (serial, result, rest): see below; EXSCAN: None to the first
NEIGHBOR        list by outgoing edge                 list by incoming edge (k-th edge between two takes the k-th),
                                                      None for PROC_NULL
=============== ===================================== =================================================================

(serial, result, rest): the reduction due to this member is that of ``result`` (None: nothing yet) with the payloads in
``rest``, in this order. If rest is empty, it is result itself. Otherwise the member reduces and tells its result as
``RESULT`` (context, request = serial) *before any other call*: the other members use it, so that nothing is reduced
twice.

Collectives are on intracommunicators; those on intercommunicators are composed of them and of messages.
"""

from __future__ import annotations

import signal
from enum import IntEnum
from typing import Any, NamedTuple

from clue.trace.ops import NO_REQUEST, PROC_NULL

#: Flag of a ``TEST`` that waits until it is complete (Waitany, Waitsome); beyond those of :class:`clue.trace.Flag`.
BLOCKING = 1 << 15
#: Signal at which a rank writes its stack into an open file of the given name, whatever it is doing.
WHERE_SIGNAL, WHERE = signal.SIGRTMAX - 3, "clue-where"


class LiveOp(IntEnum):
    """Calls that occur only live; their codes are above all of :class:`clue.trace.Op`."""

    ANNOUNCE = 64
    REGION = 65
    LINE = 66
    WTIME = 67
    SLEEP = 68
    TEST = 69
    IPROBE = 70
    IMPROBE = 71
    CANCEL = 72
    RESULT = 73
    SERVE = 74
    ABORT = 75
    RAISED = 76
    END = 77
    WORK = 78
    NODE = 79
    REFUSED = 80


class Mode(IntEnum):
    """How many of its requests a ``TEST`` needs."""

    ALL = 0
    ANY = 1
    SOME = 2


class Call(NamedTuple):
    """A call of a rank's program. On the wire a plain tuple of these fields.

    Attributes:
        op: A :class:`clue.trace.Op` or :class:`LiveOp`.
        cpu: CPU time of the burst before it, ns.
        region: Index of the region it is in, as ``REGION`` answered; 0 is outside any.
        peer: Partner or root.
        tag: Tag.
        context: Context of the communicator.
        nbytes: Size, bytes.
        request: Number of a request: any that the rank has not used before.
        flags: Those of :class:`clue.trace.Flag`, and :data:`BLOCKING`.
        entries: More numbers.
        payload: The data: anything that can be marshalled; the kernel never looks inside, except where stated above.
        line: Index of the program's line, told before by ``LINE``; -1 where it is not known.
    """

    op: int
    cpu: int = 0
    region: int = 0
    peer: int = PROC_NULL
    tag: int = 0
    context: int = 0
    nbytes: int = 0
    request: int = NO_REQUEST
    flags: int = 0
    entries: tuple[int, ...] = ()
    payload: Any = None
    line: int = -1
