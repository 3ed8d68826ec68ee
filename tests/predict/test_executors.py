"""The executor does not change results, and an interrupted ranking keeps what it found."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from clue.cli import main
from clue.errors import UsageError
from clue.predict.executors import Pool
from clue.predict.replaying import ReplayPredictor
from clue.purchase import Criterion, rank_options
from tests.purchase.test_search import bounds_of_quality, many, trace

SCENARIO = """\
workloads: {job: {program: {trace: "job-{ranks}.clue"}, ranks: [1, 2]}}
options: {A: {machine: two-hosts}, B: {machine: wien97-cheap}, C: {machine: wien97-network}}
"""


#: A Dask cluster on this computer with two workers, which runs until its standard input is closed.
CLUSTER = """\
import sys
import tempfile
import time
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0") as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """Write a comparison and its traces, and return the document that a single process prints."""
    for ranks in (1, 2):
        trace(many(Criterion.POINTS).workloads[0].components[0].application, ranks).save(tmp_path / f"job-{ranks}.clue")
    (tmp_path / "s.yaml").write_text(SCENARIO)
    with monkeypatch.context() as patch:
        patch.chdir(tmp_path)
        assert main(["simulate", "s.yaml", "--json"]) == 0
    return capsys.readouterr().out


def simulated(folder: Path, *arguments: str, start: Sequence[str] = (sys.executable,)) -> str:
    """Return the document that a command prints for the comparison."""
    command = [*start, "-m", "clue", "simulate", "s.yaml", "--json", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_mpi_processes_give_the_same_document(tmp_path: Path, alone: str) -> None:
    """With two MPI processes, started as users do, the document is the same."""
    mpiexec = Path(sys.executable).parent / "mpiexec"
    if not mpiexec.exists():
        pytest.skip("no mpiexec beside Python")
    start = [str(mpiexec), "-n", "2", sys.executable, "-m", "mpi4py.futures"]
    assert simulated(tmp_path, "--executor", "mpi", start=start) == alone


@pytest.fixture
def cluster() -> Iterator[str]:
    """Start a Dask cluster, and yield host and port of its scheduler."""
    if find_spec("distributed") is None:
        pytest.skip("Dask is not installed (clue[dask])")
    command = [sys.executable, "-c", CLUSTER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        yield running.stdout.readline().strip().removeprefix("tcp://")
        running.communicate("")


def test_a_dask_cluster_gives_the_same_document(tmp_path: Path, alone: str, cluster: str) -> None:
    """On two workers of an existing Dask cluster, the document is the same."""
    assert simulated(tmp_path, "--executor", f"dask://{cluster}") == alone


def test_mpi_says_how_to_start_it() -> None:
    """The MPI executor in a program that was started alone is refused with the right command."""
    with pytest.raises(UsageError, match=r"mpiexec -n 4 python -m mpi4py.futures -m clue simulate"):
        ReplayPredictor(trace, executor="mpi")


@pytest.mark.parametrize("executor", ["threads", "dask://"])
def test_an_executor_must_be_known_and_named_in_full(executor: str) -> None:
    """An unknown or incomplete executor is refused before any simulation."""
    with pytest.raises(UsageError, match=r"^executor "):
        ReplayPredictor(trace, executor=executor)


def interrupt_after(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise KeyboardInterrupt after a number of simulations."""
    perform = Pool.perform
    done = 0

    def interrupted(self: Pool[Any, Any], tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        nonlocal done
        for each in perform(self, tasks):
            yield each
            done += 1
            if done == count:
                raise KeyboardInterrupt

    monkeypatch.setattr(Pool, "perform", interrupted)


def test_an_interrupted_ranking_keeps_what_is_certain(monkeypatch: pytest.MonkeyPatch) -> None:
    """After 6 simulations of 300 options, the first three are certain, as no other can overtake them."""
    monkeypatch.setattr("clue.predict.replaying.contention_free", bounds_of_quality([0.999]))
    interrupt_after(6, monkeypatch)
    ranking = rank_options(many(Criterion.MAKESPAN), ReplayPredictor(trace), top=20)
    listed = [entry.option for entry in ranking.entries if entry.position is not None]
    assert ranking.interrupted
    assert (listed, ranking.certain) == (["0", "1", "2"], 3)
    assert all(entry.bound is not None for entry in ranking.entries[3:])


@pytest.mark.long
def test_points_are_not_certain_before_the_best_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """With bounds that say nothing, no position is certain after one simulation."""
    monkeypatch.setattr("clue.predict.replaying.contention_free", bounds_of_quality([0.0]))
    interrupt_after(1, monkeypatch)
    ranking = rank_options(many(Criterion.POINTS), ReplayPredictor(trace), top=20)
    assert ranking.interrupted
    assert ranking.certain == 0


UNGUARDED = """
import functools, time
from clue.predict.executors import Pool
def slow(data, task):
    time.sleep(0.3)
with Pool(functools.partial(slow, bytes(1 << 20)), workers=2) as pool:
    list(pool.perform(range(20)))
"""


def test_a_script_that_its_workers_would_run_again_is_told_so(tmp_path: Path) -> None:
    """Workers import the script; without a guard they end at once, and nobody waits for them to read what they do."""
    (tmp_path / "script.py").write_text(UNGUARDED)
    ended = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 1
    first, last = ended.stderr.count("clue.errors.UsageError: "), ended.stderr.splitlines()[-1]
    assert first, ended.stderr
    assert last.startswith("clue.errors.ReplayError: a process that was to simulate ended at its start")
    assert 'below if __name__ == "__main__":' in last


def hold(task: float) -> None:
    """Take some seconds."""
    time.sleep(task)


def test_a_full_disk_is_named_before_workers_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers read what they do from a temporary file; without room for it, there is an error instead."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    expected = r"^workers need 1 MB for temporary files \(TMPDIR\), got: No such file"
    with pytest.raises(UsageError, match=expected), Pool(hold, workers=2) as pool:
        list(pool.perform([0.3] * 20))
