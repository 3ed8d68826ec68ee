"""Shared memory that the MPI library has mapped: without its names it goes with the last process that uses it."""

from __future__ import annotations

from pathlib import Path

_FOLDER = "/dev/shm/"
#: MPICH's, which all its ranks on a computer have mapped when MPI is initialised, and which stay when ranks are killed.
MPICH = "mpich_shm_"


def remove_names(prefix: str = "") -> None:
    """Remove the names of the shared memory that this process has mapped.

    Args:
        prefix: What the names begin with; others may still be opened by somebody.
    """
    maps = Path("/proc/self/maps").read_text().splitlines()
    for name in {line.split(maxsplit=5)[5] for line in maps if _FOLDER + prefix in line}:
        Path(name).unlink(missing_ok=True)
