"""The job script of the page on clusters runs here, with an srun that starts its tasks on this computer."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from clue.children import finding_clue, mpi_of, open_mpi_options
from clue.recording import find_mpiexec
from clue.trace import Trace
from tests.docs.pages import ROOT, SITE, blocks

TASKS = 2


def write_command(path: Path, text: str) -> None:
    """Write a shell script that can be started by its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_the_job_script_records(tmp_path: Path) -> None:
    """The page's script records a smaller plate; Slurm itself is not needed."""
    job = next(block for block in blocks(SITE / "how-to" / "cluster.md") if block.title == "job.sh")
    assert "--n 4000" in job.text
    (tmp_path / "job.sh").write_text(job.text.replace("--n 4000", "--n 20 --iterations 10") + "\n")
    shutil.copy(ROOT / "scenarios" / "programs" / "jacobi.py", tmp_path)
    mpiexec = find_mpiexec()
    options = open_mpi_options() if mpi_of(mpiexec) == "openmpi" else []
    write_command(tmp_path / "bin" / "srun", f'exec "{mpiexec}" {" ".join(options)} -n {TASKS} "$@"')
    write_command(tmp_path / "clue" / "bin" / "activate", f'PATH="{Path(sys.executable).parent}:$PATH"')
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = finding_clue(os.environ | {"HOME": str(tmp_path), "PATH": path})
    done = subprocess.run(
        ["bash", "-e", "job.sh"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "jacobi n=20 iterations=10" in done.stdout
    assert Trace.open(tmp_path / "jacobi.clue").ranks == TASKS
