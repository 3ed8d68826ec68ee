"""Who simulates does not change the figures; what is interrupted keeps what it found."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from clue.errors import UsageError
from clue.purchase import Criterion, Summary, rank_options
from clue.purchase.executors import Crew
from clue.purchase.runs import Job
from tests.purchase.test_search import bounds_of_quality, many, trace

SCENARIO = """\
workloads: {job: {program: {trace: "job-{ranks}.clue"}, ranks: [1, 2]}}
options: {A: {machine: two-hosts}, B: {machine: wien97-cheap}, C: {machine: wien97-network}}
"""


def test_mpi_processes_give_the_same_document(tmp_path: Path) -> None:
    """One that asks and one that simulates, as users start them."""
    for ranks in (1, 2):
        trace(many(Criterion.POINTS).workloads[0].kernels[0].program, ranks).save(tmp_path / f"job-{ranks}.clue")
    (tmp_path / "s.yaml").write_text(SCENARIO)
    alone = [sys.executable, "-m", "clue", "simulate", "s.yaml", "--json"]
    mpiexec = Path(sys.executable).parent / "mpiexec"
    if not mpiexec.exists():
        pytest.skip("no mpiexec beside Python")
    spread = [str(mpiexec), "-n", "2", sys.executable, "-m", "mpi4py.futures", *alone[1:], "--executor", "mpi"]
    one, other = (
        subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        for command in (alone, spread)
    )
    assert (one.returncode, other.returncode) == (0, 0), other.stderr
    assert one.stdout == other.stdout


def test_mpi_says_how_to_start_it() -> None:
    """A program that was started alone has no processes to ask."""
    with pytest.raises(UsageError, match=r"mpiexec -n 4 python -m mpi4py.futures -m clue simulate"):
        rank_options(many(Criterion.POINTS), trace, executor="mpi")


@pytest.mark.parametrize("executor", ["threads", "dask://"])
def test_an_executor_must_be_known_and_named_in_full(executor: str) -> None:
    """Before any time is spent; without Dask installed its name is told instead."""
    with pytest.raises(UsageError, match=r"^executor "):
        rank_options(many(Criterion.POINTS), trace, executor=executor)


def interrupt_after(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Ctrl-C come after so many simulations."""
    perform = Crew.perform
    done = 0

    def interrupted(self: Crew, jobs: Sequence[Job]) -> Iterator[tuple[int, tuple[Summary, ...]]]:
        nonlocal done
        for each in perform(self, jobs):
            yield each
            done += 1
            if done == count:
                raise KeyboardInterrupt

    monkeypatch.setattr(Crew, "perform", interrupted)


def test_an_interrupted_ranking_keeps_what_is_certain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 300 options, 6 simulations settle the first 3: they cannot be overtaken."""
    monkeypatch.setattr("clue.purchase.ranking.contention_free", bounds_of_quality([0.999]))
    interrupt_after(6, monkeypatch)
    ranking = rank_options(many(Criterion.MAKESPAN), trace, top=20)
    listed = [entry.option for entry in ranking.entries if entry.position is not None]
    assert ranking.interrupted
    assert (listed, ranking.certain) == (["0", "1", "2"], 3)
    assert all(entry.bound is not None for entry in ranking.entries[3:])


def test_points_are_not_certain_before_the_best_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """With bounds that say nothing, one simulation settles nothing."""
    monkeypatch.setattr("clue.purchase.ranking.contention_free", bounds_of_quality([0.0]))
    interrupt_after(1, monkeypatch)
    ranking = rank_options(many(Criterion.POINTS), trace, top=20)
    assert ranking.interrupted
    assert ranking.certain == 0
