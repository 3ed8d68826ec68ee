"""Calls of the compiled library; a call that may take long runs in its own thread, so that Ctrl-C works."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

#: Number of ops and messages below which a call is over before anybody can press a key.
_WORTH_A_THREAD = 200_000
#: Interval at which the calling thread checks for Ctrl-C meanwhile, seconds.
_LOOK = 0.1
#: Flag that the library reads: 0, or 1 to give up.
Stop = npt.NDArray[np.int64]


def new_stop() -> Stop:
    """Return a new flag by which the library can be told to give up."""
    return np.zeros(1, np.int64)


def call(function: Callable[[], int], work: int, stop: Stop, look: Callable[[], None] = lambda: None) -> int:
    """Call the library and return its status.

    Args:
        function: Calls it.
        work: Approximate number of ops and messages that it processes.
        stop: The library looks at it, and gives up when it is 1.
        look: Called now and then meanwhile.
    """
    if work < _WORTH_A_THREAD or threading.current_thread() is not threading.main_thread():
        return function()
    status: list[int] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            status.append(function())
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(_LOOK)
            look()
    except BaseException:
        stop[0] = 1
        thread.join()
        raise
    if failure:
        raise failure[0]
    return status[0]
