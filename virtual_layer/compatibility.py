"""Faults in a program's environment: incompatible versions, and an mpiexec that belongs to another MPI."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from virtual_layer.telling import tell

#: Oldest version of mpi4py that has everything the layer needs.
_MPI4PY = (4, 1)
_SRUN = "SLURM_STEP_NUM_TASKS"
#: Variables with the number of processes that a launcher has started, and with the number of this one among them:
#: Open MPI, MPICH and Intel MPI, Slurm.
_STARTED = {"OMPI_COMM_WORLD_SIZE": "OMPI_COMM_WORLD_RANK", "PMI_SIZE": "PMI_RANK", _SRUN: "SLURM_PROCID"}
_BUILT_FOR = (
    (
        re.compile(r"numpy\.\w+ size changed|numpy\.core\.multiarray failed to import|compiled using NumPy 1\.x"),
        "a module of the program was built for a different numpy than numpy {numpy}, which was perhaps installed "
        "with clue: "
        "pip install 'numpy<2' beside clue if it was built for numpy 1, as those of Debian 12 are",
    ),
    (
        re.compile(r"mpi4py\.MPI\.\w+ size changed|mpi4py\.MPI does not export"),
        "a module of the program was built for a different mpi4py than mpi4py {mpi4py}: clue needs 4.1 or newer, "
        "so build "
        "that module for it (pip install --no-binary :all: MODULE)",
    ),
)


def fault_of_mpi4py() -> str:
    """Describe what is wrong with the version of mpi4py, or return ``""``."""
    package = sys.modules["mpi4py"]
    if _numbers(package.__version__) >= _MPI4PY:
        return ""
    return (
        f"mpi4py must be 4.1 or newer, got {package.__version__} in {Path(str(package.__file__)).parent}: "
        'pip install "mpi4py>=4.1", in a virtual environment (python3 -m venv) if the system keeps its own'
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)[:2]))


def fault_of_launcher(mpi: Any, environment: Mapping[str, str]) -> str:
    """Say that MPI sees none of the other processes that were started with this one, or return ``""``."""
    if mpi.COMM_WORLD.Get_size() > 1:
        return ""
    said = {name: int(environment[name]) for name in _STARTED if environment.get(name, "").isdecimal()}
    # A launcher may run inside another one's job: then the inner one counts, and it may have started one process.
    if min(said.values(), default=1) == 1:
        return ""
    vendor, version = mpi.get_vendor()
    library = f"{vendor} {'.'.join(map(str, version))}"
    name, number = next(iter(said.items()))
    if said.get(_SRUN) == number and "OMPI_COMM_WORLD_SIZE" not in said:
        return (
            f"MPI must see all {number} processes that srun has started, got each one alone: mpi4py uses "
            f"{library}, to which srun speaks a different protocol: use srun --mpi=pmi2 for MPICH and Intel MPI, srun "
            "--mpi=pmix for Open MPI (srun --mpi=list shows what the site has)"
        )
    return (
        f"MPI must see all {number} processes that were started, got each one alone: mpi4py uses {library}, "
        f"but {name}={number} was set by the launcher of another MPI: use the "
        "mpiexec of mpi4py's MPI (clue record --mpiexec), or install mpi4py for the launcher's"
    )


def is_first(environment: Mapping[str, str]) -> bool:
    """Tell whether this process is the first one that a launcher has started, or none says otherwise."""
    name = next((each for started, each in _STARTED.items() if started in environment), "")
    return environment.get(name, "0") == "0"


def hint(error: BaseException) -> str:
    """Return advice on an exception that comes from incompatible versions, or ``""``."""
    for pattern, text in _BUILT_FOR:
        if pattern.search(str(error)):
            return text.format(**{name: _version(name) for name in ("numpy", "mpi4py")})
    before = error.__cause__ or error.__context__
    return "" if before is None else hint(before)


def _version(package: str) -> str:
    return str(getattr(sys.modules.get(package), "__version__", "?"))


def add_hint(error: BaseException) -> None:
    """Add its hint to the traceback of an exception, where this Python can; otherwise print the hint."""
    text = hint(error)
    if not text:
        return
    if hasattr(error, "add_note"):
        error.add_note(f"hint: {text}")
    else:
        tell(f"hint: {text}")
