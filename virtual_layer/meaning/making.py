"""Making and freeing communicators, spawning, packing, and all calls that are only named and timed."""

from __future__ import annotations

from typing import Any

from clue.trace.ops import Flag, Op
from virtual_layer import spawning
from virtual_layer.meaning.arguments import Arguments, Keywords, argument
from virtual_layer.meaning.point_to_point import Describe, unmodelled
from virtual_layer.recorder import Recorder
from virtual_layer.requests import RecordedRequest


def constructor(name: str, *, same: bool = False) -> Describe:
    """Describe a collective constructor: every member of the parent agrees on the new one."""

    def describe(recorder: Recorder, result: Any, args: Arguments, _kwargs: Keywords, _memo: Any) -> None:
        parent = recorder.comms[args[0].handle]
        recorder.comms.made_of(parent, result, name, same=same)
        if parent.plain:
            recorder.emit(Op.COMM, parent.index)
        else:
            recorder.other()

    return describe


def nonblocking_constructor(name: str) -> Describe:
    """Describe a constructor that returns a communicator and a request."""

    def describe(recorder: Recorder, result: Any, args: Arguments, _kwargs: Keywords, _memo: Any) -> None:
        parent = recorder.comms[args[0].handle]
        comm, request = result
        recorder.comms.made_of(parent, comm, name, same=True)
        if not parent.plain:
            return unmodelled(recorder, request)
        serial = recorder.requests.serial()
        recorder.emit(Op.COMM, parent.index, flags=int(Flag.NONBLOCKING), request=serial)
        recorder.requests.add(request, RecordedRequest(request.handle, (serial,)))
        return None

    return describe


def group_constructor(name: str) -> Describe:
    """Describe a constructor that only the new members call: timed, not modelled."""
    tag_of = argument(2, "tag", 0)

    def describe(recorder: Recorder, result: Any, args: Arguments, kwargs: Keywords, _memo: Any) -> None:
        recorder.other()
        recorder.comms.made_by_group(recorder.comms[args[0].handle], result, name, tag_of(args, kwargs))

    return describe


def constructor_of_groups(name: str, tag_place: int) -> Describe:
    """Describe a constructor that the members of groups call without a communicator: timed, not modelled."""
    tag_of = argument(tag_place, "stringtag", "org.mpi4py")

    def describe(recorder: Recorder, result: Any, args: Arguments, kwargs: Keywords, _memo: Any) -> None:
        recorder.other()
        recorder.comms.adopt(result, name, tag_of(args, kwargs))

    return describe


def merge(recorder: Recorder, result: Any, args: Arguments, _kwargs: Keywords, _memo: Any) -> None:
    """Describe Merge: a collective over both sides of an intercommunicator, timed, not modelled."""
    recorder.other()
    recorder.comms.made_of(recorder.comms[args[0].handle], result, "Merge")


def bridge(recorder: Recorder, result: Any, args: Arguments, kwargs: Keywords, _memo: Any) -> None:
    """Describe Create_intercomm: a collective over two groups, timed, not modelled."""
    recorder.other()
    recorder.comms.bridge(recorder.comms[args[0].handle], result, argument(4, "tag", 0)(args, kwargs))


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
