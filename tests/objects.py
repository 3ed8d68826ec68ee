"""Shared objects that call MPI from C, built for the tests with the installed MPI library's compiler."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

#: A library whose ``total`` sums over all ranks.
TOTAL = """
#include <mpi.h>
int total(int one) { int all = 0; MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); return all; }
"""
#: The same as a Python module. It initialises MPI if necessary, and in that case finalises it.
MODULE = """
#include <Python.h>
#include <mpi.h>
static PyObject *total(PyObject *self, PyObject *args)
{
    int one = 1, all = 0;
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return PyLong_FromLong(all);
}
static void end(void) { MPI_Finalize(); }
static PyMethodDef methods[] = {{"total", total, METH_NOARGS, ""}, {0, 0, 0, 0}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "below", "", -1, methods};
PyMODINIT_FUNC PyInit_below(void)
{
    int begun;
    MPI_Initialized(&begun);
    if (!begun && !MPI_Init(0, 0))
        Py_AtExit(end);
    return PyModule_Create(&definition);
}
"""


@cache
def _compiler() -> str | None:
    """Return the mpicc beside this Python or on the search path, or None if it cannot compile."""
    mpicc = shutil.which("mpicc", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    nothing = [mpicc or "", "-x", "c", "-c", os.devnull, "-o", os.devnull]
    return mpicc if mpicc and subprocess.run(nothing, capture_output=True, check=False).returncode == 0 else None


@cache
def _built(source: str, *options: str) -> bytes | None:
    """Return the content of a shared object, or None without a working mpicc."""
    mpicc = _compiler()
    if mpicc is None:
        return None
    with TemporaryDirectory() as folder:
        text, built = Path(folder) / "object.c", Path(folder) / "object.so"
        text.write_text(source)
        subprocess.run([mpicc, "-shared", "-fPIC", "-o", str(built), str(text), *options], check=True)
        return built.read_bytes()


def build(folder: Path, name: str, source: str, *options: str) -> Path:
    """Build a shared object from C source, once for each process; skip the test without a working mpicc."""
    content = _built(source, *options)
    if content is None:
        pytest.skip("an mpicc that can compile is needed to build an object that calls MPI")
    (folder / name).write_bytes(content)
    return folder / name


def build_library(folder: Path) -> Path:
    """Build the library :data:`TOTAL` and return its path."""
    return build(folder, "libbelow.so", TOTAL)


def build_module(folder: Path) -> Path:
    """Build the Python module ``below``, which a program in the same folder can import."""
    include = Path(sysconfig.get_path("include"))
    if not (include / "Python.h").exists():
        pytest.skip("Python's headers are needed to build a module")
    return build(folder, f"below{sysconfig.get_config_var('EXT_SUFFIX')}", MODULE, f"-I{include}")
