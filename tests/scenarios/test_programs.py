"""The shipped programs compute correct results, on every shape of process grid and at every size."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from tests.in_turn import in_turn

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "scenarios" / "programs"
ON_FEW_RANKS = Path(__file__).with_name("on_few_ranks.py")
BESIDE = Path(sys.executable).with_name("mpiexec")
MPIEXEC = str(BESIDE) if BESIDE.exists() else shutil.which("mpiexec")
#: There are more ranks than cores: with MPICH a waiting rank must yield, and Open MPI must allow it.
SETTINGS = {
    "OMP_NUM_THREADS": "1",
    "MPIR_CVAR_POLLS_BEFORE_YIELD": "1",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
KERNELS = ["cholesky", "tridiagonalisation"]

pytestmark = pytest.mark.skipif(MPIEXEC is None, reason="needs mpiexec")


def start(ranks: int, *command: str) -> subprocess.CompletedProcess[str]:
    """Run Python with this command line on a number of ranks, and one rank without mpiexec."""
    path = os.pathsep.join(filter(None, [str(ROOT), str(PROGRAMS), os.environ.get("PYTHONPATH")]))
    launcher = [str(MPIEXEC), "-n", str(ranks)] if ranks > 1 else []
    return subprocess.run(
        [*launcher, sys.executable, *command],
        env={**os.environ, **SETTINGS, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def lines(output: str) -> list[dict[str, str]]:
    """Return the ``name=value`` pairs of each line that a program prints."""
    return [dict(re.findall(r"([\w/]+)=(\[.*?\]|\S+)", line)) for line in output.splitlines()]


#: The cases in which kernels are checked: process grid, size of the matrix, block.
CHECKED = [
    ("1x1", 300, 64),
    ("1x1", 1, 64),
    ("1x1", 2, 1),
    ("1x2", 150, 32),
    ("2x1", 97, 5),
    ("2x2", 300, 64),
    ("2x2", 7, 2),
    ("1x3", 128, 32),
    ("2x3", 131, 16),
    ("1x5", 100, 64),
    ("1x7", 61, 8),
]


def checking(kernel: str, grid: str, n: int, block: int) -> str:
    """Return the command line that checks a kernel."""
    return f"{kernel} --n {n} --block {block} --grid {grid} --check"


def ranks_of(grid: str) -> int:
    """Return the number of processes of a grid."""
    rows, columns = map(int, grid.split("x"))
    return rows * columns


#: By number of ranks: the programs to run, with their arguments.
RUNS: dict[int, list[str]] = {
    1: ["jacobi --n 31 --iterations 105"],
    2: ["tridiagonalisation --n 100 --block 16 --columns 50", "jacobi --n 12 --iterations 5000 --tolerance 1e-12"],
    3: [
        "cholesky --n 20 --block 4", "pingpong --repetitions 5 --bytes 1000", "jacobi --n 31 --iterations 105",
        "master_worker --n 50 --rows 7 --check",
    ],
    4: ["master_worker --n 20 --rows 10 --check"],
    6: ["cholesky --n 20 --block 4"],
}  # fmt: skip
for _kernel, (_grid, _n, _block) in product(KERNELS, CHECKED):
    RUNS.setdefault(ranks_of(_grid), []).append(checking(_kernel, _grid, _n, _block))

#: Takes a number of ranks and one of its runs, and returns the pairs that the run prints.
Run = Callable[[int, str], dict[str, str]]


def words_of(command: str) -> list[str]:
    """Return the path of a program, and its arguments."""
    program, *arguments = command.split()
    return [str(PROGRAMS / f"{program}.py"), *arguments]


@pytest.fixture
def run(shared: Path) -> Run:
    """Return a function that returns the result of a run; all runs on several ranks share one start."""
    several = [(ranks, command) for ranks in RUNS if ranks > 1 for command in RUNS[ranks]]

    def found(ranks: int, wanted: str) -> dict[str, str]:
        if ranks == 1:
            alone = [(Path(program), words) for program, *words in map(words_of, RUNS[1])]
            done = in_turn(shared / "scenario programs on one rank", [], alone, SETTINGS)[RUNS[1].index(wanted)]
        else:
            runs = [(ON_FEW_RANKS, [str(few), *words_of(command)]) for few, command in several]
            launcher = [str(MPIEXEC), "-n", str(max(RUNS))]
            done = in_turn(shared / "scenario programs", launcher, runs, SETTINGS)[several.index((ranks, wanted))]
        assert done.returncode == 0, done.stderr
        (line,) = lines(done.stdout)
        return line

    return found


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("grid", "n", "block"), CHECKED)
def test_kernel_agrees_with_scipy(kernel: str, grid: str, n: int, block: int, run: Run) -> None:
    """Both kernels agree with scipy to rounding, also if n is not a multiple of the block or ranks are idle."""
    line = run(ranks_of(grid), checking(kernel, grid, n, block))
    assert line["n"] == str(n)
    assert line["grid"] == grid
    assert float(line["residual"]) < 1e-13
    assert float(line["seconds"]) >= 0


@pytest.mark.parametrize(("ranks", "grid"), [(3, "1x3"), (6, "2x3")])
def test_grid_is_as_square_as_it_can_be(ranks: int, grid: str, run: Run) -> None:
    """Without --grid the ranks form the most square grid with P ≤ Q."""
    assert run(ranks, "cholesky --n 20 --block 4")["grid"] == grid


def test_pieces_of_the_matrix_fit_together() -> None:
    """On any grid the pieces form the same matrix as on one rank, and ``transpose`` finds each entry."""
    script = """
