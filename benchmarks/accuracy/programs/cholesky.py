"""Block-cyclic Cholesky factorisation: the kernel of the shipped scenario, in a measured section."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI
from section import measure

_SHIPPED = Path(__file__).parents[3] / "scenarios" / "programs"
sys.path.append(str(_SHIPPED))
from block_cyclic import distribute  # noqa: E402

BLOCK = 48


def _factor() -> Any:
    """Load the shipped program, which has the same name as this file."""
    spec = importlib.util.spec_from_file_location("shipped_cholesky", _SHIPPED / "cholesky.py")
    assert spec is not None and spec.loader is not None
    shipped = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(shipped)
    return shipped.factor


if __name__ == "__main__":
    size = int(sys.argv[1])
    layout = distribute(MPI.COMM_WORLD, argparse.Namespace(n=size, block=BLOCK, grid=None))
    matrix = layout.random_symmetric(0, diagonal=size)
    factor = _factor()

    def work() -> float:
        """Factor the matrix. The elements of L are finite only if the matrix is positive definite."""
        local = matrix.copy()
        factor(layout, local)
        return 0.0 if np.isfinite(local).all() else 1.0

    measure(MPI.COMM_WORLD, __file__, size, work)
