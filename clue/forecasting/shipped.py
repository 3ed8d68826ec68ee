"""Shipped routines: BLAS and LAPACK through scipy, in double precision, column-major.

Each is a generator: the code before its ``yield`` makes the operands and is not timed. Operands are overwritten where
the routine can do so, so that it needs no memory besides them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module, metadata
from typing import Any

import numpy as np

#: Terms of the times of each routine, and its sizes, by name.
TERMS = {
    "dgeadd": ("1", "m", "n", "m n"),
    "dgemm": ("1", "m n", "m k", "n k", "m n k"),
    "dtrsm": ("1", "m n", "m^2", "m^2 n"),
    "dsyrk": ("1", "n k", "n^2", "n^2 k"),
    "dgetrf": ("1", "n", "n^2", "n^3"),
    "dpotrf": ("1", "n", "n^2", "n^3"),
    "dgesv": ("1", "n k", "n^2", "n^2 k", "n^3"),
}

#: Number of floating-point operations of each routine as a function of its sizes; lower-order terms are left out.
OPERATIONS: Mapping[str, Callable[..., float]] = {
    "dgeadd": lambda m, n: float(m * n),
    "dgemm": lambda m, n, k: 2.0 * m * n * k,
    "dtrsm": lambda m, n: float(m * m * n),
    "dsyrk": lambda n, k: float(n * n * k),
    "dgetrf": lambda n: 2.0 / 3.0 * n**3,
    "dpotrf": lambda n: n**3 / 3.0,
    "dgesv": lambda n, k: 2.0 / 3.0 * n**3 + 2.0 * n * n * k,
}


def dgeadd(m: int, n: int) -> Iterator[None]:
    """Add an m × n matrix to another."""
    a, b = _ones(m, n), _ones(m, n)
    yield
    np.add(a, b, out=b)


def dgemm(m: int, n: int, k: int) -> Iterator[None]:
    """Add the product of an m × k and a k × n matrix to an m × n one."""
    blas, a, b, c = _blas(), _ones(m, k), _ones(k, n), _ones(m, n)
    yield
    blas.dgemm(1.0, a, b, 1.0, c, overwrite_c=1)


def dtrsm(m: int, n: int) -> Iterator[None]:
    """Solve A X = B with an upper triangular m × m matrix A and an m × n matrix B."""
    blas, a, b = _blas(), _dominant(m), _ones(m, n)
    yield
    blas.dtrsm(1.0, a, b, overwrite_b=1)


def dsyrk(n: int, k: int) -> Iterator[None]:
    """Add the product of an n × k matrix and its transpose to an n × n one."""
    blas, a, c = _blas(), _ones(n, k), _ones(n, n)
    yield
    blas.dsyrk(1.0, a, 1.0, c, overwrite_c=1)


def dgetrf(n: int) -> Iterator[None]:
    """Factor an n × n matrix into triangles, with pivots."""
    lapack, a = _lapack(), _dominant(n)
    yield
    lapack.dgetrf(a, overwrite_a=1)


def dpotrf(n: int) -> Iterator[None]:
    """Factor a positive definite n × n matrix (Cholesky)."""
    lapack, a = _lapack(), _dominant(n)
    yield
    lapack.dpotrf(a, overwrite_a=1)


def dgesv(n: int, k: int) -> Iterator[None]:
    """Solve n equations with k right-hand sides."""
    lapack, a, b = _lapack(), _dominant(n), _ones(n, k)
    yield
    lapack.dgesv(a, b, overwrite_a=1, overwrite_b=1)


def version() -> str:
    """Return the versions of scipy and of the BLAS that it was built with."""
    import scipy  # noqa: PLC0415 - an optional extra

    blas = scipy.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return f"scipy {scipy.__version__}, {blas.get('name', 'BLAS')} {blas.get('version', '')}".strip()


def scipy_version() -> str | None:
    """Return the version of scipy that is installed; ``None`` if none is."""
    try:
        return metadata.version("scipy")
    except metadata.PackageNotFoundError:
        return None


def _blas() -> Any:
    return import_module("scipy.linalg.blas")


def _lapack() -> Any:
    return import_module("scipy.linalg.lapack")


def _ones(rows: int, columns: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.ones((rows, columns), order="F")


def _dominant(n: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return a diagonally dominant matrix, for which every factorization succeeds."""
    matrix = _ones(n, n)
    matrix.ravel(order="K")[:: n + 1] = 2.0 * n
    return matrix