import numpy as np
from mpi4py import MPI
from block_cyclic import BlockCyclic, ProcessGrid
numbers = np.random.default_rng(5).uniform(-0.5, 0.5, 2 * 37)
index = np.arange(37)
for rows, columns in (2, 3), (3, 2), (1, 6):
    layout = BlockCyclic(ProcessGrid(MPI.COMM_WORLD, rows, columns), 37, 4)
    whole = layout.gather(layout.random_symmetric(5, diagonal=37))
    if whole is not None:
        assert np.array_equal(whole, numbers[index[:, None] + index] + 37 * np.eye(37))
    for first in 0, 1, 17, 36, 37:
        mine = layout.rows[layout.rows >= first]
        found = layout.transpose(np.stack([mine, -mine], axis=1).astype(float), first)
        wanted = layout.columns[layout.columns >= first]
        assert np.array_equal(found, np.stack([wanted, -wanted], axis=1))
print("good")
"""
    done = start(6, "-c", script)
    assert done.stdout.count("good") == 6, done.stderr


def test_only_the_first_columns(run: Run) -> None:
    """``--columns`` stops early and counts only those operations; a partial result cannot be checked."""
    line = run(2, "tridiagonalisation --n 100 --block 16 --columns 50")
    speed = 4 / 3 * (100**3 - 50**3) / float(line["seconds"]) / 1e6
    assert float(line["Mflop/s"]) == pytest.approx(speed, rel=0.05, abs=0.5)  # the program prints a whole number
    refused = start(1, str(PROGRAMS / "tridiagonalisation.py"), "--n", "9", "--columns", "5", "--check")
    assert refused.returncode == 2
    assert "--columns must be 1 to 9, and 9 to check, got 5" in refused.stderr


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--grid", "2x2"], "--grid must have one process per rank (1), got 2x2"),
        (["--grid", "four"], "--grid must be PxQ, for instance 2x3, got four"),
        (["--n", "0"], "--n and --block must be at least 1, got 0 and 64"),
    ],
)
def test_arguments_without_sense(args: list[str], message: str) -> None:
    """Invalid arguments end a kernel with one line of message."""
    done = start(1, str(PROGRAMS / "cholesky.py"), *args)
    assert done.returncode == 1
    assert done.stderr == message + "\n"


def test_pingpong(run: Run) -> None:
    """The ping-pong runs on two ranks while a third is idle, and one rank is refused."""
    line = run(3, "pingpong --repetitions 5 --bytes 1000")
    assert (line["bytes"], line["repetitions"]) == ("1000", "5")
    assert "at least 2 ranks" in start(1, str(PROGRAMS / "pingpong.py")).stderr


def test_jacobi_is_the_same_on_any_number_of_ranks(run: Run) -> None:
    """Three ranks with strips of unequal height reach the temperatures of one rank."""
    alone = run(1, "jacobi --n 31 --iterations 105")
    together = run(3, "jacobi --n 31 --iterations 105")
    assert together["iterations"] == alone["iterations"] == "105"
    assert together["change"] == alone["change"]
    assert float(together["mean"]) == pytest.approx(float(alone["mean"]), rel=1e-10)


def test_jacobi_converges_to_the_mean_of_the_edges(run: Run) -> None:
    """By symmetry the four plates heated at one edge each add up to 1, so the mean temperature is a quarter."""
    line = run(2, "jacobi --n 12 --iterations 5000 --tolerance 1e-12")
    assert int(line["iterations"]) < 5000
    assert float(line["mean"]) == pytest.approx(0.25, abs=1e-9)


@pytest.mark.parametrize(("ranks", "n", "rows", "blocks"), [(3, 50, 7, 8), (4, 20, 10, 2)])
def test_master_worker(ranks: int, n: int, rows: int, blocks: int, run: Run) -> None:
    """Each block is handed out once, also with a short last block or as many workers as blocks."""
    line = run(ranks, f"master_worker --n {n} --rows {rows} --check")
    assert float(line["residual"]) < 1e-12
    assert sum(map(int, line["blocks"].strip("[]").split(","))) == blocks
