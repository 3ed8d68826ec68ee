"""Shared memory that the MPI library has mapped: once its names are removed, it is freed with its last user."""

from __future__ import annotations

from pathlib import Path

_FOLDER = "/dev/shm/"
#: Prefix of MPICH's names. All ranks on a computer have mapped them after MPI_Init, and the names outlive killed ranks.
MPICH = "mpich_shm_"


def remove_names(prefix: str = "") -> None:
    """Remove the names of the shared memory that this process has mapped.

    Args:
        prefix: Only names with this prefix are removed; another process may still open others.
    """
    maps = Path("/proc/self/maps").read_text().splitlines()
    for name in {line.split(maxsplit=5)[5] for line in maps if _FOLDER + prefix in line}:
        Path(name).unlink(missing_ok=True)
