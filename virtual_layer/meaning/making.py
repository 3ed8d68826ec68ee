"""Making and freeing communicators, spawning, packing, and all calls that are only named and timed."""

from __future__ import annotations

from typing import Any

from clue.trace.ops import Flag, Op
from virtual_layer import spawning
from virtual_layer.communicators import RecordedComm
from virtual_layer.meaning.across import union
from virtual_layer.meaning.arguments import Arguments, Keywords, argument
from virtual_layer.meaning.point_to_point import Describe, unmodelled
from virtual_layer.recorder import Recorder
from virtual_layer.requests import RecordedRequest

#: Size, bytes, of a rank's number in the messages by which the leaders of two groups exchange their members.
RANK_BYTES = 4


def constructor(name: str, *, same: bool = False) -> Describe:
    """Describe a collective constructor: every member of the parent agrees on the new one."""

    def describe(recorder: Recorder, result: Any, args: Arguments, _kwargs: Keywords, _memo: Any) -> None:
        parent = recorder.comms[args[0].handle]
        recorder.comms.made_of(parent, result, name, same=same)
        _agree(recorder, parent)

    return describe


def _agree(recorder: Recorder, comm: RecordedComm | None) -> None:
    """Write the agreement of the members of a communicator, if they are known; ``None``: this rank is no member."""
    if comm is None:
        recorder.emit(Op.LOCAL)
    elif comm.known:
        recorder.emit(Op.COMM, union(recorder, comm).index)
    else:
        recorder.other()


def nonblocking_constructor(name: str) -> Describe:
    """Describe a constructor that returns a communicator and a request."""

    def describe(recorder: Recorder, result: Any, args: Arguments, _kwargs: Keywords, _memo: Any) -> None:
        parent = recorder.comms[args[0].handle]
        comm, request = result
        recorder.comms.made_of(parent, comm, name, same=True)
        if not parent.known:
            return unmodelled(recorder, request)
        serial = recorder.requests.serial()
        recorder.emit(Op.COMM, union(recorder, parent).index, flags=int(Flag.NONBLOCKING), request=serial)
        recorder.requests.add(request, RecordedRequest(request.handle, (serial,)))
        return None

    return describe


def group_constructor(name: str) -> Describe:
    """Describe a constructor on which only the new members agree."""
    tag_of = argument(2, "tag", 0)

    def describe(recorder: Recorder, result: Any, args: Arguments, kwargs: Keywords, _memo: Any) -> None:
        parent = recorder.comms[args[0].handle]
        _agree(recorder, recorder.comms.made_by_group(parent, result, name, tag_of(args, kwargs)))

    return describe


def constructor_of_groups(name: str, tag_place: int) -> Describe:
    """Describe a constructor on which the members of groups agree, without a communicator."""
    tag_of = argument(tag_place, "stringtag", "org.mpi4py")

    def describe(recorder: Recorder, result: Any, args: Arguments, kwargs: Keywords, _memo: Any) -> None:
        _agree(recorder, recorder.comms.adopt(result, name, tag_of(args, kwargs)) if result else None)

    return describe


def merge(recorder: Recorder, result: Any, args: Arguments, _kwargs: Keywords, _memo: Any) -> None:
    """Describe Merge: both sides of an intercommunicator agree."""
    parent = recorder.comms[args[0].handle]
    recorder.comms.made_of(parent, result, "Merge")
    _agree(recorder, parent)


def bridge(recorder: Recorder, result: Any, args: Arguments, kwargs: Keywords, _memo: Any) -> None:
    """Describe Create_intercomm: the leaders of two groups tell each other their members, then their own group."""
    local, tag = recorder.comms[args[0].handle], argument(4, "tag", 0)(args, kwargs)
    recorder.comms.bridge(local, result, tag)
    if local.known and local.rank == argument(1, "local_leader")(args, kwargs):
        peers, leader = recorder.comms[argument(2, "peer_comm")(args, kwargs).handle], argument(3, "remote_leader")
        if peers.known:
            _introduce(recorder, recorder.comms.private(peers, "bridge"), local, leader(args, kwargs), tag)
        else:
            recorder.other()
    _agree(recorder, local)


