"""The calls of a program that runs in virtual time, one by one: the contract between rank processes and the kernel.

A trace says afterwards what a program did (:mod:`clue.trace.ops`); a live program reports each call as it happens and
gets an answer. Both use the same ops with the same fields, so the same code interprets them. This module uses only the
standard library, because the virtual layer imports it inside the user's process.

The fields of a :class:`Call` are those of a row, with two exceptions. ``peer`` of a message is a rank of the program
(ranks are counted over all worlds, in the order in which these began; ``PROC_NULL`` and ``ANY`` are unchanged), and
``context`` is what ``ANNOUNCE`` returned for the communicator. Ranks in collectives (``peer`` = root, entries of
``NEIGHBOR``) are ranks of the communicator.

A call is either *asked* or *told*. If it is asked, the program sleeps until the kernel answers. If it is told, the
program goes on, and the call reaches the kernel together with the next call that is asked. Any call may be asked; calls
whose answer is always ``None`` may be told.

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
POLL           none                                                 None, once time has passed: the program looks at
                                                                    memory that others may change, so that loops end
RMA            peer, tag = an Access, context, nbytes, request,     None (told); the outcome is the reply
               entries = (bytes back,) or none; payload = what the
               target does to its memory, or none
PACK, LOCAL    nbytes                                               None (told)
COMPUTE        payload = name of its region: a burst alone          None (told)
OTHER          payload = the call's name: costs nothing, reported   None (told)
collectives    context, peer = root, nbytes, tag and flags as in a  see below; nonblocking: None (told), and the wait
               trace, entries, payload; nonblocking: request        returns the answer described below
SPAWN          context, peer = the root as a rank of the program,   (world, the children as ranks of the program)
               nbytes = children, payload = what to start (root)
ANNOUNCE       payload = (key, remote group or None, name), entries context, the same for all ranks that give the key
               = group: ranks of the program
REGION         payload = name                                       index of the region, the same for all ranks
LINE           request = index, payload = (file, line)              None (told): ``line`` of calls refers to it
NODE           none                                                 (index of its node in the machine, its type's name)
WTIME          none                                                 virtual time, seconds
SLEEP          nbytes = nanoseconds                                 None (told)
TEST           tag = a Mode, entries = requests; flag BLOCKING      [(position in entries, outcome), …] of complete
                                                                    requests, or None if these are not enough
IPROBE         peer, tag, context                                   (source, tag, nbytes) or None
IMPROBE        peer, tag, context, request                          (source, tag, nbytes) or None
CANCEL         request                                              None (told); the outcome is "cancelled" if it was a
                                                                    receive without a message
RESULT         context, request = serial, payload                   None (told): see below
WORK           region, nbytes = flops done there                    None (told): declared work, for the record
ABORT          nbytes = exit status                                 never
END            nbytes = exit status, payload = ((addresses at which never
               its sockets can be reached, those they reached),
               notes on computation that no burst contains)
RAISED         payload = text                                       never
REFUSED        payload = text on the unsupported feature            never
============== ==================================================== ===================================================

``cpu`` counts in all calls, including those that occur only live, but must be 0 in ``RESULT``, ``LINE``, ``REGION``,
``WORK`` and ``ANNOUNCE``.

**Outcome of a request** (in the answers to ``WAIT`` and ``TEST``): None for a send, for an unknown or forgotten
request, and for a collective without an answer; (source, tag, payload) for a receive; ``"cancelled"``; the answer of a
collective; the reply of an ``RMA``. The kernel forgets a request once it has reported the outcome. ``TEST`` with
``Mode.ALL`` needs all requests to be complete; if none of its requests is known, it returns [] in every mode.

A receive from ``PROC_NULL`` does not need the kernel; it may be told for the record (a wait does not know its request).

**Sizes of collectives**: ``nbytes`` is this member's own size, as :mod:`clue.trace.ops` defines it. Every member of a
regular collective must know it, so members exchange the sizes of pickled objects first. ``entries``, where given, holds
the sizes of all members; ALLGATHERV and REDUCE_SCATTER need it on all members, GATHERV and SCATTERV at the root. In
ALLTOALLV, the entries are the sizes sent to each member, then those received from each (2 p entries); nbytes is the
mean block, which matters only if a machine chooses the algorithm by size. In NEIGHBOR, entries are as in a trace.

**Payloads and answers of collectives**. The answer is None if this member receives nothing (no data moved). In a list,
None stands for a member that sent nothing here (an empty block), and may not even have made its call yet.

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

(serial, result, rest): the member's reduction is that of ``result`` (None: nothing yet) with the payloads in ``rest``,
in this order. If rest is empty, it is result itself. Otherwise the member reduces them and tells its result as
``RESULT`` (context, request = serial) *before any other call*: the other members use it, so that nothing is reduced
twice.

Collectives are on intracommunicators; those on intercommunicators are composed of these and of messages.
"""

from __future__ import annotations

import signal
from enum import IntEnum
from typing import Any, NamedTuple

from clue.trace.ops import NO_REQUEST, PROC_NULL

#: Flag of a ``TEST`` that waits until it is complete (Waitany, Waitsome), in addition to :class:`clue.trace.Flag`.
BLOCKING = 1 << 15
#: Signal at which a rank writes its stack into an open file of the given name, whatever it is doing.
WHERE_SIGNAL, WHERE = signal.SIGRTMAX - 3, "clue-where"


class LiveOp(IntEnum):
    """Calls that occur only live; their codes are above all codes of :class:`clue.trace.Op`."""

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
    ABORT = 74
    RAISED = 75
    END = 76
    WORK = 77
    NODE = 78
    REFUSED = 79


class Mode(IntEnum):
    """How many of its requests a ``TEST`` needs."""

    ALL = 0
    ANY = 1
    SOME = 2


class Call(NamedTuple):
    """A call of a rank's program; on the wire, a plain tuple of these fields.

    Attributes:
        op: A :class:`clue.trace.Op` or :class:`LiveOp`.
        cpu: CPU time of the burst before it, ns.
        region: Index of the region that it is in, as answered by ``REGION``; 0 outside any region.
        peer: Partner or root.
        tag: Tag.
        context: Context of the communicator.
        nbytes: Size, bytes.
        request: Number of a request: any that the rank has not used before.
        flags: Flags of :class:`clue.trace.Flag`, and :data:`BLOCKING`.
        entries: Further numbers.
        payload: The data: anything that can be marshalled; the kernel does not look inside, except where stated above.
        line: Index of the program's line, announced before by ``LINE``; -1 if unknown.
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
