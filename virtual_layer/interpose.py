"""Interposition: replaces functions of mpi4py in the method tables of its types.

The types are immutable to Python, but their tables are ordinary dictionaries. Changing these, instead of wrapping
objects, covers every communicator, request, message, window and file however it was made, and leaves the program's
objects unchanged. Calls that C code makes directly are not recorded.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable
from functools import partial, wraps
from threading import get_ident
from time import perf_counter_ns, thread_time_ns
from typing import Any

from virtual_layer.catalogue import CALLS, REQUESTS, MpiCall
from virtual_layer.meaning.completion import FAILED
from virtual_layer.recorder import Recorder

Function = Callable[..., Any]

#: Calls that may have received or completed something although they failed, and are described without a result.
_RECEIVING = frozenset({
    "Recv", "Sendrecv", "Sendrecv_replace", "recv", "sendrecv",
    *(call.name for call in REQUESTS if call.name.lower().startswith(("wait", "test"))),
})  # fmt: skip
#: In place of MPI's class of an error, if it is one of Python's.
_NO_ERROR = -1


def method_table(of: type) -> dict[str, Any]:
    """Return the dictionary behind a type's read-only view of it."""
    (table,) = (each for each in gc.get_referents(of.__dict__) if isinstance(each, dict))
    return table


def replace(of: type, name: str, attribute: object) -> None:
    """Replace an attribute of any type."""
    method_table(of)[name] = attribute
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(of))


def interpose(mpi: Any, recorder: Recorder) -> None:
    """Record every call of the catalogue that this version of mpi4py has."""
    _hear_of_errors(mpi, recorder)
    for index, call in enumerate(CALLS):
        if call.type == "":
            original = getattr(mpi, call.name, None)
            if original is not None:
                setattr(mpi, call.name, recording(recorder, index, call, original))
            continue
        of = getattr(mpi, call.type, None)
        attribute = None if of is None else of.__dict__.get(call.name)
        if of is None or attribute is None:
            continue
        if isinstance(attribute, classmethod):
            replace(of, call.name, classmethod(recording(recorder, index, call, attribute.__func__)))
        else:
            replace(of, call.name, recording(recorder, index, call, attribute))


def recording(recorder: Recorder, index: int, call: MpiCall, original: Function) -> Function:
    """Wrap one function of mpi4py so that its calls are recorded.

    Calls made within a call, by a callback for instance, belong to the outer call and are not recorded themselves.
    """
    inside, last, lock = recorder.inside, recorder.last, recorder.lock
    handled, failed = recorder.handled, partial(_describe_failed, call)
    opened = recorder.pickles.opened
    prepare, describe = call.prepare, call.describe
    probe = recorder.probe

    @wraps(original)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        thread = get_ident()
        if thread in inside or not recorder.on:
            return original(*args, **kwargs)
        cpu, begin = thread_time_ns(), perf_counter_ns()
        inside.add(thread)
        try:
            memo = None
            if prepare is not None:
                # A call whose arguments cannot be read is left as it is: if it is wrong, mpi4py will report it.
                try:  # noqa: SIM105 - a context manager costs as much as the rest
                    args, kwargs, memo = prepare(recorder, args, kwargs)
                except Exception:
                    pass
                begin = perf_counter_ns()
            result = original(*args, **kwargs)
            end = perf_counter_ns()
            with lock:
                recorder.open_call(index, thread, cpu, begin, end)
                if recorder.on:
                    try:
                        (failed if thread in handled else describe)(recorder, result, args, kwargs, memo)
                    except Exception as error:
                        recorder.misread(error)
            return result
        except BaseException as error:
            handled[thread] = error.Get_error_class() if isinstance(error, recorder.mpi.Exception) else _NO_ERROR
            _failed(recorder, index, thread, cpu, begin, partial(failed, recorder, None, args, kwargs, memo))
            raise
        finally:
            inside.discard(thread)
            if prepare is not None:
                opened.pop(thread, None)
            if begin >= probe.due:
                recorder.read_speed()
            last.at[0] = thread_time_ns()

    return recorded


def _failed(  # noqa: PLR0917 - what a call consists of
    recorder: Recorder, index: int, thread: int, cpu: int, begin: int, describe: Callable[[], None]
) -> None:
    with recorder.lock:
        recorder.open_call(index, thread, cpu, begin, perf_counter_ns())
        if recorder.on:
            try:
                describe()
            except Exception as error:
                recorder.misread(error)


def _describe_failed(
    call: MpiCall, recorder: Recorder, _result: Any, args: tuple[Any, ...], kwargs: dict[str, Any], memo: Any
) -> None:
    """Describe a call that raised an error, or whose error a handler of the program has handled: not modelled.

    A message that was too long has been received all the same.
    """
    too_long = recorder.handled[get_ident()] in {recorder.mpi.ERR_TRUNCATE, recorder.mpi.ERR_IN_STATUS}
    try:
        if too_long and call.name in _RECEIVING:
            call.describe(recorder, FAILED, args, kwargs, memo)
        else:
            recorder.other()
    finally:
        del recorder.handled[get_ident()]


def _hear_of_errors(mpi: Any, recorder: Recorder) -> None:
    """Let the recorder hear of errors that a handler of the program handles: the call then returns as if all were well.

    Handlers that were made in C are not heard.
    """
    for name in ("Comm", "Win", "File", "Session"):
        of = getattr(mpi, name, None)
        attribute = None if of is None else of.__dict__.get("Create_errhandler")
        if of is not None and attribute is not None:
            replace(of, "Create_errhandler", classmethod(_heard(mpi, recorder, attribute.__func__)))


def _heard(mpi: Any, recorder: Recorder, original: Function) -> Function:
    @wraps(original)
    def create(cls: type, errhandler_fn: Function) -> Any:
        def handle(owner: Any, code: int) -> None:
            thread = get_ident()
            if thread in recorder.inside:
                recorder.handled.setdefault(thread, mpi.Get_error_class(code))
            errhandler_fn(owner, code)

        return original(cls, handle)

    return create