def _introduce(recorder: Recorder, channel: RecordedComm, local: RecordedComm, leader: int, tag: int) -> None:
    """Write the messages by which a leader exchanges the members of its group with the other leader."""
    sent = recorder.requests.serial()
    recorder.emit(Op.ISEND, channel.index, leader, tag, RANK_BYTES * len(local.group), channel.flags, sent)
    recorder.emit(Op.RECV, channel.index, leader, tag, 0, channel.flags)
    recorder.emit(Op.WAIT, request=sent)


def inner(recorder: Recorder, result: Any, args: Arguments, _kwargs: Keywords, _memo: Any) -> None:
    """Describe the use of mpi4py's own duplicate of a communicator; making it costs nothing, as for a reduction."""
    recorder.emit(Op.LOCAL)
    comm, _tag, *more = result
    recorder.comms.inner(recorder.comms[args[0].handle], comm, *more[:1])


def forget(_recorder: Recorder, args: Arguments, kwargs: Keywords) -> tuple[Arguments, Keywords, int]:
    """Note the handle of a communicator or window that is about to be freed."""
    return args, kwargs, args[0].handle if args[0] else 0


def free(recorder: Recorder, _result: Any, args: Arguments, _kwargs: Keywords, handle: int) -> None:
    """Describe Free and Disconnect; the lower-case free leaves predefined communicators alone."""
    recorder.emit(Op.LOCAL)
    if not args[0]:
        recorder.comms.forget(handle)


def packing(place: int) -> Describe:
    """Describe a call that takes a position, as the argument at ``place``, and returns the position after packing."""
    before = argument(place, "position", 0)

    def describe(recorder: Recorder, result: Any, args: Arguments, kwargs: Keywords, _memo: Any) -> None:
        recorder.emit(Op.PACK, nbytes=max(int(result) - int(before(args, kwargs)), 0))

    return describe


def local(recorder: Recorder, _result: Any, _args: Arguments, _kwargs: Keywords, _memo: Any) -> None:
    """Describe a call that costs nothing in the model."""
    recorder.emit(Op.LOCAL)


def local_request(recorder: Recorder, result: Any, _args: Arguments, _kwargs: Keywords, _memo: Any) -> None:
    """Describe a nonblocking call that costs nothing in the model."""
    recorder.emit(Op.LOCAL)
    recorder.requests.add(result, RecordedRequest(result.handle, ()))


def other(recorder: Recorder, result: Any, _args: Arguments, _kwargs: Keywords, _memo: Any) -> None:
    """Describe a call that the simulator does not model; a request that it returns is marked as not modelled."""
    recorder.other()
    if isinstance(result, recorder.mpi.Request):
        recorder.requests.add(result, RecordedRequest(result.handle, ())).left_out = True


def abort(recorder: Recorder, args: Arguments, kwargs: Keywords) -> tuple[Arguments, Keywords, None]:
    """Note that the program is about to abort: this call does not return."""
    recorder.on_abort(f"called Abort({argument(1, 'errorcode', 0)(args, kwargs)})")
    return args, kwargs, None


def prepare_spawn(*, multiple: bool) -> Any:
    """Have children that are Python programs recorded, too."""

    def prepare(recorder: Recorder, args: Arguments, kwargs: Keywords) -> tuple[Arguments, Keywords, Any]:
        return spawning.announce(recorder, args, kwargs, multiple=multiple)

    return prepare


def spawn(root_place: int) -> Describe:
    """Describe Spawn: modelled if the children are recorded."""
    root = argument(root_place, "root", 0)

    def describe(recorder: Recorder, result: Any, args: Arguments, kwargs: Keywords, world: str) -> None:
        parent = recorder.comms[args[0].handle]
        children = result.Get_remote_size()
        if not spawning.announced(recorder, world):
            recorder.other()
            recorder.comms.join(result, "Spawn", None, [], [])
            return
        remote = [(world, rank) for rank in range(children)]
        recorder.comms.join(result, "Spawn", world, parent.group, remote)
        recorder.worlds.append(world)
        at = len(recorder.worlds) - 1
        recorder.emit(Op.SPAWN, parent.index, root(args, kwargs), 0, children, extras=[at])

    return describe
