"""What is handed to the engine: the structures of layout.hpp, field by field."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

_N, _P = ctypes.c_int64, ctypes.c_void_p


def _fields(numbers: str, arrays: str) -> list[tuple[str, Any]]:
    return [(name, _N) for name in numbers.split()] + [(name, _P) for name in arrays.split()]


class Handed(ctypes.Structure):
    """A structure of numbers and of arrays that live as long as it does."""

    def __init__(self, **values: int | npt.NDArray[Any] | None) -> None:
        super().__init__()
        self.kept: list[npt.NDArray[Any]] = []
        for name, value in values.items():
            self.give(name, value)

    def give(self, name: str, value: int | npt.NDArray[Any] | None) -> None:
        """Set a number, or hand over a contiguous array."""
        if isinstance(value, np.ndarray):
            assert value.flags.c_contiguous, name
            self.kept.append(value)
            value = value.ctypes.data
        setattr(self, name, value)


class ProgramLayout(Handed):
    """``clue::Program``."""

    _fields_ = [
        *_fields(
            "ranks ops regions worlds contexts instances probes",
            "offsets extra_offsets op cpu region nbytes peer tag comm request extra count flags extras context "
            "group_offsets group instance_offsets position_offsets position_comm position world rows "
            "shapes waits fork_offsets sizes",
        ),
        ("distinct_sizes", _N),
        ("slots", _N),
        ("left_over", _N),
    ]


class CollectivesLayout(Handed):
    """``clue::Collectives``."""

    _fields_ = _fields(
        "",
        "instance_template position_base members slots first_round first_send first_receive reduced "
        "send_peer send_size send_slot receive_peer receive_slot",
    )


class MachineLayout(Handed):
    """``clue::Machine``.

    Attributes:
        work: About so many ops and messages of collectives a replay on it goes through.
    """

    work: int = 0
    _fields_ = [
        *_fields(
            "instances nodes types epochs sizes network most_ranks factors links pairs any_shared",
            "node type node_type shared share time_slice bytes changes send transmission occupation send_port "
            "receive_port held receive answer envelope eager_limit packing reduction spawn initialisation poll "
            "keeps_processor factor rates contention capacities pair first_link route",
        ),
        ("collectives", CollectivesLayout),
    ]


class OutcomeLayout(Handed):
    """``clue::Outcome``."""

    _fields_ = [
        *_fields("", "finish compute communicate by_region blocked open messages volume seen_rows seen"),
        ("seen_count", _N),
        ("stop", _P),
        ("most_simultaneous", _N),
    ]


#: What functions of the library return where it is not 0.
STATUS_NO_MEMORY, STATUS_DEADLOCK, STATUS_TOO_MANY, STATUS_NO_SUCH_MODEL = 1, 3, 4, 5
#: In the order in which ``clue_layout`` gives their sizes.
LAYOUTS = (ProgramLayout, CollectivesLayout, MachineLayout, OutcomeLayout)
