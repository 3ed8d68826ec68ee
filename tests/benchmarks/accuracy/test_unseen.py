"""Unseen programs run, unseen machines can be built, and one table assigns both to sets."""

from pathlib import Path

import pytest

from benchmarks.accuracy.unseen.cases import MACHINES, PROGRAMS, UNSEEN_MACHINES, UNSEEN_PROGRAMS, Set, UnseenMachine
from benchmarks.testbed.truth import hosts_at
from clue.config import load_machine
from clue.errors import ClueError
from clue.recording import find_mpiexec
from tests.in_turn import in_turn

try:
    find_mpiexec()
    LACK = ""
except ClueError as error:
    LACK = str(error)

#: Arguments for a short run.
SMALL = {
    "integer_sort": "2000 1", "multigrid": "64 2", "overlap": "32 8 3", "lookahead": "48 4", "sparse_cg": "12 3",
    "fft3d": "12 1", "objects": "20 2", "panels": "48 4", "kmeans": "100 4 2", "map_reduce": "20 1", "pool": "12 5",
    "page_rank": "300 4 2", "heat": "32 10", "particles": "100 3",
    "power": "60 20", "red_black": "24 30", "walks": "20 30 3", "merge_tree": "1000 2", "ring_product": "30 2",
    "alignment": "200 20", "equalise": "60 80 1", "gauss_jordan": "12", "gradient": "32 32 16", "knapsack": "14 10",
    "life": "60 16", "odd_even": "50 1", "quadrature": "7 20 12", "tempering": "16 20 2", "wave": "40 2 3",
    "adi": "30 8 4", "floyd_warshall": "40", "lattice_boltzmann": "24 20", "least_squares": "200 8 5",
    "molecular": "3 12", "parameter_server": "400 16 30", "particle_filter": "4000 20", "pca": "200 24 4 20",
    "pipelined_cg": "20 4", "salesman": "16 10 40 10",
    "docking": "12 20 10", "flock": "4000 4", "friends": "3 8 3 6", "genome": "2000 60 6", "insurance": "2000 4 2",
    "lorries": "6 4 60", "panorama": "96 32 3 2", "pulsar": "48 512 8 6", "robot_arm": "3 2 200 10 4",
    "translator": "500 64 2 3 4",
    "ballots": "8 300 6 2 41", "crossmatch": "12 400 6 3", "keywords": "60 4 2 8", "mosaic": "19 23 1 7",
    "river": "137 3 5 3", "sudoku": "4 6", "tides": "24 12 144 20", "timetable": "7 11 13 3", "tissue": "90 80 100 10",
    "wildfire": "67 91 5 7",
}  # fmt: skip


def test_the_table_has_all_there_is() -> None:
    """Each program, machine and truth belongs to one of the sets, and the sets have their sizes."""
    assert sorted(each.name for each in UNSEEN_PROGRAMS) == sorted(file.stem for file in PROGRAMS.glob("*.py"))
    assert sorted(each.name for each in UNSEEN_MACHINES) == sorted(file.stem for file in MACHINES.glob("*.yaml"))
    truths = (MACHINES.parent / "truths").glob("*.yaml")
    assert sorted(each.name for each in UNSEEN_MACHINES) == sorted(file.stem for file in truths)
    assert sum(each.of is Set.REHEARSAL for each in UNSEEN_PROGRAMS) == 9
    assert sum(each.of is Set.REHEARSAL for each in UNSEEN_MACHINES) == 3
    assert sum(each.of is Set.FROZEN for each in UNSEEN_PROGRAMS) >= 10
    assert sum(each.of is Set.FROZEN for each in UNSEEN_MACHINES) >= 6


@pytest.mark.parametrize("machine", UNSEEN_MACHINES, ids=lambda machine: machine.name)
def test_two_cores_are_enough_for_every_machine(machine: UnseenMachine) -> None:
    """Each machine has at most eight processors, worth at most one or two cores, and the truth has the same nodes."""
    hosts = hosts_at(machine.file)
    told = load_machine(machine.file)
    assert told.name == machine.name
    assert told.processors == sum(host.processors for host in hosts) <= 8
    assert sum(host.cores for host in hosts) <= (1 if any(host.kind.busy_memory for host in hosts) else 2)


@pytest.mark.skipif(bool(LACK), reason=LACK)
@pytest.mark.parametrize("program", sorted(SMALL))
def test_programs_check_themselves_and_say_nothing(program: str, shared: Path) -> None:
    """Each program runs on four ranks without output; a wrong result would fail an assertion."""
    runs = [(PROGRAMS / f"{name}.py", words.split()) for name, words in SMALL.items()]
    done = in_turn(shared / "unseen programs", [find_mpiexec(), "-n", "4"], runs)[list(SMALL).index(program)]
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
