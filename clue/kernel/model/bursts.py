"""Other burst times for the same program: its calls stay the same, but the computation between them changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from clue.kernel.model.program import Program, cpu_by_region


def with_bursts(program: Program, bursts: npt.NDArray[np.int64]) -> Program:
    """Return a program with other burst times.

    The speeds of the recording host stay as they are: they relate processors, and one longer burst does not mean that
    the host is slower.

    Args:
        program: What it does.
        bursts: CPU nanoseconds before each op, shape (ops,); 0 exactly where the program's are.
    """
    columns = replace(program.columns, cpu=bursts)
    cpu = cpu_by_region(columns, program.offsets, len(program.regions))
    return replace(program, columns=columns, cpu_by_region=cpu, like=program.like or program)
