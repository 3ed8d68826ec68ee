"""Incompatible versions, and an mpiexec of another MPI, cause errors that say what to do."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from mpi4py import MPI

from clue.errors import RecordError
from clue.recording import record
from virtual_layer.compatibility import fault_of_launcher, hint, is_first

Write = Callable[..., Path]


def _fails(program: Path, tmp_path: Path, mpiexec: list[str] | None = None, ranks: int = 2) -> str:
    with pytest.raises(RecordError) as failure:
        record(program, [], ranks, tmp_path / "x.clue", timeout=60, mpiexec=mpiexec)
    return str(failure.value)


def test_an_old_mpi4py_is_refused(program: Write, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """An mpi4py that is too old is refused before anything is recorded; the error gives its path and the remedy."""
    old = program("", preamble='import mpi4py\nmpi4py.__version__ = "3.1.4"\nfrom mpi4py import MPI\n')
    assert "nothing was recorded" in _fails(old, tmp_path)
    said = capfd.readouterr().err
    assert "virtual_layer: mpi4py must be 4.1 or newer, got 3.1.4 in " in said
    assert "pip install" in said
    assert "Traceback" not in said


def _launcher(folder: Path, script: str) -> list[str]:
    """Write a fake mpiexec, which is called with -n 2 and a command."""
    path = folder / "mpiexec"
    path.write_text(f"#!/bin/sh\n[ $1 = --version ] && exit\nshift 2\n{script}\n")
    path.chmod(0o755)
    return [str(path)]


def test_ranks_that_do_not_see_each_other_are_refused(
    program: Write, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Another MPI's mpiexec sets its own variable, and mpi4py's MPI sees one rank only: nothing is recorded."""
    other = _launcher(tmp_path, 'OMPI_COMM_WORLD_SIZE=2 "$@" & OMPI_COMM_WORLD_SIZE=2 exec "$@"')
    assert "nothing was recorded" in _fails(program("print('started')"), tmp_path, other)
    said = capfd.readouterr()
    assert "MPI must see all 2 processes that were started, got each one alone: mpi4py uses " in said.err
    assert "OMPI_COMM_WORLD_SIZE=2 was set by the launcher of another MPI" in said.err
    assert "started" not in said.out + said.err.replace("were started", "")
    assert not (tmp_path / "x.clue").exists()


def test_one_of_all_says_that_they_do_not_see_each_other(
    program: Write, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Of many processes that srun has started, each one alone, the first one says it, once; all end alike."""
    srun = _launcher(
        tmp_path,
        "export SLURM_STEP_NUM_TASKS=3\nfor SLURM_PROCID in 0 1 2; do\n"
        f'export SLURM_PROCID\n"$@"\necho $? > {tmp_path}/$SLURM_PROCID\ndone\nexit 72',
    )
    assert "nothing was recorded" in _fails(program("print('started')"), tmp_path, srun)
    assert capfd.readouterr().err.count("MPI must see all 3 processes that srun has started") == 1
    assert [(tmp_path / str(each)).read_text() for each in range(3)] == ["72\n"] * 3


@pytest.mark.parametrize(
    ("environment", "first"),
    [
        ({}, True),
        ({"SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": "0"}, True),
        ({"SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": "1"}, False),
        ({"SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": "0", "PMI_SIZE": "2", "PMI_RANK": "1"}, False),
        ({"OMPI_COMM_WORLD_SIZE": "2"}, True),
    ],
)
def test_the_first_process_of_a_launcher(environment: dict[str, str], first: bool) -> None:
    """Each launcher numbers its processes by a variable of its own; one without a number counts as the first."""
    assert is_first(environment) == first


def test_fewer_ranks_than_asked_for_are_no_recording(program: Write, tmp_path: Path) -> None:
    """Fewer ranks than requested are an error, also where no variable states how many were started."""
    message = _fails(program("comm.Barrier()"), tmp_path, _launcher(tmp_path, 'exec "$@"'))
    assert "MPI must see all 2 processes" in message
    assert "got 1 together: use the mpiexec of the MPI that mpi4py uses (--mpiexec)" in message


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"PMI_SIZE": "1"},
        {"PMI_SIZE": ""},
        {"SLURM_STEP_NUM_TASKS": "many"},
        {"SLURM_NTASKS": "8"},
        {"SLURM_STEP_NUM_TASKS": "8", "PMI_SIZE": "1"},
    ],
)
def test_one_rank_alone_may_be_meant(environment: dict[str, str]) -> None:
    """A single rank is accepted where no launcher, or the innermost launcher, started one process."""
    assert MPI.COMM_WORLD.size == 1
    assert fault_of_launcher(MPI, environment) == ""


@pytest.mark.parametrize("around", [{}, {"SLURM_STEP_NUM_TASKS": "2"}])
@pytest.mark.parametrize("name", ["PMI_SIZE", "OMPI_COMM_WORLD_SIZE"])
def test_several_that_are_alone_were_not_meant(name: str, around: dict[str, str]) -> None:
    """A rank that is alone although another MPI's launcher started four is a fault, also within a step of srun."""
    assert f"{name}=4 was set by the launcher of another MPI" in fault_of_launcher(MPI, {name: "4", **around})


@pytest.mark.parametrize("further", [{}, {"PMI_SIZE": "4"}])
def test_srun_may_speak_another_protocol(further: dict[str, str]) -> None:
    """Where srun started ranks that see only themselves, the fault names the option of srun that selects PMI-2."""
    fault = fault_of_launcher(MPI, {"SLURM_STEP_NUM_TASKS": "4", **further})
    assert "MPI must see all 4 processes that srun has started, got each one alone" in fault
    assert "--mpi=pmi2 for MPICH" in fault


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("numpy.dtype size changed, may indicate binary incompatibility. Expected 96 from C header", "numpy<2"),
        ("numpy.core.multiarray failed to import", "numpy<2"),
        ("mpi4py.MPI.Comm size changed, may indicate binary incompatibility", "built for a different mpi4py"),
    ],
)
def test_modules_built_for_other_versions_get_a_hint(
    program: Write, tmp_path: Path, capfd: pytest.CaptureFixture[str], message: str, said: str
) -> None:
    """Import errors of modules built for other versions get a hint, also when the program catches and replaces them."""
    assert said in hint(ValueError(message))
    assert "?" not in hint(ValueError(message))
    caught = f"try:\n    raise ValueError({message!r})\nexcept ValueError:\n    raise ImportError('no such part')\n"
    _fails(program(caught), tmp_path, ranks=1)
    assert said in capfd.readouterr().err


def test_other_errors_get_none() -> None:
    """Other errors get no hint."""
    assert hint(ValueError("size changed")) == ""
    assert "numpy" in sys.modules
