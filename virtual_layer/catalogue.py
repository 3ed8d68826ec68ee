"""The catalogue of MPI calls: every call of mpi4py that communicates, by type and name, and its meaning.

Calls that are not listed are not recorded: they are local queries and bookkeeping (Get_rank, Get_size, Status, Group,
Info, Wtime, attributes, names, error handlers, making datatypes, Reduce_local, Alloc_mem), and their cost is part of
the burst around them. Calls that C code makes without mpi4py are not recorded either.

Only named and timed (``OTHER``): files, sessions, connecting to other programs, fault tolerance, generalized requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clue.trace.ops import Flag
from virtual_layer.meaning import collectives as c
from virtual_layer.meaning import completion as w
from virtual_layer.meaning import making as k
from virtual_layer.meaning import objects as o
from virtual_layer.meaning import partitioned as p
from virtual_layer.meaning import point_to_point as m
from virtual_layer.meaning import windows as r

_SYNC, _BUFFERED, _READY, _PICKLED = (int(flag) for flag in (Flag.SYNCHRONOUS, Flag.BUFFERED, Flag.READY, Flag.PICKLED))


@dataclass(frozen=True, slots=True)
class MpiCall:
    """A call of mpi4py.

    Attributes:
        type: The class in ``mpi4py.MPI`` that defines it; ``""`` for a function of the module.
        name: Its name there.
        describe: Writes its ops when it has returned.
        prepare: Sees its arguments before the call, and may change them.
    """

    type: str
    name: str
    describe: Any
    prepare: Any = None


#: By type, names of calls and their meaning: the function that describes them, or the two that prepare and describe.
Tables = dict[str, dict[str, Any]]


def _calls(tables: Tables) -> tuple[MpiCall, ...]:
    return tuple(
        MpiCall(of, name, meaning[1], meaning[0]) if isinstance(meaning, tuple) else MpiCall(of, name, meaning)
        for of, table in tables.items()
        for names, meaning in table.items()
        for name in names.split()
    )


_MESSAGES: Tables = {
    "Comm": {
        "Send": m.send(),
        "Bsend": m.send(_BUFFERED),
        "Ssend": m.send(_SYNC),
        "Rsend": m.send(_READY),
        "Isend": m.isend(),
        "Ibsend": m.isend(_BUFFERED),
        "Issend": m.isend(_SYNC),
        "Irsend": m.isend(_READY),
        "Recv": (m.RECV.ask, m.recv()),
        "Irecv": m.irecv(),
        "Sendrecv": (m.SENDRECV.ask, m.sendrecv(m.SENDRECV)),
        "Sendrecv_replace": (m.REPLACE.ask, m.sendrecv(m.REPLACE)),
        "Isendrecv": m.isendrecv(m.SENDRECV),
        "Isendrecv_replace": m.isendrecv(m.REPLACE),
        "Probe probe Iprobe iprobe": (m.PROBE.ask, m.probe()),
        "Mprobe mprobe Improbe improbe": (m.PROBE.ask, m.probe(takes=True)),
        "Send_init": m.send_init(),
        "Bsend_init": m.send_init(_BUFFERED),
        "Ssend_init": m.send_init(_SYNC),
        "Rsend_init": m.send_init(_READY),
        "Recv_init": m.recv_init,
        "Psend_init": p.psend_init,
        "Precv_init": p.precv_init,
        "send": (o.watch, o.send()),
        "bsend": (o.watch, o.send(_BUFFERED)),
        "ssend": (o.watch, o.send(_SYNC)),
        "isend": (o.watch, o.isend()),
        "ibsend": (o.watch, o.isend(_BUFFERED)),
        "issend": (o.watch, o.isend(_SYNC)),
        "recv": (o.watch_status(m.RECV), o.recv),
        "irecv": m.irecv(_PICKLED),
        "sendrecv": (o.watch_status(m.SENDRECV), o.sendrecv),
        "Attach_buffer Detach_buffer Flush_buffer": k.local,
        "Iflush_buffer": k.local_request,
    },
    "Message": {
        "Probe probe Iprobe iprobe": (m.CLASS_PROBE.ask, m.probe(takes=True, of_class=True)),
        "Recv": m.mrecv(),
        "recv": (o.watch, o.mrecv),
        "Irecv": m.imrecv(),
        "irecv": m.imrecv(_PICKLED),
    },
}

_REQUESTS: Tables = {
    "Request": {
        "Wait Test": (w.ask_one, w.wait_one(bool)),
        "wait": w.unpickling(w.ask_one, w.wait_one()),
        "test": w.unpickling(w.ask_one, w.wait_one(lambda result: result[0])),
        "Waitany": (w.ask_any, w.wait_any()),
        "waitany": w.unpickling(w.ask_any, w.wait_any(index=0)),
        "Testany": (w.ask_any, w.wait_any(index=0, flag=1)),
        "testany": w.unpickling(w.ask_any, w.wait_any(index=0, flag=1)),
        "Waitall": (w.ask_all, w.wait_all()),
        "waitall": w.unpickling(w.ask_all, w.wait_all()),
        "Testall": (w.ask_all, w.wait_all(found=bool)),
        "testall": w.unpickling(w.ask_all, w.wait_all(found=lambda result: result[0])),
        "Waitsome": (w.ask_all, w.wait_some(tuple_result=False, test=False)),
        "waitsome": w.unpickling(w.ask_all, w.wait_some(tuple_result=True, test=False)),
        "Testsome": (w.ask_all, w.wait_some(tuple_result=False, test=True)),
        "testsome": w.unpickling(w.ask_all, w.wait_some(tuple_result=True, test=True)),
        "Get_status get_status": (w.ask_one, w.wait_one(bool, kept=True)),
        "Get_status_any get_status_any": (w.ask_any, w.wait_any(index=0, flag=1, kept=True)),
        "Get_status_all get_status_all": (w.ask_all, w.wait_all(found=bool, kept=True)),
        "Get_status_some get_status_some": (w.ask_all, w.wait_some(tuple_result=False, test=True, kept=True)),
        "Cancel cancel": (w.find, w.cancel),
        "Free free": (w.find, w.free_request),
    },
    "Prequest": {
        "Start": w.start,
        "Startall": w.start_all,
        "Pready": p.ready(p.one),
        "Pready_range": p.ready(p.range_of),
        "Pready_list": p.ready(p.list_of),
        "Parrived": (w.find, p.arrived),
    },
    "Grequest": {"Start Complete complete": k.other},
}

#: Collectives on buffers: each exists blocking, nonblocking (I…) and persistent (…_init).
_ON_BUFFERS = {
    "Barrier": c.barrier,
    "Bcast": c.bcast,
    "Gather": c.gather,
    "Gatherv": c.gatherv,
    "Scatter": c.scatter,
    "Scatterv": c.scatterv,
    "Allgather": c.allgather,
    "Allgatherv": c.allgatherv,
    "Alltoall": c.alltoall,
    "Alltoallv": c.alltoallv,
    "Alltoallw": c.alltoallw,
    "Reduce": c.reduce,
    "Allreduce": c.allreduce,
    "Reduce_scatter_block": c.reduce_scatter_block,
    "Reduce_scatter": c.reduce_scatter,
}
_ON_INTRACOMM = {"Scan": c.scan, "Exscan": c.exscan}
_ON_TOPOLOGY = {
    "Neighbor_allgather Neighbor_allgatherv": c.neighbor_allgather,
    "Neighbor_alltoall": c.neighbor_alltoall,
    "Neighbor_alltoallv": c.neighbor_alltoallv,
    "Neighbor_alltoallw": c.neighbor_alltoallw,
}


def _collectives(of: str, readers: Mapping[str, c.Reader]) -> tuple[MpiCall, ...]:
    return tuple(
        call
        for names, read in readers.items()
        for name in names.split()
        for call in (
            MpiCall(of, name, _counts(name, c.blocking(read))),
            MpiCall(of, "I" + name[0].lower() + name[1:], _counts(name, c.nonblocking(read))),
            MpiCall(of, name + "_init", _counts(name, c.prepared(read))),
        )
    )


def _counts(name: str, describe: Any) -> Any:
    return c.counted(describe) if name == "Reduce_scatter" else describe


_ON_OBJECTS: Tables = {
    "Comm": {
        "barrier": c.blocking(c.barrier),
        "bcast": (o.watch, o.collective(o.bcast, 2)),
        "gather": (o.watch, o.collective(o.gather, 2)),
        "scatter": (o.watch, o.collective(o.scatter, 2)),
        "allgather": (o.watch, o.collective(o.allgather)),
        "alltoall": (o.watch, o.collective(o.alltoall)),
        "reduce": (o.watch_reduction(2), o.reduction("reduce", 3)),
        "allreduce": (o.watch_reduction(2), o.reduction("allreduce")),
    },
    "Intracomm": {
        "scan": (o.watch_reduction(2), o.reduction("scan")),
        "exscan": (o.watch_reduction(2), o.reduction("exscan")),
    },
    "Topocomm": {
        "neighbor_allgather": (o.watch, o.neighbor(alltoall=False)),
        "neighbor_alltoall": (o.watch, o.neighbor(alltoall=True)),
    },
}

_CONSTRUCTORS: Tables = {
    "Comm": {
        **{name: k.constructor(name, same=True) for name in ("Clone", "Dup", "Dup_with_info")},
        **{name: k.constructor(name) for name in ("Create", "Split", "Split_type")},
        **{name: k.nonblocking_constructor(name) for name in ("Idup", "Idup_with_info")},
        "Free free Disconnect": (k.forget, k.free),
        "Abort": (k.abort, k.local),
        "Join Revoke Get_failed Ack_failed Agree Iagree Shrink Ishrink": k.other,
    },
    "Intracomm": {
        **{
            name: k.constructor(name)
            for name in ("Create_cart", "Create_graph", "Create_dist_graph", "Create_dist_graph_adjacent")
        },
        "Create_group": k.group_constructor("Create_group"),
        "Create_from_group": k.constructor_of_groups("Create_from_group", 2),
        "Create_intercomm": k.bridge,
        "Spawn": (k.prepare_spawn(multiple=False), k.spawn(5)),
        "Spawn_multiple": (k.prepare_spawn(multiple=True), k.spawn(5)),
        "Accept Connect": k.other,
    },
    "Cartcomm": {"Sub": k.constructor("Sub")},
    "Intercomm": {"Create_from_groups": k.constructor_of_groups("Create_from_groups", 5), "Merge": k.merge},
}

_PACKING: Tables = {
    "Datatype": {
        "Pack": k.packing(3),
        "Unpack": k.packing(2),
        "Pack_external": k.packing(4),
        "Unpack_external": k.packing(3),
    },
}

_WINDOWS: Tables = {
    "Win": {
        "Create Allocate": r.maker(4),
        "Allocate_shared": r.maker(4, 3),
        "Create_dynamic": r.maker(2),
        "Free free": (k.forget, r.free),
        "Attach Detach": k.local,
        "Put Accumulate Rput Raccumulate": r.put,
        "Get Rget": r.get,
        "Get_accumulate Rget_accumulate Fetch_and_op": r.get_accumulate,
        "Compare_and_swap": r.compare_and_swap,
        "Fence": r.fence,
        "Post": r.post,
        "Start": r.start,
        "Complete": r.complete,
        "Wait": r.wait,
        "Test": r.test,
        "Lock": r.lock,
        "Unlock": r.unlock,
        "Lock_all": r.lock_all,
        "Unlock_all": r.unlock_all,
        "Flush": r.flush,
        "Flush_all": r.flush_all,
        "Flush_local": r.flush_local,
        "Flush_local_all": r.flush_local_all,
        "Sync": r.sync,
    },
}

_NAMED_ONLY: Tables = {
    "File": {
        "Open Close Delete Set_size Preallocate Get_size Set_view Read_at Read_at_all Write_at Write_at_all "
        "Iread_at Iread_at_all Iwrite_at Iwrite_at_all Read Read_all Write Write_all Iread Iread_all Iwrite "
        "Iwrite_all Seek Read_shared Write_shared Iread_shared Iwrite_shared Read_ordered Write_ordered "
        "Seek_shared Get_position_shared Read_at_all_begin Read_at_all_end Write_at_all_begin "
        "Write_at_all_end Read_all_begin Read_all_end Write_all_begin Write_all_end Read_ordered_begin "
        "Read_ordered_end Write_ordered_begin Write_ordered_end Set_atomicity Sync": k.other,
    },
    "Session": {
        "Init Finalize": k.other,
        "Attach_buffer Detach_buffer Flush_buffer": k.local,
        "Iflush_buffer": k.local_request,
    },
    "": {
        "Attach_buffer Detach_buffer Flush_buffer": k.local,
        "Iflush_buffer": k.local_request,
        "Finalize": w.finalize,
        # mpi4py's own duplicates, over which its Python parts (pkl5) send.
        "_commctx_intra": k.inner,
        "_commctx_inter": k.inner,
        "Open_port Close_port Publish_name Unpublish_name Lookup_name": k.other,
    },
}

MESSAGES, REQUESTS, WINDOWS = _calls(_MESSAGES), _calls(_REQUESTS), _calls(_WINDOWS)
COLLECTIVE_CALLS = (
    *_collectives("Comm", _ON_BUFFERS),
    *_collectives("Intracomm", _ON_INTRACOMM),
    *_collectives("Topocomm", _ON_TOPOLOGY),
    *_calls(_ON_OBJECTS),
)
CALLS: tuple[MpiCall, ...] = (
    # Entry 0 stands for no call: the burst at the end of a program or of a region.
    MpiCall("", "", None),
    *MESSAGES,
    *REQUESTS,
    *COLLECTIVE_CALLS,
    *_calls(_CONSTRUCTORS),
    *WINDOWS,
    *_calls(_PACKING),
    *_calls(_NAMED_ONLY),
)


def title(call: MpiCall) -> str:
    """Return a call's name as traces show it: ``Send``, ``Win.Put``."""
    plain = call.type in ("", "Comm", "Intracomm", "Topocomm", "Cartcomm", "Intercomm", "Request", "Prequest")
    return call.name if plain else f"{call.type}.{call.name}"
